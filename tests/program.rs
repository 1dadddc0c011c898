//! The program under test.

use std::path::Path;
use std::sync::{Condvar, LazyLock, Mutex};

/// The program that the tests run: that of the variable `WIRECERT_TEST_PROGRAM`, such as one that was built for release, or the one
/// that cargo built with the tests. Its path is absolute: tests run it in folders of their own.
pub fn wirecert_program() -> &'static str {
    static PROGRAM: LazyLock<String> = LazyLock::new(|| {
        let Ok(program) = std::env::var("WIRECERT_TEST_PROGRAM") else {
            return env!("CARGO_BIN_EXE_wirecert").to_owned();
        };
        let absolute = Path::new(&program).canonicalize();
        absolute.unwrap_or_else(|e| panic!("WIRECERT_TEST_PROGRAM is {program}: {e}")).display().to_string()
    });
    &PROGRAM
}

/// How many whole suites are played at the same time: more take too much of the machine from each other.
const MOST_SUITES: usize = 2;
static SUITES: (Mutex<usize>, Condvar) = (Mutex::new(0), Condvar::new());

/// A whole suite that is played against someone's program, or compared with another run. There is another one at the same time at
/// most, until it is dropped.
pub struct WholeSuite(());

impl WholeSuite {
    /// Waits until it may begin.
    pub fn begin() -> Self {
        let (running, ended) = &SUITES;
        let running = running.lock().expect("nothing panics while it holds it");
        let mut running = ended.wait_while(running, |running| *running >= MOST_SUITES).expect("as before");
        *running += 1;
        Self(())
    }
}

impl Drop for WholeSuite {
    fn drop(&mut self) {
        let (running, ended) = &SUITES;
        *running.lock().expect("nothing panics while it holds it") -= 1;
        ended.notify_one();
    }
}
