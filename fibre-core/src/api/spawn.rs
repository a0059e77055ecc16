//! `spawn`, and `Builder` for callers that want a name or another stack.

use crate::api::scope::{Scope, ScopedJoinHandle};
use crate::cluster::{Cluster, caller_place, try_caller_place};
use crate::config::policy::Priority;
use crate::fibre::{Attributes, ControlBlock, StackTime};
use crate::park::cancel::CancelToken;
use crate::processor::{Processor, with_running};
use crate::spawn::detached::tell_of_error;
use crate::spawn::join::JoinHandle;
use crate::spawn::task::{SpawnError, SpawnTarget, launch_static, launch_usual, refuse};
use crate::sys::current;
use std::error::Error;
use std::io;

/// Spawns a fibre in the caller's cluster, or, on a thread that is no fibre, in the
/// default one.
///
/// The fibre runs on some processor and stays on that kernel thread once it has
/// started.
///
/// ```
/// let handle = fibre::spawn(|| "hello");
/// assert_eq!(handle.join().unwrap(), "hello");
/// ```
///
/// # Panics
///
/// If the default cluster cannot be started, or the cluster has as many fibres as it may have;
/// [`Builder::spawn`] returns an error instead. If an environment variable of the runtime is set to
/// nonsense, one line on standard error says so in place of the panic hook.
#[doc(alias("go", "pthread_create", "tokio::spawn", "goroutine"))]
pub fn spawn<F, T>(closure: F) -> JoinHandle<T>
where
    F: FnOnce() -> T + Send + 'static,
    T: Send + 'static,
{
    // SAFETY: this thread is that processor, if it is one. What drops the closure may block, but
    // the processor is not used after that.
    let handle = match unsafe { Processor::current().as_ref() } {
        Some(here) => launch_usual(here, closure),
        None => spawn_from_outside(closure),
    };
    match handle {
        Ok(handle) => handle,
        Err(error) => refuse(error),
    }
}

/// [`spawn`] on a thread that is no fibre.
#[inline(never)]
fn spawn_from_outside<F, T>(closure: F) -> std::result::Result<JoinHandle<T>, SpawnError>
where
    F: FnOnce() -> T + Send + 'static,
    T: Send + 'static,
{
    caller_place(|place| launch_static(place, Attributes::default(), closure))
}

/// Spawns a fibre that nobody joins, with a closure that may fail: its error is told to
/// [`on_detached_failure`](crate::on_detached_failure), as its panic is. Its value is dropped.
///
/// [`spawn`] cannot do that: it takes closures with results of any type, and if nobody takes an
/// `Err`, it is dropped as any value is.
///
/// ```
/// use std::sync::mpsc;
///
/// let (tell, told) = mpsc::channel();
/// fibre::on_detached_failure(move |failure| {
///     let _ = tell.send(failure.to_string());
/// });
/// fibre::spawn_detached(|| "12x".parse::<u32>());
/// assert!(told.recv()?.ends_with("has failed: invalid digit found in string"));
/// # Ok::<(), mpsc::RecvError>(())
/// ```
///
/// # Panics
///
/// As [`spawn`]; [`Builder::spawn_detached`] returns an error instead.
pub fn spawn_detached<F, T, E>(closure: F)
where
    F: FnOnce() -> Result<T, E> + Send + 'static,
    E: Into<Box<dyn Error + Send + Sync>>,
{
    drop(spawn(|| run_detached(closure)));
}

/// Runs a closure to its end, and tells of its error.
fn run_detached<T, E>(closure: impl FnOnce() -> Result<T, E>)
where
    E: Into<Box<dyn Error + Send + Sync>>,
{
    if let Err(error) = closure() {
        tell_of_error(&*error.into());
    }
}

/// Spawns a fibre that runs at once on the caller's processor; the caller goes on when it
/// blocks, yields or ends. From a thread that is no fibre, as [`spawn`].
///
/// The caller goes on before the other fibres that are ready here, so a tree of forked and joined
/// fibres is walked depth first: it has as many stacks as it has levels, and a join finds its fibre
/// ended. So that others do not starve meanwhile, a caller that has not let them run for 20 µs goes
/// behind them. The new fibre is not stolen: use [`spawn`] where there is work for several
/// processors. Source: work-first order, Frigo, Leiserson, Randall, "The implementation of the
/// Cilk-5 multithreaded language" (1998).
///
/// ```
/// fn count(depth: u32) -> u64 {
///     if depth == 0 {
///         return 1;
///     }
///     let branches = [0, 1].map(|_| fibre::spawn_now(move || count(depth - 1)));
///     branches.into_iter().map(|branch| branch.join().unwrap()).sum()
/// }
/// assert_eq!(fibre::spawn(|| count(8)).join().unwrap(), 256);
/// ```
///
/// # Panics
///
/// As [`spawn`].
pub fn spawn_now<F, T>(closure: F) -> JoinHandle<T>
where
    F: FnOnce() -> T + Send + 'static,
    T: Send + 'static,
{
    match now(Attributes::default(), closure) {
        Ok(handle) => handle,
        Err(closure) => spawn(closure),
    }
}

