//! The process whose id an editor writes into its lockfile.

use std::process::Stdio;

use tokio::process::{Child, Command};

/// A process that stands for an editor: it lives until it is ended, and no longer than we do, since it reads from us.
pub struct StandIn {
    child: Child,
    pid: u32,
}

impl StandIn {
    /// Starts one.
    ///
    /// # Errors
    /// What the system said.
    pub fn start() -> std::io::Result<Self> {
        let mut command = Command::new("cat");
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).kill_on_drop(true);
        // Not among those whom an interrupt at the terminal reaches, and in nobody's working directory.
        command.process_group(0).current_dir("/");
        let child = command.spawn()?;
        let pid = child.id().ok_or_else(|| std::io::Error::other("it ended at once"))?;
        Ok(Self { child, pid })
    }

    /// Its id, also when it has ended.
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// Ends it. When this returns, no process has its id.
    pub async fn end(&mut self) {
        // Fails only where it has ended already.
        let _ = self.child.kill().await;
    }
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
        let mut it = StandIn::start().unwrap();
        assert!(lives(it.pid()));
        it.end().await;
        assert!(!lives(it.pid()));
        it.end().await;
    }
}
