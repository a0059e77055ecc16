//! The signals that a thread blocks, and what it starts.

use crate::kernel_threads::with_attributes;
use fibre_io::posix::signal_set::{bit, read, write};
use std::ffi::{c_int, c_void};
use std::fs;
use std::mem::MaybeUninit;
use std::process::Command;
use std::ptr;
use std::thread;

/// Changes the caller's mask; what it was.
fn change(how: c_int, signals: u64) -> u64 {
    let (mut set, mut before) = (MaybeUninit::uninit(), MaybeUninit::zeroed());
    // SAFETY: sets of this frame.
    unsafe {
        write(set.as_mut_ptr(), signals);
        assert_eq!(
            libc::pthread_sigmask(how, set.as_ptr(), before.as_mut_ptr()),
            0
        );
        read(before.as_ptr())
    }
}

/// The caller's mask.
fn now() -> u64 {
    let mut now = MaybeUninit::zeroed();
    // SAFETY: a set of this frame.
    unsafe {
        assert_eq!(
            libc::sigprocmask(libc::SIG_BLOCK, ptr::null(), now.as_mut_ptr()),
            0
        );
        read(now.as_ptr())
    }
}

/// Calls `f` while the caller blocks these signals, and no others.
fn blocking<R>(signals: u64, f: impl FnOnce() -> R) -> R {
    let before = change(libc::SIG_SETMASK, signals);
    let done = f();
    assert_eq!(change(libc::SIG_SETMASK, before), signals);
    done
}

/// What the kernel says that the calling kernel thread blocks, or that a program said.
fn told(status: &str) -> u64 {
    let line = status.lines().find_map(|line| line.strip_prefix("SigBlk:"));
    u64::from_str_radix(line.unwrap().trim(), 16).unwrap()
}

/// What the caller's kernel thread blocks.
fn of_kernel_thread() -> u64 {
    told(&fs::read_to_string("/proc/thread-self/status").unwrap())
}

/// Signals to be blocked.
const SOME: u64 = bit(libc::SIGUSR1) | bit(libc::SIGTERM);
/// Other signals.
const OTHERS: u64 = bit(libc::SIGHUP);

pub(crate) fn masks_are_inherited() {
    let (seen, left) = blocking(SOME, || {
        let next = || {
            let seen = now();
            let before = change(libc::SIG_UNBLOCK, bit(libc::SIGTERM));
            assert_eq!(before, seen);
            thread::yield_now();
            change(libc::SIG_BLOCK, OTHERS | bit(libc::SIGKILL));
            (seen, thread::spawn(now).join().unwrap())
        };
        thread::spawn(next).join().unwrap()
    });
    assert_eq!((seen, left), (SOME, OTHERS | bit(libc::SIGUSR1)));
    // SAFETY: sets of this frame.
    let refused = unsafe {
        let set = MaybeUninit::zeroed();
        libc::pthread_sigmask(77, set.as_ptr(), ptr::null_mut())
    };
    assert_eq!(refused, libc::EINVAL);
    // A thread that stays the kernel's inherits it, too, wherever it is created.
    let kernel_threads = blocking(SOME, || {
        with_attributes(says_what_it_blocks, |attributes| {
            crate::kernel_threads::ask_for_cpus(attributes);
        })
    });
    assert_eq!(kernel_threads as u64, SOME);
}

/// What its kernel thread blocks.
extern "C" fn says_what_it_blocks(_: *mut c_void) -> *mut c_void {
    ptr::without_provenance_mut(of_kernel_thread() as usize)
}

/// What it blocks itself.
extern "C" fn says_its_mask(_: *mut c_void) -> *mut c_void {
    ptr::without_provenance_mut(now() as usize)
}

/// A thread lets nothing in on its processor, and has it block nothing.
pub(crate) fn masks_do_not_reach_processors() {
    let seen = thread::spawn(|| {
        let before = of_kernel_thread();
        blocking(0, || {
            assert_eq!(of_kernel_thread(), before);
            thread::yield_now();
            assert_eq!(now(), 0);
        });
        blocking(!(bit(9) | bit(19) | bit(32) | bit(33)), of_kernel_thread)
    });
    let seen = seen.join().unwrap();
    assert_ne!(seen & bit(libc::SIGTERM), 0);
    assert_eq!(seen & bit(libc::SIGSEGV), 0);
}

unsafe extern "C" {
    fn pthread_attr_setsigmask_np(
        attributes: *mut libc::pthread_attr_t,
        set: *const libc::sigset_t,
    ) -> c_int;
}

