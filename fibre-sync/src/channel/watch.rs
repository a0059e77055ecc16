//! A channel for a value that changes: receivers see the latest one.
//!
//! The value lies in a read-write lock. Its *version* counts the changes: a sender increments it
//! while it has the lock for writing, so a receiver that reads sees a value and its version
//! together. The sender releases that lock before it looks for waiting receivers: there may be
//! thousands, and others can read meanwhile. It takes the short lock of their list after it has
//! counted, and a receiver compares versions under that lock, so none sleeps through a change.

use super::errors::{RecvError, RecvTimeoutError, SendError};
use super::news::{News, leave, wait_for};
use crate::faults;
use crate::rw_lock::{RwLock, RwLockReadGuard};
use crate::selection::{ListArm, Listed, list_arm};
use crate::wait_list::{Locked, WaitList};
use fibre_core::Limit;
use fibre_core::internal::{begin_within, yield_point};
use fibre_core::sync::{AtomicU64, AtomicUsize, Ordering, planted};
use std::cell::Cell;
use std::fmt;
use std::mem;
use std::sync::Arc;
use std::time::Duration;

/// What the ends share.
struct Watched<T> {
    value: RwLock<T>,
    /// How often the value was changed. Whoever has the lock for writing counts.
    version: AtomicU64,
    state: Locked<State>,
    senders: AtomicUsize,
    receivers: AtomicUsize,
}

/// What the short lock protects.
struct State {
    /// Whether all senders are gone.
    closed: bool,
    waiting: WaitList,
}

impl<T> Watched<T> {
    /// How often the value was changed. A holder of the short lock sees at least the changes of
    /// those that have claimed under it, and a reader of the value just those up to that value.
    fn version(&self) -> u64 {
        self.version.load(Ordering::Acquire)
    }
}

impl News for State {
    fn waiting(&mut self) -> &mut WaitList {
        &mut self.waiting
    }

    fn is_closed(&self) -> bool {
        self.closed
    }

    fn close(&mut self) {
        self.closed = true;
    }
}

/// A channel for a value that changes: a setting, the state of a connection. A receiver sees the
/// latest value, and may wait for the next change; it misses those in between.
///
/// ```
/// let (sender, mut receiver) = fibre::channel::watch(1);
/// let follower = fibre::spawn(move || {
///     while receiver.changed().is_ok() {}
///     receiver.get() // the last one
/// });
/// (2..=10).for_each(|setting| sender.send(setting).unwrap());
/// drop(sender);
/// assert_eq!(follower.join().unwrap(), 10);
/// ```
#[must_use]
pub fn watch<T>(value: T) -> (WatchSender<T>, WatchReceiver<T>) {
    let channel = Arc::new(Watched {
        value: RwLock::new(value),
        version: AtomicU64::new(0),
        state: Locked::new(State {
            closed: false,
            waiting: WaitList::new(),
        }),
        senders: AtomicUsize::new(1),
        receivers: AtomicUsize::new(1),
    });
    let sender = WatchSender(Arc::clone(&channel));
    (sender, WatchReceiver { channel, seen: 0 })
}

/// The sending end of a [`watch`] channel; clones change the same value. When the last one is
/// dropped, the channel closes.
pub struct WatchSender<T>(Arc<Watched<T>>);

impl<T> WatchSender<T> {
    /// Changes the value, and drops the old one. Blocks the fibre (or thread) while receivers
    /// [read](WatchReceiver::read).
    ///
    /// # Errors
    ///
    /// [`SendError`], with the value, if there is no receiver; then the value has not changed.
    pub fn send(&self, value: T) -> Result<(), SendError<T>> {
        if self.receivers() == 0 {
            return Err(SendError(value));
        }
        drop(self.replace(value));
        Ok(())
    }

    /// Changes the value, whether or not there is a receiver, and returns the old one. Blocks as
    /// [`send`](Self::send).
    pub fn replace(&self, value: T) -> T {
        let mut old = value;
        self.modify(|place| {
            mem::swap(place, &mut old);
            true
        });
        old
    }

    /// Calls `change` on the value in place; its result says whether the value has changed, and is
    /// returned. Blocks as [`send`](Self::send). `change` should not block: readers wait meanwhile.
    /// If it panics, receivers are not told.
    ///
    /// ```
    /// let (load, mut seen) = fibre::channel::watch(vec![0; 4]);
    /// load.modify(|loads| {
    ///     loads[2] += 1;
    ///     true
    /// });
    /// seen.changed().unwrap();
    /// assert_eq!(seen.read()[2], 1);
    /// ```
    pub fn modify(&self, change: impl FnOnce(&mut T) -> bool) -> bool {
        let channel = &*self.0;
        let mut value = channel.value.write();
        let changed = change(&mut value);
        if changed {
            let early = planted(faults::watch::CLAIMS_BEFORE_IT_COUNTS);
            let claim = || channel.state.lock().waiting.claim_all(0);
            let claimed = early.then(claim);
            // While the value is ours: a reader sees it with its version.
            channel.version.fetch_add(1, Ordering::Release);
            drop(value);
            claimed.unwrap_or_else(claim).resume();
        }
        changed
    }

