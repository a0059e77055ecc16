//! The system's databases of users, groups and services: looked up on a thread of the pool, as they
//! may lie with servers.
//!
//! As with the system's, a call without the `_r` returns memory that the next such call of any
//! fibre uses again.

use super::library::looking_up;
use std::ffi::{c_char, c_int};

unsafe extern "C" {
    fn getservbyname_r(
        name: *const c_char,
        protocol: *const c_char,
        found: *mut libc::servent,
        room: *mut c_char,
        length: usize,
        result: *mut *mut libc::servent,
    ) -> c_int;
    fn getservbyport_r(
        port: c_int,
        protocol: *const c_char,
        found: *mut libc::servent,
        room: *mut c_char,
        length: usize,
        result: *mut *mut libc::servent,
    ) -> c_int;
}

/// `getservbyname`. Blocks the fibre.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_getservbyname(
    name: *const c_char,
    protocol: *const c_char,
) -> *mut libc::servent {
    // SAFETY: the caller's names, which stay valid.
    looking_up(|| unsafe { libc::getservbyname(name, protocol) })
}

/// `getservbyport`. Blocks the fibre.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_getservbyport(
    port: c_int,
    protocol: *const c_char,
) -> *mut libc::servent {
    // SAFETY: the caller's name, which stays valid.
    looking_up(|| unsafe { libc::getservbyport(port, protocol) })
}

/// `getservbyname_r`: into the caller's memory. Blocks the fibre.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_getservbyname_r(
    name: *const c_char,
    protocol: *const c_char,
    found: *mut libc::servent,
    room: *mut c_char,
    length: usize,
    result: *mut *mut libc::servent,
) -> c_int {
    // SAFETY: the caller's pointers, which stay valid.
    looking_up(|| unsafe { getservbyname_r(name, protocol, found, room, length, result) })
}

/// `getservbyport_r`: into the caller's memory. Blocks the fibre.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_getservbyport_r(
    port: c_int,
    protocol: *const c_char,
    found: *mut libc::servent,
    room: *mut c_char,
    length: usize,
    result: *mut *mut libc::servent,
) -> c_int {
    // SAFETY: the caller's pointers, which stay valid.
    looking_up(|| unsafe { getservbyport_r(port, protocol, found, room, length, result) })
}

/// `getpwnam`. Blocks the fibre.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_getpwnam(name: *const c_char) -> *mut libc::passwd {
    // SAFETY: the caller's name, which stays valid.
    looking_up(|| unsafe { libc::getpwnam(name) })
}

/// `getpwuid`. Blocks the fibre.
#[unsafe(no_mangle)]
pub extern "C" fn fibre_getpwuid(user: libc::uid_t) -> *mut libc::passwd {
    // SAFETY: a plain number.
    looking_up(|| unsafe { libc::getpwuid(user) })
}

/// `getpwnam_r`: into the caller's memory. Blocks the fibre.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_getpwnam_r(
    name: *const c_char,
    found: *mut libc::passwd,
    room: *mut c_char,
    length: usize,
    result: *mut *mut libc::passwd,
) -> c_int {
    // SAFETY: the caller's pointers, which stay valid.
    looking_up(|| unsafe { libc::getpwnam_r(name, found, room, length, result) })
}

/// `getpwuid_r`: into the caller's memory. Blocks the fibre.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_getpwuid_r(
    user: libc::uid_t,
    found: *mut libc::passwd,
    room: *mut c_char,
    length: usize,
    result: *mut *mut libc::passwd,
) -> c_int {
    // SAFETY: the caller's pointers, which stay valid.
    looking_up(|| unsafe { libc::getpwuid_r(user, found, room, length, result) })
}

/// `getgrnam`. Blocks the fibre.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_getgrnam(name: *const c_char) -> *mut libc::group {
    // SAFETY: the caller's name, which stays valid.
    looking_up(|| unsafe { libc::getgrnam(name) })
}

/// `getgrgid`. Blocks the fibre.
#[unsafe(no_mangle)]
pub extern "C" fn fibre_getgrgid(group: libc::gid_t) -> *mut libc::group {
    // SAFETY: a plain number.
    looking_up(|| unsafe { libc::getgrgid(group) })
}

/// `getgrnam_r`: into the caller's memory. Blocks the fibre.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_getgrnam_r(
    name: *const c_char,
    found: *mut libc::group,
    room: *mut c_char,
    length: usize,
    result: *mut *mut libc::group,
) -> c_int {
    // SAFETY: the caller's pointers, which stay valid.
    looking_up(|| unsafe { libc::getgrnam_r(name, found, room, length, result) })
}

/// `getgrgid_r`: into the caller's memory. Blocks the fibre.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_getgrgid_r(
    group: libc::gid_t,
    found: *mut libc::group,
    room: *mut c_char,
    length: usize,
    result: *mut *mut libc::group,
) -> c_int {
    // SAFETY: the caller's pointers, which stay valid.
    looking_up(|| unsafe { libc::getgrgid_r(group, found, room, length, result) })
}
