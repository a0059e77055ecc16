//! Programs that are started.
//!
//! A program inherits the signals that the thread blocks which starts it, and processors block
//! nearly all. `fork` undoes that in the child; the calls here start programs in ways that the
//! runtime does not notice. So their thread blocks what the fibre does while it makes them, and,
//! where a fibre must wait for what they do, it is a thread of a pool.
//!
//! `exec` stays on the caller's thread: in a child of `vfork` it must not touch what it shares with
//! its parent.

use super::library::{elsewhere, patiently};
use crate::cancel::fibre_testcancel;
use crate::sigmask::starting;
use fibre_core::is_forked_child;
use fibre_io::raw::close;
use std::ffi::{c_char, c_int};

/// `posix_spawn`: the program blocks the signals that the caller blocks, unless the attributes say
/// which. Blocks the fibre.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_posix_spawn(
    pid: *mut libc::pid_t,
    path: *const c_char,
    actions: *const libc::posix_spawn_file_actions_t,
    attributes: *const libc::posix_spawnattr_t,
    words: *const *mut c_char,
    environment: *const *mut c_char,
) -> c_int {
    // SAFETY: the caller's pointers, which stay valid.
    let start = || unsafe { libc::posix_spawn(pid, path, actions, attributes, words, environment) };
    elsewhere(starting(start))
}

/// `posix_spawnp`: [`fibre_posix_spawn`] of a program that is looked for where `PATH` says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_posix_spawnp(
    pid: *mut libc::pid_t,
    name: *const c_char,
    actions: *const libc::posix_spawn_file_actions_t,
    attributes: *const libc::posix_spawnattr_t,
    words: *const *mut c_char,
    environment: *const *mut c_char,
) -> c_int {
    // SAFETY: the caller's pointers, which stay valid.
    let start =
        || unsafe { libc::posix_spawnp(pid, name, actions, attributes, words, environment) };
    elsewhere(starting(start))
}

/// `system`: runs a command and waits for its end. A cancellation point before it begins.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_system(command: *const c_char) -> c_int {
    fibre_testcancel();
    // SAFETY: null, or the caller's text, which stays valid.
    patiently(starting(|| unsafe { libc::system(command) }))
}

/// `popen`: starts a command, and is a stream to or from it, which blocks the thread as others do.
/// Blocks the fibre.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_popen(
    command: *const c_char,
    mode: *const c_char,
) -> *mut libc::FILE {
    // SAFETY: the caller's texts, which stay valid.
    elsewhere(starting(|| unsafe { libc::popen(command, mode) }))
}

/// `pclose`: closes the stream and waits for the command's end. Blocks the fibre.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_pclose(stream: *mut libc::FILE) -> c_int {
    // SAFETY: the caller's stream.
    let end = || patiently(|| unsafe { libc::pclose(stream) });
    // SAFETY: the caller's stream.
    let fd = unsafe { libc::fileno(stream) };
    if fd < 0 || is_forked_child() {
        return end();
    }
    // SAFETY: the program closes what is its own.
    unsafe { close(fd, || Ok(end())) }.unwrap_or(-1)
}

/// `execve`: the program that takes this one's place blocks the signals that the caller blocks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_execve(
    path: *const c_char,
    words: *const *mut c_char,
    environment: *const *mut c_char,
) -> c_int {
    // SAFETY: the caller's pointers.
    starting(|| unsafe { libc::execve(path, words.cast(), environment.cast()) })()
}

/// `execv`: [`fibre_execve`] with this program's environment.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_execv(path: *const c_char, words: *const *mut c_char) -> c_int {
    // SAFETY: the caller's pointers.
    starting(|| unsafe { libc::execv(path, words.cast()) })()
}

/// `execvp`: [`fibre_execv`] of a program that is looked for where `PATH` says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_execvp(name: *const c_char, words: *const *mut c_char) -> c_int {
    // SAFETY: the caller's pointers.
    starting(|| unsafe { libc::execvp(name, words.cast()) })()
}

/// `execvpe`: [`fibre_execve`] of a program that is looked for where `PATH` says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_execvpe(
    name: *const c_char,
    words: *const *mut c_char,
    environment: *const *mut c_char,
) -> c_int {
    // SAFETY: the caller's pointers.
    starting(|| unsafe { libc::execvpe(name, words.cast(), environment.cast()) })()
}

/// `fexecve`: [`fibre_execve`] of the program that is open.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_fexecve(
    fd: c_int,
    words: *const *mut c_char,
    environment: *const *mut c_char,
) -> c_int {
    // SAFETY: the caller's pointers.
    starting(|| unsafe { libc::fexecve(fd, words.cast(), environment.cast()) })()
}
