//! What else, besides fibres, could end the wait of a fibre: threads of the program, and signals.
//!
//! A thread of the program cannot end a wait while it waits in a futex without a limit, nor later,
//! as long as nothing else runs. The kernel shows that it has not run between two looks: it counts
//! how often the thread was given a CPU. The runtime's own threads act for fibres only, and are
//! left out.
//!
//! Three words of three files are read here, and elsewhere as few. A crate reads all fields, and
//! fails if a sandbox leaves one out.

use crate::threads::is_kernel_worker;
use std::fs;

/// A thread that waits: its number, and how often it was given a CPU.
pub(crate) type Still = Vec<(i32, u64)>;

/// The names of the runtime's threads that wait in other ways, or wake up by themselves.
const OWN: [&str; 7] = [
    "fibre-monitor",
    "fibre-dump",
    "fibre-watch",
    "fibre-master",
    "fibre-metrics",
    "fibre-ring",
    // The kernel keeps 15 bytes of it.
    "fibre-schedtrac",
];

/// Signals with handlers of the runtime's or std's, or the C library's own.
const EXPECTED: [i32; 7] = [
    libc::SIGQUIT,
    libc::SIGPROF,
    libc::SIGSEGV,
    libc::SIGBUS,
    32,
    33,
    34,
];

/// All threads of the program, but those in `processors`, if none of them can end a wait, and no
/// signal can. `None`: one can, or it is not known.
pub(crate) fn still(processors: &[i32]) -> Option<Still> {
    if handles_signals(&fs::read_to_string("/proc/self/status").ok()?) {
        return None;
    }
    let mut all = Vec::new();
    for task in fs::read_dir("/proc/self/task").ok()? {
        let name = task.ok()?.file_name();
        let thread: i32 = name.to_str()?.parse().ok()?;
        let file = |name: &str| fs::read_to_string(format!("/proc/self/task/{thread}/{name}"));
        let name = file("comm").ok()?;
        if processors.contains(&thread) || OWN.contains(&name.trim_end()) {
            continue;
        }
        if is_kernel_worker(file("stat").ok()?.as_bytes()) {
            continue;
        }
        if !waits_for_ever(&file("syscall").ok()?) {
            return None;
        }
        all.push((thread, turns(&file("schedstat").ok()?)?));
    }
    all.sort_unstable();
    Some(all)
}

/// Whether a thread waits in a futex, without a limit, as `/proc/…/syscall` says.
fn waits_for_ever(call: &str) -> bool {
    /// The number of the operation, without its flags.
    const OPERATION: usize = 0x7f;
    let mut parts = call.split_whitespace();
    let is_futex = parts
        .next()
        .is_some_and(|number| number.parse() == Ok(libc::SYS_futex));
    let mut arguments = parts.map(|word| usize::from_str_radix(word.trim_start_matches("0x"), 16));
    let (operation, limit) = (arguments.nth(1), arguments.nth(1));
    let (Some(Ok(operation)), Some(Ok(limit))) = (operation, limit) else {
        return false;
    };
    let operation = i32::try_from(operation & OPERATION);
    let waits = [libc::FUTEX_WAIT, libc::FUTEX_WAIT_BITSET];
    is_futex && operation.is_ok_and(|operation| waits.contains(&operation)) && limit == 0
}

/// How often a thread was given a CPU, as `/proc/…/schedstat` says.
fn turns(schedstat: &str) -> Option<u64> {
    schedstat.split_whitespace().nth(2)?.parse().ok()
}

/// Whether the program handles signals, as `/proc/…/status` says.
fn handles_signals(status: &str) -> bool {
    let set = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
    let set = set.and_then(|set| u64::from_str_radix(set.trim(), 16).ok());
    set.is_none_or(|set| {
        let expected = EXPECTED.map(|signal| 1_u64 << (signal - 1));
        expected.iter().fold(set, |set, bit| set & !bit) != 0
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_futex_without_a_limit_is_for_ever() {
        for (call, waits) in [
            ("202 0x7f00 0x80 0x2 0x0 0x0 0x7f00 0x7ffd 0x7f10\n", true),
            (
                "202 0x7f00 0x189 0x0 0x0 0x0 0xffffffff 0x7ffd 0x7f10",
                true,
            ),
            (
                "202 0x7f00 0x189 0x0 0x7ffc 0x0 0xffffffff 0x7ffd 0x7f10",
                false,
            ),
            ("202 0x7f00 0x81 0x1 0x0 0x0 0x0 0x7ffd 0x7f10", false),
            ("0 0x0 0x80 0x2 0x0 0x0 0x7f00 0x7ffd 0x7f10", false),
            ("running", false),
            ("", false),
        ] {
            assert_eq!(waits_for_ever(call), waits, "{call}");
        }
    }

    #[test]
    fn handlers_of_the_program_are_seen() {
        assert!(!handles_signals("Name:\tx\nSigCgt:\t0000000000000440\n"));
        assert!(!handles_signals("SigCgt:\t0000000184000444\n"));
        assert!(handles_signals("SigCgt:\t0000000000004440\n"));
        assert!(handles_signals("nothing of that kind"));
    }

    #[test]
    fn a_thread_that_runs_may_end_a_wait() {
        // This one does.
        assert_eq!(still(&[]), None);
        assert_eq!(turns("12 34 56\n"), Some(56));
        assert_eq!(turns(""), None);
    }
}
