//! [`Slowest`]: the input that took the most processor time, and the one that took the most for its size, in files.

use std::fs;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Shorter inputs say nothing about the time for each byte.
const MIN_LEN: usize = 512;
/// What takes less is not written down.
const MIN_TIME: Duration = Duration::from_millis(1);

/// The processor time of all threads of this process so far: it does not depend on what else the machine does.
pub fn processor_time() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer is to a value of this function, which the call only writes.
    let failed = unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut time) } != 0;
    if failed { Duration::ZERO } else { Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec as u32) }
}

/// The slowest inputs so far. The folder in the variable `SLOWEST` gets their files: `input`, and `input-by-size`, each
/// with a file `.ns`, in which its nanoseconds are.
pub struct Slowest {
    longest: Duration,
    by_size: f64,
}

static SLOWEST: Mutex<Slowest> = Mutex::new(Slowest { longest: MIN_TIME, by_size: 0.0 });

impl Slowest {
    /// Takes note of an input and its time.
    pub fn note(data: &[u8], took: Duration) {
        if took < MIN_TIME {
            return;
        }
        let Some(folder) = std::env::var_os("SLOWEST").map(PathBuf::from) else { return };
        let mut slowest = SLOWEST.lock().unwrap_or_else(PoisonError::into_inner);
        if took > slowest.longest {
            slowest.longest = took;
            keep(&folder, "input", data, took);
        }
        let each = took.as_secs_f64() / data.len().max(1) as f64;
        if data.len() >= MIN_LEN && each > slowest.by_size {
            slowest.by_size = each;
            keep(&folder, "input-by-size", data, took);
        }
    }
}

/// Writes an input and its time. What cannot be written is left out: it is only a remark.
fn keep(folder: &std::path::Path, name: &str, data: &[u8], took: Duration) {
    let _ = fs::write(folder.join(name), data);
    let _ = fs::write(folder.join(format!("{name}.ns")), took.as_nanos().to_string());
}