pub(crate) fn attributes_name_a_mask() {
    let ask = |attributes: *mut libc::pthread_attr_t| {
        let mut set = MaybeUninit::uninit();
        // SAFETY: attributes, and a set of this frame.
        unsafe {
            write(set.as_mut_ptr(), OTHERS);
            assert_eq!(pthread_attr_setsigmask_np(attributes, set.as_ptr()), 0);
        }
    };
    let fibres = blocking(SOME, || with_attributes(says_its_mask, ask));
    assert_eq!(fibres as u64, OTHERS);
    let kernel_threads = blocking(SOME, || {
        with_attributes(says_what_it_blocks, |attributes| {
            ask(attributes);
            crate::kernel_threads::ask_for_cpus(attributes);
        })
    });
    assert_eq!(kernel_threads as u64, OTHERS);
}

/// What a program blocks that is started by `std::process::Command`, without a fork or with one.
fn of_program(forks: bool) -> u64 {
    use std::os::unix::process::CommandExt;
    let mut command = Command::new("cat");
    command.arg("/proc/self/status");
    if forks {
        // SAFETY: the closure does nothing.
        unsafe { command.pre_exec(|| Ok(())) };
    }
    told(&String::from_utf8(command.output().unwrap().stdout).unwrap())
}

pub(crate) fn programs_block_what_their_thread_does() {
    for forks in [false, true] {
        let seen = blocking(SOME, || {
            thread::spawn(move || of_program(forks)).join().unwrap()
        });
        assert_eq!(seen, SOME);
        let seen = thread::spawn(move || blocking(OTHERS, || of_program(forks)));
        assert_eq!(seen.join().unwrap(), OTHERS);
        // A thread of the runtime is not one of the program's.
        assert_eq!(fibre::spawn(move || of_program(forks)).join().unwrap(), 0);
        assert_eq!(fibre::blocking(move || of_program(forks)), 0);
    }
}

/// A forked child blocks what the thread does that forks.
pub(crate) fn children_block_what_their_thread_does() {
    let child = thread::spawn(|| {
        blocking(OTHERS, || {
            // SAFETY: the child asks for its mask, and ends.
            unsafe {
                let child = libc::fork();
                if child == 0 {
                    let set = MaybeUninit::zeroed();
                    let mut before = MaybeUninit::zeroed();
                    libc::pthread_sigmask(libc::SIG_BLOCK, set.as_ptr(), before.as_mut_ptr());
                    libc::_exit(i32::from(read(before.as_ptr()) != OTHERS));
                }
                child
            }
        })
    });
    let (child, mut status) = (child.join().unwrap(), -1);
    // SAFETY: a place of this frame.
    assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
    assert_eq!(status, 0);
}

/// Waits for one of the signals of its creator's mask; returns it.
extern "C" fn awaits_a_signal(_: *mut c_void) -> *mut c_void {
    let (mut set, mut signal) = (MaybeUninit::uninit(), 0);
    // SAFETY: a set and a place of this frame.
    unsafe {
        write(set.as_mut_ptr(), now());
        assert_eq!(libc::sigwait(set.as_ptr(), &raw mut signal), 0);
    }
    ptr::without_provenance_mut(signal as usize)
}

/// What is sent to a thread that blocks it, and waits for it, reaches it if `main` blocks it, too.
pub(crate) fn signals_are_sent_and_waited_for() {
    let sent = bit(libc::SIGUSR2);
    blocking(sent, || {
        let (mut thread, mut result) = (0, ptr::null_mut());
        let (mut set, mut info) = (
            MaybeUninit::uninit(),
            MaybeUninit::<libc::siginfo_t>::zeroed(),
        );
        let moment = libc::timespec {
            tv_sec: 0,
            tv_nsec: 1_000_000,
        };
        // SAFETY: places of this frame, and a thread that is joined once.
        unsafe {
            write(set.as_mut_ptr(), sent);
            let none = libc::sigtimedwait(set.as_ptr(), info.as_mut_ptr(), &raw const moment);
            let error = std::io::Error::last_os_error();
            assert_eq!((none, error.raw_os_error()), (-1, Some(libc::EAGAIN)));
            if fibre::in_fibre() {
                // `main` would be ended by it.
                assert_eq!(
                    libc::pthread_kill(libc::pthread_self(), libc::SIGUSR2),
                    libc::ESRCH
                );
                return;
            }
            let start = awaits_a_signal;
            let (place, nothing) = (&raw mut thread, ptr::null_mut());
            assert_eq!(libc::pthread_create(place, ptr::null(), start, nothing), 0);
            assert_eq!(libc::pthread_kill(thread, 65), libc::EINVAL);
            assert_eq!(libc::pthread_kill(thread, libc::SIGUSR1), libc::ESRCH);
            assert_eq!(libc::pthread_kill(thread, libc::SIGUSR2), 0);
            assert_eq!(libc::pthread_join(thread, &raw mut result), 0);
        }
        assert_eq!(result.addr(), libc::SIGUSR2 as usize);
    });
}
