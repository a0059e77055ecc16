//! The state of a kernel thread of this process, as the kernel reports it.

use crate::arch;
use std::fmt;
use std::fs;

/// What a thread does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Activity {
    /// It is on a CPU, or waits for one.
    Runs,
    /// It is in a system call.
    Call {
        /// The call's number.
        number: i64,
        /// Where its stack is.
        stack: usize,
        /// Where it goes on.
        code: usize,
    },
    /// The kernel does not say.
    Unknown,
}

impl Activity {
    /// The system call, in a word or a few.
    pub(crate) fn call(self) -> String {
        match self {
            Self::Call { number, .. } => match name(number) {
                Some(name) => name.to_owned(),
                None => format!("the system call number {number}"),
            },
            Self::Runs | Self::Unknown => "the kernel".to_owned(),
        }
    }
}

impl fmt::Display for Activity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Runs => f.write_str("on a CPU"),
            Self::Call { number, .. } => match name(*number) {
                Some(name) => write!(f, "in the system call {name}"),
                None => write!(f, "in the system call number {number}"),
            },
            Self::Unknown => f.write_str("doing what the kernel does not say"),
        }
    }
}

/// What a thread does at the moment.
pub(crate) fn activity(thread: i32) -> Activity {
    let path = format!("/proc/self/task/{thread}/syscall");
    let text = fs::read_to_string(path).unwrap_or_default();
    if text.starts_with("running") {
        return Activity::Runs;
    }
    let parts: Vec<&str> = text.split_whitespace().collect();
    let hex = |text: &str| usize::from_str_radix(text.trim_start_matches("0x"), 16).ok();
    let [number, .., stack, code] = parts[..] else {
        return Activity::Unknown;
    };
    match (number.parse(), hex(stack), hex(code)) {
        // Stopped, but by a fault or a signal.
        (Ok(-1), ..) => Activity::Unknown,
        (Ok(number), Some(stack), Some(code)) => Activity::Call {
            number,
            stack,
            code,
        },
        _ => Activity::Unknown,
    }
}

/// Whether a line of `stat` is that of a thread of the kernel's in this process, which works for an
/// io_uring instance: it runs none of the program's code, and takes no signal. Takes no memory.
pub(crate) fn is_kernel_worker(stat: &[u8]) -> bool {
    /// `PF_IO_WORKER` among a thread's flags.
    const WORKER: u32 = 0x10;
    /// Which one the flags are of the fields behind the name, which is in brackets.
    const FLAGS: usize = 6;
    let name = stat.iter().rposition(|byte| *byte == b')');
    let fields = name.and_then(|end| stat.get(end + 1..)).unwrap_or_default();
    let mut fields = fields
        .split(|byte| *byte == b' ')
        .filter(|it| !it.is_empty());
    let flags = fields.nth(FLAGS).unwrap_or_default();
    let flags = flags.iter().try_fold(0_u32, |flags, byte| {
        let digit = char::from(*byte).to_digit(10)?;
        flags.checked_mul(10)?.checked_add(digit)
    });
    flags.is_some_and(|flags| flags & WORKER != 0)
}

/// Whether a thread blocks a signal. One field is no reason for a crate.
pub(crate) fn blocks(thread: i32, signal: i32) -> bool {
    let path = format!("/proc/self/task/{thread}/status");
    let text = fs::read_to_string(path).unwrap_or_default();
    let set = text.lines().find_map(|line| line.strip_prefix("SigBlk:"));
    let set = set.and_then(|set| u64::from_str_radix(set.trim(), 16).ok());
    set.is_some_and(|set| set >> (signal - 1) & 1 == 1)
}

/// The name of a call that threads block in.
fn name(number: i64) -> Option<&'static str> {
    let known = [
        (libc::SYS_read, "read"),
        (libc::SYS_write, "write"),
        (libc::SYS_openat, "openat"),
        (libc::SYS_close, "close"),
        (libc::SYS_ppoll, "ppoll"),
        (libc::SYS_pselect6, "pselect6"),
        (libc::SYS_epoll_pwait, "epoll_pwait"),
        (libc::SYS_epoll_pwait2, "epoll_pwait2"),
        (libc::SYS_pread64, "pread64"),
        (libc::SYS_pwrite64, "pwrite64"),
        (libc::SYS_readv, "readv"),
        (libc::SYS_writev, "writev"),
        (libc::SYS_accept, "accept"),
        (libc::SYS_accept4, "accept4"),
        (libc::SYS_connect, "connect"),
        (libc::SYS_recvfrom, "recvfrom"),
        (libc::SYS_recvmsg, "recvmsg"),
        (libc::SYS_sendto, "sendto"),
        (libc::SYS_sendmsg, "sendmsg"),
        (libc::SYS_futex, "futex"),
        (libc::SYS_nanosleep, "nanosleep"),
        (libc::SYS_clock_nanosleep, "clock_nanosleep"),
        (libc::SYS_flock, "flock"),
        (libc::SYS_fcntl, "fcntl"),
        (libc::SYS_fsync, "fsync"),
        (libc::SYS_fdatasync, "fdatasync"),
        (libc::SYS_wait4, "wait4"),
        (libc::SYS_waitid, "waitid"),
        (libc::SYS_rt_sigtimedwait, "rt_sigtimedwait"),
        (libc::SYS_semop, "semop"),
        (libc::SYS_semtimedop, "semtimedop"),
        (libc::SYS_msgrcv, "msgrcv"),
        (libc::SYS_mmap, "mmap"),
        (libc::SYS_munmap, "munmap"),
        (libc::SYS_ioctl, "ioctl"),
    ];
    let mut known = known.iter().chain(&arch::OLD_CALLS);
    let found = known.find(|(known, _)| *known == number);
    found.map(|(_, name)| *name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;

    #[test]
    fn workers_of_the_kernel_are_known_by_their_flags() {
        let line = |name: &str, flags: u32| format!("7 ({name}) S 1 7 7 0 -1 {flags} 0 12 0\n");
        for (name, flags, is) in [
            ("iou-wrk-5", 0x10 | 0x40_0040, true),
            ("a) S 1 2", 0x10, true),
            ("iou-wrk-5", 0x40_0040, false),
        ] {
            assert_eq!(is_kernel_worker(line(name, flags).as_bytes()), is, "{name}");
        }
        assert!(!is_kernel_worker(b"") && !is_kernel_worker(b"7 (cut) S 1"));
        let own = fs::read("/proc/thread-self/stat").unwrap();
        assert!(!is_kernel_worker(&own));
    }

    #[test]
    fn a_thread_in_a_call_is_seen_there() {
        let (send, receive) = mpsc::channel();
        let thread = std::thread::spawn(move || {
            // SAFETY: a number.
            send.send(unsafe { libc::gettid() }).unwrap();
            std::thread::park();
        });
        let id = receive.recv().unwrap();
        while !matches!(activity(id), Activity::Call { number, .. } if number == libc::SYS_futex) {
            std::thread::yield_now();
        }
        assert_eq!(activity(id).to_string(), "in the system call futex");
        assert!(!blocks(id, libc::SIGPROF));
        thread.thread().unpark();
        thread.join().unwrap();
        assert_eq!(activity(id), Activity::Unknown);
    }
}
