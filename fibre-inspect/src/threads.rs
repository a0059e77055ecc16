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
