//! Streams of the C library over descriptors that may have to wait: sockets, pipes, terminals.
//!
//! glibc's streams read and write by functions of the program's, if it asks for that
//! (`fopencookie`). Those of `fdopen` and `popen` do here, and their functions are this library's:
//! `fgets` on a socket blocks its fibre. Streams of files stay the system's.
//!
//! **The lock.** A stream is locked while it calls these functions, by its kernel thread: the same
//! thread may lock it again. But another fibre may run there while the first one waits, and must
//! not come in. So for the time of a wait the lock belongs to a name that no thread has. A fibre
//! that wants the stream meanwhile blocks its kernel thread, as with all of the system's locks;
//! where fibres move, which is this library's default, the first one goes on elsewhere.
//!
//! **The descriptor.** Such a stream has none, as far as glibc knows; `fileno` would fail. Its
//! field gets the number, which nothing but `fileno` reads while the functions are the program's.
//!
//! The fields lie where the system's public header has them, and the lock's are tried out for each
//! stream. Where the two do not answer as they should, the stream stays the system's.
//!
//! A fibre that is cancelled ends in none of these functions, as the stream would stay locked: they
//! fail with `ECANCELED`, and the next cancellation point ends it.

use super::entry::is_ours;
use super::library::patiently;
use super::write::write_in_fibre;
use crate::boundary::{contain, keep_errno, keep_errno_cancellable};
use crate::errno;
use fibre_core::{cancellation_point, in_fibre, is_forked_child};
use fibre_io::posix::numbers::close_by;
use fibre_io::posix::read::read;
use fibre_io::posix::switching::Switching::Freely;
use fibre_io::posix::switching::borrow;
use fibre_io::posix::syscall::{Syscall, syscall};
use fibre_io::posix::vector::{Vector, buffer};
use fibre_io::raw::Failure;
use parking_lot::Mutex;
use rustix::fs::{FileType, OFlags, fcntl_getfl, fcntl_setfl, fstat};
use rustix::io::Errno;
use std::collections::BTreeMap;
use std::ffi::{CStr, c_char, c_int, c_ushort, c_void};
use std::os::fd::RawFd;
use std::ptr;
use std::sync::atomic::{AtomicI32, AtomicPtr, Ordering};

/// What reads, writes, moves and closes a stream, as `fopencookie` takes them.
#[repr(C)]
struct Functions {
    read: unsafe extern "C" fn(*mut c_void, *mut c_char, usize) -> isize,
    write: unsafe extern "C" fn(*mut c_void, *const c_char, usize) -> isize,
    seek: unsafe extern "C" fn(*mut c_void, *mut libc::off64_t, c_int) -> c_int,
    close: unsafe extern "C" fn(*mut c_void) -> c_int,
}

unsafe extern "C" {
    fn fopencookie(
        cookie: *mut c_void,
        mode: *const c_char,
        functions: Functions,
    ) -> *mut libc::FILE;
    fn flockfile(stream: *mut libc::FILE);
    fn funlockfile(stream: *mut libc::FILE);
}

/// The beginning of a stream, as the system's header has it.
#[repr(C)]
struct Head {
    flags: c_int,
    places: [*mut c_void; 13],
    /// The descriptor.
    number: AtomicI32,
    more_flags: c_int,
    offset: libc::off_t,
    column: c_ushort,
    version: i8,
    short: [c_char; 1],
    /// The lock, which lies elsewhere.
    lock: *const Lock,
}

/// A stream's lock, as glibc has it.
#[repr(C)]
struct Lock {
    word: AtomicI32,
    again: AtomicI32,
    /// The thread that has it.
    owner: AtomicPtr<c_void>,
}

/// What is known of a stream that reads and writes here.
struct Stream {
    /// The stream itself.
    stream: *mut libc::FILE,
    /// Its descriptor.
    fd: RawFd,
    /// The system's stream to or from a command, which closes the descriptor.
    command: *mut libc::FILE,
    /// The stream's lock; null until it is known to be one.
    lock: *const Lock,
    /// Where to leave how the command has ended, for the call that closes the stream.
    ending: *mut c_int,
}

