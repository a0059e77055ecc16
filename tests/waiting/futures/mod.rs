//! Futures beside fibres: fibres that await them, and tasks that await fibres and channels.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test fails by panicking"
)]

mod block_on;
mod channels;
mod joins;

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};

/// A future that is ready once it has been [set](Switch::set), by whomever.
#[derive(Default)]
pub struct Switch(Mutex<(bool, Option<Waker>)>);

impl Switch {
    /// Makes it ready, and calls the waker of the last poll.
    pub fn set(&self) {
        let waker = {
            let mut state = self.0.lock().unwrap();
            state.0 = true;
            state.1.take()
        };
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// The waker of the last poll.
    pub fn waker(&self) -> Option<Waker> {
        self.0.lock().unwrap().1.clone()
    }

    /// Is ready once it is set.
    pub fn wait(self: &Arc<Self>) -> impl Future<Output = ()> + Send + use<> {
        let this = Arc::clone(self);
        std::future::poll_fn(move |context: &mut Context<'_>| {
            let mut state = this.0.lock().unwrap();
            if state.0 {
                return Poll::Ready(());
            }
            state.1 = Some(context.waker().clone());
            Poll::Pending
        })
    }
}

/// Pending once, after it has called its waker.
pub fn yields() -> impl Future<Output = ()> + Send {
    let mut polled = false;
    std::future::poll_fn(move |context| {
        if std::mem::replace(&mut polled, true) {
            return Poll::Ready(());
        }
        context.waker().wake_by_ref();
        Poll::Pending
    })
}

/// A future that is polled once; its waker counts its calls.
pub struct Polled<F>(pub Pin<Box<F>>, pub Arc<Calls>);

/// How often a waker was called.
#[derive(Default)]
pub struct Calls(std::sync::atomic::AtomicUsize);

impl Calls {
    /// How often so far.
    pub fn count(&self) -> usize {
        self.0.load(std::sync::atomic::Ordering::Acquire)
    }
}

impl Wake for Calls {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, std::sync::atomic::Ordering::AcqRel);
    }
}

impl<F: Future> Polled<F> {
    /// A future to be polled by hand.
    pub fn new(future: F) -> Self {
        Self(Box::pin(future), Arc::default())
    }

    /// Polls it.
    pub fn poll(&mut self) -> Poll<F::Output> {
        let waker = Waker::from(Arc::clone(&self.1));
        self.0.as_mut().poll(&mut Context::from_waker(&waker))
    }
}
