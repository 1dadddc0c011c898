//! The system's table of processes.

use std::collections::HashSet;
use std::time::Duration;

/// An entry of the table of processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ProcessEntry {
    pub(super) pid: u32,
    pub(super) parent: u32,
    pub(super) group: u32,
    pub(super) session: u32,
    /// When it began, in a unit of the system's; 0 where that is unknown.
    pub(super) began: u64,
    /// Whether it has ended and only waits for its parent to take note.
    pub(super) zombie: bool,
}

/// What processes got of the machine's processors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProcessorTimes {
    /// How long all of their threads ran, added up.
    pub ran: Duration,
    /// How long the thread that waited longest could have run, and got no processor.
    pub waited: Duration,
}

/// All processes that we may see.
#[cfg(target_os = "linux")]
pub(super) fn read() -> Vec<ProcessEntry> {
    let Ok(folder) = std::fs::read_dir("/proc") else { return vec![] };
    folder.flatten().filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok()).filter_map(of).collect()
}

/// The descendants of this process, as the system lists the children of each, but for those in `apart` and whoever
/// descends from them; none where it does not list them. Far cheaper than a look at all processes, but whoever comes or
/// goes meanwhile may hide others (proc_tid_children(5)).
#[cfg(target_os = "linux")]
pub(super) fn below(pid: u32, apart: &HashSet<u32>) -> Option<Vec<ProcessEntry>> {
    let (mut found, mut next) = (vec![], vec![pid]);
    while let Some(pid) = next.pop() {
        if apart.contains(&pid) {
            continue;
        }
        for task in std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten() {
            match std::fs::read_to_string(task.path().join("children")) {
                Ok(children) => next.extend(children.split_whitespace().filter_map(|child| child.parse::<u32>().ok())),
                // A task that has ended has none; a system that does not list them lists them nowhere.
                Err(_) if !task.path().exists() => {}
                Err(_) => return None,
            }
        }
        found.extend(of(pid));
    }
    Some(found)
}

/// Other systems do not report it.
#[cfg(not(target_os = "linux"))]
pub(super) fn below(_: u32, _: &HashSet<u32>) -> Option<Vec<ProcessEntry>> {
    None
}

/// One process; none where it is not there. Far cheaper than a look at all of them.
#[cfg(target_os = "linux")]
pub(super) fn of(pid: u32) -> Option<ProcessEntry> {
    use std::io::Read;

    // The system writes the line afresh at every reading: it has to fit into one.
    let mut line = [0; 2048];
    let length = std::fs::File::open(format!("/proc/{pid}/stat")).ok()?.read(&mut line).ok()?;
    parse_stat(&String::from_utf8_lossy(&line[..length]))
}

/// How long these processes have run, and how long they have waited for a processor (`/proc/<pid>/schedstat`): of those that
/// waited, the one that waited longest. None where the system reports it of none.
#[cfg(target_os = "linux")]
pub(super) fn processor_times(pids: &[u32]) -> Option<ProcessorTimes> {
    let tasks =
        pids.iter().flat_map(|pid| std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten());
    let of_one = |task: std::fs::DirEntry| {
        let line = std::fs::read_to_string(task.path().join("schedstat")).ok()?;
        let mut nanos = line.split_whitespace().map(|word| word.parse().ok().map(Duration::from_nanos));
        Some(ProcessorTimes { ran: nanos.next()??, waited: nanos.next()?? })
    };
    tasks
        .filter_map(of_one)
        .reduce(|all, one| ProcessorTimes { ran: all.ran + one.ran, waited: all.waited.max(one.waited) })
}

/// Other systems do not report it.
#[cfg(not(target_os = "linux"))]
pub(super) fn processor_times(_: &[u32]) -> Option<ProcessorTimes> {
    None
}

/// How much memory these processes have in all that is not swapped out, in bytes; what several share counts for each.
/// None where the system reports it of none.
#[cfg(target_os = "linux")]
pub(super) fn resident(pids: &[u32]) -> Option<u64> {
    let of_one = |pid: &u32| {
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
        Some(line.split_whitespace().next()?.parse::<u64>().ok()? * 1024)
    };
    pids.iter().filter_map(of_one).reduce(|all, one| all + one)
}

