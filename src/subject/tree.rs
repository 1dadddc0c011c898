//! The processes of a subject: all of them, also those that left its process group.
//!
//! A process belongs to a subject if it is the one we started, is in its process group, descends from one
//! that belongs, was seen to belong before, or has the subject's run directory in its environment. On Linux
//! we are the "child subreaper": a process that loses its parent becomes our child instead of the system's, so that
//! even a daemon which cleared its environment can be recognised, as a child that nobody of us started: that of a
//! subject whose run directory it works in, or else of the last subject that is left.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use parking_lot::{Mutex, MutexGuard};
use rustix::process::{Pid, Signal, WaitOptions, kill_process, waitpid};

use super::guard;
use super::table::{self, ProcessEntry, ProcessorTimes};

/// How long to wait between two looks at processes that are being killed.
const POLL_INTERVAL: Duration = Duration::from_millis(2);

/// How long processes may take to end that only a search of all processes finds.
const SWEEP_LIMIT: Duration = Duration::from_secs(2);

/// How many subjects there are in this process. Strays are recognised only where there is one.
static LIVE_SUBJECTS: AtomicUsize = AtomicUsize::new(0);

/// Children that other code here waits for.
static WAITED_CHILDREN: Mutex<Option<HashSet<u32>>> = Mutex::new(None);

/// The markers of subjects of which no descendant of ours is left, while other subjects run: one search of all processes,
/// at the end of the last subject, serves all of them. With the time when each was gone: a subject that is started again
/// has the same marker.
static PENDING_SWEEPS: Mutex<Vec<(String, u64)>> = Mutex::new(Vec::new());

/// Marks a child as waited for elsewhere, as long as it lives.
pub(super) struct WaitedChild(u32);

impl WaitedChild {
    pub(super) fn new(pid: u32) -> Self {
        waited_children().get_or_insert_default().insert(pid);
        Self(pid)
    }
}

impl Drop for WaitedChild {
    fn drop(&mut self) {
        waited_children().get_or_insert_default().remove(&self.0);
    }
}

fn waited_children() -> MutexGuard<'static, Option<HashSet<u32>>> {
    WAITED_CHILDREN.lock()
}

/// Where to look for members.
#[derive(Clone, Copy)]
enum MemberSearch {
    /// Among our descendants, which are nearly all.
    OurDescendants,
    /// Among all processes: another program may have started one for them.
    AllProcesses,
}

/// The processes that one command started.
pub(super) struct Tree {
    leader: u32,
    /// When the leader began, in the system's own unit.
    began: u64,
    /// A line of the environment that only they have; none for a mere command of a subject, which has the
    /// subject's.
    marker: Option<String>,
    /// Whether it is one of our subjects.
    counted: bool,
    /// The processes that were seen to belong, and when each began: process ids are used again.
    seen: Mutex<HashMap<u32, u64>>,
}

impl Tree {
    /// Makes us the parent of processes that lose theirs. To be called before anything is started.
    pub(super) fn prepare() {
        #[cfg(target_os = "linux")]
        {
            // Where the system refuses, the other marks of belonging still hold.
            let _ = rustix::process::set_child_subreaper(Some(rustix::process::getpid()));
        }
    }

    /// The tree of a subject: of the process `leader`, which leads a group of its own; `marker` is `NAME=value`.
    pub(super) fn of_subject(leader: u32, marker: String) -> Self {
        LIVE_SUBJECTS.fetch_add(1, Ordering::SeqCst);
        guard::started(leader, &marker);
        let mut tree = Self::new(leader, Some(marker));
        tree.counted = true;
        tree
    }

    /// The tree of a subject of another process, for the guard.
    pub(super) fn of_guarded(leader: u32, marker: String) -> Self {
        Self::new(leader, Some(marker))
    }

    /// The tree of a command that is run beside a subject.
    pub(super) fn of_command(leader: u32) -> Self {
        Self::new(leader, None)
    }

    fn new(leader: u32, marker: Option<String>) -> Self {
        let began = table::of(leader).map_or(0, |e| e.began);
        Self { leader, began, marker, counted: false, seen: Mutex::new(HashMap::from([(leader, began)])) }
    }

    /// Whether this process belongs.
    pub(super) fn contains(&self, pid: u32) -> bool {
        pid == self.leader || self.members(MemberSearch::AllProcesses).iter().any(|e| e.pid == pid)
    }

    /// The ids of all members that are alive, and of the leader.
    pub(super) fn ids(&self) -> HashSet<u32> {
        self.members(MemberSearch::AllProcesses).iter().map(|e| e.pid).chain([self.leader]).collect()
    }

