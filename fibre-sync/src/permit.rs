//! Permits that are released automatically.

use crate::selection::ListArm;
use crate::semaphore::{Acquires, Semaphore};
use fibre_core::internal::{Waiter, within};
use fibre_core::{Arm, Entered, Left, Limit, WaitError};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// Permits of a [`Semaphore`], which are released when this is dropped. It may be sent to another
/// fibre or thread; for one that outlives the borrow see [`OwnedSemaphorePermit`].
#[must_use = "the permits are released when this is dropped"]
#[derive(Debug)]
pub struct SemaphorePermit<'a> {
    semaphore: &'a Semaphore,
    count: usize,
}

impl SemaphorePermit<'_> {
    /// How many they are.
    #[must_use]
    pub fn count(&self) -> usize {
        self.count
    }

    /// Keeps the permits from coming back: the semaphore has that many fewer, until a caller uses
    /// [`Semaphore::release`].
    ///
    /// ```
    /// let permits = fibre::sync::Semaphore::new(2);
    /// permits.permit().forget();
    /// assert_eq!(permits.available(), 1);
    /// ```
    pub fn forget(mut self) {
        self.count = 0;
    }
}

impl Drop for SemaphorePermit<'_> {
    fn drop(&mut self) {
        match self.count {
            0 => {}
            1 => self.semaphore.release(),
            count => self.semaphore.release_many(count),
        }
    }
}

/// [`SemaphorePermit`] with a share of the semaphore, so it may go anywhere, for instance with a
/// connection into the fibre that serves it.
///
/// ```
/// use fibre::sync::Semaphore;
/// use std::sync::Arc;
///
/// let most = Arc::new(Semaphore::new(2));
/// let served: Vec<_> = (0..10)
///     .map(|request| {
///         let permit = most.permit_owned(); // waits while two are served
///         fibre::spawn(move || {
///             let _permit = permit;
///             request * 2
///         })
///     })
///     .collect();
/// assert_eq!(served.into_iter().map(|it| it.join().unwrap()).sum::<u32>(), 90);
/// assert_eq!(most.available(), 2);
/// ```
#[must_use = "the permits are released when this is dropped"]
#[derive(Debug)]
pub struct OwnedSemaphorePermit {
    semaphore: Arc<Semaphore>,
    count: usize,
}

impl OwnedSemaphorePermit {
    /// How many they are.
    #[must_use]
    pub fn count(&self) -> usize {
        self.count
    }

    /// As [`SemaphorePermit::forget`].
    pub fn forget(mut self) {
        self.count = 0;
    }

    /// The permits of a borrowed guard.
    fn new(semaphore: &Arc<Semaphore>, borrowed: SemaphorePermit<'_>) -> Self {
        let count = borrowed.count;
        borrowed.forget();
        Self {
            semaphore: Arc::clone(semaphore),
            count,
        }
    }
}

impl Drop for OwnedSemaphorePermit {
    fn drop(&mut self) {
        drop(self.semaphore.guard(self.count));
    }
}

