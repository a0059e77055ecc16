//! What kind of socket a descriptor of somebody else is.
//!
//! A stream's short read says that nothing is left until the next event, and no call is spent on finding that
//! out. Of sockets that keep messages apart this is not true, of none of TCP where a peer can send descriptors
//! along neither: who took it for true would wait for ever beside what is there. So a descriptor that is
//! not of the kind that its new type stands for is refused.

use rustix::net::{AddressFamily, SocketType, ipproto, sockopt};
use std::io;
use std::os::fd::AsFd;

/// Of TCP, also over several paths.
///
/// # Errors
///
/// `InvalidInput` otherwise; those of `getsockopt`.
pub fn expect_tcp(fd: impl AsFd) -> io::Result<()> {
    let protocol = sockopt::socket_protocol(fd)?;
    expect(matches!(protocol, Some(ipproto::TCP | ipproto::MPTCP)))
}

/// A Unix stream.
///
/// # Errors
///
/// `InvalidInput` otherwise; those of `getsockopt`.
pub fn expect_unix_stream(fd: impl AsFd) -> io::Result<()> {
    let fd = fd.as_fd();
    let is_stream = sockopt::socket_type(fd)? == SocketType::STREAM;
    expect(is_stream && sockopt::socket_domain(fd)? == AddressFamily::UNIX)
}

/// Anything: nothing is concluded from what it does.
///
/// # Errors
///
/// None; the type is that of the others.
pub fn expect_any(_: impl AsFd) -> io::Result<()> {
    Ok(())
}

/// An error unless it is so.
fn expect(is_so: bool) -> io::Result<()> {
    if is_so {
        return Ok(());
    }
    Err(io::Error::new(
        io::ErrorKind::InvalidInput,
        "a socket of another kind",
    ))
}
