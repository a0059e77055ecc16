//! The callbacks of an emitter: by their numbers, for those that add and remove them, and as a
//! list, for events.
//!
//! An event goes through the list as it was when the event's turn came. The list is made by the
//! first event after a change, which calls all that are in it anyway; so a change costs the same
//! however many callbacks there are.

use fibre_core::internal::drop_quietly;
use std::any::Any;
use std::collections::BTreeMap;
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What a callback has panicked with.
pub(crate) type Payload = Box<dyn Any + Send>;

/// The callbacks of an emitter. The lock is a common one: a change allocates.
pub(crate) struct Callbacks<E>(Mutex<List<E>>);

/// What an event calls.
pub(crate) type Call<E> = Arc<dyn Fn(&E) + Send + Sync>;

/// Callbacks in the order they were added.
struct InOrder<E>(Vec<Call<E>>);

/// The callbacks by their numbers, and as the list that events go through.
struct List<E> {
    callbacks: BTreeMap<u64, Call<E>>,
    /// Made by the first event after a change.
    in_order: Option<Arc<InOrder<E>>>,
    /// The number of the next one.
    next: u64,
}

/// The first of two panics. The other one's payload may panic itself as it ends.
pub(crate) fn first_of(first: Option<Payload>, second: Option<Payload>) -> Option<Payload> {
    match (first, second) {
        (None, second) => second,
        (first, second) => {
            drop_quietly(second);
            first
        }
    }
}

impl<E> Callbacks<E> {
    /// No callbacks.
    pub(crate) fn new() -> Self {
        Self(Mutex::new(List {
            callbacks: BTreeMap::new(),
            in_order: None,
            next: 0,
        }))
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.lock().callbacks.len()
    }

    /// Takes the lock, which no panic leaves in disorder.
    fn lock(&self) -> MutexGuard<'_, List<E>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The list as it is now.
    fn all(&self) -> Arc<InOrder<E>> {
        let List {
            callbacks,
            in_order,
            ..
        } = &mut *self.lock();
        let all = || Arc::new(InOrder(callbacks.values().cloned().collect()));
        Arc::clone(in_order.get_or_insert_with(all))
    }

    /// Adds one. Returns its number.
    pub(crate) fn add(&self, call: Call<E>) -> u64 {
        let mut list = self.lock();
        let number = list.next;
        list.next += 1;
        list.callbacks.insert(number, call);
        let before = list.in_order.take();
        drop(list);
        // Callbacks end outside of the lock: their destructors may do anything.
        drop(before);
        number
    }

    /// Takes one out, if it is there.
    pub(crate) fn remove(&self, number: u64) {
        let mut list = self.lock();
        let removed = list.callbacks.remove(&number);
        let before = removed.as_ref().and_then(|_| list.in_order.take());
        drop(list);
        drop(before);
        drop_quietly(removed);
    }

    /// Takes all out.
    pub(crate) fn clear(&self) {
        let mut list = self.lock();
        let removed = mem::take(&mut list.callbacks);
        let before = list.in_order.take();
        drop(list);
        drop(before);
        removed.into_values().for_each(drop_quietly);
    }

    /// Calls all of them, in turn. Returns the first panic.
    pub(crate) fn call(&self, event: &E) -> Option<Payload> {
        let mut panic = None;
        let callbacks = self.all();
        for callback in &callbacks.0 {
            let called = catch_unwind(AssertUnwindSafe(|| callback(event)));
            panic = first_of(panic, called.err());
        }
        panic
    }
}

impl<E> Drop for InOrder<E> {
    /// Ends callbacks one by one that have been removed meanwhile.
    fn drop(&mut self) {
        self.0.drain(..).for_each(drop_quietly);
    }
}

impl<E> Drop for List<E> {
    /// Ends callbacks one by one: their destructors may panic.
    fn drop(&mut self) {
        let callbacks = mem::take(&mut self.callbacks);
        callbacks.into_values().for_each(drop_quietly);
    }
}
