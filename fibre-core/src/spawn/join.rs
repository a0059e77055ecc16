//! Waiting for the end of fibres, and taking their results.
//!
//! If nobody takes a result, it is dropped once: by the fibre at its end if the handle is gone by
//! then, else by the thread or fibre that drops the handle. A panic in its destructor ends there. A
//! fibre that has its own handle may drop it, and is then detached. It may not join itself, as that
//! would wait for ever.

use crate::fibre::{ControlBlock, FibreRef};
use crate::park::{Wait, Waiter, begin_within};
use crate::wait::completion::Completion;
use crate::wait::limit::Limit;
use crate::wait::waiter::Outcome;
use std::any::Any;
use std::fmt;
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::ops::Deref;
use std::time::Duration;

/// What [`JoinHandle::join`] returns: the closure's result, or its panic's payload.
pub type Result<T> = std::result::Result<T, Box<dyn Any + Send + 'static>>;

/// The right to wait for a fibre's end and to take its result. Dropping it detaches the fibre,
/// which runs on; its result is then dropped at its end, and its panic told to
/// [`on_detached_failure`](crate::on_detached_failure).
///
/// ```
/// let handle = fibre::spawn(|| 6 * 7);
/// assert_eq!(handle.join().unwrap(), 42);
/// ```
#[doc(alias("pthread_t", "task"))]
pub struct JoinHandle<T> {
    /// A reference to the control block.
    fibre: FibreRef,
    /// The result comes from another thread.
    _result: PhantomData<fn() -> T>,
}

// SAFETY: the handle moves the result, which is `Send`, and uses atomic words.
unsafe impl<T: Send> Send for JoinHandle<T> {}
// SAFETY: a shared handle gives access to the fibre's number and state only.
unsafe impl<T: Send> Sync for JoinHandle<T> {}

impl<T> JoinHandle<T> {
    /// The handle of a fibre with a `T` as its result.
    ///
    /// # Safety
    ///
    /// The fibre's result is a `T`, and the caller gives a reference to the handle.
    #[inline]
    pub(crate) unsafe fn new(fibre: FibreRef) -> Self {
        Self {
            fibre,
            _result: PhantomData,
        }
    }

    /// The control block, which the handle's reference keeps alive.
    fn block(&self) -> &ControlBlock {
        // SAFETY: alive until our `drop`.
        unsafe { self.fibre.as_ref() }
    }

    /// Waits for the fibre's end and returns its result. Blocks the fibre, or the
    /// thread if the caller is not a fibre.
    ///
    /// # Errors
    ///
    /// The payload of the panic that ended it; or a [`StackError`](crate::StackError) if it never
    /// got a stack.
    ///
    /// # Panics
    ///
    /// If a fibre joins itself: it would wait for ever.
    #[doc(alias("pthread_join", "await"))]
    #[inline]
    pub fn join(self) -> Result<T> {
        self.refuse_self();
        if !self.is_finished() {
            self.wait_for_end();
        }
        self.take()
    }

    /// The part of [`join`](Self::join) that waits.
    #[inline]
    fn wait_for_end(&self) {
        let (awaited, completion) = (self.block().awaited_end(), &self.block().completion);
        let publish = |waiter: &Waiter, limit| completion.publish_within(waiter, limit);
        let withdraw = |waiter: &Waiter| completion.withdraw(waiter);
        // SAFETY: a completion takes its waiter out before it claims it, or when it is withdrawn.
        let _ = unsafe { Wait::new(awaited, Limit::None).park(publish, withdraw) };
    }

    /// [`join`](Self::join) by a wait that nothing but the fibre's end ends, whatever limits are
    /// around the call: for callers that others borrow from.
    pub(crate) fn join_unbounded(self) -> Result<T> {
        self.refuse_self();
        self.wait_unbounded();
        self.take()
    }

    /// The part of that which waits.
    fn wait_unbounded(&self) {
        if !self.is_finished() {
            let completion = &self.block().completion;
            let wait = Wait::closed(self.block().awaited_end());
            let publish = |waiter: &Waiter, _| completion.publish(waiter);
            // SAFETY: a completion takes its waiter out before it claims it.
            let _ = unsafe { wait.park(publish, |_| {}) };
        }
    }