/// [`spawn_now`], if the caller is a fibre; else returns the closure.
fn now<F, T>(attributes: Attributes, closure: F) -> std::result::Result<JoinHandle<T>, F>
where
    F: FnOnce() -> T + Send + 'static,
    T: Send + 'static,
{
    // SAFETY: this thread is that processor, if it is one, and it is not used after the switch.
    match unsafe { Processor::current().as_ref() } {
        Some(here) if here.running().is_some() => {
            let handle = launch_static(&SpawnTarget::Now(here), attributes, closure);
            Ok(handle.unwrap_or_else(|error| refuse(error)))
        }
        _ => Err(closure),
    }
}

/// The settings of a fibre to come.
///
/// ```
/// let handle = fibre::Builder::new()
///     .name("accountant")
///     .stack_size(64 * 1024)
///     .spawn(|| fibre::name())?;
/// assert_eq!(handle.join().unwrap().as_deref(), Some("accountant"));
/// # Ok::<(), std::io::Error>(())
/// ```
#[doc(alias("pthread_attr_t", "thread::Builder"))]
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
        self.0.set_name(name.into().into_boxed_str());
        self
    }

    /// Bytes reserved for its stack; at least 32 KiB, rounded up to a power of two. Default: the
    /// cluster's. A size that cannot be had is an error at the spawn: the addresses are reserved
    /// there, and memory is taken as it is used.
    pub fn stack_size(mut self, bytes: usize) -> Self {
        self.0.set_stack_size(bytes);
        self
    }

    /// Cancels the fibre together with all others that have this token. Default: none.
    ///
    /// ```
    /// let token = fibre::CancelToken::new();
    /// let waiting = fibre::Builder::new().cancel_token(&token).spawn(|| {
    ///     fibre::sleep_within(std::time::Duration::MAX)
    /// })?;
    /// token.cancel();
    /// assert_eq!(waiting.join().unwrap(), Err(fibre::Cancelled));
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn cancel_token(mut self, token: &CancelToken) -> Self {
        self.0.set_group(token.group());
        self
    }

    /// Which of the fibres that are ready at a processor runs first. Default:
    /// [`Priority::Normal`].
    pub fn priority(mut self, priority: Priority) -> Self {
        self.0.priority = priority;
        self
    }

    /// Makes it a fibre of the background, which runs only if a processor finds nothing else in the
    /// whole cluster, whatever the fibre's priority; and now and then all the same, so that it does
    /// not starve. Source: thesis, section 3.2.2.
    ///
    /// ```
    /// let sweeper = fibre::Builder::new().background().spawn(|| "swept")?;
    /// assert_eq!(sweeper.join().unwrap(), "swept");
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn background(mut self) -> Self {
        self.0.background = true;
        self
    }

    /// Makes it stay on one processor of its cluster, counted from zero: it starts there, and is
    /// never stolen nor moved. Default: any.
    ///
    /// ```
    /// let cluster = fibre::Cluster::builder().processors(2).build()?;
    /// let there = fibre::Builder::new().on_processor(1);
    /// assert_eq!(there.spawn_in(&cluster, || 7)?.join().unwrap(), 7);
    /// let nowhere = fibre::Builder::new().on_processor(2);
    /// assert!(nowhere.spawn_in(&cluster, || 7).is_err());
    /// cluster.stop();
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn on_processor(mut self, processor: usize) -> Self {
        self.0.set_processor(processor);
        self
    }

    /// Gives it its stack, with a guard in place, when it is spawned, and not only the promise of
    /// one; costs page tables for each fibre that has not run yet.
    ///
    /// ```
    /// let absurd = fibre::Builder::new().stack_size(1 << 50).eager_stack();
    /// let error = absurd.spawn(|| ()).unwrap_err();
    /// assert_eq!(error.kind(), std::io::ErrorKind::OutOfMemory);
    /// ```
    pub fn eager_stack(mut self) -> Self {
        self.0.stack_time = StackTime::Spawn;
        self
    }

    /// Splits off what was chosen.
    pub(crate) fn attributes(self) -> Attributes {
        self.0
    }

    /// Splits off what to spawn with, for callers that can report an error.
    pub(crate) fn fallible(mut self) -> Attributes {
        if self.0.stack_time == StackTime::FirstRun {
            self.0.stack_time = StackTime::Promised;
        }
        self.0
    }

    /// Spawns the fibre, as [`spawn`].
    ///
    /// # Errors
    ///
    /// When the default cluster cannot be started; when the cluster has no such processor;
    /// [`SpawnError::TooManyFibres`](crate::SpawnError) ([`WouldBlock`](io::ErrorKind::WouldBlock))
    /// when the cluster has as many fibres as it may have; the bare kind
    /// [`OutOfMemory`](io::ErrorKind::OutOfMemory) when the allocator has no memory for it (the
    /// closure is dropped); [`SpawnError::NoStack`](crate::SpawnError) (of the same kind) when
    /// there are no addresses, or no guard, for its stack. What has been spawned runs.
    pub fn spawn<F, T>(self, closure: F) -> io::Result<JoinHandle<T>>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        try_caller_place(|place| {
            place.check(&self.0)?;
            Ok::<_, io::Error>(launch_static(place, self.fallible(), closure)?)
        })?
    }

    /// Spawns the fibre in `cluster`.
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

    /// Spawns a fibre that nobody joins, as [`spawn_detached`].
    ///
    /// ```
    /// let logger = fibre::Builder::new().name("logger");
    /// logger.spawn_detached(|| std::fs::read("/no/such/file"))?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`spawn`](Self::spawn).
    pub fn spawn_detached<F, T, E>(self, closure: F) -> io::Result<()>
    where
        F: FnOnce() -> Result<T, E> + Send + 'static,
        E: Into<Box<dyn Error + Send + Sync>>,
    {
        self.spawn(|| run_detached(closure)).map(drop)
    }

    /// The same in `cluster`.
    ///
    /// ```
    /// let cluster = fibre::Cluster::builder().processors(1).build()?;
    /// fibre::Builder::new().spawn_detached_in(&cluster, || Err::<(), _>("no more paper"))?;
    /// cluster.stop();
    /// # Ok::<(), std::io::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`spawn_in`](Self::spawn_in).
    pub fn spawn_detached_in<F, T, E>(self, cluster: &Cluster, closure: F) -> io::Result<()>
    where
        F: FnOnce() -> Result<T, E> + Send + 'static,
        E: Into<Box<dyn Error + Send + Sync>>,
    {
        self.spawn_in(cluster, || run_detached(closure)).map(drop)
    }

    /// Spawns the fibre in a scope, as [`Scope::spawn`].
    ///
    /// ```
    /// let text = "borrowed".to_owned();
    /// let name = fibre::scope(|scope| {
    ///     let builder = fibre::Builder::new().name("reader");
    ///     let reader = builder.spawn_scoped(scope, || (text.len(), fibre::name()));
    ///     reader.unwrap().join().unwrap()
    /// });
    /// assert_eq!(name, (8, Some("reader".to_owned())));
    /// ```
    ///
    /// # Errors
    ///
    /// As [`spawn`](Self::spawn).
    pub fn spawn_scoped<'scope, F, T>(
        self,
        scope: &'scope Scope<'scope, '_>,
        closure: F,
    ) -> io::Result<ScopedJoinHandle<'scope, T>>
    where
        F: FnOnce() -> T + Send + 'scope,
        T: Send + 'scope,
    {
        scope.try_spawn(self.fallible(), closure)
    }
}

