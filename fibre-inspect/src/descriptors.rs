//! Work that opens files, also when the program has used up its descriptors.
//!
//! A process has the most use for a dump when something leaks, and descriptors leak, too. So what
//! looks at the process does so on a thread that has a table of descriptors of its own, with the
//! standard ones and nothing else in it: there the limit leaves room. The kernel copies no other
//! entries for that (`close_range` with `CLOSE_RANGE_UNSHARE`), so no file of the program's stays
//! open longer. Such a thread lives for one piece of work only: what the program does with its
//! standard error from then on it would not see.
//!
//! Without memory for a thread, and on kernels before 5.9, the work is done with the table that all
//! share.

use crate::stack::memory;
use fibre_core::internal::has_addresses;
use rustix::fs::{Mode, OFlags, open};
use rustix::io::Errno;
use std::mem::MaybeUninit;
use std::thread;

/// The name of such a thread.
const NAME: &str = "fibre-dump";

/// The first descriptor that is none of the standard ones.
const FIRST: u32 = 3;

/// Does something that opens files, and that is to succeed when the program has no descriptor left.
/// Blocks the thread, which must be no fibre's.
pub(crate) fn with_own_descriptors<R: Send>(f: impl FnOnce() -> R + Send) -> R {
    let mut work = Some(f);
    let mut result = None;
    if has_addresses() {
        let (work, result) = (&mut work, &mut result);
        thread::scope(|scope| {
            let body = move || {
                take_own_descriptors();
                *result = work.take().map(|work| work());
            };
            // The program's handlers would find their descriptors closed there.
            let _blocked = AllSignalsBlocked::new();
            let _ = thread::Builder::new()
                .name(NAME.to_owned())
                .spawn_scoped(scope, body);
        });
    }
    match (result, work) {
        (Some(result), _) => result,
        (None, Some(work)) => work(),
        (None, None) => unreachable!("a panic on that thread comes out of the scope"),
    }
}

/// [`with_own_descriptors`], for what is done often: on the thread itself as long as a descriptor
/// is free.
pub(crate) fn with_free_descriptor<R: Send>(f: impl FnOnce() -> R + Send) -> R {
    match open("/", OFlags::PATH | OFlags::CLOEXEC, Mode::empty()) {
        Err(Errno::MFILE) => with_own_descriptors(f),
        _ => f(),
    }
}

/// Gives the calling thread a table of descriptors of its own, for as long as it lives. For threads
/// that end when the work is done, and that block all signals.
pub(crate) fn take_own_descriptors() {
    // The work may read the process' memory by this one, which is every thread's.
    memory::prepare();
    let kept = memory::file().and_then(|file| u32::try_from(file).ok());
    let after = kept.map_or(FIRST, |kept| FIRST.max(kept + 1));
    if close(after, u32::MAX, libc::CLOSE_RANGE_UNSHARE) && after > FIRST + 1 {
        close(FIRST, after - 2, 0);
    }
}

/// Gives the calling thread, which will end the process, a table of its own. Async-signal-safe.
pub(crate) fn leave_descriptors() -> bool {
    close(FIRST, u32::MAX, libc::CLOSE_RANGE_UNSHARE)
}

/// Closes these descriptors and those between them.
fn close(first: u32, last: u32, flags: u32) -> bool {
    // SAFETY: with the flag, or after a call with it, none of them is the program's.
    unsafe { libc::syscall(libc::SYS_close_range, first, last, flags) == 0 }
}

/// The calling thread blocks all signals until this is dropped; threads inherit that.
struct AllSignalsBlocked(libc::sigset_t);

impl AllSignalsBlocked {
    /// Blocks them.
    fn new() -> Self {
        let (mut all, mut before) = (MaybeUninit::uninit(), MaybeUninit::uninit());
        // SAFETY: room for two sets, both of which the calls fill.
        unsafe {
            libc::sigfillset(all.as_mut_ptr());
            libc::pthread_sigmask(libc::SIG_BLOCK, all.as_ptr(), before.as_mut_ptr());
            Self(before.assume_init())
        }
    }
}

impl Drop for AllSignalsBlocked {
    fn drop(&mut self) {
        // SAFETY: the set that was there before.
        unsafe {
            libc::pthread_sigmask(libc::SIG_SETMASK, &raw const self.0, std::ptr::null_mut())
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;
    use std::os::fd::AsRawFd;

    #[test]
    fn the_own_table_has_none_of_the_programs_descriptors() {
        let files: Vec<_> = (0..64)
            .map(|_| File::open("/proc/self/exe").unwrap())
            .collect();
        let highest = files.iter().map(AsRawFd::as_raw_fd).max().unwrap();
        let there = with_own_descriptors(|| {
            // SAFETY: a number.
            let is_there = |file| unsafe { libc::fcntl(file, libc::F_GETFD) } >= 0;
            (3..=highest).filter(|file| is_there(*file)).count()
        });
        assert_eq!(there, 0);
        // Closed for none but that thread.
        assert!(files.iter().all(|file| file.metadata().is_ok()));
    }
}
