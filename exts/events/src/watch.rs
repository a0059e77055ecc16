//! Callbacks that something outside calls again and again.
//!
//! A *source* tells of a thing: that a descriptor is ready, that a signal has come. Each telling is
//! an event; until that has run, or been dropped, the source does not tell of the thing again.

use crate::colour::Colour;
use crate::handler::Handler;
use crate::runtime::Runtime;
use fibre_core::internal::Quiet;
use fibre_core::sync::{AtomicBool, Ordering};
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

/// A callback that may be called again and again: a closure, or what
/// [`Handler::every`](crate::Handler::every) makes of one.
pub struct Callback {
    handler: &'static Handler,
    call: Box<dyn FnMut() + Send>,
}

impl Handler {
    /// A callback of this handler, which calls `call` again and again.
    pub fn every(&'static self, call: impl FnMut() + Send + 'static) -> Callback {
        Callback {
            handler: self,
            call: Box::new(call),
        }
    }
}

/// The handler of closures that are registered without one.
static CALLBACK: Handler = Handler::new("callback");

impl<F: FnMut() + Send + 'static> From<F> for Callback {
    fn from(call: F) -> Self {
        CALLBACK.every(call)
    }
}

impl fmt::Debug for Callback {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Callback")
            .field("handler", &self.handler.name())
            .finish_non_exhaustive()
    }
}

/// What tells of a thing.
pub(crate) trait Source: Send + Sync + Sized + 'static {
    /// The event has run, or been dropped: the source may tell again.
    fn handled(watch: &Arc<Watch<Self>>);
}

/// A registered callback.
pub(crate) struct Watch<S> {
    runtime: Arc<Runtime>,
    colour: Colour,
    /// Whether it has not been taken back.
    is_on: AtomicBool,
    /// Only one event at a time takes this lock, so nobody waits for it.
    call: Mutex<Quiet<Box<dyn FnMut() + Send>>>,
    handler: &'static Handler,
    pub(crate) source: S,
}

impl<S: Source> Watch<S> {
    /// A callback that is called under a colour when its source tells.
    pub(crate) fn new(
        runtime: &Arc<Runtime>,
        colour: Colour,
        callback: Callback,
        source: S,
    ) -> Arc<Self> {
        Arc::new(Self {
            runtime: Arc::clone(runtime),
            colour,
            is_on: AtomicBool::new(true),
            call: Mutex::new(Quiet::new(callback.call)),
            handler: callback.handler,
            source,
        })
    }

    /// Posts an event, for the source only, which has none on its way. Returns whether the event
    /// was accepted; then [`Source::handled`] follows.
    pub(crate) fn tell(self: &Arc<Self>) -> bool {
        let told = Told(Arc::clone(self));
        let event = self.handler.with(move || told.call());
        self.runtime.post(self.colour.clone(), event.detected())
    }

    /// Whether it has not been taken back.
    pub(crate) fn is_on(&self) -> bool {
        self.is_on.load(Ordering::Acquire)
    }

    /// Takes it back: no event that has not begun calls it.
    pub(crate) fn take_back(&self) {
        self.is_on.store(false, Ordering::Release);
    }
}

/// An event of a registration.
struct Told<S: Source>(Arc<Watch<S>>);

impl<S: Source> Told<S> {
    /// Calls the callback, unless it has been taken back.
    fn call(self) {
        if self.0.is_on() {
            let mut call = self.0.call.lock().unwrap_or_else(PoisonError::into_inner);
            (**call)();
        }
    }
}

impl<S: Source> Drop for Told<S> {
    fn drop(&mut self) {
        S::handled(&self.0);
    }
}