/// The number of the calling fibre; `None` on a plain thread.
#[must_use]
pub fn id() -> Option<u64> {
    with_running(ControlBlock::id)
}

/// The number of the calling fibre, or of the calling thread if that is not one. No other fibre or
/// thread of this process has or had the same, and none has zero: a lock that wants to know its
/// holder keeps this number.
///
/// ```
/// let here = fibre_core::internal::caller_id();
/// assert_eq!(here, fibre_core::internal::caller_id());
/// assert_ne!(here, fibre::spawn(fibre_core::internal::caller_id).join().unwrap());
/// ```
#[must_use]
pub fn caller_id() -> u64 {
    id().unwrap_or_else(current::thread_number)
}

/// The name of the calling fibre, if the caller is one and it has one.
#[must_use]
pub fn name() -> Option<String> {
    with_running(|fibre| fibre.attributes.name().map(str::to_owned))?
}

/// The processor that the calling fibre is on, as a number within its cluster; `None` on
/// a plain thread.
///
/// ```
/// let cluster = fibre::Cluster::builder().processors(2).build()?;
/// let fibre = cluster.spawn(|| fibre::processor());
/// assert!(fibre.join().unwrap().is_some_and(|processor| processor < 2));
/// assert_eq!(fibre::processor(), None);
/// cluster.stop();
/// # Ok::<(), std::io::Error>(())
/// ```
#[must_use]
pub fn processor() -> Option<usize> {
    Processor::here(Processor::index)
}

/// How many processors share the started fibres of the caller's cluster, so that others take over
/// what waits for one that its fibre blocks. `None` if started fibres stay, or no spare processor
/// may run when all are blocked, and on a plain thread.
#[must_use]
pub fn sharing_processors() -> Option<usize> {
    Processor::here(|here| {
        let domain = here.domain();
        let settings = &domain.settings;
        let others_may = settings.moves_started && settings.max_spare.unwrap_or(0) > 0;
        others_may.then(|| domain.regular())
    })?
}

/// How many processors the cluster of the calling fibre has; `None` on a plain thread.
#[must_use]
pub fn processors() -> Option<usize> {
    Processor::here(|here| here.domain().regular())
}
