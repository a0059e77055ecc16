//! The signal that asks a thread: sent with a mark, so that nobody takes it for the program's.
//!
//! A signal of the same number that waits already stands for both: the handler then sees the
//! information of the first one. So a handler does what it was asked for, whatever the mark says,
//! and passes on what has none.

use std::mem::MaybeUninit;
use std::ptr;

/// The signal.
pub(crate) const SIGNAL: i32 = libc::SIGPROF;

/// Its address is the mark.
static MARK: u8 = 0;

/// What the kernel takes for the information of a signal with a value.
#[repr(C)]
struct Information {
    signal: i32,
    error: i32,
    code: i32,
    _gap: i32,
    process: i32,
    user: u32,
    value: *const u8,
    _rest: MaybeUninit<[u64; 12]>,
}

const _: () = assert!(size_of::<Information>() == size_of::<libc::siginfo_t>());

/// Sends the signal to a thread of this process. `None`: there is no such thread any more.
///
/// # Errors
///
/// The kernel's, which forbids it.
pub(crate) fn ask(thread: i32) -> Result<Option<()>, i32> {
    // SAFETY: numbers.
    let (process, user) = unsafe { (libc::getpid(), libc::getuid()) };
    let information = Information {
        signal: SIGNAL,
        error: 0,
        code: libc::SI_QUEUE,
        _gap: 0,
        process,
        user,
        value: &raw const MARK,
        _rest: MaybeUninit::zeroed(),
    };
    let call = libc::SYS_rt_tgsigqueueinfo;
    // SAFETY: information of the kernel's form, for a thread of this process; the handler is there.
    let sent = unsafe { libc::syscall(call, process, thread, SIGNAL, &raw const information) };
    // SAFETY: the C library's place of this thread's error number.
    match (sent, unsafe { *libc::__errno_location() }) {
        (0, _) => Ok(Some(())),
        (_, libc::ESRCH) => Ok(None),
        (_, errno) => Err(errno),
    }
}

/// Whether a signal has the mark, or has lost it: a process with too many signals that wait gets
/// this one without information. Async-signal-safe.
///
/// # Safety
///
/// The kernel has made the information.
pub(super) unsafe fn is_ours(information: *const libc::siginfo_t) -> bool {
    // SAFETY: the caller's promise; these signals have all of these fields, or zeros.
    unsafe {
        let (code, process) = ((*information).si_code, (*information).si_pid());
        let value = (*information).si_value().sival_ptr.cast_const();
        match code {
            libc::SI_QUEUE => process == libc::getpid() && ptr::eq(value.cast(), &raw const MARK),
            libc::SI_USER => process == 0,
            _ => false,
        }
    }
}
