//! Fibres that wait as those in `leaks` do, and that something can still wake: it does in the end.

use super::{alone, found, leave, spawn, until_none, until_waiting};
use fibre::channel::{self, Sender};
use fibre::os::unix::net::UnixStream;
use fibre::sync::{Event, Mutex};
use fibre::{Builder, CancelToken, Cluster, Limit, select, sleep, yield_now};
use std::cell::RefCell;
use std::io::{Read, Write};
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use std::{hint, thread};

/// What makes the waiting fibres go on.
pub(super) type Release = Box<dyn FnOnce() + Send>;

/// Of the fibres that `begin` leaves behind, `count` wait, none is stuck, and all end after the
/// release.
pub(super) fn near(scenario: &str, count: usize, begin: fn(&str) -> Release) {
    alone(scenario, |cluster, prefix| {
        let begins = prefix.to_owned();
        let release = cluster.spawn(move || begin(&begins)).join().unwrap();
        until_waiting(prefix, count);
        assert_eq!(found(prefix), [[""; 0]; 0], "{prefix}");
        release();
        until_none(prefix);
        true
    });
}

/// A fibre that waits for what is sent.
pub(super) fn waiter(prefix: &str) -> Sender<u32> {
    let (sender, receiver) = channel::bounded(1);
    leave(&format!("{prefix}waiter"), move || {
        assert_eq!(receiver.recv(), Ok(7))
    });
    sender
}

/// A flag, and what sets it.
pub(super) fn flag() -> (Arc<AtomicBool>, Release) {
    let flag = Arc::new(AtomicBool::new(false));
    let set = Arc::clone(&flag);
    (flag, Box::new(move || set.store(true, Ordering::Release)))
}

#[test]
fn a_reference_of_a_fibre_that_runs() {
    near("running", 1, |prefix| {
        let (sender, (flag, release)) = (waiter(prefix), flag());
        leave("yields", move || {
            while !flag.load(Ordering::Acquire) {
                yield_now();
            }
            sender.send(7).unwrap();
        });
        release
    });
}

#[test]
fn a_reference_of_a_fibre_that_computes() {
    // Not on its own cluster: a processor that computes hides that the others wait.
    near("computing", 1, |prefix| {
        let (sender, (flag, release)) = (waiter(prefix), flag());
        let other = Cluster::builder().processors(1).build().unwrap();
        drop(other.spawn(move || {
            while !flag.load(Ordering::Acquire) {
                hint::spin_loop();
            }
            sender.send(7).unwrap();
        }));
        Box::new(move || {
            release();
            other.stop();
        })
    });
}

#[test]
fn a_reference_of_a_thread_that_waits() {
    near("thread", 1, |prefix| {
        let (sender, (flag, release)) = (waiter(prefix), flag());
        let thread = thread::spawn(move || {
            while !flag.load(Ordering::Acquire) {
                thread::park();
            }
            sender.send(7).unwrap();
        });
        Box::new(move || {
            release();
            thread.thread().unpark();
            thread.join().unwrap();
        })
    });
}

/// In a build with optimisation, the thread has the reference in a register only.
#[test]
fn a_reference_of_a_thread_that_computes() {
    near("computing_thread", 1, |prefix| {
        let (sender, (flag, release)) = (waiter(prefix), flag());
        let thread = thread::spawn(move || {
            while !flag.load(Ordering::Acquire) {
                hint::spin_loop();
            }
            sender.send(7).unwrap();
        });
        Box::new(move || {
            release();
            thread.join().unwrap();
        })
    });
}

#[test]
fn a_reference_in_a_static() {
    static SENDERS: std::sync::Mutex<Vec<Sender<u32>>> = std::sync::Mutex::new(Vec::new());
    near("static", 1, |prefix| {
        SENDERS.lock().unwrap().push(waiter(prefix));
        Box::new(|| SENDERS.lock().unwrap().pop().unwrap().send(7).unwrap())
    });
}

#[test]
fn a_reference_in_a_block_of_a_thread() {
    near("heap", 1, |prefix| {
        let keeps = Box::new([Box::new(waiter(prefix))]);
        Box::new(move || keeps[0].send(7).unwrap())
    });
}

