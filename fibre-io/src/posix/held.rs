//! Locks of the system that fibres hold and that know their owner.
//!
//! The system's library identifies two kinds of owners by their kernel threads: those of a
//! recursive, error-checking or robust mutex, and the writer of a read-write lock. Fibres share
//! threads, and change them. So a fibre takes such a lock through a [`Worker`], which it keeps
//! until it has released all of them: one thread, which no other fibre uses, makes the calls of
//! lock and unlock. A fibre that ends with such a lock ends the thread, too. So the kernel, and the
//! waiters of a robust mutex, know that the owner is gone.

use crate::posix::worker::{Worker, is_own_thread};
use fibre_core::internal::caller_id;
use fibre_core::sync::thread_mutex::Mutex;
use std::collections::HashMap;
use std::ffi::c_int;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicBool, Ordering};

/// What fibres hold, by their numbers.
static HELD: LazyLock<Mutex<HashMap<u64, Held>>> = LazyLock::new(Mutex::default);

/// Whether any fibre has ever held one.
static EVER: AtomicBool = AtomicBool::new(false);

/// What a fibre holds.
#[derive(Debug)]
struct Held {
    /// The thread that has the locks.
    worker: Worker,
    /// Where they are; one that is held twice is named twice.
    locks: Vec<usize>,
}

/// What a call makes of a lock if it succeeds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// The fibre holds it once more.
    Taken,
    /// The fibre holds it once less.
    GivenBack,
    /// Neither.
    None,
}

/// Makes a call of the calling fibre on the lock at this address, on the thread that has its locks.
/// Returns the call's error number, or `EAGAIN` if there can be no thread. Blocks the fibre.
pub fn on_own_thread(lock: usize, change: Change, call: impl FnOnce(&Worker) -> c_int) -> c_int {
    let id = caller_id();
    let held = HELD.lock().remove(&id);
    let mut held = match held.map_or_else(Held::new, Ok) {
        Ok(held) => held,
        Err(_) => return libc::EAGAIN,
    };
    let number = call(&held.worker);
    match change {
        Change::Taken if matches!(number, 0 | libc::EOWNERDEAD) => held.locks.push(lock),
        Change::GivenBack if number == 0 => held.forget(lock),
        _ => {}
    }
    if held.locks.is_empty() {
        held.worker.give_back();
    } else {
        EVER.store(true, Ordering::Relaxed);
        HELD.lock().insert(id, held);
    }
    number
}

/// Whether the calling fibre holds any. A forked child may lack the thread that could say so, and
/// asks nobody.
pub fn holds_any() -> bool {
    EVER.load(Ordering::Relaxed) && !is_own_thread() && HELD.lock().contains_key(&caller_id())
}

/// Ends the thread of a fibre that ends with locks.
#[inline]
pub fn end_of_fibre() {
    if EVER.load(Ordering::Relaxed) {
        abandon();
    }
}

/// See [`end_of_fibre`].
#[cold]
fn abandon() {
    let held = HELD.lock().remove(&caller_id());
    if let Some(held) = held {
        held.worker.end();
    }
}

impl Held {
    /// A worker that holds no lock yet.
    fn new() -> std::io::Result<Self> {
        Ok(Self {
            worker: Worker::take()?,
            locks: Vec::new(),
        })
    }

    /// Holds a lock once less.
    fn forget(&mut self, lock: usize) {
        // One that it took by another address stays: the fibre keeps its thread for longer than it
        // needs to.
        if let Some(place) = self.locks.iter().rposition(|held| *held == lock) {
            self.locks.swap_remove(place);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How long a child may take, in seconds.
    const LONG: libc::c_uint = 20;

    #[test]
    fn a_forked_child_asks_nobody_what_it_holds() {
        let fibre = fibre_core::spawn(|| {
            EVER.store(true, Ordering::Relaxed);
            let held = HELD.lock();
            // SAFETY: the child only asks; it is ended if it hangs.
            unsafe {
                let child = libc::fork();
                if child == 0 {
                    libc::alarm(LONG);
                    libc::_exit(holds_any().into());
                }
                let mut status = -1;
                assert_eq!(libc::waitpid(child, &raw mut status, 0), child);
                assert_eq!(status, 0);
            }
            drop(held);
        });
        fibre.join().unwrap();
    }
}
