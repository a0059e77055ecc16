//! Faults that were found, here and in other runtimes, each with its test. What belongs to a
//! concern stands in that concern's file; here is what belongs nowhere else.
//!
//! | fault                                                      | its test                        |
//! |------------------------------------------------------------|---------------------------------|
//! | an unasked panic was lost if its handle was dropped late   | `spawn/scope`                   |
//! | sums over huge stack sizes overflowed                      | `spawn/stacks`                  |
//! | nobody could yield while one fibre slept in its unwinding  | `panics`                        |
//! | of several readers only one saw data and end at once       | `net/sharing`                   |
//! | some acceptors were always woken for nothing               | `net/accept`                    |
//! | bytes behind urgent data were never read                   | `net/hints`                     |
//! | more slices than the kernel takes were an error            | `net/hints`                     |
//! | a clone of what went to std blocked the processor          | `net/hints`                     |
//! | empty reads waited for data                                | `net/hints`                     |
//! | of several waiters of an ended cluster one was woken       | `net/hints`                     |
//! | a fibre that locked and yielded starved the others         | `sync/mutex`                    |
//! | a lock that hands its processor over did so before a wait  | `sync/condvar`                  |
//! | fibres born one at a time all met on one processor         | `scheduling/placement`          |
//! | a refused closure was dropped outside any fibre            | `spawn/stacks`                  |
//! | anybody could stop the default cluster                     | `spawn/cluster`                 |
//! | a scope waited for a fibre that was never spawned          | `environment`                   |
//! | a report that nobody could read killed a processor         | `environment`                   |
//! | who was accepted found no descriptor left for a poller     | `environment`                   |
//! | beside sockets sleeps took whole milliseconds              | `time`                          |
//! | fibres' numbers came again after 4096 clusters             | `regressions`                   |
//! | a sender is not woken when the peer resets                 | `net/ends`                      |
//! | a second acceptor or reader displaces the first            | `net/accept`, `net/sharing`     |
//! | yielding starves the poller, timers, or other queues       | `scheduling/fairness`           |
//! | blocking while unwinding corrupts panic counts             | `panics`, `migration`           |
//! | woken sleepers run on a timer thread                       | `scheduling/placement`          |
//! | more fibres than mappings, a guard that is too `Sync`      | `regressions`                   |
//! | a timer fires before its waiter is queued                  | `time`                          |
//! | a panic while another's hook waited ended the process      | `panic_hook`                    |
//! | idle threads spin                                          | `scheduling/waking`             |

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test fails by panicking"
)]

use crate::support;

use fibre::sync::{Mutex, MutexGuard, Semaphore};
use fibre::{Cluster, JoinHandle, StackError};
use std::cell::Cell;
use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use support::{eventually, watched};

/// A name that is ambiguous, hence a compile error, if `T` is both.
trait NotBoth<Marker> {
    fn checked() {}
}
/// The mark that every type has.
struct Any;
/// What is `Send`.
struct IsSend;
/// What is `Sync`.
struct IsSync;
impl<T: ?Sized> NotBoth<Any> for T {}
impl<T: Send> NotBoth<IsSend> for (T,) {}
impl<T: Sync> NotBoth<IsSync> for [T; 1] {}

/// A guard is not `Sync` if its value is not (as one in another runtime was), and never `Send`;
/// handles and mutexes are not more than what they carry.
#[test]
fn nothing_is_shared_that_must_not_be() {
    // These lines compile only if the types are *not* `Sync` (in `[…]`) or `Send` (in `(…)`).
    <[MutexGuard<'static, Cell<u8>>; 1] as NotBoth<_>>::checked();
    <[Mutex<std::rc::Rc<u8>>; 1] as NotBoth<_>>::checked();
    <(MutexGuard<'static, u8>,) as NotBoth<_>>::checked();
    <(Mutex<std::rc::Rc<u8>>,) as NotBoth<_>>::checked();
    <(JoinHandle<std::rc::Rc<u8>>,) as NotBoth<_>>::checked();
    fn both<T: Send + Sync>() {}
    both::<Mutex<Cell<u8>>>();
    both::<JoinHandle<Cell<u8>>>();
    both::<Cluster>();
}

/// More fibres than a process may have mappings: they run, or end with an error that says why;
/// other runtimes crash here.
#[test]
fn forty_thousand_blocked_fibres() {
    const COUNT: usize = 40_000;
    watched(|| {
        let cluster = Cluster::builder().processors(2).stack_size(32 * 1024);
        let cluster = cluster.build().unwrap();
        let semaphore = Arc::new(Semaphore::new(0));
        let blocked = Arc::new(AtomicUsize::new(0));
        let handles: Vec<_> = (0..COUNT)
            .map(|_| {
                let (semaphore, blocked) = (Arc::clone(&semaphore), Arc::clone(&blocked));
                cluster.spawn(move || {
                    blocked.fetch_add(1, Ordering::SeqCst);
                    semaphore.acquire();
                })
            })
            .collect();
        let ended = || handles.iter().filter(|handle| handle.is_finished()).count();
        eventually(|| blocked.load(Ordering::SeqCst) + ended() == COUNT);
        (0..COUNT).for_each(|_| semaphore.release());
        for handle in handles {
            if let Err(payload) = handle.join() {
                assert!(payload.is::<StackError>());
            }
        }
        cluster.stop();
    });
}

/// Numbers of fibres stay unique over many clusters.
#[test]
fn numbers_are_unique_over_clusters() {
    watched(|| {
        let mut numbers = HashSet::new();
        for _ in 0..4100 {
            let cluster = Cluster::builder().processors(1).build().unwrap();
            let number = cluster.spawn(fibre::id).join().unwrap();
            cluster.stop();
            assert!(numbers.insert(number), "{number:?} was used twice");
        }
    });
}
