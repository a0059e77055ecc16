//! What becomes of numbers: closing, duplicating, pipes, flags; and bytes from one descriptor to
//! another.

use crate::entry::{
    cancellation_point, finish, is_noted, is_open, is_ours, note, on, plain, stand_in,
};
use fibre_io::posix::memory::Trusted;
use fibre_io::posix::numbers::{
    close_by, control, device_control, duplicated, duplicated_in_place, replaced,
};
use fibre_io::posix::socket::both_made;
use fibre_io::posix::switching::Switching::OnlyToWait;
use fibre_io::posix::switching::borrow;
use fibre_io::posix::syscall::syscall;
use fibre_io::posix::transfer::{sendfile as send_file, splice as splice_bytes};
use fibre_io::raw::{Failure, Known, known, patiently};
use rustix::io::Errno;
use std::ffi::{c_int, c_uint, c_ulong};

#[unsafe(no_mangle)]
extern "C-unwind" fn close(fd: c_int) -> c_int {
    let call = syscall!(SYS_close, fd);
    if is_open() {
        cancellation_point();
    }
    // Descriptors of fibre's own objects are closed by these.
    if is_noted(fd) && note(|| known(borrow(fd))).has(Known::RAW) {
        finish(note(|| close_by(fd, call)))
    } else {
        plain(call)
    }
}

#[unsafe(no_mangle)]
extern "C" fn dup(fd: c_int) -> c_int {
    let call = syscall!(SYS_dup, fd);
    if !is_noted(fd) {
        return plain(call);
    }
    finish(note(|| call.here().and_then(|new| duplicated(fd, new))))
}

#[unsafe(no_mangle)]
extern "C" fn dup2(fd: c_int, place: c_int) -> c_int {
    if fd == place {
        return finish(duplicated_in_place(fd));
    }
    let call = syscall!(SYS_dup3, fd, place, 0);
    if !is_noted(fd) || !is_noted(place) {
        return plain(call);
    }
    finish(note(|| replaced(fd, place, call)))
}

#[unsafe(no_mangle)]
extern "C" fn dup3(fd: c_int, place: c_int, flags: c_int) -> c_int {
    let call = syscall!(SYS_dup3, fd, place, flags);
    let fails = fd == place || flags & !libc::O_CLOEXEC != 0;
    if fails || !is_noted(fd) || !is_noted(place) {
        return plain(call);
    }
    finish(note(|| replaced(fd, place, call)))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pipe(ends: *mut c_int) -> c_int {
    // SAFETY: the caller's two numbers.
    unsafe { pipe2(ends, 0) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pipe2(ends: *mut c_int, flags: c_int) -> c_int {
    let done = syscall!(SYS_pipe2, ends, flags).here();
    if done.is_ok() && is_open() {
        // SAFETY: the caller's two numbers, which the kernel has written.
        note(|| unsafe { both_made(ends, Known::NOTHING) });
    }
    finish(done)
}

/// `fcntl`. Its third argument, a number or a pointer, comes in the same register as if it were
/// declared.
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn fcntl(fd: c_int, command: c_int, argument: c_ulong) -> c_int {
    let call = syscall!(SYS_fcntl, fd, command, argument as usize);
    let without_wait = match command {
        libc::F_SETLKW => Some(libc::F_SETLK),
        libc::F_OFD_SETLKW => Some(libc::F_OFD_SETLK),
        _ => None,
    };
    match without_wait {
        Some(now) if is_ours(fd) => {
            cancellation_point();
            stand_in(|| match call.with(1, now).here() {
                Err(Errno::AGAIN | Errno::ACCESS) => Ok(patiently(|| call.here())?),
                done => Ok::<_, Failure>(done?),
            })
        }
        None if is_noted(fd) => finish(note(|| control(fd, command, argument))),
        _ => plain(call),
    }
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn fcntl64(fd: c_int, command: c_int, argument: c_ulong) -> c_int {
    // SAFETY: passed on.
    unsafe { fcntl(fd, command, argument) }
}

/// `ioctl`. Its third argument comes as that of [`fcntl`] does.
#[unsafe(no_mangle)]
unsafe extern "C" fn ioctl(fd: c_int, request: c_ulong, argument: c_ulong) -> c_int {
    if !is_noted(fd) {
        return plain(syscall!(SYS_ioctl, fd, request as usize, argument as usize));
    }
    // SAFETY: the caller's argument.
    finish(note(|| unsafe {
        device_control::<Trusted>(fd, request, argument)
    }))
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn splice(
    from: c_int,
    from_offset: *mut i64,
    to: c_int,
    to_offset: *mut i64,
    count: usize,
    flags: c_uint,
) -> isize {
    let call = syscall!(SYS_splice, from, from_offset, to, to_offset, count, flags);
    on(from, call, |call| splice_bytes(from, to, flags, call))
}

/// What C programs call [`sendfile64`].
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn sendfile(
    out: c_int,
    file: c_int,
    offset: *mut libc::off_t,
    count: usize,
) -> isize {
    // SAFETY: passed on.
    unsafe { sendfile64(out, file, offset, count) }
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn sendfile64(
    out: c_int,
    file: c_int,
    offset: *mut libc::off_t,
    count: usize,
) -> isize {
    let call = syscall!(SYS_sendfile, out, file, offset, count);
    // SAFETY: the caller's place.
    on(out, call, |call| unsafe {
        send_file::<Trusted>(out, file, offset, count, call, OnlyToWait, |_| ())
    })
}
