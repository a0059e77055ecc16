//! `spawn`, and `Builder` for those who want a name or another stack.

use crate::cancel::CancelToken;
use crate::cluster::{Cluster, caller_place, try_caller_place};
use crate::fibre::{Attributes, StackTime};
use crate::processor::Processor;
use crate::spawn::{JoinHandle, launch, refuse};
use std::io;

/// Spawns a fibre in the caller's cluster, or, on a thread that is no fibre, in the
/// default one.
///
/// The fibre runs on some processor and stays on that kernel thread once it has
/// started.
///
/// ```
/// let handle = fibre_core::spawn(|| "hello");
/// assert_eq!(handle.join().unwrap(), "hello");
/// ```
///
/// # Panics
///
/// If the default cluster cannot be started, or the cluster has as many fibres as it may
/// have; [`Builder::spawn`] returns an error instead.
pub fn spawn<F, T>(closure: F) -> JoinHandle<T>
where
    F: FnOnce() -> T + Send + 'static,
    T: Send + 'static,
{
    // SAFETY: everything is 'static.
    let handle =
        caller_place(|place| unsafe { launch(place, Attributes::default(), None, closure) });
    match handle {
        Ok(handle) => handle,
        Err(error) => refuse(error),
    }
}

/// What a fibre is to be like.
///
/// ```
/// let handle = fibre_core::Builder::new()
///     .name("accountant")
///     .stack_size(64 * 1024)
///     .spawn(|| fibre_core::name())?;
/// assert_eq!(handle.join().unwrap().as_deref(), Some("accountant"));
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug, Clone, Default)]
#[must_use = "nothing happens until `spawn`"]
pub struct Builder(Attributes);

impl Builder {
    /// A builder with default values.
    pub fn new() -> Self {
        Self::default()
    }

    /// The fibre's name in reports. Default: none.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.0.name = Some(name.into().into_boxed_str());
        self
    }

    /// Bytes reserved for its stack; at least 32 KiB, rounded up to a power of two.
    /// Default: the cluster's. One that cannot be had is an error at the join, or, if the last
    /// attempt to have one has failed, at the spawn.
    pub fn stack_size(mut self, bytes: usize) -> Self {
        self.0.stack_size = Some(bytes);
        self
    }

    /// Has it cancelled together with all that have this token. Default: none.
    ///
    /// ```
    /// let token = fibre_core::CancelToken::new();
    /// let waiting = fibre_core::Builder::new().cancel_token(&token).spawn(|| {
    ///     fibre_core::sleep_cancellable(std::time::Duration::MAX)
    /// })?;
    /// token.cancel();
    /// assert_eq!(waiting.join().unwrap(), Err(fibre_core::Cancelled));
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn cancel_token(mut self, token: &CancelToken) -> Self {
        self.0.group = Some(token.group());
        self
    }

    /// Gives it its stack when it is spawned and not when it first runs, so that an error
    /// shows at once; costs memory for each fibre that has not run yet.
    ///
    /// ```
    /// let absurd = fibre_core::Builder::new().stack_size(1 << 50).eager_stack();
    /// let error = absurd.spawn(|| ()).unwrap_err();
    /// assert_eq!(error.kind(), std::io::ErrorKind::OutOfMemory);
    /// ```
    pub fn eager_stack(mut self) -> Self {
        self.0.stack_time = StackTime::Spawn;
        self
    }

    /// What to spawn with, for those who can report an error.
    fn fallible(mut self) -> Attributes {
        if self.0.stack_time == StackTime::FirstRun {
            self.0.stack_time = StackTime::FirstRunUnlessScarce;
        }
        self.0
    }

    /// Spawns it, as [`spawn`].
    ///
    /// # Errors
    ///
    /// When the default cluster cannot be started; [`SpawnError::TooManyFibres`](crate::SpawnError)
    /// ([`WouldBlock`](io::ErrorKind::WouldBlock)) when the cluster has as many fibres as it may
    /// have; [`SpawnError::NoStack`](crate::SpawnError) ([`OutOfMemory`](io::ErrorKind::OutOfMemory)) when there is
    /// no stack for it. The latter is found out here with [`eager_stack`](Self::eager_stack), or
    /// if a stack of that size has been refused and none has come back; else at the join.
    pub fn spawn<F, T>(self, closure: F) -> io::Result<JoinHandle<T>>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        // SAFETY: everything is 'static.
        let handle =
            try_caller_place(|place| unsafe { launch(place, self.fallible(), None, closure) })?;
        Ok(handle?)
    }

    /// Spawns it in `cluster`.
    ///
    /// # Errors
    ///
    /// When the cluster has been stopped, and the caller is not one of its last fibres; and as
    /// [`spawn`](Self::spawn).
    pub fn spawn_in<F, T>(self, cluster: &Cluster, closure: F) -> io::Result<JoinHandle<T>>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        cluster.try_spawn(self.fallible(), closure)
    }
}

/// The number of the calling fibre; `None` on a plain thread.
#[must_use]
pub fn id() -> Option<u64> {
    // SAFETY: the running fibre's own block.
    crate::park::running().map(|fibre| unsafe { fibre.as_ref() }.id())
}

/// The name of the calling fibre, if it is one and has one.
#[must_use]
pub fn name() -> Option<String> {
    let fibre = crate::park::running()?;
    // SAFETY: the running fibre's own block.
    unsafe { fibre.as_ref() }
        .attributes
        .name
        .as_deref()
        .map(str::to_owned)
}

/// The processor that the calling fibre is on, as a number within its cluster; `None` on
/// a plain thread.
///
/// ```
/// let cluster = fibre_core::Cluster::builder().processors(2).build()?;
/// let fibre = cluster.spawn(|| fibre_core::processor());
/// assert!(fibre.join().unwrap().is_some_and(|processor| processor < 2));
/// assert_eq!(fibre_core::processor(), None);
/// cluster.stop();
/// # Ok::<(), std::io::Error>(())
/// ```
#[must_use]
pub fn processor() -> Option<usize> {
    // SAFETY: not null means that this thread is that processor.
    unsafe { Processor::current().as_ref() }.map(Processor::index)
}