#[test]
fn a_reference_in_a_leaked_block_that_a_static_points_to() {
    static LEAKED: AtomicPtr<Sender<u32>> = AtomicPtr::new(std::ptr::null_mut());
    near("leaked", 1, |prefix| {
        LEAKED.store(Box::into_raw(Box::new(waiter(prefix))), Ordering::Relaxed);
        Box::new(|| {
            // SAFETY: leaked above.
            let sender = unsafe { Box::from_raw(LEAKED.load(Ordering::Relaxed)) };
            sender.send(7).unwrap();
        })
    });
}

#[test]
fn a_reference_in_a_thread_local() {
    thread_local!(static KEPT: RefCell<Option<Sender<u32>>> = const { RefCell::new(None) });
    near("thread_local", 1, |prefix| {
        let (sender, (flag, release)) = (waiter(prefix), flag());
        let thread = thread::spawn(move || {
            KEPT.with_borrow_mut(|kept| *kept = Some(sender));
            while !flag.load(Ordering::Acquire) {
                thread::park();
            }
            KEPT.with_borrow_mut(|kept| kept.take().unwrap().send(7).unwrap());
        });
        Box::new(move || {
            release();
            thread.thread().unpark();
            thread.join().unwrap();
        })
    });
}

#[test]
fn a_reference_of_a_fibre_that_sleeps() {
    near("sleeping", 2, |prefix| {
        let (sender, (flag, release)) = (waiter(prefix), flag());
        leave(&format!("{prefix}sleeper"), move || {
            while !flag.load(Ordering::Acquire) {
                sleep(Duration::from_millis(200));
            }
            sender.send(7).unwrap();
        });
        release
    });
}

#[test]
fn a_wait_with_a_limit() {
    near("limit", 1, |prefix| {
        let (sender, receiver) = channel::bounded::<u32>(1);
        leave(&format!("{prefix}limited"), move || {
            assert!(receiver.recv_timeout(Duration::from_secs(4)).is_err());
            drop(sender);
        });
        Box::new(|| ())
    });
}

#[test]
fn a_reference_of_another_one_that_waits() {
    near("chain", 3, |prefix| {
        let mut next = waiter(prefix);
        for link in ["one", "two"] {
            let (sender, receiver) = channel::bounded(1);
            let wakes = std::mem::replace(&mut next, sender);
            leave(&format!("{prefix}{link}"), move || {
                wakes.send(receiver.recv().unwrap()).unwrap()
            });
        }
        Box::new(move || next.send(7).unwrap())
    });
}

#[test]
fn a_weak_reference() {
    near("weak", 1, |prefix| {
        let event = Arc::new(Event::new());
        let weak = Arc::downgrade(&event);
        leave(&format!("{prefix}waiter"), move || event.wait());
        Box::new(move || weak.upgrade().unwrap().set())
    });
}

#[test]
fn a_reference_of_a_fibre_that_waits_for_input() {
    near("input", 2, |prefix| {
        let (sender, (mut one, mut other)) = (waiter(prefix), UnixStream::pair().unwrap());
        leave(&format!("{prefix}reads"), move || {
            one.read_exact(&mut [0]).unwrap();
            sender.send(7).unwrap();
        });
        Box::new(move || other.write_all(&[1]).unwrap())
    });
}

#[test]
fn a_reference_in_a_channel() {
    near("in_a_channel", 1, |prefix| {
        let (senders, receiver) = channel::unbounded();
        senders.send(waiter(prefix)).unwrap();
        Box::new(move || receiver.recv().unwrap().send(7).unwrap())
    });
}

#[test]
fn a_reference_of_a_fibre_that_has_not_started() {
    near("not_started", 1, |prefix| {
        let sender = waiter(prefix);
        let other = Cluster::builder().processors(1).build().unwrap();
        let paused = other.pause().unwrap();
        drop(other.spawn(move || sender.send(7).unwrap()));
        Box::new(move || {
            drop(paused);
            other.stop();
        })
    });
}

#[test]
fn a_handle_that_can_cancel() {
    near("handle", 1, |prefix| {
        let handle = spawn(&format!("{prefix}waiter"), || {
            assert!(Event::new().wait_within(Limit::Cancellation).is_err());
        });
        Box::new(move || handle.cancel())
    });
}

