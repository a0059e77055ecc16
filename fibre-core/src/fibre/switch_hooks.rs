//! Functions of the program that are called at each switch.
//!
//! Libraries keep data in thread-locals that belongs to one flow of control, such as the span of a
//! log line. The fibres of a processor share its thread-locals. Hooks take such data out of the
//! thread-local when a fibre leaves its stack, keep it with the fibre, and put it back before the
//! fibre goes on.
//!
//! The hooks of a cluster are fixed when it is built: those of the process, then its own. A
//! processor without hooks runs a loop with no trace of them (see `processor/run_loop.rs`). They
//! run on the processor's own stack, between two fibres, so they cannot leave it.

use super::ControlBlock;
use super::director::Director;
use super::switch_reason::SwitchReason;
use crate::sync::thread_mutex::Mutex;
use crate::sys::stderr;
use std::fmt;
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// What a program does whenever a fibre is switched to and from: for libraries that keep state of
/// one flow of control in thread-locals, which the fibres of a processor share.
///
/// [`ClusterBuilder::switch_hooks`](crate::ClusterBuilder::switch_hooks) has them called in one
/// cluster, [`install_switch_hooks`] in all clusters that are built later. Each hook is called once
/// for each switch, on the kernel thread where the fibre runs, or has just run. There,
/// [`in_fibre`](crate::in_fibre) says no; the fibre's values are reached by
/// [`LocalKey::with_switched`](crate::LocalKey::with_switched).
///
/// Where there are several, they are called in the order of their installation when a fibre is
/// switched to, and in the opposite order when it is switched from. A fibre that yields and goes on
/// at once, as no other is ready, is not switched.
///
/// **A hook must not block**: no lock of this library that may be taken, no I/O, no sleep. It would
/// block the processor with all of its fibres. Builds with debug assertions abort the process when
/// a hook waits by this library; they cannot see other ways. It may wake and spawn fibres. **A hook
/// must not panic**: the process aborts, since no fibre could be trusted to have its state.
///
/// ```
/// use fibre::{Cluster, SwitchHooks, SwitchedFibre, SwitchReason};
/// use std::cell::Cell;
///
/// thread_local! {
///     /// The request of the running fibre, as some library keeps it.
///     static REQUEST: Cell<u32> = const { Cell::new(0) };
/// }
///
/// fibre::fibre_local! {
///     /// The same, while the fibre is switched out.
///     static KEPT: Cell<u32> = Cell::new(0);
/// }
///
/// #[derive(Debug)]
/// struct KeepRequest;
///
/// impl SwitchHooks for KeepRequest {
///     fn switch_in(&self, fibre: &SwitchedFibre<'_>) {
///         KEPT.with_switched(fibre, |kept| REQUEST.set(kept.get()));
///     }
///
///     fn switch_out(&self, fibre: &SwitchedFibre<'_>, _: SwitchReason) {
///         let request = REQUEST.take();
///         KEPT.with_switched(fibre, |kept| kept.set(request));
///     }
/// }
///
/// let cluster = Cluster::builder().processors(1).switch_hooks(KeepRequest).build()?;
/// let serve = |request| move || {
///     REQUEST.set(request);
///     for _ in 0..10 {
///         fibre::yield_now();
///         assert_eq!(REQUEST.get(), request);
///     }
/// };
/// let fibres = [1, 2, 3].map(|request| cluster.spawn(serve(request)));
/// fibres.into_iter().for_each(|fibre| fibre.join().unwrap());
/// cluster.stop();
/// # Ok::<(), std::io::Error>(())
/// ```
pub trait SwitchHooks: Send + Sync + 'static {
    /// The fibre is about to run, for the first time or again.
    fn switch_in(&self, fibre: &SwitchedFibre<'_>);

    /// The fibre has left its stack, for this reason. It runs again only after
    /// [`switch_in`](Self::switch_in).
    fn switch_out(&self, fibre: &SwitchedFibre<'_>, reason: SwitchReason);
}

/// A fibre that is switched to or from, as hooks see it.
pub struct SwitchedFibre<'a> {
    /// Its block, which belongs to its processor during the call.
    block: &'a ControlBlock,
    /// Whether its fibre-local values are gone.
    ended: bool,
    /// It is of use on this thread only.
    _here: PhantomData<*const ()>,
}

impl<'a> SwitchedFibre<'a> {
    /// The fibre with this block.
    fn new(block: &'a ControlBlock, ended: bool) -> Self {
        let _here = PhantomData;
        Self {
            block,
            ended,
            _here,
        }
    }

    /// The fibre's number, as [`id`](crate::id()) returns it in the fibre.
    #[must_use]
    pub fn id(&self) -> u64 {
        self.block.id()
    }

    /// Its block, unless its fibre-local values are gone.
    pub(crate) fn block(&self) -> Option<&ControlBlock> {
        (!self.ended).then_some(self.block)
    }
}