    /// Reads the value. Blocks the fibre (or thread) while a sender changes it; senders wait until
    /// the guard is dropped.
    #[track_caller]
    pub fn read(&self) -> RwLockReadGuard<'_, T> {
        self.0.value.read()
    }

    /// Another receiver. The present value is not new to it.
    #[must_use]
    pub fn subscribe(&self) -> WatchReceiver<T> {
        WatchReceiver::new(&self.0, self.0.version())
    }

    /// How many receivers there are at this moment.
    #[must_use]
    pub fn receivers(&self) -> usize {
        self.0.receivers.load(Ordering::Relaxed)
    }
}

impl<T> Clone for WatchSender<T> {
    fn clone(&self) -> Self {
        self.0.senders.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(&self.0))
    }
}

impl<T> Drop for WatchSender<T> {
    fn drop(&mut self) {
        leave(&self.0.senders, &self.0.state);
    }
}

impl<T: fmt::Debug> fmt::Debug for WatchSender<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WatchSender")
            .field("value", &self.0.value)
            .field("receivers", &self.receivers())
            .finish()
    }
}

/// The receiving end of a [`watch`] channel. It remembers which value it has seen; a clone has seen
/// the same.
pub struct WatchReceiver<T> {
    channel: Arc<Watched<T>>,
    /// The version that is not new to it.
    seen: u64,
}

impl<T> WatchReceiver<T> {
    /// A receiver, which is counted here.
    fn new(channel: &Arc<Watched<T>>, seen: u64) -> Self {
        channel.receivers.fetch_add(1, Ordering::Relaxed);
        Self {
            channel: Arc::clone(channel),
            seen,
        }
    }

    /// Waits for a value that it has not seen, and marks it as seen; then [`read`](Self::read) it.
    /// Blocks the fibre, or the thread if the caller is not a fibre.
    ///
    /// # Errors
    ///
    /// [`RecvError`] if the channel is closed, and the last value has been seen.
    pub fn changed(&mut self) -> Result<(), RecvError> {
        // Without a limit, it fails for no other reason.
        self.changed_limited(Limit::None).map_err(|_| RecvError)
    }

    /// Like [`changed`](Self::changed), but gives up after `timeout`, or when the fibre is
    /// cancelled. A `timeout` of zero, and a cancelled fibre, look once.
    ///
    /// # Errors
    ///
    /// [`RecvTimeoutError`].
    pub fn changed_timeout(&mut self, timeout: Duration) -> Result<(), RecvTimeoutError> {
        self.changed_limited(Limit::after(timeout))
    }

    /// Like [`changed`](Self::changed), but gives up when the [`Limit`] comes.
    ///
    /// # Errors
    ///
    /// [`RecvTimeoutError`].
    pub fn changed_within(&mut self, limit: impl Into<Limit>) -> Result<(), RecvTimeoutError> {
        self.changed_limited(begin_within(limit)?)
    }

