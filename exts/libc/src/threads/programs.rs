//! Starting a program, and becoming one: which signals it blocks.
//!
//! A program inherits what the kernel thread blocks that starts it, and processors block all
//! signals that may come at any time. So a fibre's programs would be deaf to SIGTERM. They get the
//! mask of the caller instead ([`mask::of_caller`]): a fibre that is a thread of the program has
//! one, and the others that of the program where its first cluster was started. In a forked child
//! the runtime has set it already.
//!
//! * `posix_spawn` takes it as an attribute, unless the caller's attributes say which.
//! * `exec` has no such thing: the kernel thread blocks what the caller does for the time of the
//!   call, and again what it did if that fails. Nothing else is changed, as a child of `vfork`
//!   shares its memory.
//! * `popen` is the same. `system`, which waits for the command's end, is called on a thread.
//!
//! A static executable has none of these names, as there are no next ones to be called.

use super::mask;
use crate::arch::{WORDS_IN_REGISTERS, takes_list};
use crate::entry::{is_open, may_switch, plain, plain_calls};
use crate::errno;
use crate::next::{EXECVPE, FEXECVE, Next, call_next};
use fibre_core::internal::{blocks_signals, has_plain_calls};
use fibre_io::posix::boundary::Passed;
use fibre_io::posix::signal_set;
use fibre_io::posix::syscall::syscall;
use fibre_io::raw::patiently;
use libc::{FILE, pid_t, posix_spawn_file_actions_t, posix_spawnattr_t};
use std::ffi::{c_char, c_int, c_short, c_void};
use std::mem::{MaybeUninit, transmute};
use std::ptr;

/// A list of texts, as programs get them.
type Texts = *const *const c_char;

/// How many texts a list may have without an allocation: a forked child should make none.
const FEW: usize = 128;

/// What `execvp` and its kin are in the C library.
type Exec = unsafe extern "C" fn(*const c_char, Texts, Texts) -> c_int;

/// What `posix_spawn` and its kin are.
type Spawn = unsafe extern "C" fn(
    *mut c_int,
    *const c_char,
    *const posix_spawn_file_actions_t,
    *const posix_spawnattr_t,
    Texts,
    Texts,
) -> c_int;

unsafe extern "C" {
    static environ: Texts;
}

/// Whether the calling kernel thread blocks more than its caller knows of.
fn blocks_more() -> bool {
    is_open() && blocks_signals()
}

/// Calls `f`; meanwhile, the kernel thread blocks what the caller does, and no more.
fn starting<R>(f: impl FnOnce() -> R) -> R {
    match blocks_more() {
        true => blocking(mask::of_caller(), f),
        false => f(),
    }
}

/// Calls `f`; meanwhile, the kernel thread blocks these signals.
fn blocking<R>(signals: u64, f: impl FnOnce() -> R) -> R {
    let before = signal_set::blocked();
    signal_set::block(signals);
    let done = f();
    signal_set::block(before);
    done
}

/// Starts a program by `start`, which gets the attributes.
///
/// # Safety
///
/// Null, or attributes that have been initialised.
unsafe fn spawning(
    attributes: *const posix_spawnattr_t,
    start: impl FnOnce(*const posix_spawnattr_t) -> c_int,
) -> c_int {
    if !blocks_more() {
        return start(attributes);
    }
    let mut own = MaybeUninit::<posix_spawnattr_t>::uninit();
    let mut set = MaybeUninit::<libc::sigset_t>::zeroed();
    let mut flags: c_short = 0;
    // SAFETY: attributes are numbers and sets, which may be copied; these calls do not fail.
    unsafe {
        match attributes.is_null() {
            true => _ = libc::posix_spawnattr_init(own.as_mut_ptr()),
            false => ptr::copy_nonoverlapping(attributes, own.as_mut_ptr(), 1),
        }
        libc::posix_spawnattr_getflags(own.as_ptr(), &raw mut flags);
        let names_mask = libc::POSIX_SPAWN_SETSIGMASK as c_short;
        if flags & names_mask != 0 {
            return start(attributes);
        }
        signal_set::write(set.as_mut_ptr(), mask::of_caller());
        libc::posix_spawnattr_setflags(own.as_mut_ptr(), flags | names_mask);
        libc::posix_spawnattr_setsigmask(own.as_mut_ptr(), set.as_ptr());
    }
    start(own.as_ptr())
}

/// Defines a name of the family of `posix_spawn`: what it tells of the child, how it finds the
/// program, and what it returns if the C library is too old to have it.
macro_rules! spawns {
    ($($name:ident)*) => {$(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name(
            child: *mut c_int,
            program: *const c_char,
            actions: *const posix_spawn_file_actions_t,
            attributes: *const posix_spawnattr_t,
            texts: Texts,
            environment: Texts,
        ) -> c_int {
            static NEXT: Next = Next::of(
                // SAFETY: it ends in a zero, the only one.
                unsafe {
                    std::ffi::CStr::from_bytes_with_nul_unchecked(
                        concat!(stringify!($name), "\0").as_bytes(),
                    )
                },
            );
            let next = NEXT.find();
            if next.is_null() {
                return libc::ENOSYS;
            }
            // SAFETY: this is the function's type, and these are the caller's arguments.
            unsafe {
                let spawn: Spawn = transmute(next);
                spawning(attributes, |attributes| {
                    spawn(child, program, actions, attributes, texts, environment)
                })
            }
        }
    )*};
}

