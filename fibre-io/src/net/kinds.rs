//! Checks what kind a foreign socket is.
//!
//! A TCP stream's short read proves that nothing is left until the next event, and saves the call
//! that would find that out. This does not hold for sockets that keep messages apart, nor for other
//! streams with peers that can send descriptors along. A reader that relied on it there would wait
//! for ever beside unread data. So a conversion refuses a descriptor of the wrong kind.

use rustix::net::{AddressFamily, SocketType, ipproto, sockopt};
use std::io;
use std::os::fd::AsFd;

/// Expects a TCP socket, also over several paths (MPTCP).
///
/// # Errors
///
/// `InvalidInput` otherwise; those of `getsockopt`.
pub(super) fn expect_tcp(fd: impl AsFd) -> io::Result<()> {
    let protocol = sockopt::socket_protocol(fd)?;
    expect(matches!(protocol, Some(ipproto::TCP | ipproto::MPTCP)))
}

/// Expects a Unix stream.
///
/// # Errors
///
/// `InvalidInput` otherwise; those of `getsockopt`.
pub(super) fn expect_unix_stream(fd: impl AsFd) -> io::Result<()> {
    let fd = fd.as_fd();
    let is_stream = sockopt::socket_type(fd)? == SocketType::STREAM;
    expect(is_stream && sockopt::socket_domain(fd)? == AddressFamily::UNIX)
}

/// Accepts any socket: nothing is concluded from its short reads.
///
/// # Errors
///
/// None; the type is that of the others.
pub(super) fn expect_any(_: impl AsFd) -> io::Result<()> {
    Ok(())
}

/// The error of the checks, unless `is_so`.
fn expect(is_so: bool) -> io::Result<()> {
    if is_so {
        return Ok(());
    }
    Err(io::Error::new(
        io::ErrorKind::InvalidInput,
        "a socket of another kind",
    ))
}
