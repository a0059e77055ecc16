//! The child's side of the tracer: it asks for faults, and how many there were.
//!
//! It asks by a `prctl` that the kernel does not know and the tracer answers. What is traced is
//! told by a filter of system calls, which all threads inherit that are started later.

use super::plan::TRACED;
use super::support::process::plays;
use libc::{c_long, c_ulong, sock_filter, sock_fprog};

/// What a process plays that is traced.
pub const ROLE: &str = "traced";

/// The `prctl` option that the tracer answers.
pub const ASK: c_long = 0x6661_756c;

/// What can be asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Question {
    /// Faults shall begin; how many there were.
    Begin = 1,
    /// Faults shall end; how many there were.
    End = 2,
}

/// Whether this process is the child.
pub fn is_child() -> bool {
    plays(ROLE)
}

/// Asks the tracer.
pub fn ask(question: Question) -> u64 {
    // SAFETY: no pointers.
    let answer = unsafe { libc::syscall(libc::SYS_prctl, ASK, question as c_long) };
    u64::try_from(answer).expect("a tracer answers")
}

/// Has the system calls of this thread, and of all that it starts, stop at the tracer.
pub fn take() {
    let nr = std::mem::offset_of!(libc::seccomp_data, nr) as u32;
    let statement = |code: u32, value: u32, matches: u8, differs: u8| sock_filter {
        code: code as u16,
        jt: matches,
        jf: differs,
        k: value,
    };
    let mut filter = vec![statement(
        libc::BPF_LD | libc::BPF_W | libc::BPF_ABS,
        nr,
        0,
        0,
    )];
    for (place, call) in TRACED.iter().enumerate() {
        let to_the_end = (TRACED.len() - place) as u8;
        let equals = libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K;
        filter.push(statement(equals, *call as u32, to_the_end, 0));
    }
    let say = |what| statement(libc::BPF_RET | libc::BPF_K, what, 0, 0);
    filter.push(say(libc::SECCOMP_RET_ALLOW));
    filter.push(say(libc::SECCOMP_RET_TRACE));
    let program = sock_fprog {
        len: filter.len() as u16,
        filter: filter.as_mut_ptr(),
    };
    let (yes, no): (c_ulong, c_ulong) = (1, 0);
    // SAFETY: the program is valid during the calls, which copy it.
    let done = unsafe {
        libc::prctl(libc::PR_SET_NO_NEW_PRIVS, yes, no, no, no) == 0
            && libc::prctl(
                libc::PR_SET_SECCOMP,
                libc::SECCOMP_MODE_FILTER as c_ulong,
                &raw const program,
            ) == 0
    };
    assert!(done, "{}", std::io::Error::last_os_error());
}
