//! Names of hosts and services: the system's look-ups, on a thread of the pool, as they wait for files and servers.
//!
//! What a look-up leaves in `errno` and `h_errno`, which are of a thread, is brought to the caller's.

use crate::boundary::keep_errno;
use crate::errno;
use fibre_core::blocking;
use std::ffi::{c_char, c_int, c_void};

unsafe extern "C" {
    /// Where `h_errno` of this thread is.
    safe fn __h_errno_location() -> *mut c_int;
    fn gethostbyname(name: *const c_char) -> *mut libc::hostent;
    fn gethostbyaddr(
        address: *const c_void,
        length: libc::socklen_t,
        family: c_int,
    ) -> *mut libc::hostent;
    fn gethostbyname_r(
        name: *const c_char,
        found: *mut libc::hostent,
        room: *mut c_char,
        length: usize,
        result: *mut *mut libc::hostent,
        error: *mut c_int,
    ) -> c_int;
}

/// Passes a program's pointers to the thread that works for it while it waits.
#[derive(Clone, Copy)]
struct Passed<T>(T);

// SAFETY: the caller waits until the other thread is ready with them.
unsafe impl<T> Send for Passed<T> {}

impl<T> Passed<T> {
    /// Taken as a whole, so that closures take it as a whole.
    fn take(self) -> T {
        self.0
    }
}

/// Makes a look-up elsewhere, and leaves here what it leaves there.
fn elsewhere<R>(look_up: impl FnOnce() -> R) -> R {
    let look_up = Passed(look_up);
    let (result, number, host_number) = keep_errno(|| {
        let done = blocking(move || {
            let result = (look_up.take())();
            // SAFETY: this thread's.
            Passed((result, errno::get(), unsafe { *__h_errno_location() }))
        });
        done.take()
    });
    errno::set(number);
    set_host_errno(host_number);
    result
}

/// Sets `h_errno` of the thread that the fibre is on now.
#[inline(never)]
fn set_host_errno(number: c_int) {
    // SAFETY: this thread's, and used at once.
    unsafe { *__h_errno_location() = number };
}

/// `getaddrinfo`. Blocks the fibre.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_getaddrinfo(
    node: *const c_char,
    service: *const c_char,
    hints: *const libc::addrinfo,
    result: *mut *mut libc::addrinfo,
) -> c_int {
    // SAFETY: the caller's pointers, which stay valid.
    elsewhere(|| unsafe { libc::getaddrinfo(node, service, hints, result) })
}

/// `getnameinfo`. Blocks the fibre.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_getnameinfo(
    address: *const libc::sockaddr,
    length: libc::socklen_t,
    host: *mut c_char,
    host_room: libc::socklen_t,
    service: *mut c_char,
    service_room: libc::socklen_t,
    flags: c_int,
) -> c_int {
    // SAFETY: the caller's pointers, which stay valid.
    elsewhere(|| unsafe {
        libc::getnameinfo(
            address,
            length,
            host,
            host_room,
            service,
            service_room,
            flags,
        )
    })
}

/// `gethostbyname`: into memory that the next such call of any fibre uses again. Blocks the fibre.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_gethostbyname(name: *const c_char) -> *mut libc::hostent {
    // SAFETY: the caller's name.
    elsewhere(|| unsafe { gethostbyname(name) })
}

/// `gethostbyaddr`: as [`fibre_gethostbyname`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_gethostbyaddr(
    address: *const c_void,
    length: libc::socklen_t,
    family: c_int,
) -> *mut libc::hostent {
    // SAFETY: the caller's address.
    elsewhere(|| unsafe { gethostbyaddr(address, length, family) })
}

/// `gethostbyname_r`: into the caller's memory. Blocks the fibre.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_gethostbyname_r(
    name: *const c_char,
    found: *mut libc::hostent,
    room: *mut c_char,
    length: usize,
    result: *mut *mut libc::hostent,
    error: *mut c_int,
) -> c_int {
    // SAFETY: the caller's pointers, which stay valid.
    elsewhere(|| unsafe { gethostbyname_r(name, found, room, length, result, error) })
}