#[test]
fn a_token_that_can_cancel() {
    near("token", 1, |prefix| {
        let token = CancelToken::new();
        let builder = Builder::new()
            .name(format!("{prefix}waiter"))
            .cancel_token(&token.child());
        drop(builder.spawn(|| {
            assert!(Event::new().wait_within(Limit::Cancellation).is_err());
        }));
        Box::new(move || token.cancel())
    });
}

#[test]
fn a_reference_of_a_call_that_blocks_a_thread() {
    near("blocking", 2, |prefix| {
        let (sender, (flag, release)) = (waiter(prefix), flag());
        leave(&format!("{prefix}blocks"), move || {
            fibre::blocking(move || {
                while !flag.load(Ordering::Acquire) {
                    thread::sleep(Duration::from_millis(1));
                }
                sender.send(7).unwrap();
            });
        });
        release
    });
}

#[test]
fn a_lock_of_one_that_sleeps() {
    near("lock", 2, |prefix| {
        let (mutex, (flag, release)) = (Arc::new(Mutex::new(0)), flag());
        let (has, locked) = (Arc::clone(&mutex), Arc::new(Event::new()));
        let tells = Arc::clone(&locked);
        leave(&format!("{prefix}sleeper"), move || {
            let guard = has.lock();
            tells.set();
            while !flag.load(Ordering::Acquire) {
                sleep(Duration::from_millis(200));
            }
            drop(guard);
        });
        locked.wait();
        leave(&format!("{prefix}waiter"), move || drop(mutex.lock()));
        release
    });
}

#[test]
fn an_arm_of_several_that_can_come() {
    near("arm", 1, |prefix| {
        let (sender, receiver) = channel::bounded::<u32>(1);
        leave(&format!("{prefix}selects"), move || {
            let own = channel::bounded::<u32>(1);
            select! {
                recv(own.1) -> _ => unreachable!("nobody sends"),
                recv(receiver) -> item => assert_eq!(item, Ok(7)),
            }
            drop(own);
        });
        Box::new(move || sender.send(7).unwrap())
    });
}

/// An event far behind the beginning of its block.
struct Far {
    _before: [u8; 9000],
    event: Event,
    _behind: [u8; 100],
}

/// The others refer to the beginning of the block, the waiting fibre to the event.
#[test]
fn a_reference_to_the_beginning_of_a_block() {
    near("interior", 2, |prefix| {
        let small = Arc::new(Far {
            _before: [0; 9000],
            event: Event::new(),
            _behind: [0; 100],
        });
        // So many are in a mapping of their own.
        let many: Arc<[Event]> = (0..100_000).map(|_| Event::new()).collect();
        let addresses = [&raw const small.event, &raw const many[50_000]].map(|event| event.addr());
        for (name, address) in ["small", "many"].into_iter().zip(addresses) {
            leave(&format!("{prefix}{name}"), move || {
                // SAFETY: the blocks are there until the fibre has ended.
                unsafe { &*std::ptr::with_exposed_provenance::<Event>(address) }.wait();
            });
        }
        let _ = [
            (&raw const small.event).expose_provenance(),
            many.as_ptr().expose_provenance(),
        ];
        Box::new(move || {
            small.event.set();
            many[50_000].set();
            // The fibres may still be within the calls.
            static KEPT: OnceLock<std::sync::Mutex<Vec<(Arc<Far>, Arc<[Event]>)>>> =
                OnceLock::new();
            KEPT.get_or_init(Default::default)
                .lock()
                .unwrap()
                .push((small, many));
        })
    });
}

/// A fibre that is woken, and cannot run yet, is not stuck.
#[test]
fn a_fibre_that_has_been_woken() {
    alone("woken", |cluster, prefix| {
        let begins = prefix.to_owned();
        let sender = cluster.spawn(move || waiter(&begins)).join().unwrap();
        until_waiting(prefix, 1);
        let paused = cluster.pause().unwrap();
        sender.send(7).unwrap();
        drop(sender);
        assert_eq!(found(prefix), [[""; 0]; 0], "{prefix}");
        drop(paused);
        until_none(prefix);
        true
    });
}
