//! Joining a fibre from asynchronous code.

use crate::park::TaskWait;
use crate::spawn::join::{JoinHandle, Result};
use std::fmt;
use std::future::{Future, IntoFuture};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

/// The end of a fibre as a future, for asynchronous code: what [`JoinHandle`] is turned into by
/// `.await`. The executor may be any; no runtime's thread is needed for it.
///
/// Dropping it detaches the fibre, as dropping the handle does; [`into_handle`](Self::into_handle)
/// gives the handle back instead.
///
/// ```
/// let answer = fibre::block_on(async { fibre::spawn(|| 6 * 7).await });
/// assert_eq!(answer.unwrap(), 42);
/// ```
pub struct JoinFuture<T> {
    /// `None`: the result has been taken.
    handle: Option<JoinHandle<T>>,
    /// The wait, once it has begun.
    wait: Option<Arc<TaskWait<()>>>,
}

impl<T> JoinFuture<T> {
    /// Turns back into the handle. Blocks nothing.
    ///
    /// # Panics
    ///
    /// If the future has returned the result.
    #[must_use = "its drop detaches the fibre"]
    pub fn into_handle(mut self) -> JoinHandle<T> {
        self.end_wait();
        match self.handle.take() {
            Some(handle) => handle,
            None => panic!("the fibre has been joined"),
        }
    }

    /// Ends the wait, if one has begun.
    fn end_wait(&mut self) {
        let (Some(handle), Some(wait)) = (&self.handle, self.wait.take()) else {
            return;
        };
        handle.completion().withdraw(wait.waiter());
        if !wait.waiter().is_claimed() {
            // SAFETY: taken out just now, and the finisher has not claimed it: it would have done
            // so before the call returned.
            unsafe { wait.end() };
        }
    }
}

impl<T> Future for JoinFuture<T> {
    type Output = Result<T>;

    /// # Panics
    ///
    /// If it has returned the result; if a fibre joins itself.
    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<T>> {
        let this = self.get_mut();
        let Some(handle) = &this.handle else {
            panic!("the fibre has been joined");
        };
        handle.refuse_self();
        let waits = !handle.is_finished()
            && match &this.wait {
                // What was resumed has ended.
                Some(wait) => !wait.register(context.waker()),
                None => {
                    this.wait = handle.begin_to_wait(context.waker());
                    this.wait.is_some()
                }
            };
        if waits {
            return Poll::Pending;
        }
        // The finisher has taken out what was published.
        this.wait = None;
        match this.handle.take() {
            Some(handle) => Poll::Ready(handle.take()),
            None => unreachable!("it is there, as seen above"),
        }
    }
}

impl<T> JoinHandle<T> {
    /// Begins to wait for the end. `None`: the fibre has ended meanwhile.
    fn begin_to_wait(&self, waker: &std::task::Waker) -> Option<Arc<TaskWait<()>>> {
        let wait = TaskWait::new(());
        let _ = wait.register(waker);
        wait.begin();
        let waits = self.completion().publish_limited(wait.waiter());
        if !waits {
            // SAFETY: it was not published.
            unsafe { wait.end() };
        }
        waits.then_some(wait)
    }
}

impl<T> IntoFuture for JoinHandle<T> {
    type Output = Result<T>;
    type IntoFuture = JoinFuture<T>;

    fn into_future(self) -> JoinFuture<T> {
        JoinFuture {
            handle: Some(self),
            wait: None,
        }
    }
}

impl<T> Drop for JoinFuture<T> {
    fn drop(&mut self) {
        self.end_wait();
    }
}

impl<T> fmt::Debug for JoinFuture<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JoinFuture")
            .field("handle", &self.handle)
            .finish_non_exhaustive()
    }
}
