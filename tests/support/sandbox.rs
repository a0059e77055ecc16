//! Sandboxes that refuse one system call.

use libc::{c_long, c_ulong, sock_filter, sock_fprog};
use std::io;

/// Makes the kernel refuse a call to this thread, and to all that it starts.
pub fn refuse(call: c_long, errno: i32) {
    install(call, errno, 0);
}

/// Makes the kernel refuse a call to all threads of this process.
pub fn refuse_everywhere(call: c_long, errno: i32) {
    install(call, errno, libc::SECCOMP_FILTER_FLAG_TSYNC);
}

/// Installs the filter.
fn install(call: c_long, errno: i32, flags: c_ulong) {
    let number = std::mem::offset_of!(libc::seccomp_data, nr) as u32;
    let statement = |code: u32, value: u32, differs: u8| sock_filter {
        code: code as u16,
        jt: 0,
        jf: differs,
        k: value,
    };
    let load = libc::BPF_LD | libc::BPF_W | libc::BPF_ABS;
    let equals = libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K;
    let say = libc::BPF_RET | libc::BPF_K;
    let mut filter = [
        statement(load, number, 0),
        statement(equals, call as u32, 1),
        statement(say, libc::SECCOMP_RET_ERRNO | errno as u32, 0),
        statement(say, libc::SECCOMP_RET_ALLOW, 0),
    ];
    let program = sock_fprog {
        len: filter.len() as u16,
        filter: filter.as_mut_ptr(),
    };
    let (yes, no): (c_ulong, c_ulong) = (1, 0);
    let mode = libc::c_long::from(libc::SECCOMP_SET_MODE_FILTER as i32);
    // SAFETY: the program is valid during the calls, which copy it.
    let done = unsafe {
        libc::prctl(libc::PR_SET_NO_NEW_PRIVS, yes, no, no, no) == 0
            && libc::syscall(libc::SYS_seccomp, mode, flags, &raw const program) == 0
    };
    assert!(done, "{}", io::Error::last_os_error());
}
