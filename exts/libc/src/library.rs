//! Waiting for child processes, threads and names of hosts.

use crate::entry::{cancellation_point, may_switch, plain, plain_calls, stand_in};
use crate::errno;
use fibre_io::posix::boundary::Passed;
use fibre_io::posix::child::{wait4 as wait_for_child, waitid as wait_for};
use fibre_io::posix::switching::Switching::OnlyToWait;
use fibre_io::posix::syscall::syscall;
use fibre_io::raw::patiently;
use std::ffi::{c_int, c_uint, c_void};
use std::ptr;

/// Stands for any child.
const ANY_CHILD: libc::pid_t = -1;

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn wait(status: *mut c_int) -> libc::pid_t {
    // SAFETY: the caller's place.
    unsafe { wait4(ANY_CHILD, status, 0, ptr::null_mut()) }
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn wait3(
    status: *mut c_int,
    options: c_int,
    usage: *mut libc::rusage,
) -> libc::pid_t {
    // SAFETY: the caller's places.
    unsafe { wait4(ANY_CHILD, status, options, usage) }
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn waitpid(
    pid: libc::pid_t,
    status: *mut c_int,
    options: c_int,
) -> libc::pid_t {
    // SAFETY: the caller's place.
    unsafe { wait4(pid, status, options, ptr::null_mut()) }
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn wait4(
    pid: libc::pid_t,
    status: *mut c_int,
    options: c_int,
    usage: *mut libc::rusage,
) -> libc::pid_t {
    let call = syscall!(SYS_wait4, pid, status, options, usage);
    if !may_switch() {
        return plain(call);
    }
    cancellation_point();
    stand_in(|| wait_for_child(pid, options, call, OnlyToWait))
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn waitid(
    kind: c_uint,
    id: c_uint,
    information: *mut c_void,
    options: c_int,
) -> c_int {
    let call = syscall!(SYS_waitid, kind, id, information, options, 0);
    if !may_switch() {
        return plain(call);
    }
    cancellation_point();
    stand_in(|| wait_for(kind, id, options, call, OnlyToWait))
}

unsafe extern "C" {
    fn pthread_tryjoin_np(thread: libc::pthread_t, result: *mut *mut c_void) -> c_int;
    /// Without a time, it is `pthread_join`.
    fn pthread_timedjoin_np(
        thread: libc::pthread_t,
        result: *mut *mut c_void,
        time: *const libc::timespec,
    ) -> c_int;
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn pthread_join(
    thread: libc::pthread_t,
    result: *mut *mut c_void,
) -> c_int {
    cancellation_point();
    // SAFETY: the caller's thread and place.
    #[cfg(not(target_feature = "crt-static"))]
    if let Some(done) = unsafe { crate::threads::join(thread, result) } {
        return done;
    }
    // SAFETY: the caller's thread and place.
    let join = move || unsafe { pthread_timedjoin_np(thread, result, ptr::null()) };
    // SAFETY: numbers only. A thread that joins itself is refused by the system.
    if !may_switch() || unsafe { libc::pthread_equal(thread, libc::pthread_self()) } != 0 {
        return join();
    }
    // SAFETY: the caller's thread and place.
    match unsafe { pthread_tryjoin_np(thread, result) } {
        libc::EBUSY => {
            let number = errno::get();
            let join = Passed(join);
            let joined = plain_calls(|| patiently(move || (join.take())()));
            errno::set(number);
            joined
        }
        done => done,
    }
}

/// A static executable has one `getaddrinfo`, the C library's: there is no next one to be called.
#[cfg(not(target_feature = "crt-static"))]
mod names {
    use super::{Passed, c_int, errno, may_switch, plain_calls};
    use crate::next::call_next;
    use fibre_core::blocking;
    use std::ffi::c_char;

    #[unsafe(no_mangle)]
    unsafe extern "C" fn getaddrinfo(
        node: *const c_char,
        service: *const c_char,
        hints: *const libc::addrinfo,
        result: *mut *mut libc::addrinfo,
    ) -> c_int {
        // The caller's pointers stay valid.
        let look_up = move || {
            call_next!(getaddrinfo: fn(
                node => *const c_char,
                service => *const c_char,
                hints => *const libc::addrinfo,
                result => *mut *mut libc::addrinfo
            ) -> c_int)
        };
        // SAFETY: null, or the caller's.
        let is_numeric = unsafe { hints.as_ref() }
            .is_some_and(|hints| hints.ai_flags & libc::AI_NUMERICHOST != 0);
        if is_numeric || node.is_null() || !may_switch() {
            return look_up();
        }
        let own = errno::get();
        let look_up = Passed(move || {
            let answer = look_up();
            (answer, errno::get())
        });
        let (answer, number) = plain_calls(|| blocking(move || (look_up.take())()));
        let failed = answer == libc::EAI_SYSTEM;
        errno::set(if failed { number } else { own });
        answer
    }
}