/// The same, as `ps` reports it.
#[cfg(not(target_os = "linux"))]
pub(super) fn resident(pids: &[u32]) -> Option<u64> {
    let list = pids.iter().map(u32::to_string).collect::<Vec<_>>().join(",");
    let output = std::process::Command::new("ps").args(["-o", "rss=", "-p", &list]).output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.lines().filter_map(|line| line.trim().parse::<u64>().ok()).map(|kib| kib * 1024).reduce(|all, one| all + one)
}

/// The present time, as [`ProcessEntry::began`] counts it: in hundredths of a second since the system began.
#[cfg(target_os = "linux")]
pub(super) fn now() -> u64 {
    let uptime = std::fs::read_to_string("/proc/uptime").unwrap_or_default();
    let (seconds, rest) = uptime.split_once('.').unwrap_or_default();
    let hundredths = rest.get(..2).and_then(|digits| digits.parse::<u64>().ok()).unwrap_or_default();
    seconds.parse::<u64>().unwrap_or_default() * 100 + hundredths
}

/// Other systems do not report it.
#[cfg(not(target_os = "linux"))]
pub(super) fn now() -> u64 {
    0
}

/// Whether the process began with one of these lines (`NAME=value`) in its environment.
#[cfg(target_os = "linux")]
pub(super) fn has_environment<'l>(pid: u32, lines: impl IntoIterator<Item = &'l String>) -> bool {
    use std::io::Read;

    let mut environment = vec![];
    let Ok(file) = std::fs::File::open(format!("/proc/{pid}/environ")) else { return false };
    // A process can make this as long as it likes.
    if file.take(4 * 1024 * 1024).read_to_end(&mut environment).is_err() {
        return false;
    }
    let set: HashSet<&[u8]> = environment.split(|b| *b == 0).collect();
    lines.into_iter().any(|line| set.contains(line.as_bytes()))
}

/// Whether the process's working directory is this folder or below it.
#[cfg(target_os = "linux")]
pub(super) fn works_below(pid: u32, folder: &str) -> bool {
    std::fs::read_link(format!("/proc/{pid}/cwd")).is_ok_and(|path| path.starts_with(folder))
}

/// Other systems do not report it.
#[cfg(not(target_os = "linux"))]
pub(super) fn works_below(_: u32, _: &str) -> bool {
    false
}

/// One line of `/proc/<pid>/stat` (proc_pid_stat(5)). The name in parentheses may hold anything.
#[cfg(target_os = "linux")]
fn parse_stat(stat: &str) -> Option<ProcessEntry> {
    let pid = stat.split(' ').next()?.parse().ok()?;
    let rest: Vec<&str> = stat[stat.rfind(')')? + 1..].split_whitespace().collect();
    Some(ProcessEntry {
        pid,
        zombie: matches!(*rest.first()?, "Z" | "X"),
        parent: rest.get(1)?.parse().ok()?,
        group: rest.get(2)?.parse().ok()?,
        session: rest.get(3)?.parse().ok()?,
        began: rest.get(19)?.parse().ok()?,
    })
}

/// All processes, as `ps` reports them.
#[cfg(not(target_os = "linux"))]
pub(super) fn read() -> Vec<ProcessEntry> {
    ps(&["-ax"])
}

/// One process; none where it is not there.
#[cfg(not(target_os = "linux"))]
pub(super) fn of(pid: u32) -> Option<ProcessEntry> {
    ps(&["-p", &pid.to_string()]).into_iter().find(|e| e.pid == pid)
}

#[cfg(not(target_os = "linux"))]
fn ps(which: &[&str]) -> Vec<ProcessEntry> {
    let output = std::process::Command::new("ps").args(which).args(["-o", "pid=,ppid=,pgid=,sess=,stat="]).output();
    let Ok(output) = output else { return vec![] };
    String::from_utf8_lossy(&output.stdout).lines().filter_map(parse_ps).collect()
}