    /// Like [`join`](Self::join), but gives the handle back if the fibre has not ended when so much
    /// time has passed, or if the caller is cancelled. Zero tries once.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// let handle = fibre::spawn(|| fibre::sleep_within(Duration::MAX).is_err());
    /// let handle = handle.join_timeout(Duration::from_millis(1)).unwrap_err();
    /// handle.cancel();
    /// assert!(handle.join_timeout(Duration::MAX).unwrap().unwrap());
    /// ```
    ///
    /// # Errors
    ///
    /// The handle, if the time passed, or the calling fibre is cancelled.
    ///
    /// # Panics
    ///
    /// As [`join`](Self::join).
    pub fn join_timeout(self, timeout: Duration) -> std::result::Result<Result<T>, Self> {
        self.join_limited(Limit::after(timeout))
    }

    /// Like [`join`](Self::join), but gives the handle back if the fibre has not ended when the
    /// [`Limit`] comes.
    ///
    /// # Errors
    ///
    /// The handle, if the limit came first, or the calling fibre is cancelled.
    ///
    /// # Panics
    ///
    /// As [`join`](Self::join).
    #[inline]
    pub fn join_within(self, limit: impl Into<Limit>) -> std::result::Result<Result<T>, Self> {
        match begin_within(limit) {
            Ok(limit) => self.join_limited(limit),
            Err(_) => Err(self),
        }
    }

    /// The common part of the joins with a limit.
    fn join_limited(self, limit: Limit) -> std::result::Result<Result<T>, Self> {
        self.refuse_self();
        if !self.is_finished() {
            let (awaited, completion) = (self.block().awaited_end(), &self.block().completion);
            let publish = |waiter: &Waiter, _| completion.publish_limited(waiter);
            let withdraw = |waiter: &Waiter| completion.withdraw(waiter);
            // SAFETY: a completion takes its waiter out before it claims it, or when it
            // is withdrawn.
            let outcome = unsafe { Wait::new(awaited, limit).park(publish, withdraw) };
            if outcome == Outcome::Cancelled {
                return Err(self);
            }
        }
        if self.is_finished() {
            Ok(self.take())
        } else {
            Err(self)
        }
    }

    /// A handle that waits for the fibre's end when it is dropped, while the drop of this one
    /// detaches it.
    pub fn join_on_drop(self) -> JoinOnDrop<T> {
        JoinOnDrop(Some(self))
    }

    /// Cancels the fibre: its cancellable waits fail from now on, also the one that it is in. See
    /// [`CancelToken`](crate::CancelToken) for what that means. Blocks nothing.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// let sleeper = fibre::spawn(|| {
    ///     fibre::sleep_within(Duration::from_secs(3600)).is_err()
    /// });
    /// sleeper.cancel();
    /// assert!(sleeper.join().unwrap());
    /// ```
    #[doc(alias("abort", "pthread_cancel", "interrupt"))]
    pub fn cancel(&self) {
        // SAFETY: we have a reference.
        unsafe { ControlBlock::cancel(self.fibre) };
    }

    /// Whether the fibre has ended, so that [`join`](Self::join) will not block.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.block().completion.is_done()
    }

    /// The fibre's number: unique in the process, never reused.
    #[must_use]
    pub fn id(&self) -> u64 {
        self.block().id()
    }

    /// The fibre's name, if it was given one.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        self.block().attributes.name()
    }

    /// Panics if the caller is the fibre, see [`join`](Self::join), Panics.
    pub(super) fn refuse_self(&self) {
        assert!(!self.is_callers(), "a fibre cannot join itself");
    }

    /// Whether the caller is the fibre.
    fn is_callers(&self) -> bool {
        crate::processor::running() == Some(self.fibre)
    }

    /// The completion of the fibre's end.
    pub(super) fn completion(&self) -> &Completion {
        &self.block().completion
    }

    /// Takes the result of a fibre that has ended.
    pub(super) fn take(self) -> Result<T> {
        let mut result = MaybeUninit::<Result<T>>::uninit();
        let fibre = self.fibre;
        std::mem::forget(self);
        // SAFETY: it has ended, so the stage is ours, and then our reference goes.
        unsafe {
            (fibre.as_ref().body().take_result)(fibre, result.as_mut_ptr().cast());
            ControlBlock::release(fibre);
            result.assume_init()
        }
    }
}