/// Streams by their addresses, with what is known of each: the address of a [`Stream`].
static STREAMS: Mutex<BTreeMap<usize, usize>> = Mutex::new(BTreeMap::new());

/// `fdopen`: a stream over a descriptor. If that may have to wait, so does its fibre in calls on
/// the stream. Blocks nothing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_fdopen(fd: c_int, mode: *const c_char) -> *mut libc::FILE {
    // SAFETY: the caller's text.
    let by_system = || unsafe { libc::fdopen(fd, mode) };
    // SAFETY: the same.
    let is_asked_for = fd >= 0 && !mode.is_null() && contain(|| unsafe { allows(fd, mode) });
    if !is_asked_for || is_forked_child() {
        return by_system();
    }
    // SAFETY: the caller's descriptor, which the stream owns from now on.
    let opened = unsafe { open(fd, ptr::null_mut(), mode) };
    // SAFETY: the caller's text.
    let appends = unsafe { CStr::from_ptr(mode) }.to_bytes().first() == Some(&b'a');
    if let (true, Ok(flags)) = (appends, fcntl_getfl(borrow(fd))) {
        let _ = fcntl_setfl(borrow(fd), flags | OFlags::APPEND);
    }
    opened.unwrap_or_else(by_system)
}

/// The stream of a command that the system has started, which waits as that of [`fibre_fdopen`].
///
/// # Safety
///
/// `command` is a stream of `popen` in this mode, and nobody else's; null is none.
pub unsafe fn of_command(command: *mut libc::FILE, mode: *const c_char) -> *mut libc::FILE {
    if command.is_null() || is_forked_child() {
        return command;
    }
    // SAFETY: the caller's promise.
    let fd = unsafe { libc::fileno(command) };
    // SAFETY: the same; what the mode has besides is for the command.
    let mode = if unsafe { CStr::from_ptr(mode) }.to_bytes().contains(&b'w') {
        c"w"
    } else {
        c"r"
    };
    // SAFETY: the same.
    unsafe { open(fd, command, mode.as_ptr()) }.unwrap_or(command)
}

/// Whether a stream is one of these. In a forked child, where another thread may have had the list,
/// none is: there the system closes them, by the same functions.
pub fn is_one(stream: *mut libc::FILE) -> bool {
    !is_forked_child() && STREAMS.lock().contains_key(&stream.addr())
}

/// Closes a stream by `fclose`, which writes what is left first. Blocks the fibre.
///
/// # Safety
///
/// It [is one](is_one) of these, and nobody uses it from now on.
pub unsafe fn close(stream: *mut libc::FILE) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { libc::fclose(stream) }
}

/// The same for one of a command; returns how that has ended.
///
/// # Safety
///
/// As for [`close`].
pub unsafe fn close_command(stream: *mut libc::FILE) -> c_int {
    let mut ending = -1;
    if let Some(known) = STREAMS.lock().get(&stream.addr()) {
        let known = ptr::with_exposed_provenance_mut::<Stream>(*known);
        // SAFETY: it lives as long as the stream, whose only user is this.
        unsafe { (*known).ending = &raw mut ending };
    }
    // SAFETY: the caller's promise.
    unsafe { libc::fclose(stream) };
    ending
}

/// Whether a descriptor may have to wait, and lets the stream do what its mode says. What is wrong
/// the system finds, too.
///
/// # Safety
///
/// The mode is a text.
unsafe fn allows(fd: RawFd, mode: *const c_char) -> bool {
    let (Ok(found), Ok(flags)) = (fstat(borrow(fd)), fcntl_getfl(borrow(fd))) else {
        return false;
    };
    let may_wait = matches!(
        FileType::from_raw_mode(found.st_mode),
        FileType::Socket | FileType::Fifo | FileType::CharacterDevice
    );
    // SAFETY: the caller's promise.
    let mode = unsafe { CStr::from_ptr(mode) }.to_bytes();
    let wanted = match (mode.first(), mode.contains(&b'+')) {
        (Some(b'r' | b'w' | b'a'), true) => OFlags::RDWR,
        (Some(b'r'), false) => OFlags::RDONLY,
        (Some(b'w' | b'a'), false) => OFlags::WRONLY,
        _ => return false,
    };
    let access = flags & OFlags::RWMODE;
    may_wait && (access == OFlags::RDWR || access == wanted)
}

