//! The process whose id an editor writes into its lockfile.

use std::io;
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Those that nobody needs at the moment. Most plays end without the end of their editor, and starting a process takes
/// longer than many of them.
static FREE: Mutex<Vec<Child>> = Mutex::new(Vec::new());

/// A process that stands for an editor: it lives until it is ended, and no longer than we do, since it reads from us.
pub struct PlaceholderProcess {
    /// None once it was ended.
    child: Option<Child>,
    pid: u32,
}

impl PlaceholderProcess {
    /// Takes one that no other editor has, or starts one.
    ///
    /// # Errors
    /// What the system said.
    pub fn start() -> io::Result<Self> {
        let child = match take_free() {
            Some(child) => child,
            None => spawn()?,
        };
        Ok(Self { pid: child.id(), child: Some(child) })
    }

    /// Its id, also when it has ended.
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// Ends it. When this returns, no process has its id.
    pub async fn end(&mut self) {
        let Some(mut child) = self.child.take() else { return };
        // Killing fails only where it has ended already, and waiting only where it was waited for.
        let gone = tokio::task::spawn_blocking(move || child.kill().and_then(|()| child.wait()));
        let _ = gone.await;
    }
}

impl Drop for PlaceholderProcess {
    fn drop(&mut self) {
        free().extend(self.child.take());
    }
}

fn take_free() -> Option<Child> {
    let mut free = free();
    // A subject may have killed it, which it has no business to.
    std::iter::from_fn(|| free.pop()).find_map(|mut child| matches!(child.try_wait(), Ok(None)).then_some(child))
}

fn free() -> MutexGuard<'static, Vec<Child>> {
    FREE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn spawn() -> io::Result<Child> {
    use std::os::unix::process::CommandExt as _;

    let mut command = Command::new("cat");
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    // Not among those whom an interrupt at the terminal reaches, and in nobody's working directory.
    command.process_group(0).current_dir("/").spawn()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lives(pid: u32) -> bool {
        let pid = i32::try_from(pid).ok().and_then(rustix::process::Pid::from_raw).expect("it is the id of a process");
        rustix::process::test_kill_process(pid).is_ok()
    }

    #[tokio::test]
    async fn it_lives_until_it_is_ended_and_is_gone_then() {
        let mut it = PlaceholderProcess::start().unwrap();
        assert!(lives(it.pid()));
        it.end().await;
        assert!(!lives(it.pid()));
        it.end().await;
    }

    #[tokio::test]
    async fn one_that_was_let_go_is_used_again_unless_it_has_ended() {
        let pids: Vec<u32> = [PlaceholderProcess::start().unwrap(), PlaceholderProcess::start().unwrap()]
            .iter()
            .map(PlaceholderProcess::pid)
            .collect();
        assert_ne!(pids[0], pids[1]);
        let [mut one, other] = [PlaceholderProcess::start().unwrap(), PlaceholderProcess::start().unwrap()];
        assert!(lives(one.pid()) && lives(other.pid()) && one.pid() != other.pid());
        // As a subject would that kills who is none of its business.
        if let Some(child) = &mut one.child {
            child.kill().unwrap();
            child.wait().unwrap();
        }
        let (ended, _) = (one.pid(), drop(one));
        let again = PlaceholderProcess::start().unwrap();
        assert!(lives(again.pid()) && again.pid() != ended);
    }
}
