//! Copying without passing all bytes through this program: `splice` between streams and pipes,
//! `sendfile` from files.
//!
//! `splice` needs a pipe on one side, and when it would block it does not say which side is the
//! cause. So bytes go through a pipe of the call's own, which is empty before it is filled and not
//! empty before it is drained: only the other side can block, so the call waits at that gate. A
//! pipe costs three system calls, so the call makes one only when a read has filled a buffer, and
//! copies small amounts through the buffer alone. It does the same for whatever the kernel cannot
//! splice or send: files of `/proc`, some of FUSE, and descriptors that were opened like a file and
//! are not one.
//!
//! Reading a file may wait for a disk, so a thread that may block calls `sendfile`, except for a
//! cached piece that fits a buffer.
//!
//! `ends` lists the types that the kernel can copy between.

mod ends;

pub use ends::{CopyFrom, CopyTo, Duplex, Origin};

use crate::funnel::{Direction, Left};
use crate::source::Source;
use crate::timeout::Timeout;
use crate::transfer::storage::is_direct;
use fibre_core::{blocking, in_fibre, scope};
use rustix::fs::{SeekFrom, seek, tell};
use rustix::io::{Errno, ReadWriteFlags, pread, preadv2, retry_on_intr};
use rustix::pipe::{PipeFlags, SpliceFlags, pipe_with, splice};
use std::io::{self, IoSliceMut};
use std::net::Shutdown;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::panic::resume_unwind;

/// What is copied by this program; on the stack.
const BUFFER: usize = 8 << 10;

/// The most that a pipe takes.
const PIPE: usize = 64 << 10;

/// The most that is sent from a file at once.
const PIECE: usize = 1 << 20;

/// Copies all bytes from one to the other until the end of the first; returns how many. Blocks the
/// fibre, or the thread if the caller is not a fibre; the time-outs of the ends hold. Does not end
/// the second.
///
/// The kernel copies between sockets and pipes, and from files, if there are many bytes. For all
/// other readers and writers use [`std::io::copy`], which also takes these.
///
/// ```
/// use fibre::io::copy;
/// use fibre::io::pipe;
/// use std::io::{Read, Write};
///
/// let ((from, mut sender), (mut receiver, to)) = (pipe()?, pipe()?);
/// let proxy = fibre::spawn(move || copy(&from, &to));
/// sender.write_all(b"passed on")?;
/// drop(sender);
/// let mut text = String::new();
/// receiver.read_to_string(&mut text)?;
/// assert_eq!(text, "passed on");
/// assert_eq!(proxy.join().unwrap()?, 9);
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// # Errors
///
/// Those of reading and writing; then some bytes may have been taken that have not been written. On
/// a plain thread of a program that does not ignore SIGPIPE, writing to a socket without a peer
/// raises it.
pub fn copy<R: CopyFrom + ?Sized, W: CopyTo + ?Sized>(from: &R, to: &W) -> io::Result<u64> {
    let (source, timeout) = match from.origin() {
        Origin::Stream(source, timeout) => (source, timeout),
        Origin::File(file) => return copy_file(from, file, to),
    };
    let mut total = 0;
    let mut buffer = [0; BUFFER];
    let mut way = Way::Untried;
    loop {
        // It waits, knows the end, and gets over urgent data. Splicing stands still there.
        let count = from.read_some(&mut buffer)?;
        if count == 0 {
            return Ok(total);
        }
        write_all(to, &buffer[..count])?;
        total += count as u64;
        if count == buffer.len() {
            way = splice_what_is_there(way, source, timeout, to, &mut total)?;
        }
    }
}

/// Copies both ways until both ends have ended; returns the bytes there and back. It passes on the
/// end of one direction, while the other goes on: half-closed connections stay half-closed. If one
/// direction fails, both are ended. Blocks the fibre, or the thread if the caller is not a fibre.
///
/// # Errors
///
/// The first direction's, else the second's: see [`copy`].
pub fn copy_bidirectional<A, B>(one: &A, other: &B) -> io::Result<(u64, u64)>
where
    A: Duplex + Sync + ?Sized,
    B: Duplex + Sync + ?Sized,
{
    let (there, back) = scope(|scope| {
        let there = scope.spawn(|| pass_on(one, other));
        let back = pass_on(other, one);
        (there.join(), back)
    });
    let there = there.unwrap_or_else(|payload| resume_unwind(payload))?;
    Ok((there, back?))
}

