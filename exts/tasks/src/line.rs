//! The line of tasks that wait for one object, and how the object is in use.
//!
//! A line is strictly first in, first out: a newcomer waits behind all that wait, so a stream of
//! readers keeps no writer out. When the object is given back, the first in line is admitted, and
//! with a reader all readers that follow it directly: these are a *batch*.
//!
//! # Invariants
//!
//! 1. Either one task has the object in full, or any number of tasks read it.
//! 2. The first that waits cannot have what it wants, else it would have been admitted.
//!
//! # Memory ordering
//!
//! All is under the lock. Taking it after another task has given the object back makes visible
//! what that task did to the object.

use crate::faults;
use crate::ticket::{Granted, Waiting};
use fibre_core::internal::{ShortGuard, ShortLock};
use fibre_core::sync::planted;
use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;

/// What a task may do with an object. A task that wants but a reference is in no line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Permission {
    /// Read it, beside other readers.
    Read,
    /// Read and change it, alone.
    Full,
}

/// The tasks that wait for one object. `'s` is how long what waits in it may live.
pub struct Line<'s>(ShortLock<State<'s>>);

/// What the lock of a line protects.
pub(crate) struct State<'s> {
    /// How many read the object.
    readers: usize,
    /// Whether somebody has it in full.
    has_writer: bool,
    /// The places of the requests that wait, the oldest first, so that their numbers grow. The
    /// first one has not been left.
    places: VecDeque<Place<'s>>,
    /// How many of them have not been left.
    waiting: usize,
}

/// A place in a line.
struct Place<'s> {
    /// The number of the request.
    number: usize,
    /// What is wanted.
    permission: Permission,
    /// The request that wants it; `None` if it has left.
    request: Option<Arc<dyn Waiting<'s> + 's>>,
}

/// How many places may have been left, beside as many as have not.
const LEFT: usize = 16;

impl Line<'_> {
    /// The line of an object that nobody uses.
    #[must_use]
    pub fn new() -> Self {
        Self::with(false)
    }

    /// The line of an object that its maker has in full.
    #[must_use]
    pub fn taken() -> Self {
        Self::with(true)
    }

    /// A line without anybody in it.
    fn with(has_writer: bool) -> Self {
        Self(ShortLock::new(State {
            readers: 0,
            has_writer,
            places: VecDeque::new(),
            waiting: 0,
        }))
    }

    /// How many wait. A hint: it may have changed by now.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.0.lock().waiting
    }
}

impl Default for Line<'_> {
    fn default() -> Self {
        Self::new()
    }
}

impl<'s> Line<'s> {
    /// Takes the lock.
    pub(crate) fn lock(&self) -> ShortGuard<'_, State<'s>> {
        self.0.lock()
    }

    /// Gives a permission back, and admits those that wait for it; adds to `granted` those that
    /// thereby have all that they want.
    pub fn give_back(&self, permission: Permission, granted: &mut Granted<'s>) {
        let mut state = self.0.lock();
        state.put_back(permission);
        state.admit(granted);
    }
}

impl<'s> State<'s> {
    /// Whether a newcomer may have this at once.
    pub(crate) fn is_open_to(&self, permission: Permission) -> bool {
        if planted(faults::line::READER_PASSES_WRITER) && permission == Permission::Read {
            return self.has_room_for(permission);
        }
        self.waiting == 0 && self.has_room_for(permission)
    }

    /// Whether those that use the object leave room for this.
    fn has_room_for(&self, permission: Permission) -> bool {
        match permission {
            Permission::Read => !self.has_writer,
            Permission::Full if planted(faults::line::GRANTS_TWICE) => !self.has_writer,
            Permission::Full => !self.has_writer && self.readers == 0,
        }
    }

    /// Notes that somebody has the object.
    pub(crate) fn take(&mut self, permission: Permission) {
        match permission {
            Permission::Read => self.readers += 1,
            Permission::Full => self.has_writer = true,
        }
    }

    /// Notes that somebody has the object no more.
    pub(crate) fn put_back(&mut self, permission: Permission) {
        match permission {
            Permission::Read => self.readers -= 1,
            Permission::Full => self.has_writer = false,
        }
    }

    /// Puts a request at the end.
    pub(crate) fn push(&mut self, permission: Permission, request: &Arc<dyn Waiting<'s> + 's>) {
        self.places.push_back(Place {
            number: request.ticket().number(),
            permission,
            request: Some(Arc::clone(request)),
        });
        self.waiting += 1;
    }

    /// Takes a request out. `false`: it does not wait here.
    pub(crate) fn remove(&mut self, request: &Arc<dyn Waiting<'s> + 's>) -> bool {
        let number = request.ticket().number();
        let found = self
            .places
            .binary_search_by_key(&number, |place| place.number);
        let Some(left) = found.ok().and_then(|at| self.places[at].request.take()) else {
            return false;
        };
        debug_assert!(Arc::ptr_eq(&left, request), "two requests had one number");
        self.waiting -= 1;
        self.close_up();
        true
    }

    /// Gives places up that have been left: those before the first request, and all of them if they
    /// have become many.
    fn close_up(&mut self) {
        while self
            .places
            .front()
            .is_some_and(|first| first.request.is_none())
        {
            self.places.pop_front();
        }
        if self.places.len() > 2 * self.waiting + LEFT {
            self.places.retain(|place| place.request.is_some());
        }
    }

    /// Admits the first, and with a reader its batch.
    pub(crate) fn admit(&mut self, granted: &mut Granted<'s>) {
        while let Some(first) = self.places.front() {
            let permission = first.permission;
            if !self.has_room_for(permission) {
                return;
            }
            self.take(permission);
            let first = self.places.pop_front();
            let Some(request) = first.and_then(|place| place.request) else {
                return;
            };
            self.waiting -= 1;
            self.close_up();
            if request.ticket().count_one() {
                granted.push(request);
            }
            if planted(faults::line::ADMITS_ONE_READER) {
                return;
            }
        }
    }
}

impl fmt::Debug for Line<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.0.lock();
        f.debug_struct("Line")
            .field("readers", &state.readers)
            .field("has_writer", &state.has_writer)
            .field("waiting", &state.waiting)
            .finish()
    }
}
