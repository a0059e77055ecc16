//! The common part of all sockets that carry bytes or messages: a descriptor, and how long calls in
//! either direction may wait.
//!
//! Two things differ between kinds of sockets; the caller says which apply. *Drained*: a short read
//! of a stream says that nothing is left, while a message says nothing about the next one. *Flags*:
//! everything is sent without SIGPIPE, and without blocking the thread, even if a duplicate of the
//! socket was made blocking.

use super::Shutdown;
use crate::funnel::{Direction, Left};
use crate::simulated::Socket;
use crate::source::{PassOn, Source};
use crate::timeout::{TimeLimit, Timeout};
use crate::transfer::{left, total, useful};
use rustix::io::Errno;
use rustix::net::{
    RecvAncillaryBuffer, RecvFlags, ReturnFlags, SendAncillaryBuffer, SendFlags, recv, recvmsg,
    send, sendmsg, sockopt,
};
use std::io::{self, IoSlice, IoSliceMut};
use std::mem::forget;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Instant;

/// The flags of every send.
pub(super) const SEND: SendFlags = SendFlags::NOSIGNAL.union(SendFlags::DONTWAIT);

/// The flags of every receive.
pub(super) const RECEIVE: RecvFlags = RecvFlags::DONTWAIT;

/// A socket that carries bytes or messages.
#[derive(Debug)]
pub(super) struct Endpoint {
    /// The socket.
    pub source: Source,
    /// How long receiving calls wait.
    pub reading: TimeLimit,
    /// How long sending calls wait.
    pub writing: TimeLimit,
}

/// How many bytes a simulated socket has taken or given, or minus its error: one word, so that
/// callers which the kernel serves keep no room for it.
struct Told(isize);

impl Told {
    /// What has come of a call.
    fn new(done: Result<(usize, Left), Errno>) -> Self {
        match done {
            Ok((count, _)) => Self(count as isize),
            Err(errno) => Self(-(errno.raw_os_error() as isize)),
        }
    }

    /// The bytes; there may be more.
    #[inline(always)]
    fn bytes(self) -> Result<(usize, Left), Errno> {
        if self.0 < 0 {
            return Err(Errno::from_raw_os_error(-self.0 as i32));
        }
        Ok((self.0 as usize, Left::More))
    }
}

impl Endpoint {
    /// An endpoint on a socket, without limits.
    pub(super) fn new(source: Source) -> Self {
        Self {
            source,
            reading: TimeLimit::default(),
            writing: TimeLimit::default(),
        }
    }

    /// An endpoint on a foreign socket, which is made non-blocking.
    ///
    /// # Errors
    ///
    /// As [`Source::new`].
    pub(super) fn adopt(fd: OwnedFd) -> io::Result<Self> {
        Ok(Self::new(Source::new(fd)?))
    }

    /// An endpoint on a socket that is known to be non-blocking.
    ///
    /// # Errors
    ///
    /// As [`Source::from_nonblocking`].
    pub(super) fn from_nonblocking(fd: OwnedFd) -> io::Result<Self> {
        Ok(Self::new(Source::from_nonblocking(fd)?))
    }

    /// A duplicate with a descriptor of its own and copies of the limits.
    ///
    /// # Errors
    ///
    /// When there is no descriptor left.
    pub(super) fn try_clone(&self) -> io::Result<Self> {
        Ok(Self {
            source: self.source.try_clone()?,
            reading: self.reading.duplicate(),
            writing: self.writing.duplicate(),
        })
    }

    /// The limit of a direction.
    fn limit(&self, direction: Direction) -> &TimeLimit {
        match direction {
            Direction::Read => &self.reading,
            Direction::Write => &self.writing,
        }
    }

    /// Sets until when calls in a direction wait, also for those that wait already.
    pub(super) fn set_deadline(&self, direction: Direction, deadline: Option<Instant>) {
        self.limit(direction).set_deadline(deadline);
        self.source.nudge(direction);
    }

    /// Takes the error that the socket has recorded.
    pub(super) fn take_error(&self) -> io::Result<Option<io::Error>> {
        if let Some(socket) = self.source.simulated() {
            return Ok(socket.take_error().map(Into::into));
        }
        Ok(sockopt::socket_error(&self.source)?.err().map(Into::into))
    }