/// One direction of [`copy_bidirectional`].
fn pass_on<A: Duplex + ?Sized, B: Duplex + ?Sized>(from: &A, to: &B) -> io::Result<u64> {
    let copied = copy(from, to);
    // A receiver that is gone need not be told.
    if copied.is_ok() {
        let _ = to.end(Shutdown::Write);
    } else {
        let _ = from.end(Shutdown::Both);
        let _ = to.end(Shutdown::Both);
    }
    copied
}

/// Sends a part of a file, `count` bytes from `offset` on, or less if the file ends before; returns
/// how many. Does not use the file's position. Blocks the fibre, or the thread if the caller is not
/// a fibre.
///
/// ```
/// use fibre::io::sendfile;
/// use fibre::os::unix::net::UnixStream;
/// use std::io::Read;
///
/// let (sender, mut receiver) = UnixStream::pair()?;
/// let file = std::fs::File::open("/proc/self/exe")?;
/// assert_eq!(sendfile(&sender, &file, 1, 3)?, 3);
/// drop(sender);
/// let mut magic = String::new();
/// receiver.read_to_string(&mut magic)?;
/// assert_eq!(magic, "ELF");
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// # Errors
///
/// As for [`copy`], and those of reading the file. `InvalidInput` for an offset beyond
/// [`i64::MAX`].
pub fn sendfile<W: CopyTo + ?Sized>(
    to: &W,
    file: impl AsFd,
    offset: u64,
    count: u64,
) -> io::Result<u64> {
    // Beyond that the kernel takes it for the file's position.
    if i64::try_from(offset).is_err() {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let file = file.as_fd();
    let mut total = 0;
    if send(to, file, offset, count, &mut total)? == Reached::End {
        return Ok(total);
    }
    let mut buffer = [0; BUFFER];
    while total < count {
        let most = usize::try_from(count - total).unwrap_or(BUFFER).min(BUFFER);
        let piece = &mut buffer[..most];
        let read = || pread(file, &mut *piece, offset.saturating_add(total));
        match blocking(|| retry_on_intr(read))? {
            0 => break,
            read => {
                write_all(to, &piece[..read])?;
                total += read as u64;
            }
        }
    }
    Ok(total)
}

/// [`copy`] from a file's position on, which it moves, if the file has one.
fn copy_file<R, W>(from: &R, file: BorrowedFd<'_>, to: &W) -> io::Result<u64>
where
    R: CopyFrom + ?Sized,
    W: CopyTo + ?Sized,
{
    let mut total = 0;
    match tell(file) {
        // What is no file but was opened like one: a pipe, a terminal.
        Err(Errno::SPIPE) => {}
        Err(errno) => return Err(errno.into()),
        Ok(start) => {
            let reached = send(to, file, start, u64::MAX, &mut total);
            // Also after an error: what was sent was taken.
            seek(file, SeekFrom::Start(start + total))?;
            if reached? == Reached::End {
                return Ok(total);
            }
        }
    }
    let mut buffer = [0; BUFFER];
    loop {
        match from.read_some(&mut buffer) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
            Ok(0) => return Ok(total),
            Ok(read) => {
                write_all(to, &buffer[..read])?;
                total += read as u64;
            }
        }
    }
}

/// Sends a part of a file, as far as the kernel does so.
fn send<W: CopyTo + ?Sized>(
    to: &W,
    file: BorrowedFd<'_>,
    offset: u64,
    count: u64,
    total: &mut u64,
) -> io::Result<Reached> {
    while *total < count {
        let most = usize::try_from(count - *total).unwrap_or(PIECE).min(PIECE);
        match send_piece(to, file, offset.saturating_add(*total), most)? {
            None => return Ok(Reached::Limits),
            Some(0) => break,
            Some(sent) => *total += sent as u64,
        }
    }
    Ok(Reached::End)
}

/// Sends a piece of a file; 0 at its end, `None` if the kernel cannot.
fn send_piece<W: CopyTo + ?Sized>(
    to: &W,
    file: BorrowedFd<'_>,
    offset: u64,
    most: usize,
) -> io::Result<Option<usize>> {
    if most <= BUFFER && in_fibre() && !is_direct(file) {
        let mut buffer = [0; BUFFER];
        let mut slices = [IoSliceMut::new(&mut buffer[..most])];
        if let Ok(count) = preadv2(file, &mut slices, offset, ReadWriteFlags::NOWAIT) {
            return write_all(to, &buffer[..count]).map(|()| Some(count));
        }
        // Not cached, or it is not known: the other way says what is wrong.
    }
    let (socket, timeout) = to.destination();
    if socket.simulated().is_some() {
        return Ok(None);
    }
    socket.io(Direction::Write, timeout, |fd| {
        socket.keep_nonblocking();
        // `sendfile` moves the offset, also if it fails.
        let mut offset = offset;
        allowed(blocking(|| {
            rustix::fs::sendfile(fd, file, Some(&mut offset), most)
        }))
    })
}

/// What copying inside the kernel has come to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reached {
    /// The end of the bytes.
    End,
    /// The end of what the kernel can do with these descriptors. No bytes are lost.
    Limits,
}

