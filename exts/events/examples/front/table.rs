//! Where connections lie while they wait for their sockets.
//!
//! A socket is registered once, edge-triggered, for both directions. Its edge may come while the
//! connection is in a handler; then its place remembers that, and the connection goes on when it
//! would lie down. An edge too many costs a read that finds nothing, so one that was meant for the
//! last connection of a place does no harm.
//!
//! Invariants: (1) a connection is in its place or in one event, never in both, as it is a value.
//! (2) An edge is never lost: it comes after the connection lies in its place, and takes it out, or
//! before, and is remembered; one lock orders the two.

use super::connection::Connection;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// What becomes of a connection that would lie down.
pub(crate) enum Rest<T> {
    /// It lies.
    Lies,
    /// There has been an edge, so it goes on.
    GoesOn(Box<Connection<T>>),
    /// It has answered its last request, as the server is stopping.
    Over(Box<Connection<T>>),
}

/// A place.
struct Place<T> {
    /// The connection that waits.
    waits: Option<Box<Connection<T>>>,
    /// Whether an edge has come since the last one left.
    has_edge: bool,
    /// Whether a connection between requests is to end.
    is_closed: bool,
}

impl<T> Default for Place<T> {
    fn default() -> Self {
        Self {
            waits: None,
            has_edge: false,
            is_closed: false,
        }
    }
}

/// All places, one for each client that there may be.
pub(crate) struct Table<T> {
    places: Vec<Mutex<Place<T>>>,
}

impl<T: Default> Table<T> {
    /// So many places.
    pub(crate) fn new(places: usize) -> Self {
        Self {
            places: (0..places).map(|_| Mutex::default()).collect(),
        }
    }

    /// Lays a connection down, if it is to wait.
    pub(crate) fn lay(&self, connection: Box<Connection<T>>) -> Rest<T> {
        let mut place = self.lock(connection.place());
        if std::mem::take(&mut place.has_edge) {
            return Rest::GoesOn(connection);
        }
        if place.is_closed && connection.is_between_requests() {
            return Rest::Over(connection);
        }
        place.waits = Some(connection);
        Rest::Lies
    }

    /// An edge has come: the connection, if it waits.
    pub(crate) fn edge(&self, place: usize) -> Option<Box<Connection<T>>> {
        let mut place = self.lock(place);
        let connection = place.waits.take();
        place.has_edge = connection.is_none();
        connection
    }

    #[allow(clippy::vec_box, reason = "a connection keeps its allocation")]
    /// Takes the connections out that some condition is true of.
    pub(crate) fn take_if(
        &self,
        mut condition: impl FnMut(&Connection<T>) -> bool,
    ) -> Vec<Box<Connection<T>>> {
        let take = |place| {
            let mut place = self.lock(place);
            place.waits.take_if(|connection| condition(connection))
        };
        (0..self.places.len()).filter_map(take).collect()
    }

    /// How many of the connections that wait some condition is true of, about.
    pub(crate) fn count_if(&self, condition: impl Fn(&Connection<T>) -> bool) -> usize {
        let fits = |place: &usize| self.lock(*place).waits.as_deref().is_some_and(&condition);
        (0..self.places.len()).filter(fits).count()
    }

    /// Lets no connection wait for another request.
    pub(crate) fn close(&self) {
        (0..self.places.len()).for_each(|place| self.lock(place).is_closed = true);
    }

    fn lock(&self, place: usize) -> MutexGuard<'_, Place<T>> {
        let place = self.places[place].lock();
        place.unwrap_or_else(PoisonError::into_inner)
    }
}