    /// Whether the environment of this process names another subject, of ours or of another wirecert.
    pub(super) fn is_of_another(&self, pid: u32) -> bool {
        let Some((name, value)) = self.marker.as_ref().and_then(|marker| marker.split_once('=')) else { return false };
        crate::wire::process::environment_variable(pid, name).is_some_and(|other| other != value)
    }

    /// The ids of the members that are alive, apart from the leader.
    pub(super) fn others(&self) -> Vec<u32> {
        self.members(MemberSearch::AllProcesses).iter().map(|e| e.pid).filter(|pid| *pid != self.leader).collect()
    }

    /// How much memory they have in all, in bytes, as far as a cheap look finds them.
    pub(super) fn memory(&self) -> Option<u64> {
        table::resident(&self.members(MemberSearch::OurDescendants).iter().map(|e| e.pid).collect::<Vec<u32>>())
    }

    /// What they got of the machine's processors, as far as a cheap look finds them.
    pub(super) fn processor_times(&self) -> Option<ProcessorTimes> {
        let members = self.members(MemberSearch::OurDescendants);
        table::processor_times(&members.iter().map(|e| e.pid).collect::<Vec<u32>>())
    }

    /// Kills all of them, and returns once they are gone or the time is up: how many there were apart from the
    /// leader, and whether all are gone.
    pub(super) fn kill(&self, bound: Duration) -> (usize, bool) {
        let deadline = Instant::now() + bound;
        let mut found: HashSet<u32> = HashSet::new();
        // A process that is halted cannot start another while we search for the rest.
        loop {
            let fresh: Vec<u32> = self
                .members(MemberSearch::OurDescendants)
                .iter()
                .map(|e| e.pid)
                .filter(|pid| !found.contains(pid))
                .collect();
            if fresh.is_empty() {
                break;
            }
            for pid in fresh {
                send(pid, Signal::STOP);
                found.insert(pid);
            }
            if Instant::now() >= deadline {
                break;
            }
        }
        let mut search = MemberSearch::OurDescendants;
        let gone = loop {
            let members = if found.is_empty() && matches!(search, MemberSearch::OurDescendants) {
                vec![]
            } else {
                self.members(search)
            };
            match (search, &self.marker) {
                (MemberSearch::AllProcesses, _) if members.is_empty() => break true,
                // A process that a search of our descendants does not find may be there all the same.
                (MemberSearch::OurDescendants, Some(marker))
                    if members.is_empty() && LIVE_SUBJECTS.load(Ordering::SeqCst) > 1 =>
                {
                    pending_sweeps().push((marker.clone(), table::now()));
                    break true;
                }
                (MemberSearch::OurDescendants, _) if members.is_empty() => {
                    search = MemberSearch::AllProcesses;
                    continue;
                }
                _ => {}
            }
            for member in &members {
                found.insert(member.pid);
                send(member.pid, Signal::KILL);
            }
            if Instant::now() >= deadline {
                break false;
            }
            std::thread::sleep(POLL_INTERVAL);
        };
        if found.iter().any(|pid| *pid != self.leader) {
            self.reap();
        }
        found.remove(&self.leader);
        (found.len(), gone)
    }

    /// The members that are alive.
    fn members(&self, search: MemberSearch) -> Vec<ProcessEntry> {
        let us = rustix::process::getpid().as_raw_nonzero().get().unsigned_abs();
        let table = match search {
            MemberSearch::OurDescendants => table::below(us, &self.strangers()).unwrap_or_else(table::read),
            MemberSearch::AllProcesses => table::read(),
        };
        let mut seen = self.seen.lock();
        let alone = self.marker.is_some() && LIVE_SUBJECTS.load(Ordering::SeqCst) == 1;
        let our_session = table.iter().find(|e| e.pid == us).map_or(0, |e| e.session);
        let waited = waited_children().clone().unwrap_or_default();
        let marked = |pid| self.marker.as_ref().is_some_and(|line| table::has_environment(pid, [line]));
        let root = self.marker.as_ref().and_then(|line| line.split_once('=')).map(|(_, root)| root);
        let at_home = |pid| root.is_some_and(|root| !root.is_empty() && table::works_below(pid, root));
        let is_ours = |e: &ProcessEntry| {
            seen.get(&e.pid) == Some(&e.began)
                || e.group == self.leader
                || (e.began >= self.began && !e.zombie && marked(e.pid))
                || (e.parent == us && e.session != our_session && !waited.contains(&e.pid) && (alone || at_home(e.pid)))
        };
        let mut ours: HashSet<u32> = table.iter().filter(|e| e.pid != us && is_ours(e)).map(|e| e.pid).collect();
        loop {
            let before = ours.len();
            ours.extend(table.iter().filter(|e| ours.contains(&e.parent)).map(|e| e.pid).collect::<Vec<_>>());
            if ours.len() == before {
                break;
            }
        }
        ours.remove(&us);
        let members: Vec<ProcessEntry> = table.into_iter().filter(|e| ours.contains(&e.pid)).collect();
        seen.extend(members.iter().map(|e| (e.pid, e.began)));
        members.into_iter().filter(|e| !e.zombie).collect()
    }