/// How far splicing has come in a copy.
enum Way {
    /// It has not been tried.
    Untried,
    /// By this pipe, which is empty: what is read from, and what is written to.
    Pipe(OwnedFd, OwnedFd),
    /// The kernel cannot do it with these descriptors.
    Closed,
}

/// Copies by a pipe until nothing is there. No bytes are lost where the way is found to be closed.
fn splice_what_is_there<W: CopyTo + ?Sized>(
    way: Way,
    source: &Source,
    timeout: Timeout<'_>,
    to: &W,
    total: &mut u64,
) -> io::Result<Way> {
    let (reader, writer) = match way {
        Way::Untried if is_simulated(source, to) => return Ok(Way::Closed),
        Way::Untried => match pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK) {
            Ok(pipe) => pipe,
            Err(_) => return Ok(Way::Closed),
        },
        Way::Pipe(reader, writer) => (reader, writer),
        Way::Closed => return Ok(Way::Closed),
    };
    loop {
        let filled = source.io(Direction::Read, timeout, |fd| {
            source.keep_nonblocking();
            match splice_some(fd, &writer, PIPE) {
                // Whether it is the end, or nothing for now, reading finds out.
                Err(Errno::AGAIN) => Ok((Some(0), Left::More)),
                moved => allowed(moved),
            }
        })?;
        match filled {
            None => return Ok(Way::Closed),
            Some(0) => return Ok(Way::Pipe(reader, writer)),
            Some(count) => *total += count as u64,
        }
        if let Some(Reached::Limits) = filled.map(|count| drain(&reader, count, to)).transpose()? {
            return Ok(Way::Closed);
        }
    }
}

/// Whether an end is a stand-in, which the kernel cannot copy from or to.
fn is_simulated<W: CopyTo + ?Sized>(source: &Source, to: &W) -> bool {
    source.simulated().is_some() || to.destination().0.simulated().is_some()
}

/// Empties the pipe, which has `count` bytes.
fn drain<W: CopyTo + ?Sized>(reader: &OwnedFd, mut count: usize, to: &W) -> io::Result<Reached> {
    let (destination, timeout) = to.destination();
    while count > 0 {
        let moved = destination.io(Direction::Write, timeout, |fd| {
            destination.keep_nonblocking();
            allowed(splice_some(reader.as_fd(), fd, count))
        })?;
        let Some(moved) = moved else {
            let mut buffer = [0; BUFFER];
            while count > 0 {
                let read = rustix::io::read(reader, &mut buffer)?;
                write_all(to, &buffer[..read])?;
                count -= read;
            }
            return Ok(Reached::Limits);
        };
        count -= moved;
    }
    Ok(Reached::End)
}

/// Moves bytes out of a pipe, or into one.
fn splice_some(from: BorrowedFd<'_>, to: impl AsFd, most: usize) -> Result<usize, Errno> {
    let flags = SpliceFlags::MOVE | SpliceFlags::NONBLOCK;
    splice(from, None, to, None, most, flags)
}

/// What an operation of a source returns: `None` if the kernel cannot do it with these descriptors.
fn allowed(moved: Result<usize, Errno>) -> Result<(Option<usize>, Left), Errno> {
    match moved {
        Ok(count) => Ok((Some(count), Left::More)),
        // These ends cannot; or a sandbox forbids the call; or what was opened as a file has no
        // places to read from.
        Err(Errno::INVAL | Errno::OPNOTSUPP | Errno::NOSYS | Errno::PERM | Errno::SPIPE) => {
            Ok((None, Left::More))
        }
        Err(errno) => Err(errno),
    }
}

/// Writes all of it.
fn write_all<W: CopyTo + ?Sized>(to: &W, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        match to.write_some(bytes)? {
            0 => return Err(io::ErrorKind::WriteZero.into()),
            count => bytes = &bytes[count..],
        }
    }
    Ok(())
}
