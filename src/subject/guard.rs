//! The guard: a process of this program that kills subjects where the program that started them was killed itself.
//!
//! It is started with the first subject and learns of each over its stdin. That ends when this process does, however it
//! ends. The guard then kills what is left of the subjects, and ends.

use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};

use super::tree::{Tree, WaitedChild};

/// The command of the program that runs a guard.
pub const COMMAND: &str = "guard";

/// How long the processes of one subject may take to end.
const KILL_BOUND: Duration = Duration::from_secs(2);

static GUARD: Mutex<GuardState> = Mutex::new(GuardState::Off);

enum GuardState {
    /// There is none, and there will be none.
    Off,
    /// The program to start with the first subject.
    Ready(PathBuf),
    Running {
        child: Child,
        _waited: WaitedChild,
    },
}

/// Has a guard started with the first subject. `program`: this program, which runs [`serve`] for the argument [`COMMAND`].
pub fn enable(program: PathBuf) {
    *state() = GuardState::Ready(program);
}

/// Ends the guard: nothing is left to kill.
pub fn dismiss() {
    if let GuardState::Running { mut child, .. } = std::mem::replace(&mut *state(), GuardState::Off) {
        // It may have been killed by somebody else.
        let _ = child.kill();
        let _ = child.wait();
    }
}

/// A subject has been started: the leader of its process group, and the line of the environment that only its processes
/// have.
pub(super) fn started(leader: u32, marker: &str) {
    // A line end in it is no line end of ours.
    if !marker.contains('\n') {
        tell(&format!("start {leader} {marker}\n"));
    }
}

/// Every process of a subject has ended.
pub(super) fn ended(leader: u32) {
    tell(&format!("end {leader}\n"));
}

/// The work of a guard: reads which subjects there are, and kills those that are left at the end.
pub fn serve(input: impl std::io::Read) {
    let mut subjects: Vec<(u32, Tree)> = vec![];
    for line in BufReader::new(input).lines().map_while(Result::ok) {
        let mut words = line.splitn(3, ' ');
        let (verb, leader, marker) = (words.next(), words.next().and_then(|pid| pid.parse().ok()), words.next());
        match (verb, leader, marker) {
            (Some("start"), Some(leader), Some(marker)) => {
                subjects.push((leader, Tree::of_guarded(leader, marker.to_owned())));
            }
            (Some("end"), Some(leader), _) => subjects.retain(|(other, _)| *other != leader),
            _ => {}
        }
    }
    for (_, tree) in subjects {
        tree.kill(KILL_BOUND);
    }
}

fn tell(line: &str) {
    let mut state = state();
    if let GuardState::Ready(program) = &*state {
        *state = match start(program) {
            Ok(child) => {
                let _waited = WaitedChild::new(child.id());
                GuardState::Running { child, _waited }
            }
            // Without a guard everything else works as well.
            Err(_) => GuardState::Off,
        };
    }
    if let GuardState::Running { child, .. } = &mut *state
        && let Some(pipe) = &mut child.stdin
    {
        // Fails only where the guard was killed.
        let _ = pipe.write_all(line.as_bytes());
    }
}

fn start(program: &PathBuf) -> std::io::Result<Child> {
    let mut command = Command::new(program);
    command.arg(COMMAND).current_dir("/").stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    // What ends our group, such as Ctrl-C, must not end it.
    std::os::unix::process::CommandExt::process_group(&mut command, 0).spawn()
}

fn state() -> MutexGuard<'static, GuardState> {
    GUARD.lock()
}
