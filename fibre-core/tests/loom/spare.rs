//! Models of what spare processors rely on: the access to what lies at a stuck processor, and the
//! wake-up of the monitor.
//!
//! Run by `cargo xtask loom`.

use fibre_core::internal::monitor_call::MonitorCall;
use fibre_core::internal::owner_gate::OwnerGate;
use fibre_core::model::{self, Shared, finds_bug, finds_planted};
use fibre_core::sync::{AtomicBool, AtomicPtr, Ordering, heavy_barrier, light_barrier};
use loom::cell::UnsafeCell;
use loom::thread;
use std::ptr;

/// A processor whose queue a rescuer may take from.
struct Processor {
    gate: OwnerGate,
    running: AtomicPtr<u8>,
    /// What lies in the queue.
    queue: UnsafeCell<u32>,
}

// SAFETY: the gate guards the cell; loom checks that it does.
unsafe impl Sync for Processor {}
// SAFETY: as above.
unsafe impl Send for Processor {}

impl Processor {
    /// A processor that runs a fibre.
    fn new(plain: bool) -> Shared<Self> {
        Shared::new(Self {
            gate: OwnerGate::new(plain),
            running: AtomicPtr::new(fibre()),
            queue: UnsafeCell::new(0),
        })
    }

    /// Changes the queue.
    fn touch(&self) {
        // SAFETY: what is being checked.
        self.queue.with_mut(|queue| unsafe { *queue += 1 });
    }

    /// `ReadyQueue::push_woken`, by a fibre.
    fn push(&self) {
        self.gate.begin();
        let plain = self.gate.is_single_level();
        if plain {
            self.touch();
        }
        self.gate.leave();
        if !plain {
            self.gate.enter();
            self.touch();
            self.gate.leave();
        }
    }

    /// `Processor::execute` from where the fibre has left its stack, and `ReadyQueue::pop`, up to
    /// the next fibre.
    fn switch(&self, looks: bool) {
        self.running.store(ptr::null_mut(), Ordering::Relaxed);
        light_barrier();
        if !self.gate.is_single_level() && looks {
            self.gate.pass();
        }
        self.touch();
        self.running.store(fibre(), Ordering::Release);
    }

    /// `ReadyQueue::rescue`.
    fn rescue(&self) {
        if self
            .gate
            .hold(&self.running, heavy_barrier().unwrap())
            .is_some()
        {
            self.touch();
            self.gate.give_back();
        }
    }
}

/// A fibre, which is only compared.
fn fibre() -> *mut u8 {
    ptr::dangling_mut()
}

/// An owner that pushes and switches, and rescuers one after the other.
fn owner_and_rescuer(plain: bool, looks: bool) {
    let shared = Processor::new(plain);
    let processor = shared.get();
    let rescuer = thread::spawn(move || {
        shared.get().rescue();
        shared.get().rescue();
    });
    processor.push();
    processor.switch(looks);
    processor.push();
    rescuer.join().unwrap();
}

#[test]
fn one_at_a_time_touches_the_queue() {
    model::check(|| owner_and_rescuer(true, true));
    model::check(|| owner_and_rescuer(false, true));
}

#[test]
fn a_rescuer_without_a_barrier_is_found() {
    finds_planted("owner gate: no barrier", || owner_and_rescuer(true, true));
}

#[test]
fn an_owner_that_does_not_say_that_it_is_inside_is_found() {
    finds_planted("owner gate: not said to be inside", || {
        owner_and_rescuer(true, true);
    });
}

#[test]
fn an_owner_that_does_not_look_between_fibres_is_found() {
    finds_bug(|| owner_and_rescuer(true, false));
}

/// A fibre that has left its stack is seen to have done so by the rescuer that finds another one
/// running.
#[test]
fn what_was_left_is_seen() {
    model::check(|| {
        let shared = Processor::new(true);
        let processor = shared.get();
        processor.running.store(ptr::null_mut(), Ordering::Relaxed);
        let owner = thread::spawn(move || shared.get().switch(true));
        // Loom does not run a load after what follows it in the same thread.
        thread::yield_now();
        processor.rescue();
        owner.join().unwrap();
    });
}

/// A fibre makes way for a successor, which is in no queue. A rescuer that is there takes the fibre
/// for the one that is on its stack, so the successor must not run yet. `passes`: the owner looks,
/// as `Processor::take_successor` does.
fn owner_and_successor(passes: bool) {
    let (first, next) = (fibre(), fibre().wrapping_add(1));
    let shared = Processor::new(false);
    let rescuer = thread::spawn(move || {
        let processor = shared.get();
        let barrier = heavy_barrier().unwrap();
        if let Some(keeps) = processor.gate.hold(&processor.running, barrier) {
            let runs = processor.running.load(Ordering::Acquire);
            assert!(runs.is_null() || runs == keeps.as_ptr(), "it stays");
            processor.gate.give_back();
        }
    });
    let processor = shared.get();
    assert_eq!(processor.running.load(Ordering::Relaxed), first);
    processor.running.store(ptr::null_mut(), Ordering::Relaxed);
    light_barrier();
    if passes {
        processor.gate.pass();
    }
    processor.running.store(next, Ordering::Release);
    rescuer.join().unwrap();
}

#[test]
fn who_keeps_the_owner_is_known_to_the_rescuer() {
    model::check(|| owner_and_successor(true));
}

#[test]
fn a_successor_that_runs_at_once_is_found() {
    finds_bug(|| owner_and_successor(false));
}

/// A processor becomes busy while the monitor goes to sleep; the monitor has to notice.
fn monitor_and_processors(processors: usize) {
    let state = Shared::new((MonitorCall::new(), AtomicBool::new(false)));
    let busy: Vec<_> = (0..processors)
        .map(|_| {
            thread::spawn(move || {
                let (call, is_busy) = state.get();
                is_busy.store(true, Ordering::Relaxed);
                call.call();
            })
        })
        .collect();
    // If it is not woken, it sleeps for ever, and loom reports that.
    let (call, is_busy) = state.get();
    call.sleep(heavy_barrier().unwrap(), || is_busy.load(Ordering::Relaxed));
    for processor in busy {
        processor.join().unwrap();
    }
}

#[test]
fn the_monitor_does_not_sleep_while_somebody_is_busy() {
    model::check(|| monitor_and_processors(1));
    model::check(|| monitor_and_processors(2));
}

#[test]
fn a_monitor_that_looks_too_early_is_found() {
    finds_planted("monitor: looks before it says that it sleeps", || {
        monitor_and_processors(1);
    });
}
