//! What fibres and threads wait on, one file per primitive: in every role fibres and threads mixed.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test fails by panicking"
)]

mod barrier;
mod channel;
mod channel_stress;
mod channel_waits;
mod condvar;
mod debugging;
mod event;
mod last_touch;
mod mutex;
mod news;
mod notify;
mod once;
mod owned;
mod raw_condvar;
mod raw_mutex;
mod raw_others;
mod raw_rwlock;
mod rw_lock;
mod select;
mod semaphore;
mod stuck;
mod wait_group;
mod waits;
mod zeroed;

use crate::support;

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};
use support::{any_cluster, let_others_block};

/// Runs `body` in so many fibres and so many threads at once; waits for all, as a fibre.
pub fn crowd(fibres: usize, threads: usize, body: impl Fn(usize) + Send + Sync + 'static) {
    let body = Arc::new(body);
    let threads: Vec<_> = (0..threads)
        .map(|i| {
            let body = Arc::clone(&body);
            thread::spawn(move || body(fibres + i))
        })
        .collect();
    let fibres: Vec<_> = (0..fibres)
        .map(|i| {
            let body = Arc::clone(&body);
            fibre::spawn(move || body(i))
        })
        .collect();
    fibres.into_iter().for_each(|fibre| fibre.join().unwrap());
    for thread in threads {
        fibre::blocking(|| thread.join()).unwrap();
    }
}

/// The payload of the panic of `f`, if it panics.
pub fn caught<R>(f: impl FnOnce() -> R) -> Result<R, Box<dyn Any + Send>> {
    catch_unwind(AssertUnwindSafe(f))
}

/// [`crowd`] of four fibres of this cluster, three of another one, and two threads.
pub fn mixed_crowd(body: impl Fn(usize) + Send + Sync + 'static) {
    let body = Arc::new(body);
    let other = any_cluster().processors(2).build().unwrap();
    let strangers: Vec<_> = (0..3)
        .map(|i| {
            let body = Arc::clone(&body);
            other.spawn(move || body(i))
        })
        .collect();
    crowd(4, 2, move |me| body(3 + me));
    strangers
        .into_iter()
        .for_each(|fibre| fibre.join().unwrap());
    other.stop();
}

/// Checks that `call` ends when its fibre is cancelled while it waits, and when that was before.
/// It returns whether it has given up.
pub fn ends_by_cancellation(call: impl Fn() -> bool + Send + Sync + 'static) {
    let call = Arc::new(call);
    for waits in [true, false] {
        let inside = Arc::clone(&call);
        let fibre = fibre::spawn(move || inside() && fibre::is_cancelled());
        if waits {
            let_others_block();
            assert!(!fibre.is_finished(), "it does not wait");
        }
        fibre.cancel();
        assert!(fibre.join().unwrap(), "it has not given up");
    }
}

/// Something in a box of one side, which the other side uses for as long as the protocol allows.
pub struct Lent<T>(*const T);

// SAFETY: what is lent is made for sharing.
unsafe impl<T: Sync> Send for Lent<T> {}

impl<T> Lent<T> {
    /// A loan.
    pub fn of(owned: &T) -> Self {
        Self(owned)
    }

    /// What is lent.
    ///
    /// # Safety
    ///
    /// Its owner waits for the call that this is for.
    pub unsafe fn get(&self) -> &T {
        // SAFETY: as the caller says.
        unsafe { &*self.0 }
    }
}

/// Lets one side wait for the other by an object of its own, which it frees as soon as it goes
/// on: fibres and threads on either side. The other side must not touch the object afterwards.
pub fn freed_by_who_waits<T: Sync + 'static>(make: fn() -> T, wait: fn(&T), let_go: fn(&T)) {
    let one_round = move |threads: bool| {
        let object = Box::new(make());
        let lent = Lent::of(&*object);
        // SAFETY: the owner waits for it.
        let other_side = move || let_go(unsafe { lent.get() });
        if threads {
            let thread = thread::spawn(other_side);
            wait(&object);
            drop(object);
            fibre::blocking(|| thread.join()).unwrap();
        } else {
            let fibre = fibre::spawn(other_side);
            wait(&object);
            drop(object);
            fibre.join().unwrap();
        }
    };
    // Each round may cost a slice or two of others that compute: then fewer do.
    let rounds = |most| {
        let end = Instant::now() + Duration::from_secs(2);
        (0..most).take_while(move |_| Instant::now() < end)
    };
    rounds(300).for_each(|round| one_round(round % 8 == 0));
    fibre::blocking(|| {
        thread::spawn(move || rounds(100).for_each(|round| one_round(round % 4 == 0))).join()
    })
    .unwrap();
}