const _: () = assert!(size_of::<pid_t>() == size_of::<c_int>());

spawns! { posix_spawn posix_spawnp pidfd_spawn pidfd_spawnp }

#[unsafe(no_mangle)]
unsafe extern "C" fn system(command: *const c_char) -> c_int {
    let run = move || call_next!(system: fn(command => *const c_char) -> c_int);
    if !blocks_more() || !may_switch() || has_plain_calls() {
        return starting(run);
    }
    let signals = mask::of_caller();
    let run = Passed(move || {
        let status = blocking(signals, run);
        (status, errno::get())
    });
    let own = errno::get();
    let (status, number) = plain_calls(|| patiently(move || (run.take())()));
    errno::set(if status < 0 { number } else { own });
    status
}

#[unsafe(no_mangle)]
unsafe extern "C" fn popen(command: *const c_char, mode: *const c_char) -> *mut FILE {
    starting(|| {
        // A handler's calls must not leave the stack.
        plain_calls(|| {
            call_next!(popen: fn(
                command => *const c_char,
                mode => *const c_char
            ) -> *mut FILE)
        })
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn execve(path: *const c_char, texts: Texts, environment: Texts) -> c_int {
    let call = syscall!(SYS_execve, path, texts, environment);
    starting(|| plain(call))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn execveat(
    folder: c_int,
    path: *const c_char,
    texts: Texts,
    environment: Texts,
    flags: c_int,
) -> c_int {
    let call = syscall!(SYS_execveat, folder, path, texts, environment, flags);
    starting(|| plain(call))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn execv(path: *const c_char, texts: Texts) -> c_int {
    // SAFETY: passed on, with this program's variables.
    unsafe { execve(path, texts, environ) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn execvpe(name: *const c_char, texts: Texts, environment: Texts) -> c_int {
    // SAFETY: this is the function's type, and these are the caller's arguments.
    starting(|| unsafe {
        transmute::<*mut c_void, Exec>(EXECVPE.function())(name, texts, environment)
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn execvp(name: *const c_char, texts: Texts) -> c_int {
    // SAFETY: passed on, with this program's variables.
    unsafe { execvpe(name, texts, environ) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn fexecve(fd: c_int, texts: Texts, environment: Texts) -> c_int {
    type Function = unsafe extern "C" fn(c_int, Texts, Texts) -> c_int;
    // SAFETY: this is the function's type, and these are the caller's arguments.
    starting(|| unsafe {
        transmute::<*mut c_void, Function>(FEXECVE.function())(fd, texts, environment)
    })
}

takes_list!(execl => path_and_list);
takes_list!(execlp => name_and_list);
takes_list!(execle => path_list_and_environment);

/// `execl`, with its arguments at these places.
unsafe extern "C" fn path_and_list(registers: *const usize, stack: *const usize) -> c_int {
    // SAFETY: passed on, with this program's variables.
    unsafe { Words { registers, stack }.call(|path, texts, _| execve(path, texts, environ)) }
}

/// `execlp`.
unsafe extern "C" fn name_and_list(registers: *const usize, stack: *const usize) -> c_int {
    // SAFETY: passed on, with this program's variables.
    unsafe { Words { registers, stack }.call(|name, texts, _| execvpe(name, texts, environ)) }
}

/// `execle`.
unsafe extern "C" fn path_list_and_environment(
    registers: *const usize,
    stack: *const usize,
) -> c_int {
    let words = Words { registers, stack };
    // SAFETY: passed on; the variables follow the end of the list.
    unsafe { words.call(|path, texts, behind| execve(path, texts, words.at(behind) as Texts)) }
}

/// The arguments of a function that takes a list: a program, and texts up to a null.
#[derive(Clone, Copy)]
struct Words {
    /// Where those are that came in registers.
    registers: *const usize,
    /// Those on the stack.
    stack: *const usize,
}

impl Words {
    /// A word.
    ///
    /// # Safety
    ///
    /// The caller has passed so many.
    unsafe fn at(self, place: usize) -> usize {
        // SAFETY: the caller's promise.
        unsafe {
            match place.checked_sub(WORDS_IN_REGISTERS) {
                None => *self.registers.add(place),
                Some(place) => *self.stack.add(place),
            }
        }
    }

    /// Calls `f` with the program, the texts with their end, and the place behind that.
    ///
    /// # Safety
    ///
    /// These are such arguments.
    unsafe fn call(self, f: impl FnOnce(*const c_char, Texts, usize) -> c_int) -> c_int {
        // SAFETY: the list has an end.
        let text = |place: usize| unsafe { ptr::with_exposed_provenance::<c_char>(self.at(place)) };
        let count = (1..).take_while(|place| !text(*place).is_null()).count();
        let (mut few, mut many) = ([ptr::null(); FEW], Vec::new());
        let texts = match count < FEW {
            true => &mut few[..],
            false => {
                many.resize(count + 1, ptr::null());
                &mut many[..]
            }
        };
        for (index, place) in texts[..count].iter_mut().enumerate() {
            *place = text(1 + index);
        }
        f(text(0), texts.as_ptr(), count + 2)
    }
}
