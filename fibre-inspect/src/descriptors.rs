//! Work that opens files, even when the program has used up its descriptors.
//!
//! A dump is most useful when something leaks, and descriptors leak, too. So a thread with a
//! descriptor table of its own does such work. That table has only the standard descriptors, so the
//! limit leaves room there. The kernel copies no other entries (`close_range` with
//! `CLOSE_RANGE_UNSHARE`), so none of the program's files stays open longer. Such a thread lives
//! for one piece of work only: it would not see later changes of the program's standard error.
//!
//! The runtime's own descriptors are not in that table either, and their numbers may belong to
//! others there. So the thread that waits for the work runs whatever wakes processors, such as a
//! look at all fibres ([`with_shared_descriptors`]).
//!
//! Without memory for a thread, and on kernels before 5.9, the work uses the shared table.

use crate::stack::memory;
use fibre_core::internal::{PlainThread, has_addresses};
use fibre_core::sync::thread_mutex::Mutex;
use rustix::fs::{Mode, OFlags, open};
use rustix::io::Errno;
use std::hash::RandomState;
use std::mem::{self, MaybeUninit};
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::mpsc::{self, Sender};
use std::thread::{self, ThreadId};

/// The name of such a thread.
const NAME: &str = "fibre-dump";

/// The first descriptor that is not a standard one.
const FIRST: u32 = 3;

/// Does something that opens files, and that is to succeed when the program has no descriptor left.
/// Blocks the thread, which must be no fibre's.
pub(crate) fn with_own_descriptors<R: Send>(f: impl FnOnce() -> R + Send) -> R {
    let mut work = Some(f);
    let mut result = None;
    if has_addresses() {
        let (work, result) = (&mut work, &mut result);
        let (calls, asked) = mpsc::channel();
        thread::scope(|scope| {
            let body = move || {
                let _numbered = Numbered::new();
                let _listed = Listed::new(calls);
                take_own_descriptors();
                *result = work.take().map(|work| work());
            };
            {
                // The program's handlers would find their descriptors closed there.
                let (_blocked, _plain) = (AllSignalsBlocked::new(), PlainThread::begin());
                let _ = thread::Builder::new()
                    .name(NAME.to_owned())
                    .spawn_scoped(scope, body);
            }
            // Until the thread has ended, or was not started.
            asked.into_iter().for_each(|call: Call| call());
        });
    }
    match (result, work) {
        (Some(result), _) => result,
        (None, Some(work)) => work(),
        (None, None) => unreachable!("a panic on that thread comes out of the scope"),
    }
}

/// A call that a thread with a table of its own has made on another one.
type Call = Box<dyn FnOnce() + Send>;

/// The threads that have tables of their own, and where their calls go.
static THREADS: Mutex<Vec<(ThreadId, Sender<Call>)>> = Mutex::new(Vec::new());

/// The kernel's numbers of such threads; zero: none.
static NUMBERS: [AtomicI32; 32] = [const { AtomicI32::new(0) }; 32];

/// The calling thread's place among the numbers.
struct Numbered(Option<&'static AtomicI32>);

impl Numbered {
    /// Enters the thread. If there are very many, it is not known to be one.
    fn new() -> Self {
        // SAFETY: a number.
        let thread = unsafe { libc::gettid() };
        let order = Ordering::Relaxed;
        let is_taken = |place: &&AtomicI32| place.compare_exchange(0, thread, order, order).is_ok();
        Self(NUMBERS.iter().find(is_taken))
    }
}

impl Drop for Numbered {
    fn drop(&mut self) {
        if let Some(place) = self.0 {
            place.store(0, Ordering::Relaxed);
        }
    }
}

/// Whether a thread has descriptors of its own. Such a thread blocks all signals, and runs nothing
/// of the program's. Takes no lock and no memory.
pub(crate) fn has_own_descriptors(thread: i32) -> bool {
    let is_its = |number: &AtomicI32| number.load(Ordering::Relaxed) == thread;
    NUMBERS.iter().any(is_its)
}

/// An entry of the calling thread.
struct Listed(ThreadId);

impl Listed {
    /// Enters it.
    fn new(calls: Sender<Call>) -> Self {
        let own = thread::current().id();
        THREADS.lock().push((own, calls));
        Self(own)
    }
}

impl Drop for Listed {
    fn drop(&mut self) {
        THREADS.lock().retain(|(thread, _)| *thread != self.0);
    }
}

/// Calls `f` where the program's descriptors are: here, or, on a thread with a table of its own, on
/// the one that waits for that.
pub(crate) fn with_shared_descriptors<R: Send>(f: impl FnOnce() -> R + Send) -> R {
    let own = thread::current().id();
    let calls = THREADS
        .lock()
        .iter()
        .find(|(thread, _)| *thread == own)
        .map(|(_, calls)| calls.clone());
    let Some(calls) = calls else {
        return f();
    };
    let mut result = None;
    let (returns, returned) = mpsc::channel::<()>();
    let slot = &mut result;
    let call: Box<dyn FnOnce() + Send + '_> = Box::new(move || {
        *slot = Some(f());
        drop(returns);
    });
    // SAFETY: this frame waits below until the call has returned or been dropped, as its sender is
    // dropped then. So what it borrows outlives it.
    let call = unsafe { mem::transmute::<Box<dyn FnOnce() + Send + '_>, Call>(call) };
    drop(calls.send(call));
    let _ = returned.recv();
    match result {
        Some(result) => result,
        None => unreachable!("a panic there comes out of the scope"),
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

/// Gives the calling thread a table of descriptors of its own, for as long as it lives.
fn take_own_descriptors() {
    // The work may read the process' memory by this one, which is every thread's.
    memory::prepare();
    // Where the kernel gives no random numbers by a call, std keeps a file of them open, for the
    // hash tables of all threads. This thread takes what its own tables need while it has that
    // file; nor may it be the one that opens the file.
    let _ = RandomState::new();
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
        // SAFETY: room for two sets; the calls fill both.
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
    fn calls_are_made_where_the_descriptors_are() {
        let file = File::open("/proc/self/exe").unwrap();
        let number = file.as_raw_fd();
        // SAFETY: a number.
        let is_there = move || unsafe { libc::fcntl(number, libc::F_GETFD) } >= 0;
        let both = || (is_there(), with_shared_descriptors(is_there));
        assert_eq!(with_own_descriptors(both), (false, true));
        assert_eq!(both(), (true, true));
    }

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