    /// Children of ours that others wait for: their descendants are not of this tree.
    fn strangers(&self) -> HashSet<u32> {
        let mut waited = waited_children().clone().unwrap_or_default();
        waited.remove(&self.leader);
        waited
    }

    /// Reaps the members that became our children, by their ids: never just any child.
    fn reap(&self) {
        let us = rustix::process::getpid().as_raw_nonzero().get().unsigned_abs();
        let seen = self.seen.lock();
        for entry in table::below(us, &self.strangers()).unwrap_or_else(table::read) {
            let ours = entry.group == self.leader || seen.get(&entry.pid) == Some(&entry.began);
            let waited = waited_children().as_ref().is_some_and(|set| set.contains(&entry.pid));
            if entry.zombie && entry.parent == us && ours && !waited && entry.pid != self.leader {
                let _ = waitpid(id(entry.pid), WaitOptions::NOHANG);
            }
        }
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        if !self.counted {
            return;
        }
        if LIVE_SUBJECTS.fetch_sub(1, Ordering::SeqCst) == 1 {
            sweep();
        }
        guard::ended(self.leader);
    }
}

/// A command that is no subject, and its descendants.
pub struct Descendants(Tree);

impl Descendants {
    /// The descendants of this process, which must have been started just now, as our child.
    pub fn of(pid: u32) -> Self {
        Tree::prepare();
        Self(Tree::of_command(pid))
    }

    /// Notes the current descendants: one that loses its parent later is known all the same.
    pub fn note(&self) {
        self.0.members(MemberSearch::OurDescendants);
    }

    /// Kills the descendants that are known and alive, and returns once they are gone or the time is up: how many there
    /// were beside the command itself.
    pub fn kill(&self, bound: Duration) -> usize {
        self.0.kill(bound).0
    }
}

/// Kills every process with the marker of a subject that is gone, and searches again until there is none.
fn sweep() {
    let pending = std::mem::take(&mut *pending_sweeps());
    let deadline = Instant::now() + SWEEP_LIMIT;
    let us = std::process::id();
    let is_left = |e: &ProcessEntry| {
        let markers = pending.iter().filter(|(_, gone)| e.began < *gone).map(|(marker, _)| marker);
        e.pid != us && !e.zombie && table::has_environment(e.pid, markers)
    };
    while !pending.is_empty() && Instant::now() < deadline {
        let left: Vec<ProcessEntry> = table::read().into_iter().filter(is_left).collect();
        if left.is_empty() {
            return;
        }
        left.iter().for_each(|e| send(e.pid, Signal::KILL));
        std::thread::sleep(POLL_INTERVAL);
    }
}

fn pending_sweeps() -> MutexGuard<'static, Vec<(String, u64)>> {
    PENDING_SWEEPS.lock()
}

/// Whether a process of this id is there; a zombie does not count.
pub fn is_alive(pid: u32) -> bool {
    table::of(pid).is_some_and(|e| !e.zombie)
}

pub(super) fn id(pid: u32) -> Option<Pid> {
    i32::try_from(pid).ok().and_then(Pid::from_raw)
}

fn send(pid: u32, signal: Signal) {
    if let Some(pid) = id(pid) {
        // It may have ended meanwhile, which is what we want.
        let _ = kill_process(pid, signal);
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn a_process_with_the_mark_of_one_that_is_gone_and_began_before_is_swept_away() {
        let mark = format!("WIRECERT_TEST_MARK={}", std::process::id());
        let sleeper = |mark: &str| {
            let (name, value) = mark.split_once('=').unwrap();
            std::process::Command::new("sleep").arg("600").env(name, value).spawn().unwrap()
        };
        let mut old = sleeper(&mark);
        let gone = table::of(old.id()).unwrap().began + 1;
        let mut other = sleeper("WIRECERT_TEST_MARK=another");
        pending_sweeps().push((mark.clone(), gone));
        pending_sweeps().push((mark.replace('=', "=x"), gone));
        // Whoever of the tests comes last sweeps for all.
        let swept = |child: &mut std::process::Child| {
            sweep();
            child.wait().unwrap()
        };
        assert_eq!(std::os::unix::process::ExitStatusExt::signal(&swept(&mut old)), Some(9));
        let mut new = sleeper(&mark);
        pending_sweeps().push((mark, gone - 1));
        sweep();
        assert!(is_alive(new.id()) && is_alive(other.id()));
        for child in [&mut new, &mut other] {
            child.kill().unwrap();
            child.wait().unwrap();
        }
    }
}
