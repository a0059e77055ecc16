//! A pool: connections that are opened when they are needed, lent to one borrower at a time, and
//! kept for a while.
//!
//! Invariants: (1) who has a place of the semaphore has at most one connection, so there are never
//! more than places, lent and idle ones together: an idle one is taken before one is opened, and
//! the idle ones are no more than the free places. (2) A place goes back after its connection, so
//! that invariant 1 holds in between. (3) Once `idle` is `None` the pool is closed, and nothing is
//! put there any more.

use std::error::Error;
use std::fmt;
use std::io;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use fibre::sync::{Mutex, Semaphore, SemaphorePermit};
use fibre::{Limit, WaitError};

/// A pool of connections.
pub(crate) struct Pool<C> {
    /// Opens one.
    open: Box<dyn Fn() -> io::Result<C> + Send + Sync>,
    /// A place for each connection that may be lent.
    places: Semaphore,
    /// The connections that nobody has, the one that was used last at the end; `None` when the pool
    /// is closed.
    idle: Mutex<Option<Vec<Idle<C>>>>,
    /// How long an idle one is kept.
    keep: Duration,
    /// How many have been opened.
    opened: AtomicUsize,
}

/// A connection that nobody has.
struct Idle<C> {
    connection: C,
    /// When it was given back.
    since: Instant,
}

/// Why there is no connection, or why it was of no use.
#[derive(Debug)]
pub(crate) enum PoolError {
    /// The limit came first: the time, or cancellation.
    Waited(WaitError),
    /// The pool has been closed.
    Closed,
    /// The connection could not be opened, or has failed.
    Failed(io::Error),
}

impl fmt::Display for PoolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Waited(error) => write!(f, "no connection was free: {error}"),
            Self::Closed => f.write_str("the pool is closed"),
            Self::Failed(error) => write!(f, "{error}"),
        }
    }
}

impl Error for PoolError {}

impl<C> Pool<C> {
    /// A pool of at most `most` connections, which `open` opens, and which are kept for so long
    /// when nobody uses them.
    pub(crate) fn new(
        most: usize,
        keep: Duration,
        open: impl Fn() -> io::Result<C> + Send + Sync + 'static,
    ) -> Self {
        Self {
            open: Box::new(open),
            places: Semaphore::new(most.max(1)),
            idle: Mutex::new(Some(Vec::new())),
            keep,
            opened: AtomicUsize::new(0),
        }
    }

    /// A connection, for the caller alone. Blocks the fibre (or thread) until one is free, within
    /// the limit, and while it is opened.
    ///
    /// # Errors
    ///
    /// [`PoolError`]; then nothing has been taken.
    pub(crate) fn borrow(&self, limit: impl Into<Limit>) -> Result<Lent<'_, C>, PoolError> {
        let place = self.places.permits_within(1, limit);
        let place = place.map_err(PoolError::Waited)?;
        let connection = match self.take_idle()? {
            Some(connection) => connection,
            None => {
                let connection = (self.open)().map_err(PoolError::Failed)?;
                self.opened.fetch_add(1, Ordering::Relaxed);
                connection
            }
        };
        Ok(Lent {
            connection: Some(connection),
            pool: self,
            _place: place,
        })
    }

    /// The connection that was used last, if it is not too old. The lock is not held while others
    /// are closed.
    fn take_idle(&self) -> Result<Option<C>, PoolError> {
        let oldest = Instant::now().checked_sub(self.keep);
        let is_old = |idle: &Idle<C>| oldest.is_some_and(|oldest| idle.since < oldest);
        let mut old = Vec::new();
        let mut idle = self.idle.lock();
        let all = idle.as_mut().ok_or(PoolError::Closed)?;
        // The oldest ones are at the beginning.
        let count = all.iter().take_while(|idle| is_old(idle)).count();
        old.extend(all.drain(..count));
        let newest = all.pop().map(|idle| idle.connection);
        drop(idle);
        drop(old);
        Ok(newest)
    }

    /// Closes idle connections, has those that wait for one fail, and those that are lent be closed
    /// when they come back. Blocks nothing but what closing a connection blocks.
    pub(crate) fn close(&self) {
        let idle = self.idle.lock().take();
        if let Some(idle) = idle {
            drop(idle);
            // The borrower that gets this place sees that the pool is closed, and passes it on.
            self.places.release();
        }
    }

    /// How many connections have been opened so far.
    pub(crate) fn opened(&self) -> usize {
        self.opened.load(Ordering::Relaxed)
    }
}

/// A connection that is lent. Dropping it gives it back.
pub(crate) struct Lent<'p, C> {
    /// The connection, until it is given back.
    connection: Option<C>,
    pool: &'p Pool<C>,
    /// Given back last.
    _place: SemaphorePermit<'p>,
}

impl<C> Lent<'_, C> {
    /// Closes the connection instead of giving it back, because of this error.
    pub(crate) fn discard(mut self, error: io::Error) -> PoolError {
        self.connection = None;
        PoolError::Failed(error)
    }
}

impl<C> Deref for Lent<'_, C> {
    type Target = C;

    fn deref(&self) -> &C {
        match &self.connection {
            Some(connection) => connection,
            None => unreachable!("it is there until the end"),
        }
    }
}

impl<C> DerefMut for Lent<'_, C> {
    fn deref_mut(&mut self) -> &mut C {
        match &mut self.connection {
            Some(connection) => connection,
            None => unreachable!("it is there until the end"),
        }
    }
}

impl<C> Drop for Lent<'_, C> {
    fn drop(&mut self) {
        // What a borrower that is being unwound has left half-way is of no use to the next one.
        let connection = self.connection.take().filter(|_| !thread::panicking());
        let Some(connection) = connection else {
            return;
        };
        let since = Instant::now();
        let mut idle = self.pool.idle.lock();
        match idle.as_mut() {
            Some(all) => all.push(Idle { connection, since }),
            None => {
                drop(idle);
                drop(connection);
            }
        }
    }
}