    /// [`changed`](Self::changed) as an arm of `select!`. If another arm is chosen, the change has
    /// not been seen.
    ///
    /// ```
    /// use fibre::{channel::watch, select, sync::Event};
    ///
    /// let ((setting, mut settings), stop) = (watch(1), Event::new());
    /// setting.send(2).unwrap();
    /// select! {
    ///     changed = settings.changed_arm() => changed.unwrap(),
    ///     () = stop.wait_arm() => unreachable!("it has not been set"),
    /// }
    /// assert_eq!(settings.get(), 2);
    /// ```
    pub fn changed_arm(&mut self) -> ChangedArm<'_> {
        ChangedArm(ListArm::new(Changes {
            state: &self.channel.state,
            version: &self.channel.version,
            seen: Cell::from_mut(&mut self.seen),
        }))
    }

    /// The form that all share.
    fn changed_limited(&mut self, limit: Limit) -> Result<(), RecvTimeoutError> {
        yield_point();
        let seen = self.seen;
        let channel = &*self.channel;
        let is_new = |_: &mut State| Some(channel.version()).filter(|&version| version != seen);
        self.seen = wait_for(&channel.state, limit, is_new)?;
        Ok(())
    }

    /// Waits until `is_wanted` accepts the value, beginning with the present one, and reads it.
    /// Blocks the fibre, or the thread if the caller is not a fibre.
    ///
    /// ```
    /// let (sender, mut receiver) = fibre::channel::watch("starting");
    /// let other = fibre::spawn(move || *receiver.wait_for(|state| *state == "up").unwrap());
    /// sender.send("up").unwrap();
    /// assert_eq!(other.join().unwrap(), "up");
    /// ```
    ///
    /// # Errors
    ///
    /// [`RecvError`] if the channel is closed before.
    pub fn wait_for(
        &mut self,
        is_wanted: impl FnMut(&T) -> bool,
    ) -> Result<RwLockReadGuard<'_, T>, RecvError> {
        // Without a limit, it fails for no other reason.
        self.wait_for_limited(Limit::None, is_wanted)
            .map_err(|_| RecvError)
    }

    /// Like [`wait_for`](Self::wait_for), but gives up after `timeout`, or when the fibre is
    /// cancelled. A `timeout` of zero, and a cancelled fibre, look once. It waits for a sender that
    /// is changing the value in any case.
    ///
    /// ```
    /// use fibre::channel::{RecvTimeoutError, watch};
    /// use std::time::Duration;
    ///
    /// let (_sender, mut receiver) = watch("starting");
    /// let up = receiver.wait_for_timeout(Duration::from_millis(1), |state| *state == "up");
    /// assert_eq!(up.err(), Some(RecvTimeoutError::TimedOut));
    /// ```
    ///
    /// # Errors
    ///
    /// [`RecvTimeoutError`].
    pub fn wait_for_timeout(
        &mut self,
        timeout: Duration,
        is_wanted: impl FnMut(&T) -> bool,
    ) -> Result<RwLockReadGuard<'_, T>, RecvTimeoutError> {
        self.wait_for_limited(Limit::after(timeout), is_wanted)
    }

    /// Like [`wait_for`](Self::wait_for), but gives up when the [`Limit`] comes.
    ///
    /// # Errors
    ///
    /// [`RecvTimeoutError`].
    pub fn wait_for_within(
        &mut self,
        limit: impl Into<Limit>,
        is_wanted: impl FnMut(&T) -> bool,
    ) -> Result<RwLockReadGuard<'_, T>, RecvTimeoutError> {
        self.wait_for_limited(begin_within(limit)?, is_wanted)
    }

    /// The form that all share.
    fn wait_for_limited(
        &mut self,
        limit: Limit,
        mut is_wanted: impl FnMut(&T) -> bool,
    ) -> Result<RwLockReadGuard<'_, T>, RecvTimeoutError> {
        let channel = &*self.channel;
        loop {
            let value = channel.value.read();
            self.seen = channel.version();
            if is_wanted(&value) {
                return Ok(value);
            }
            drop(value);
            let seen = self.seen;
            let is_new = |_: &mut State| (channel.version() != seen).then_some(());
            yield_point();
            wait_for(&channel.state, limit, is_new)?;
        }
    }

    /// Reads the value. Blocks the fibre (or thread) while a sender changes it. Senders wait until
    /// the guard is dropped, so do not keep it across calls that block.
    #[track_caller]
    pub fn read(&self) -> RwLockReadGuard<'_, T> {
        self.channel.value.read()
    }

    /// [`read`](Self::read), and marks the value as seen.
    #[track_caller]
    pub fn read_and_update(&mut self) -> RwLockReadGuard<'_, T> {
        let value = self.channel.value.read();
        self.seen = self.channel.version();
        value
    }

    /// A copy of the value. Blocks as [`read`](Self::read).
    #[must_use]
    pub fn get(&self) -> T
    where
        T: Clone,
    {
        self.read().clone()
    }

    /// Whether there is a value that it has not seen.
    #[must_use]
    pub fn has_changed(&self) -> bool {
        self.channel.version() != self.seen
    }

    /// Whether all senders are gone. The last value may not have been seen.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.channel.state.lock().closed
    }
}

impl<T> Clone for WatchReceiver<T> {
    fn clone(&self) -> Self {
        Self::new(&self.channel, self.seen)
    }
}

impl<T> Drop for WatchReceiver<T> {
    fn drop(&mut self) {
        self.channel.receivers.fetch_sub(1, Ordering::Relaxed);
    }
}

impl<T: fmt::Debug> fmt::Debug for WatchReceiver<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WatchReceiver")
            .field("value", &self.channel.value)
            .field("has_changed", &self.has_changed())
            .finish()
    }
}

/// A wait for a change.
struct Changes<'a> {
    /// The state.
    state: &'a Locked<State>,
    /// The version of the value.
    version: &'a AtomicU64,
    /// The version that the receiver has seen.
    seen: &'a Cell<u64>,
}

impl Listed for Changes<'_> {
    type State = State;
    type Output = Result<(), RecvError>;

    fn locked(&self) -> &Locked<State> {
        self.state
    }

    fn list(state: &mut State) -> &mut WaitList {
        &mut state.waiting
    }

    fn take(&self, state: &mut State) -> Option<Result<(), RecvError>> {
        let version = self.version.load(Ordering::Acquire);
        match self.seen.replace(version) != version {
            true => Some(Ok(())),
            false => state.closed.then_some(Err(RecvError)),
        }
    }

    fn is_there(&self, state: &State) -> bool {
        state.closed || self.version.load(Ordering::Acquire) != self.seen.get()
    }

    fn handed(&self) -> Option<Result<(), RecvError>> {
        None
    }
}

list_arm! {
    /// An arm of `select!` that waits for a change; made by [`WatchReceiver::changed_arm`].
    ChangedArm<'a> ['a] over Changes<'a> => Result<(), RecvError>
}
