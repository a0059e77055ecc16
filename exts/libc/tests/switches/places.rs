//! What calls are made on.

use crate::support::Rider;
use std::ffi::c_int;
use std::fs::File;
use std::io::Read;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::time::Duration;

/// A moment, for calls that time out.
pub(crate) const SHORT: Duration = Duration::from_millis(5);

/// Bytes that no buffer of the kernel's takes at once.
pub(crate) const MANY: usize = 4 << 20;

/// A name, and what calls it.
pub(crate) type Call = (&'static str, fn(&Rider));

/// Lets another fibre do something once the caller waits.
pub(crate) fn later(something: impl FnOnce() + Send + 'static) {
    fibre::spawn(move || {
        fibre::yield_now();
        something();
    });
}

/// Both ends of a connection.
pub(crate) fn pair() -> (UnixStream, UnixStream) {
    UnixStream::pair().unwrap()
}

/// Lets another fibre read `count` bytes once the caller waits.
pub(crate) fn read_later(mut from: impl Read + Send + 'static, count: usize) {
    later(move || from.read_exact(&mut vec![0; count]).unwrap());
}

/// The number of a descriptor.
pub(crate) fn number(fd: &impl AsRawFd) -> c_int {
    fd.as_raw_fd()
}

/// A file without a name, of so many bytes.
pub(crate) fn file(length: usize) -> OwnedFd {
    // SAFETY: a name.
    let fd = unsafe { libc::memfd_create(c"test".as_ptr(), 0) };
    assert!(fd >= 0);
    // SAFETY: it is new, and nobody else's.
    let file = unsafe { File::from_raw_fd(fd) };
    file.set_len(length as u64).unwrap();
    file.into()
}