impl Semaphore {
    /// [`acquire`](Self::acquire), for a permit that comes back by itself.
    ///
    /// ```
    /// let connections = fibre::sync::Semaphore::new(100);
    /// {
    ///     let _permit = connections.permit();
    ///     assert_eq!(connections.available(), 99);
    /// }
    /// assert_eq!(connections.available(), 100);
    /// ```
    pub fn permit(&self) -> SemaphorePermit<'_> {
        self.permits(1)
    }

    /// [`try_acquire`](Self::try_acquire), for a permit that comes back by itself.
    pub fn try_permit(&self) -> Option<SemaphorePermit<'_>> {
        self.try_permits(1)
    }

    /// [`acquire_timeout`](Self::acquire_timeout), for a permit that comes back by itself.
    pub fn permit_timeout(&self, timeout: Duration) -> Option<SemaphorePermit<'_>> {
        self.permits_timeout(1, timeout)
    }

    /// [`acquire_within`](Self::acquire_within), for a permit that comes back by itself.
    ///
    /// ```
    /// use fibre::{WaitError, sync::Semaphore};
    /// use std::time::Duration;
    ///
    /// let connections = Semaphore::new(1);
    /// let first = connections.try_permit().unwrap();
    /// let soon = Duration::from_millis(1);
    /// assert_eq!(connections.permit_within(soon).unwrap_err(), WaitError::TimedOut);
    /// drop(first);
    /// assert!(connections.permit_within(soon).is_ok());
    /// ```
    ///
    /// # Errors
    ///
    /// [`WaitError`]; then no permit has been taken.
    #[inline]
    pub fn permit_within(&self, limit: impl Into<Limit>) -> Result<SemaphorePermit<'_>, WaitError> {
        self.permits_within(1, limit)
    }

    /// [`acquire_many`](Self::acquire_many), for permits that come back by themselves.
    pub fn permits(&self, count: usize) -> SemaphorePermit<'_> {
        self.acquire_many(count);
        self.guard(count)
    }

    /// [`try_acquire_many`](Self::try_acquire_many), for permits that come back by themselves.
    pub fn try_permits(&self, count: usize) -> Option<SemaphorePermit<'_>> {
        self.try_acquire_many(count).then(|| self.guard(count))
    }

    /// [`acquire_many_timeout`](Self::acquire_many_timeout), for permits that come back by
    /// themselves.
    pub fn permits_timeout(&self, count: usize, timeout: Duration) -> Option<SemaphorePermit<'_>> {
        self.permits_limited(count, Limit::after(timeout))
    }

    /// [`acquire_many_within`](Self::acquire_many_within), for permits that come back by
    /// themselves.
    ///
    /// # Errors
    ///
    /// [`WaitError`]; then no permit has been taken.
    #[inline]
    pub fn permits_within(
        &self,
        count: usize,
        limit: impl Into<Limit>,
    ) -> Result<SemaphorePermit<'_>, WaitError> {
        within(limit, |limit| self.permits_limited(count, limit))
    }

    /// [`permit`](Self::permit), with a share of the semaphore.
    pub fn permit_owned(self: &Arc<Self>) -> OwnedSemaphorePermit {
        self.permits_owned(1)
    }

    /// [`try_permit`](Self::try_permit), with a share of the semaphore.
    pub fn try_permit_owned(self: &Arc<Self>) -> Option<OwnedSemaphorePermit> {
        self.try_permits_owned(1)
    }

    /// [`permit_timeout`](Self::permit_timeout), with a share of the semaphore.
    pub fn permit_owned_timeout(
        self: &Arc<Self>,
        timeout: Duration,
    ) -> Option<OwnedSemaphorePermit> {
        self.permits_owned_timeout(1, timeout)
    }

    /// [`permit_within`](Self::permit_within), with a share of the semaphore: what a server's loop
    /// takes before each connection.
    ///
    /// ```
    /// use fibre::{Limit, WaitError, sync::Semaphore};
    /// use std::sync::Arc;
    ///
    /// let places = Arc::new(Semaphore::new(0));
    /// let acceptor = fibre::spawn(move || places.permit_owned_within(Limit::Cancellation).err());
    /// acceptor.cancel();
    /// assert_eq!(acceptor.join().unwrap(), Some(WaitError::Cancelled));
    /// ```
    ///
    /// # Errors
    ///
    /// [`WaitError`]; then no permit has been taken.
    pub fn permit_owned_within(
        self: &Arc<Self>,
        limit: impl Into<Limit>,
    ) -> Result<OwnedSemaphorePermit, WaitError> {
        self.permits_owned_within(1, limit)
    }

    /// [`permits`](Self::permits), with a share of the semaphore.
    pub fn permits_owned(self: &Arc<Self>, count: usize) -> OwnedSemaphorePermit {
        OwnedSemaphorePermit::new(self, self.permits(count))
    }

    /// [`try_permits`](Self::try_permits), with a share of the semaphore.
    pub fn try_permits_owned(self: &Arc<Self>, count: usize) -> Option<OwnedSemaphorePermit> {
        let permits = self.try_permits(count);
        permits.map(|permits| OwnedSemaphorePermit::new(self, permits))
    }

    /// [`permits_timeout`](Self::permits_timeout), with a share of the semaphore.
    pub fn permits_owned_timeout(
        self: &Arc<Self>,
        count: usize,
        timeout: Duration,
    ) -> Option<OwnedSemaphorePermit> {
        let permits = self.permits_timeout(count, timeout);
        permits.map(|permits| OwnedSemaphorePermit::new(self, permits))
    }

    /// [`permits_within`](Self::permits_within), with a share of the semaphore.
    ///
    /// # Errors
    ///
    /// [`WaitError`]; then no permit has been taken.
    pub fn permits_owned_within(
        self: &Arc<Self>,
        count: usize,
        limit: impl Into<Limit>,
    ) -> Result<OwnedSemaphorePermit, WaitError> {
        let permits = self.permits_within(count, limit);
        permits.map(|permits| OwnedSemaphorePermit::new(self, permits))
    }

    /// [`permit`](Self::permit) as an arm of `select!`. If another arm is chosen, no permit has
    /// been taken.
    ///
    /// ```
    /// use fibre::{select, sync::{Event, Semaphore}};
    ///
    /// let (permits, stop) = (Semaphore::new(1), Event::new());
    /// select! {
    ///     permit = permits.permit_arm() => assert_eq!(permit.count(), 1),
    ///     () = stop.wait_arm() => unreachable!("it has not been set"),
    /// }
    /// assert_eq!(permits.available(), 1);
    /// ```
    pub fn permit_arm(&self) -> PermitArm<'_> {
        self.permits_arm(1)
    }

    /// [`permits`](Self::permits) as an arm of `select!`. While it is the first waiter, permits are
    /// saved for it. If another arm is chosen, they go to the waiters behind it.
    pub fn permits_arm(&self, count: usize) -> PermitArm<'_> {
        let semaphore = self;
        PermitArm {
            list: ListArm::new(Acquires { semaphore, count }),
            count,
            semaphore,
        }
    }

    /// [`permit_owned`](Self::permit_owned) as an arm of `select!`.
    pub fn permit_owned_arm(self: &Arc<Self>) -> impl Arm<Output = OwnedSemaphorePermit> + '_ {
        self.permits_owned_arm(1)
    }

    /// [`permits_owned`](Self::permits_owned) as an arm of `select!`.
    ///
    /// ```
    /// use fibre::sync::Semaphore;
    /// use std::sync::Arc;
    ///
    /// let most = Arc::new(Semaphore::new(2));
    /// let permit = fibre::select! { permit = most.permits_owned_arm(2) => permit };
    /// assert_eq!(most.available(), 0);
    /// fibre::spawn(move || drop(permit)).join().unwrap();
    /// assert_eq!(most.available(), 2);
    /// ```
    pub fn permits_owned_arm(
        self: &Arc<Self>,
        count: usize,
    ) -> impl Arm<Output = OwnedSemaphorePermit> + '_ {
        let own = move |permits| OwnedSemaphorePermit::new(self, permits);
        self.permits_arm(count).map(own)
    }

    /// The form that all with a limit share.
    fn permits_limited(&self, count: usize, limit: Limit) -> Option<SemaphorePermit<'_>> {
        self.acquire_many_limited(count, limit)
            .then(|| self.guard(count))
    }

    /// Makes the guard of permits that have just been taken.
    fn guard(&self, count: usize) -> SemaphorePermit<'_> {
        SemaphorePermit {
            semaphore: self,
            count,
        }
    }
}