/// A stream that reads and writes here; `None` if there is no memory, or the system's streams are
/// not what they are taken for.
///
/// # Safety
///
/// The mode is a text that suits the descriptor, which the stream may close.
unsafe fn open(
    fd: RawFd,
    command: *mut libc::FILE,
    mode: *const c_char,
) -> Option<*mut libc::FILE> {
    let known = Box::into_raw(Box::new(Stream {
        stream: ptr::null_mut(),
        fd,
        command,
        lock: ptr::null(),
        ending: ptr::null_mut(),
    }));
    let functions = Functions {
        read: read_stream,
        write: write_stream,
        seek: seek_stream,
        close: close_stream,
    };
    // SAFETY: what is known lives until the stream is closed.
    let stream = unsafe { fopencookie(known.cast(), mode, functions) };
    if stream.is_null() {
        // SAFETY: it has just been made, and no stream has it.
        drop(unsafe { Box::from_raw(known) });
        return None;
    }
    // SAFETY: a new stream, which nobody else has.
    let Some(lock) = (unsafe { tried_out(stream, fd) }) else {
        // Closed without the descriptor.
        // SAFETY: the same.
        unsafe {
            (*known).fd = -1;
            (*known).command = ptr::null_mut();
            libc::fclose(stream);
        }
        return None;
    };
    // SAFETY: nobody else knows of it yet.
    unsafe {
        (*known).lock = lock;
        (*known).stream = stream;
    }
    STREAMS
        .lock()
        .insert(stream.addr(), known.expose_provenance());
    // SAFETY: an open descriptor, and a new stream, for which nothing has been read or written.
    unsafe {
        if libc::isatty(fd) == 1 {
            libc::setvbuf(stream, ptr::null_mut(), libc::_IOLBF, libc::BUFSIZ as usize);
        }
    }
    Some(stream)
}

/// Gives a stream its number and finds its lock, if both are where they are expected.
///
/// # Safety
///
/// A new stream, which nobody else has.
unsafe fn tried_out(stream: *mut libc::FILE, fd: RawFd) -> Option<*const Lock> {
    // SAFETY: the system's header has these fields there.
    let head = unsafe { &*stream.cast::<Head>() };
    let before = head.number.swap(fd, Ordering::Relaxed);
    // SAFETY: an open stream.
    if unsafe { libc::fileno(stream) } != fd {
        head.number.store(before, Ordering::Relaxed);
        return None;
    }
    // SAFETY: an open stream.
    unsafe { flockfile(stream) };
    // SAFETY: the lock lives as long as its stream.
    let lock = unsafe { head.lock.as_ref() };
    let is_one = lock.is_some_and(|lock| {
        lock.word.load(Ordering::Relaxed) == 1
            && lock.again.load(Ordering::Relaxed) <= 1
            && lock.owner.load(Ordering::Relaxed) == this_thread()
    });
    // SAFETY: the stream that has just been locked.
    unsafe { funlockfile(stream) };
    is_one.then_some(head.lock)
}

/// The kernel thread, as it owns locks.
#[inline(never)]
fn this_thread() -> *mut c_void {
    // SAFETY: no requirement.
    let thread = unsafe { libc::pthread_self() };
    ptr::without_provenance_mut(thread as usize)
}

impl Stream {
    /// Makes a call that may leave the stack, while the stream belongs to no thread.
    fn waits(&self, f: impl FnOnce() -> Result<usize, Failure>) -> isize {
        // SAFETY: the lock lives as long as the stream, and the stream as long as its calls.
        let lock = unsafe { self.lock.as_ref() };
        // One that is not locked is used without its lock, on the program's own responsibility.
        let locked =
            lock.filter(|lock| lock.owner.load(Ordering::Relaxed) == this_thread() && in_fibre());
        if let Some(lock) = locked {
            let nobody = ptr::from_ref(self).cast_mut().cast();
            lock.owner.store(nobody, Ordering::Relaxed);
        }
        let done = keep_errno_cancellable(|| {
            cancellation_point()?;
            f()
        });
        if let Some(lock) = locked {
            lock.owner.store(this_thread(), Ordering::Relaxed);
        }
        match done {
            Ok(count) => count.cast_signed(),
            Err(Failure::Cancelled) => failed(Errno::CANCELED),
            Err(Failure::Errno(error)) => failed(error),
        }
    }
}