    /// Ends one direction or both, and makes its waiters try again. (The kernel reports most ends,
    /// but not that of the sending direction of a full Unix stream.)
    pub(super) fn shutdown(&self, how: Shutdown) -> io::Result<()> {
        if let Some(socket) = self.source.simulated() {
            return Ok(socket.shutdown(how)?);
        }
        let how = match how {
            Shutdown::Read => rustix::net::Shutdown::Read,
            Shutdown::Write => rustix::net::Shutdown::Write,
            Shutdown::Both => rustix::net::Shutdown::Both,
        };
        rustix::net::shutdown(&self.source, how)?;
        if how != rustix::net::Shutdown::Read {
            self.source.try_again(Direction::Write);
        }
        Ok(())
    }

    /// The funnel for receiving calls.
    #[inline]
    pub(super) fn receiving<T>(
        &self,
        operation: impl FnMut(BorrowedFd<'_>) -> Result<(T, Left), Errno>,
    ) -> io::Result<T> {
        let timeout = Timeout::Set(&self.reading);
        self.source.io(Direction::Read, timeout, operation)
    }

    /// The funnel for sending calls.
    #[inline]
    pub(super) fn sending<T>(
        &self,
        operation: impl FnMut(BorrowedFd<'_>) -> Result<(T, Left), Errno>,
    ) -> io::Result<T> {
        let timeout = Timeout::Set(&self.writing);
        self.source.io(Direction::Write, timeout, operation)
    }

    /// Reads from a stream where a short read always means that it is drained.
    #[inline]
    pub(super) fn read(&self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        self.receiving(|fd| match recv(fd, &mut *buffer, RECEIVE) {
            Ok((count, _)) => Ok((count, left(count, buffer.len()))),
            Err(Errno::AGAIN) => Err(Errno::AGAIN),
            Err(errno) => self.read_simulated(errno, buffer).bytes(),
        })
    }

    /// [`read`](Self::read) into a buffer that is taken when there may be something to read, and
    /// dropped before it waits.
    #[inline]
    pub(super) fn read_with<B: AsMut<[u8]>>(
        &self,
        mut take: impl FnMut() -> B,
    ) -> io::Result<(B, usize)> {
        self.receiving(|fd| {
            let unwound = PassOn(&self.source, Direction::Read);
            let mut buffer = take();
            let room = buffer.as_mut();
            forget(unwound);
            let wanted = room.len();
            if wanted == 0 {
                return Err(Errno::INVAL);
            }
            match recv(fd, &mut *room, RECEIVE) {
                Ok((count, _)) => Ok(((buffer, count), left(count, wanted))),
                Err(Errno::AGAIN) => Err(Errno::AGAIN),
                Err(errno) => {
                    let slices = &mut [IoSliceMut::new(room)];
                    let (count, left) = self.receive_simulated(errno, slices, false)?;
                    Ok(((buffer, count), left))
                }
            }
        })
    }

    /// Reads from a stream with a peer that may send descriptors.
    #[inline]
    pub(super) fn read_with_descriptors(&self, buffer: &mut [u8]) -> io::Result<usize> {
        self.read_vectored(&mut [IoSliceMut::new(buffer)])
    }

    /// Reads from a stream into several buffers. If descriptors came with the bytes, they are
    /// closed unseen. The read ended behind these bytes, and a short read then proves nothing.
    pub(super) fn read_vectored(&self, buffers: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
        let Some(window) = useful(buffers) else {
            return Ok(0);
        };
        let buffers = &mut buffers[window];
        let wanted = total(buffers);
        self.receiving(|fd| {
            let mut nothing = RecvAncillaryBuffer::default();
            let got = match recvmsg(fd, buffers, &mut nothing, RECEIVE) {
                Ok(got) => got,
                Err(Errno::AGAIN) => return Err(Errno::AGAIN),
                Err(errno) => return self.receive_simulated(errno, buffers, false),
            };
            let rest = if got.flags.contains(ReturnFlags::CTRUNC) {
                Left::More
            } else {
                left(got.bytes, wanted)
            };
            Ok((got.bytes, rest))
        })
    }

    /// Writes to a stream.
    #[inline]
    pub(super) fn write(&self, buffer: &[u8]) -> io::Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        self.sending(|fd| {
            let (count, wanted) = match send(fd, buffer, SEND) {
                Ok(count) => (count, buffer.len()),
                Err(Errno::AGAIN) => return Err(Errno::AGAIN),
                // As if all had been wanted: there may be more.
                Err(errno) => {
                    let (count, _) = self.write_simulated(errno, buffer).bytes()?;
                    (count, count)
                }
            };
            Ok((count, left(count, wanted)))
        })
    }

    /// Writes all of a buffer to a stream.
    #[inline]
    pub(super) fn write_all(&self, buffer: &[u8]) -> io::Result<()> {
        let count = self.write(buffer)?;
        if count < buffer.len() {
            return self.write_rest(&buffer[count..]);
        }
        Ok(())
    }

    /// [`write_all`](Self::write_all) for the bytes that found no room at first.
    #[cold]
    fn write_rest(&self, mut rest: &[u8]) -> io::Result<()> {
        while !rest.is_empty() {
            match self.write(rest)? {
                0 => return Err(io::ErrorKind::WriteZero.into()),
                count => rest = &rest[count..],
            }
        }
        Ok(())
    }

    /// Writes several buffers to a stream.
    pub(super) fn write_vectored(&self, buffers: &[IoSlice<'_>]) -> io::Result<usize> {
        let Some(window) = useful(buffers) else {
            return Ok(0);
        };
        let buffers = &buffers[window];
        let wanted = total(buffers);
        self.sending(|fd| {
            let mut nothing = SendAncillaryBuffer::default();
            match sendmsg(fd, buffers, &mut nothing, SEND) {
                Ok(count) => Ok((count, left(count, wanted))),
                Err(Errno::AGAIN) => Err(Errno::AGAIN),
                Err(errno) => self.send_simulated(errno, buffers),
            }
        })
    }

    /// Receives a message, or looks at a stream's next bytes without taking them, depending on the
    /// flags. Afterwards there may be more: the same bytes, or other messages.
    pub(super) fn receive(&self, buffer: &mut [u8], flags: RecvFlags) -> io::Result<usize> {
        self.receiving(|fd| match recv(fd, &mut *buffer, flags | RECEIVE) {
            Ok((count, _)) => Ok((count, Left::More)),
            Err(Errno::AGAIN) => Err(Errno::AGAIN),
            Err(errno) => {
                let peeks = flags.contains(RecvFlags::PEEK);
                self.receive_simulated(errno, &mut [IoSliceMut::new(buffer)], peeks)
            }
        })
    }

    /// Sends a message.
    pub(super) fn send(&self, buffer: &[u8]) -> io::Result<usize> {
        self.sending(|fd| match send(fd, buffer, SEND) {
            Ok(count) => Ok((count, Left::More)),
            Err(Errno::AGAIN) => Err(Errno::AGAIN),
            Err(errno) => self.send_simulated(errno, &[IoSlice::new(buffer)]),
        })
    }

    /// Reads from a simulated socket, after the kernel has refused that with `errno`.
    #[cold]
    #[inline(never)]
    fn read_simulated(&self, errno: Errno, buffer: &mut [u8]) -> Told {
        Told::new(self.receive_simulated(errno, &mut [IoSliceMut::new(buffer)], false))
    }

    /// [`read_simulated`](Self::read_simulated) for writing.
    #[cold]
    #[inline(never)]
    fn write_simulated(&self, errno: Errno, buffer: &[u8]) -> Told {
        Told::new(self.send_simulated(errno, &[IoSlice::new(buffer)]))
    }

    /// Receives on a simulated socket, after the kernel has refused that with `errno`.
    #[cold]
    pub(super) fn receive_simulated(
        &self,
        errno: Errno,
        buffers: &mut [IoSliceMut<'_>],
        peeks: bool,
    ) -> Result<(usize, Left), Errno> {
        let receive = |socket: &dyn Socket| socket.receive(buffers, peeks);
        let ((count, _), left) = self.source.refused(errno, receive)?;
        Ok((count, left))
    }

    /// Sends on a simulated socket, after the kernel has refused that with `errno`.
    #[cold]
    pub(super) fn send_simulated(
        &self,
        errno: Errno,
        buffers: &[IoSlice<'_>],
    ) -> Result<(usize, Left), Errno> {
        self.source
            .refused(errno, |socket| socket.send(buffers, None))
    }
}

impl AsFd for Endpoint {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.source.as_fd()
    }
}