/// Other systems do not report it.
#[cfg(not(target_os = "linux"))]
pub(super) fn has_environment<'l>(_: u32, _: impl IntoIterator<Item = &'l String>) -> bool {
    false
}

/// One line of `ps -o pid=,ppid=,pgid=,sess=,stat=`.
#[cfg(any(test, not(target_os = "linux")))]
fn parse_ps(line: &str) -> Option<ProcessEntry> {
    let words: Vec<&str> = line.split_whitespace().collect();
    Some(ProcessEntry {
        pid: words.first()?.parse().ok()?,
        parent: words.get(1)?.parse().ok()?,
        group: words.get(2)?.parse().ok()?,
        session: words.get(3)?.parse().unwrap_or(0),
        began: 0,
        zombie: words.get(4)?.starts_with('Z'),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(target_os = "linux")]
    #[test]
    fn a_process_may_call_itself_anything() {
        let stat = "42 (a) b (c) Z 7 40 39 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 12345 0";
        let expected = ProcessEntry { pid: 42, parent: 7, group: 40, session: 39, began: 12345, zombie: true };
        assert_eq!(parse_stat(stat), Some(expected));
        assert_eq!(parse_stat("42 (x"), None);
    }

    #[test]
    fn a_line_of_ps_is_understood() {
        let expected = ProcessEntry { pid: 1, parent: 0, group: 1, session: 0, began: 0, zombie: false };
        assert_eq!(parse_ps("    1     0     1      0 Ss"), Some(expected));
    }

    #[test]
    fn we_are_in_the_table() {
        let us = std::process::id();
        #[cfg(target_os = "linux")]
        assert!(of(us).is_some_and(|e| e.began > 0 && e.began <= now()));
        assert!(read().iter().any(|e| e.pid == us && !e.zombie));
        assert!(of(us).is_some_and(|e| e.pid == us && !e.zombie));
        assert_eq!(of(u32::MAX), None);
    }

    #[test]
    fn our_memory_is_reported_and_that_of_nobody_is_not() {
        let us = resident(&[std::process::id()]).unwrap_or_default();
        assert!((1 << 18..1 << 40).contains(&us), "{us}");
        assert_eq!(resident(&[std::process::id(), u32::MAX]).map(|all| all > 1 << 18), Some(true));
        assert_eq!(resident(&[u32::MAX]), None);
        assert_eq!(resident(&[]), None);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn our_children_are_below_us_and_their_children_too() {
        let mut shell = std::process::Command::new("sh");
        let mut child =
            shell.args(["-c", "sleep 60 & echo $!; wait"]).stdout(std::process::Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        std::io::BufRead::read_line(&mut std::io::BufReader::new(child.stdout.take().unwrap()), &mut line).unwrap();
        let grandchild: u32 = line.trim().parse().unwrap();
        let all = below(std::process::id(), &HashSet::new());
        let without = below(std::process::id(), &HashSet::from([child.id()]));
        let _ = std::process::Command::new("kill").arg(grandchild.to_string()).status();
        let shell = child.id();
        child.wait().unwrap();
        // Not every system lists them.
        if let (Some(all), Some(without)) = (all, without) {
            let pids = |found: Vec<ProcessEntry>| found.iter().map(|e| e.pid).collect::<Vec<u32>>();
            let (all, without) = (pids(all), pids(without));
            assert!([std::process::id(), shell, grandchild].iter().all(|pid| all.contains(pid)), "{all:?}");
            assert!(![shell, grandchild].iter().any(|pid| without.contains(pid)), "{without:?}");
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_process_whose_name_is_no_text_is_in_the_table_too() {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join(<std::ffi::OsStr as std::os::unix::ffi::OsStrExt>::from_bytes(b"\xff\xfe"));
        std::os::unix::fs::symlink("/bin/sleep", &program).unwrap();
        let mut child = std::process::Command::new(&program).arg("60").spawn().unwrap();
        let listed = read().into_iter().find(|e| e.pid == child.id());
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(listed.is_some());
    }
}