/// Sets the error number and returns -1.
#[cold]
fn failed(error: Errno) -> isize {
    errno::set(error.raw_os_error());
    -1
}

/// A call of a fibre by `f`, and of a plain thread as it is.
fn made(
    fd: RawFd,
    call: Syscall,
    f: impl FnOnce(Syscall) -> Result<usize, Failure>,
) -> Result<usize, Failure> {
    if is_ours(fd) {
        f(call)
    } else {
        Ok(call.here()?)
    }
}

/// Reads for a stream.
unsafe extern "C" fn read_stream(known: *mut c_void, bytes: *mut c_char, count: usize) -> isize {
    // SAFETY: what is known lives as long as the stream.
    let stream = unsafe { &*known.cast::<Stream>() };
    let fd = stream.fd;
    stream.waits(|| {
        made(fd, syscall!(SYS_read, fd, bytes, count), |call| {
            read(fd, Vector::of(&buffer(bytes.cast(), count)), call, Freely)
        })
    })
}

/// Writes all bytes for a stream.
unsafe extern "C" fn write_stream(known: *mut c_void, bytes: *const c_char, count: usize) -> isize {
    // SAFETY: as above.
    let stream = unsafe { &*known.cast::<Stream>() };
    let fd = stream.fd;
    stream.waits(|| {
        made(fd, syscall!(SYS_write, fd, bytes, count), |call| {
            write_in_fibre(fd, Vector::of(&buffer(bytes.cast(), count)), call)
        })
    })
}

/// Moves a stream, which most of these descriptors refuse.
unsafe extern "C" fn seek_stream(
    known: *mut c_void,
    offset: *mut libc::off64_t,
    whence: c_int,
) -> c_int {
    // SAFETY: as above; the stream's place for the offset.
    let moved = unsafe { libc::lseek64((*known.cast::<Stream>()).fd, *offset, whence) };
    if moved < 0 {
        return -1;
    }
    // SAFETY: the stream's place.
    unsafe { *offset = moved };
    0
}

/// Closes what a stream is over. The last of its calls.
unsafe extern "C" fn close_stream(known: *mut c_void) -> c_int {
    // SAFETY: made by `Box`; no other call of the stream's comes.
    let stream = unsafe { Box::from_raw(known.cast::<Stream>()) };
    if !is_forked_child() {
        STREAMS.lock().remove(&stream.stream.addr());
    }
    let fd = stream.fd;
    let end = if stream.command.is_null() {
        match fd {
            ..0 => 0,
            _ => keep_errno(|| close_by(fd, syscall!(SYS_close, fd)))
                .map_or_else(|error| failed(error) as c_int, |_| 0),
        }
    } else {
        // SAFETY: the system's stream, which nobody else has.
        unsafe { end_of_command(fd, stream.command) }
    };
    if !stream.ending.is_null() {
        // SAFETY: the place of the call that closes the stream, and waits for this.
        unsafe { *stream.ending = end };
    }
    end
}

/// Closes the system's stream to or from a command and waits for the command's end; returns that.
/// Blocks the fibre.
///
/// # Safety
///
/// It is a stream of `popen` over this descriptor, and nobody uses it from now on.
pub unsafe fn end_of_command(fd: RawFd, command: *mut libc::FILE) -> c_int {
    // SAFETY: the caller's promise.
    let end = || patiently(|| unsafe { libc::pclose(command) });
    if fd < 0 || is_forked_child() {
        return end();
    }
    // SAFETY: the stream's own descriptor.
    unsafe { fibre_io::raw::close(fd, || Ok(end())) }.unwrap_or(-1)
}
