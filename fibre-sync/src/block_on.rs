//! Running a future to its end, by a fibre or thread that blocks.
//!
//! The waker is a notification that the caller waits for between two polls. An early notification
//! is kept, so none is lost. It lives as long as anybody has the waker, since any thread may call
//! that at any time.

use crate::notify::Notify;
use std::future::IntoFuture;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};

/// What wakes a caller of [`block_on`].
#[derive(Debug)]
struct Signal(Notify);

impl Wake for Signal {
    fn wake(self: Arc<Self>) {
        self.0.notify_one();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.0.notify_one();
    }
}

/// Runs a future to its end and returns its output. Blocks the fibre, or the thread if the caller
/// is not a fibre, while the future is pending. It needs no runtime. But the future may need one of
/// its own, as tokio's sockets and timers do: see `docs/ASYNC.md`.
///
/// Only the calling fibre polls the future, which need not be `Send`. The future may make calls
/// that block the fibre, and may borrow from the caller's frame. Within a `timeout` or
/// `cancellable`, the call drops a pending future when the limit comes, and unwinds.
///
/// ```
/// use std::time::Duration;
///
/// let (sender, receiver) = fibre::channel::bounded(1);
/// fibre::spawn(move || sender.send(42));
/// let answer = fibre::block_on(async { receiver.recv_async().await });
/// assert_eq!(answer, Ok(42));
///
/// let never = || fibre::block_on(std::future::pending::<()>());
/// assert!(fibre::timeout(Duration::from_millis(5), never).is_err());
/// ```
///
/// # Panics
///
/// If the future does.
#[doc(alias("await"))]
pub fn block_on<F: IntoFuture>(future: F) -> F::Output {
    let mut future = pin!(future.into_future());
    let signal = Arc::new(Signal(Notify::new()));
    let waker = Waker::from(Arc::clone(&signal));
    let mut context = Context::from_waker(&waker);
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut context) {
            return output;
        }
        signal.0.wait();
    }
}