impl<T> JoinHandle<T> {
    /// Writes the `{:?}` form of a handle of this type.
    pub(crate) fn describe(&self, kind: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct(kind)
            .field("id", &self.id())
            .field("name", &self.name())
            .field("is_finished", &self.is_finished())
            .finish_non_exhaustive()
    }
}

impl<T> fmt::Debug for JoinHandle<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.describe("JoinHandle", f)
    }
}

impl<T> fmt::Debug for JoinOnDrop<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.deref().describe("JoinOnDrop", f)
    }
}

impl<T> Drop for JoinHandle<T> {
    fn drop(&mut self) {
        let ended = !self.block().completion.detach();
        // SAFETY: if it has ended, the result is ours to drop; our reference goes last.
        unsafe {
            if ended {
                (self.block().body().drop_result)(self.fibre);
            }
            ControlBlock::release(self.fibre);
        }
    }
}

/// A [`JoinHandle`] that waits for the fibre's end when it is dropped; made by
/// [`JoinHandle::join_on_drop`]. Blocks the fibre, or the thread if the caller is not a fibre.
///
/// The result is dropped then; so is the payload of a panic, which is told to
/// [`on_detached_failure`](crate::on_detached_failure).
/// Cancellation is not noticed. A fibre that drops such a handle of its own is detached: it would
/// wait for ever.
///
/// ```
/// use std::sync::atomic::{AtomicBool, Ordering};
/// use std::sync::Arc;
///
/// let ended = Arc::new(AtomicBool::new(false));
/// let tells = Arc::clone(&ended);
/// let guard = fibre::spawn(move || {
///     fibre::yield_now();
///     tells.store(true, Ordering::Relaxed);
/// })
/// .join_on_drop();
/// drop(guard);
/// assert!(ended.load(Ordering::Relaxed));
/// ```
#[must_use = "dropped at once, it waits at once"]
pub struct JoinOnDrop<T>(Option<JoinHandle<T>>);

impl<T> JoinOnDrop<T> {
    /// Waits and returns the result, as [`JoinHandle::join`].
    ///
    /// # Errors
    ///
    /// The payload of the panic that ended it.
    ///
    /// # Panics
    ///
    /// If a fibre joins itself.
    pub fn join(self) -> Result<T> {
        self.into_handle().join()
    }

    /// [`JoinHandle::join_timeout`] for such a handle.
    ///
    /// # Errors
    ///
    /// The handle, if the time passed, or the calling fibre is cancelled.
    ///
    /// # Panics
    ///
    /// If a fibre joins itself.
    pub fn join_timeout(self, timeout: Duration) -> std::result::Result<Result<T>, Self> {
        let joined = self.into_handle().join_timeout(timeout);
        joined.map_err(JoinHandle::join_on_drop)
    }

    /// [`JoinHandle::join_within`] for such a handle.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// let fibre = fibre::spawn(|| fibre::sleep_within(Duration::MAX).is_err()).join_on_drop();
    /// let fibre = fibre.join_within(Duration::from_millis(1)).unwrap_err();
    /// fibre.cancel();
    /// assert!(fibre.join().unwrap());
    /// ```
    ///
    /// # Errors
    ///
    /// The handle, if the limit came first, or the calling fibre is cancelled.
    ///
    /// # Panics
    ///
    /// If a fibre joins itself.
    pub fn join_within(self, limit: impl Into<Limit>) -> std::result::Result<Result<T>, Self> {
        let joined = self.into_handle().join_within(limit);
        joined.map_err(JoinHandle::join_on_drop)
    }

    /// Turns into the plain handle, which detaches the fibre when it is dropped.
    #[must_use = "its drop detaches the fibre"]
    pub fn into_handle(mut self) -> JoinHandle<T> {
        match self.0.take() {
            Some(handle) => handle,
            None => unreachable!("only this and the drop take it"),
        }
    }
}

impl<T> Deref for JoinOnDrop<T> {
    type Target = JoinHandle<T>;

    fn deref(&self) -> &JoinHandle<T> {
        match &self.0 {
            Some(handle) => handle,
            None => unreachable!("only `into_handle` and the drop take it"),
        }
    }
}

impl<T> Drop for JoinOnDrop<T> {
    fn drop(&mut self) {
        if let Some(handle) = self.0.take()
            && !handle.is_callers()
        {
            // A destructor is not unwound. The drop of the handle drops the result.
            handle.wait_unbounded();
        }
    }
}