impl fmt::Debug for SwitchedFibre<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SwitchedFibre")
            .field("id", &self.id())
            .finish_non_exhaustive()
    }
}

/// The hooks of a cluster, or of one that is to be built.
#[derive(Clone, Default)]
pub(crate) struct HookList {
    /// What is called at each switch.
    hooks: Arc<[Arc<dyn SwitchHooks>]>,
    /// What decides for the cluster.
    director: Option<Arc<dyn Director>>,
}

impl HookList {
    /// Whether there are none, and no director.
    pub(crate) fn is_empty(&self) -> bool {
        self.hooks.is_empty() && self.director.is_none()
    }

    /// What decides for the cluster, if anything does.
    pub(crate) fn director(&self) -> Option<&Arc<dyn Director>> {
        self.director.as_ref()
    }

    /// Makes this one decide.
    pub(crate) fn set_director(&mut self, director: Arc<dyn Director>) {
        self.director = Some(director);
    }

    /// Adds one at the end.
    pub(crate) fn push(&mut self, hooks: Arc<dyn SwitchHooks>) {
        self.hooks = self.hooks.iter().cloned().chain([hooks]).collect();
    }

    /// The hooks of the process, and these behind them. From now on none are installed.
    pub(crate) fn after_those_of_process(self) -> Self {
        let mut process = PROCESS.lock();
        process.is_fixed = true;
        if process.hooks.is_empty() {
            return self;
        }
        let hooks = process.hooks.iter().chain(&*self.hooks).cloned().collect();
        Self { hooks, ..self }
    }

    /// Calls the hooks of a fibre that is about to run.
    pub(crate) fn switch_in(&self, block: &ControlBlock) {
        let fibre = SwitchedFibre::new(block, false);
        call(|| self.hooks.iter().for_each(|hooks| hooks.switch_in(&fibre)));
    }

    /// Calls the hooks of a fibre that has left its stack.
    pub(crate) fn switch_out(&self, block: &ControlBlock, reason: SwitchReason) {
        let fibre = SwitchedFibre::new(block, reason == SwitchReason::Ends);
        let out = |hooks: &Arc<dyn SwitchHooks>| hooks.switch_out(&fibre, reason);
        call(|| self.hooks.iter().rev().for_each(out));
    }
}

impl fmt::Debug for HookList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("HookList").field(&self.hooks.len()).finish()
    }
}

/// Calls hooks. A panic has been printed by the panic hook.
fn call(hooks: impl FnOnce()) {
    if catch_unwind(AssertUnwindSafe(hooks)).is_err() {
        stderr::abort_with(format_args!(
            "a switch hook has panicked, so the fibre's state of thread-locals is lost"
        ));
    }
}

/// The hooks of all clusters of the process.
struct ProcessHooks {
    hooks: Vec<Arc<dyn SwitchHooks>>,
    /// Whether a cluster has been built, which has these hooks and no others.
    is_fixed: bool,
}

/// See [`ProcessHooks`].
static PROCESS: Mutex<ProcessHooks> = Mutex::new(ProcessHooks {
    hooks: Vec::new(),
    is_fixed: false,
});

/// Calls these hooks at each switch of each fibre, in all clusters of the process. Call it at the
/// beginning of `main`: the first cluster is started by the first call that needs one, `spawn` for
/// instance. Blocks nothing.
///
/// ```
/// use fibre::{SwitchHooks, SwitchReason, SwitchedFibre, install_switch_hooks};
/// use std::sync::atomic::{AtomicU64, Ordering};
///
/// static SWITCHES: AtomicU64 = AtomicU64::new(0);
///
/// struct Count;
///
/// impl SwitchHooks for Count {
///     fn switch_in(&self, _: &SwitchedFibre<'_>) {
///         SWITCHES.fetch_add(1, Ordering::Relaxed);
///     }
///
///     fn switch_out(&self, _: &SwitchedFibre<'_>, _: SwitchReason) {}
/// }
///
/// install_switch_hooks(Count)?;
/// fibre::spawn(|| ()).join().unwrap();
/// assert!(SWITCHES.load(Ordering::Relaxed) > 0);
/// assert!(install_switch_hooks(Count).is_err(), "there is a cluster");
/// # Ok::<(), fibre::TooLate>(())
/// ```
///
/// # Errors
///
/// If a cluster has been built already.
pub fn install_switch_hooks(hooks: impl SwitchHooks) -> Result<(), TooLate> {
    let mut process = PROCESS.lock();
    if process.is_fixed {
        return Err(TooLate);
    }
    process.hooks.push(Arc::new(hooks));
    Ok(())
}

/// [`install_switch_hooks`] has been called when there was a cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct TooLate;

impl fmt::Display for TooLate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("switch hooks must be installed before the first cluster is started")
    }
}

impl std::error::Error for TooLate {}
