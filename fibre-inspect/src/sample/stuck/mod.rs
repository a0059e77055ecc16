//! Stuck fibres: waiting ones that nobody can wake any more.
//!
//! Files, lowest first:
//!
//! * `region`: lists that take nothing from the allocator;
//! * `counts`: how many searches there have been;
//! * `maps`: the mappings of the process;
//! * `unused`: what is not in use of threads' stacks;
//! * `heap`: the blocks of the allocator;
//! * `judge`: which fibres cannot be reached;
//! * `noted`: what reports say of fibres;
//! * `snapshot`: the copy of the process that judges.

mod counts;
mod heap;
mod judge;
mod maps;
mod noted;
mod region;
pub(crate) mod snapshot;
mod unused;

pub use self::counts::StuckCounts;
use self::unused::{Caller, CallersThread, Rest};
use crate::arch::above_callers_words;
use fibre_core::internal::{aside, stack_bounds, start_helper, thread_pointer};
use fibre_core::sync::thread_mutex::Mutex;
use fibre_core::{WaitKind, WaitObject, Waiting, is_forked_child};
use std::fmt;
use std::io;
use std::sync::Arc;

/// The name of the thread that looks.
const NAME: &str = "fibre-stuck";

/// A set of fibres that wait, and that nobody can wake any more.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Stuck {
    /// The fibres, by their numbers, and what each waits for.
    pub fibres: Vec<Waiting>,
}

impl fmt::Display for Stuck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, fibre) in self.fibres.iter().enumerate() {
            if place > 0 {
                f.write_str("; ")?;
            }
            write!(f, "{fibre}")?;
        }
        f.write_str(match self.fibres.len() {
            1 => "; nobody else can wake it",
            _ => "; nobody else can wake them",
        })
    }
}

/// All fibres of the process that wait, and that nobody can wake any more: whatever could end their
/// waits is out of reach of all other fibres, threads, timers and descriptors. Nothing is done
/// about them. Like [`waits`](fibre_core::waits), but for a program that goes on and leaks fibres.
///
/// The search makes a copy of the process, which looks for references as a garbage collector does:
/// from all fibres that can go on, threads, their registers, and static data, to all memory that
/// these lead to. Fibres that refer to each other, or to the same memory, come as one set. What
/// looks like a reference counts as one, so the list may lack fibres; also those that somebody
/// could cancel. Old words are the commonest reason: a frame keeps what ended fibres have left on
/// its stack, most of all in builds without optimisation. A cluster that wipes its stacks
/// (`FIBRE_WIPE_STACKS=1`) has fewer of them. But the end of a cluster, which cancels all of its
/// fibres, does not count: a fibre that waits for nothing else is in the list. Blocks of memory are
/// known where glibc's `malloc` is the allocator; another one is an error. See `docs/INSIDE.md`.
///
/// References are words that point into memory, at addresses that are multiples of eight. A program
/// that keeps its only reference in another form has fibres in the list that it can still wake. So
/// has one that keeps it where the copy cannot look: in the kernel, as what has been written to a
/// pipe, or given to `io_uring` or `sigqueue`; in memory that nobody may read at that moment; in a
/// file that is mapped shared; or in memory that `MADV_DONTFORK` or `MADV_WIPEONFORK` keeps out of
/// copies.
///
/// Blocks the fibre, or the thread if the caller is not a fibre, until the copy has ended. All
/// clusters and threads stand still while the kernel makes the copy: for as long as a `fork` takes,
/// some 20 µs for each fibre, and for 20 ms more if some fibre does not switch. If it finds a
/// fibre, there is a second copy 50 ms later, and the list has what both have shown. The signal
/// SIGPROF holds the threads. A system call that the kernel does not restart then returns `EINTR`
/// in a thread of the program: `poll`, `epoll_wait`, `nanosleep`, or a read of a socket with a
/// time-out. Sleeps and locks of std go on by themselves. Handlers of SIGPROF that were there
/// before fibre's get their own signals.
///
/// The copy has no descriptors of the program, runs none of its exit handlers, and ends with it.
///
/// ```
/// use fibre::channel;
///
/// // Nobody sends, as only the receiver has the sender.
/// let leak = || drop(fibre::spawn(|| {
///     let (sender, receiver) = channel::bounded::<u32>(1);
///     drop((receiver.recv(), sender));
/// }));
/// fibre::spawn(leak).join().unwrap();
/// for set in fibre::stuck()? {
///     // fibre 2 of cluster "fibre" waits for the channel at 0x…; nobody else can wake it
///     println!("{set}");
/// }
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// # Errors
///
/// If nothing can be said: there is no memory for a copy or the kernel makes none; the copy takes
/// longer than two minutes; the program has memory that takes a key to read.
/// [`TimedOut`](io::ErrorKind::TimedOut) if a thread blocks SIGPROF or does not answer it within
/// 200 ms, or if the program [pauses](fibre_core::Cluster::pause) a cluster; it may be worth to ask
/// again. [`Unsupported`](io::ErrorKind::Unsupported) if the program has another handler of
/// SIGPROF; if the allocator is not glibc's `malloc`; in a forked child; and in a build for a
/// sanitizer, which keeps references where nobody finds them.
#[doc(alias("goroutineleak", "leak"))]
pub fn stuck() -> io::Result<Vec<Stuck>> {
    above_callers_words(search)
}

/// Searches for a caller. Its own words all lie above this address on its stack.
fn search(boundary: usize) -> io::Result<Vec<Stuck>> {
    if is_forked_child() {
        return Err(io::Error::new(
            io::ErrorKind::Unsupported,
            "this process was forked from one with running fibres",
        ));
    }
    let no_thread = || io::Error::other("no thread can be started to look");
    // In a box: the place of a result that is not there yet may have old references in it.
    let look = move |thread| Box::new(snapshot::find(Some(Caller { boundary, thread })));
    let found = if stack_bounds().is_some() {
        let object = WaitObject::placeless(WaitKind::Other);
        aside(NAME, object, move || look(None))
    } else {
        let (pointer, shared) = (
            thread_pointer(),
            Arc::new((Rest::default(), Mutex::new(None))),
        );
        let looks = Arc::clone(&shared);
        let thread = start_helper(NAME.to_owned(), move || {
            let (rest, result) = &*looks;
            // Also if the look panics.
            let _ends = rest.ends();
            let waits_at = rest.waits_at();
            *result.lock() = Some(look(Some(CallersThread { pointer, waits_at })));
        })?;
        shared.0.wait();
        let _ = thread.join();
        shared.1.lock().take()
    };
    let sets = *found.ok_or_else(no_thread)?;
    Ok(sets?.into_iter().map(|fibres| Stuck { fibres }).collect())
}
