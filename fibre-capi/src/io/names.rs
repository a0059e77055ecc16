//! Names of hosts: the system's look-ups, on a thread of the pool, as they wait for files and
//! servers.

use super::library::looking_up;
use std::ffi::{c_char, c_int, c_void};

unsafe extern "C" {
    fn gethostbyname(name: *const c_char) -> *mut libc::hostent;
    fn gethostbyname2(name: *const c_char, family: c_int) -> *mut libc::hostent;
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
    fn gethostbyname2_r(
        name: *const c_char,
        family: c_int,
        found: *mut libc::hostent,
        room: *mut c_char,
        length: usize,
        result: *mut *mut libc::hostent,
        error: *mut c_int,
    ) -> c_int;
    fn gethostbyaddr_r(
        address: *const c_void,
        address_length: libc::socklen_t,
        family: c_int,
        found: *mut libc::hostent,
        room: *mut c_char,
        length: usize,
        result: *mut *mut libc::hostent,
        error: *mut c_int,
    ) -> c_int;
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
    looking_up(|| unsafe { libc::getaddrinfo(node, service, hints, result) })
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
    looking_up(|| unsafe {
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
    looking_up(|| unsafe { gethostbyname(name) })
}

/// `gethostbyaddr`: as [`fibre_gethostbyname`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_gethostbyaddr(
    address: *const c_void,
    length: libc::socklen_t,
    family: c_int,
) -> *mut libc::hostent {
    // SAFETY: the caller's address.
    looking_up(|| unsafe { gethostbyaddr(address, length, family) })
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
    looking_up(|| unsafe { gethostbyname_r(name, found, room, length, result, error) })
}

/// `gethostbyname2`: [`fibre_gethostbyname`] for a family of addresses.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_gethostbyname2(
    name: *const c_char,
    family: c_int,
) -> *mut libc::hostent {
    // SAFETY: the caller's name.
    looking_up(|| unsafe { gethostbyname2(name, family) })
}

/// `gethostbyname2_r`: [`fibre_gethostbyname_r`] for a family of addresses.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_gethostbyname2_r(
    name: *const c_char,
    family: c_int,
    found: *mut libc::hostent,
    room: *mut c_char,
    length: usize,
    result: *mut *mut libc::hostent,
    error: *mut c_int,
) -> c_int {
    // SAFETY: the caller's pointers, which stay valid.
    looking_up(|| unsafe { gethostbyname2_r(name, family, found, room, length, result, error) })
}

/// `gethostbyaddr_r`: into the caller's memory. Blocks the fibre.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_gethostbyaddr_r(
    address: *const c_void,
    address_length: libc::socklen_t,
    family: c_int,
    found: *mut libc::hostent,
    room: *mut c_char,
    length: usize,
    result: *mut *mut libc::hostent,
    error: *mut c_int,
) -> c_int {
    // SAFETY: the caller's pointers, which stay valid.
    looking_up(|| unsafe {
        gethostbyaddr_r(
            address,
            address_length,
            family,
            found,
            room,
            length,
            result,
            error,
        )
    })
}
