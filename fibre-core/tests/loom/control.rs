//! Models of a pause: processors that are told to stand still while they sleep, work, and
//! come back from an earlier pause.
//!
//! Run by `cargo xtask loom`. The steps are those of `processor/control.rs` and
//! `processor/idle.rs`, on the shipped control word, queue and parker.

use fibre_core::internal::control::{Control, ProcessorPhase};
use fibre_core::internal::parker::Parker;
use fibre_core::internal::queue::{BasicQueue, Link, Popped, Pushed, QueueKind, Runnable};
use fibre_core::internal::waiter::{Outcome, ThreadParker, Waiter, Wakeable};
use fibre_core::model::{check, finds_bug};
use fibre_core::sync::EndOfFrame;
use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::thread;
use std::ptr::NonNull;

/// A fibre type that is never used: only threads wait in these models.
struct Nobody;

impl Wakeable for Nobody {
    unsafe fn resume(_: NonNull<Self>) {}

    unsafe fn resume_at_home(_: NonNull<Self>) {}
}

/// One processor of a cluster.
struct World {
    control: Control<Nobody>,
    queue: BasicQueue,
    parker: Parker,
    /// The memory that fibres touch, and the caller that has paused the cluster.
    memory: UnsafeCell<u32>,
}

// SAFETY: the model checks the accesses to `memory`.
unsafe impl Sync for World {}

/// What to leave out.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Planted {
    Nothing,
    /// The processor moves on when the flag is gone, without asking under the lock.
    MovesUnasked,
    /// The processor goes back to its fibres after a sleep without looking for requests.
    NoLookAfterSleep,
    /// The caller that wants a pause does not wake the processor.
    NoWake,
}

/// A world with a processor that has nothing to do yet.
fn world() -> Arc<World> {
    let control = Control::new();
    control.add_processors(1);
    Arc::new(World {
        control,
        queue: BasicQueue::new(QueueKind::default()),
        parker: Parker::new(),
        memory: UnsafeCell::new(0),
    })
}

impl World {
    /// A fibre is made ready by a foreign thread.
    fn push(&self) {
        let node = NonNull::from(Box::leak(Box::new(Link::new())));
        // SAFETY: a new node, which is never freed.
        let runnable = unsafe { Runnable::new(node) };
        if self.queue.push(runnable) == Pushed::WakeConsumer {
            self.parker.unpark(|| None);
        }
    }

    /// A fibre runs.
    fn fibre(&self) {
        self.memory.with_mut(|memory| unsafe { *memory += 1 });
    }

    /// `Processor::obey`.
    fn obey(&self, planted: Planted) {
        if !self.control.is_any() || !self.control.stand_still(0) {
            return;
        }
        loop {
            if planted == Planted::MovesUnasked {
                if !self.control.is_any() {
                    thread::yield_now();
                    let _ = self.control.may_move(0);
                    return;
                }
            } else if self.control.may_move(0) {
                return;
            }
            self.parker.sleep(None, None);
        }
    }

    /// The processor's loop until so many fibres have run.
    fn run(&self, fibres: usize, planted: Planted) {
        let mut ran = 0;
        self.obey(planted);
        while ran < fibres {
            if let Popped::Node(_) = self.queue.pop() {
                self.fibre();
                ran += 1;
                continue;
            }
            if self.queue.arm() {
                self.parker.sleep(None, None);
            } else {
                thread::yield_now();
            }
            self.queue.disarm();
            self.obey(planted);
        }
        self.control.leave(0);
    }

    /// `Running::wait_for` on a plain thread.
    fn wait_for(&self, standing: ProcessorPhase) {
        let parker = ThreadParker::new();
        // SAFETY: the parker outlives it in this frame.
        let mut waiter = unsafe { Waiter::for_thread(&parker) };
        if self.control.publish(standing, &waiter) {
            parker.park();
            assert_eq!(waiter.outcome(), Outcome::Woken(0));
        }
        waiter.end_of_frame();
    }

    /// `Cluster::pause`, a look at what fibres touch, and the end of the pause.
    fn pause(&self) {
        self.control.want_pause();
        self.parker.unpark(|| None);
        self.wait_for(ProcessorPhase::Still);
        self.memory.with(|memory| unsafe { *memory });
        if self.control.end_pause() {
            self.parker.unpark(|| None);
        }
    }
}

/// A pause while a processor sleeps, is being woken, or runs a fibre.
fn pause_races_push(planted: Planted) {
    let world = world();
    let (processor, waker) = (Arc::clone(&world), Arc::clone(&world));
    let processor = thread::spawn(move || processor.run(1, planted));
    let waker = thread::spawn(move || waker.push());
    world.pause();
    processor.join().unwrap();
    waker.join().unwrap();
}

/// Two pauses, one after the other: the second one begins while the processor may be on
/// its way out of the first.
fn pause_races_resume(planted: Planted) {
    let world = world();
    world.push();
    let processor = Arc::clone(&world);
    let processor = thread::spawn(move || processor.run(1, planted));
    world.pause();
    world.pause();
    processor.join().unwrap();
}

/// Nothing runs during a pause, and afterwards all that was pushed does.
#[test]
fn a_pause_stops_the_world() {
    check(|| pause_races_push(Planted::Nothing));
}

/// An earlier pause that ends is not taken for a right to move during the next.
#[test]
fn pauses_follow_each_other() {
    check(|| pause_races_resume(Planted::Nothing));
}

/// Two callers pause at once: the last to end counts.
#[test]
fn pauses_overlap() {
    check(|| {
        let world = world();
        world.push();
        let (processor, other) = (Arc::clone(&world), Arc::clone(&world));
        let processor = thread::spawn(move || processor.run(1, Planted::Nothing));
        let other = thread::spawn(move || other.pause());
        world.pause();
        processor.join().unwrap();
        other.join().unwrap();
    });
}

/// Planted: the processor looks at the flag only.
#[test]
fn planted_unasked_move_is_found() {
    finds_bug(|| pause_races_resume(Planted::MovesUnasked));
}

/// One rest of a processor that is told to stand still: it sees that before, or does not
/// sleep, or is woken, and then stands. (A model that really slept for ever would not end
/// in a way that a test can catch.)
fn one_rest(planted: Planted) {
    let world = world();
    let other = Arc::clone(&world);
    let other = thread::spawn(move || {
        other.control.want_pause();
        if planted != Planted::NoWake {
            other.parker.unpark(|| None);
        }
    });
    let seen = world.control.is_any();
    assert!(world.queue.arm(), "nobody pushes");
    other.join().unwrap();
    if !seen {
        assert!(world.parker.is_notified(), "it sleeps through an order");
        world.parker.sleep(None, None);
    }
    world.queue.disarm();
    if planted != Planted::NoLookAfterSleep {
        assert!(world.control.is_any() && world.control.stand_still(0));
    }
    assert!(world.control.not_at(ProcessorPhase::Still).is_empty());
}

/// A request ends a sleep.
#[test]
fn orders_end_sleeps() {
    check(|| one_rest(Planted::Nothing));
}

/// Planted: a processor that is woken does not look for requests.
#[test]
fn planted_missing_look_is_found() {
    finds_bug(|| one_rest(Planted::NoLookAfterSleep));
}

/// Planted: the processor is not woken for the request.
#[test]
fn planted_missing_wake_is_found() {
    finds_bug(|| one_rest(Planted::NoWake));
}