/// An arm of `select!` that waits for permits; made by [`Semaphore::permit_arm`] and
/// [`Semaphore::permits_arm`].
#[must_use = "an arm waits in a selection only"]
pub struct PermitArm<'a> {
    /// The place in the list.
    list: ListArm<Acquires<'a>>,
    /// How many permits.
    count: usize,
    /// The semaphore.
    semaphore: &'a Semaphore,
}

impl<'a> PermitArm<'a> {
    /// The permits, which have been taken.
    fn guard(&self) -> SemaphorePermit<'a> {
        self.semaphore.guard(self.count)
    }
}

impl<'a> Arm for PermitArm<'a> {
    type Output = SemaphorePermit<'a>;

    fn attempt(&mut self) -> Option<SemaphorePermit<'a>> {
        self.list.attempt().map(|()| self.guard())
    }

    unsafe fn enter(&self, waiter: &Waiter) -> Entered {
        // SAFETY: passed on.
        unsafe { self.list.enter(waiter) }
    }

    unsafe fn leave(&self, waiter: &Waiter) -> Left {
        // SAFETY: passed on.
        unsafe { self.list.leave(waiter) }
    }

    fn woken(&mut self, token: u32) -> Option<SemaphorePermit<'a>> {
        self.list.woken(token).map(|()| self.guard())
    }
}

impl fmt::Debug for PermitArm<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PermitArm")
            .field("count", &self.count)
            .finish_non_exhaustive()
    }
}
