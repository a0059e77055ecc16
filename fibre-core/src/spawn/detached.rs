//! Failures that nobody will learn of: those of detached fibres.
//!
//! A fibre's panic is its joiner's to see. If nobody takes the result, the payload is dropped: by
//! the fibre at its end, or by whoever drops the handle later ([`drop_stage`] of `spawn/task.rs`).
//! There it is shown to the program's hook, and counted. Scopes and groups tell their owners of
//! panics, so fibres of these come here only if the owner has been told of something else.
//!
//! The error that a closure returns is a value like others to [`spawn`](crate::spawn()). It knows
//! nothing of its type. [`spawn_detached`](crate::spawn_detached) has it come here.
//!
//! [`drop_stage`]: crate::spawn::task

use crate::config::debug_flag::DebugFlag;
use crate::fibre::ControlBlock;
use crate::processor::{with_director, with_running};
use crate::spawn::abandoned::Abandoned;
use crate::stack::StackError;
use crate::sync::thread_mutex::Mutex;
use crate::sync::unwind_guard::quietly;
use crate::sys::stderr;
use crate::wait::cancelled::{Cancelled, is_cancelled_error};
use crate::wait::limit::WaitError;
use std::any::Any;
use std::error::Error;
use std::fmt;
use std::io;
use std::iter;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// What the program wants to be called with failures.
type Hook = Arc<dyn Fn(&DetachedFailure<'_>) + Send + Sync>;

/// The program's hook.
static HOOK: Mutex<Option<Hook>> = Mutex::new(None);

/// Whether a line on standard error tells of failures, if there is no hook.
static PRINTS: DebugFlag = DebugFlag::new("FIBRE_DETACHED").on_in_debug_builds();

/// How many failures there have been.
static FAILURES: AtomicU64 = AtomicU64::new(0);

/// How many failures of the process nobody has learned of from a handle.
pub(crate) fn detached_failures() -> u64 {
    FAILURES.load(Ordering::Relaxed)
}

/// A failure of a fibre that nobody learns of by joining it. Given to the hook of
/// [`on_detached_failure`]; its `Display` form is the line that is printed without a hook.
#[derive(Debug)]
pub struct DetachedFailure<'a> {
    /// The fibre's number; zero: it was a plain thread.
    id: u64,
    /// Its name and labels, as reports have them.
    remarks: Remarks<'a>,
    /// What has happened.
    cause: FailureCause<'a>,
}

/// What a report says of a fibre besides its number.
#[derive(Debug)]
struct Remarks<'a> {
    /// Its name, if it has one.
    name: Option<&'a str>,
    /// Its labels, in brackets, if it has any.
    labels: String,
}

impl<'a> Remarks<'a> {
    /// What a report says of this fibre.
    fn of(block: &'a ControlBlock) -> Self {
        let mut labels = String::new();
        let attributes = &block.attributes;
        attributes.with_labels(&mut |line| labels = format!(" [{line}]"));
        Self {
            name: attributes.name(),
            labels,
        }
    }
}

impl fmt::Display for Remarks<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(name) = self.name {
            write!(f, " ({name:?})")?;
        }
        f.write_str(&self.labels)
    }
}

/// How a fibre has failed.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub enum FailureCause<'a> {
    /// It has panicked, with this payload.
    Panic(&'a (dyn Any + Send)),
    /// It has returned this error to [`spawn_detached`](crate::spawn_detached); or it could not
    /// begin, and this is a [`StackError`].
    Error(&'a (dyn Error + 'static)),
}

impl<'a> DetachedFailure<'a> {
    /// The fibre's number, as [`id`](crate::id()) has it.
    #[must_use]
    pub fn id(&self) -> u64 {
        self.id
    }

    /// The name that the fibre was given, if it was.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        self.remarks.name
    }

    /// How it has failed.
    #[must_use]
    pub fn cause(&self) -> FailureCause<'a> {
        self.cause
    }
}

impl fmt::Display for DetachedFailure<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.id {
            0 => f.write_str("a thread, ")?,
            id => write!(f, "fibre {id}{}, ", self.remarks)?,
        }
        f.write_str("which nobody joins, ")?;
        match self.cause {
            FailureCause::Panic(payload) => match words_of(payload) {
                Some(words) => write!(f, "has panicked: {words}"),
                None => f.write_str("has panicked, and not with a text"),
            },
            FailureCause::Error(error) => {
                write!(f, "has failed: {error}")?;
                sources(error)
                    .skip(1)
                    .try_for_each(|source| write!(f, ": {source}"))
            }
        }
    }
}

/// An error, and what it came from.
fn sources<'a>(
    error: &'a (dyn Error + 'static),
) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    iter::successors(Some(error), |&error| error.source())
}

/// The text that a payload is, if it is one.
pub(crate) fn words_of(payload: &(dyn Any + Send)) -> Option<&str> {
    let words = payload.downcast_ref::<String>().map(String::as_str);
    words.or_else(|| payload.downcast_ref::<&str>().copied())
}

/// Calls `hook` with each failure of a fibre that nobody learns of by joining it: a service can log
/// it, or end the process. It is called in place of an earlier hook, and of the line on standard
/// error, which is there by default in builds with debug assertions (`FIBRE_DETACHED`).
///
/// A failure is a panic of a fibre with a handle that was dropped, before the panic or afterwards;
/// an error that a closure has returned to [`spawn_detached`](crate::spawn_detached); a fibre that
/// got no stack; and a panic in a group that has failed, or has what it wanted, which thus cannot
/// tell its caller.
/// These are not: the end of a fibre that was cancelled, be it unwound or by an error that comes
/// from that, as far as its [`source`](std::error::Error::source)s say so (`anyhow` hides what it
/// was made of, unless that has a context); a fibre that is abandoned with its cluster, which
/// [`stop_within`](crate::Cluster::stop_within) tells of; and what a scope or a group tells its
/// caller.
///
/// The hook is called once for each failure: on the fibre's stack when it ends, or where its handle
/// is dropped later. It may block what calls it, and spawn fibres. For a fibre that got no stack
/// that is the processor, with all its fibres. A panic of the hook ends there.
/// Rust's panic hook has been called before that, as it is for every panic.
///
/// ```
/// use fibre::FailureCause;
/// use std::sync::mpsc;
///
/// let (tell, told) = mpsc::channel();
/// fibre::on_detached_failure(move |failure| {
///     let is_panic = matches!(failure.cause(), FailureCause::Panic(_));
///     let _ = tell.send((failure.id(), is_panic, failure.to_string()));
/// });
/// let detached = fibre::spawn(|| panic!("no more paper"));
/// let id = detached.id();
/// drop(detached);
/// let words = format!("fibre {id}, which nobody joins, has panicked: no more paper");
/// assert_eq!(told.recv(), Ok((id, true, words)));
/// ```
pub fn on_detached_failure(hook: impl Fn(&DetachedFailure<'_>) + Send + Sync + 'static) {
    let hook: Hook = Arc::new(hook);
    let earlier = HOOK.lock().replace(hook);
    // Without the lock: it may be a user's destructor.
    drop(earlier);
}

/// Whether the default line will tell of the panic of a fibre that nobody joins.
pub(crate) fn prints() -> bool {
    PRINTS.is_on() && HOOK.lock().is_none()
}

/// Tells of a payload that nobody takes, of this fibre. Blocks what the hook blocks.
#[cold]
#[inline(never)]
pub(crate) fn tell_of_payload(block: &ControlBlock, payload: &(dyn Any + Send)) {
    if payload.is::<Cancelled>() || payload.is::<Abandoned>() {
        return;
    }
    let cause = match payload.downcast_ref::<StackError>() {
        Some(error) => FailureCause::Error(error),
        None => FailureCause::Panic(payload),
    };
    tell(block.id(), Remarks::of(block), cause);
}

/// Tells of a panic of the calling fibre that cannot reach its caller any more. Blocks what the
/// hook blocks.
#[cold]
pub fn tell_of_unseen_panic(payload: &(dyn Any + Send)) {
    if with_running(|block| tell_of_payload(block, payload)).is_none() {
        let remarks = Remarks {
            name: None,
            labels: String::new(),
        };
        tell(0, remarks, FailureCause::Panic(payload));
    }
}

/// Tells of an error that the calling fibre returns, and nobody takes. Blocks what the hook blocks.
#[cold]
#[inline(never)]
pub(crate) fn tell_of_error(error: &(dyn Error + 'static)) {
    with_running(|block| {
        if !(block.state.is_cancelled() && sources(error).any(is_cancellation)) {
            tell(block.id(), Remarks::of(block), FailureCause::Error(error));
        }
    });
}

/// Whether an error says that its fibre was cancelled.
fn is_cancellation(error: &(dyn Error + 'static)) -> bool {
    error.is::<Cancelled>()
        || error.downcast_ref() == Some(&WaitError::Cancelled)
        || error
            .downcast_ref::<io::Error>()
            .is_some_and(is_cancelled_error)
}

/// Counts a failure, and calls the hook, or prints the line.
fn tell(id: u64, remarks: Remarks<'_>, cause: FailureCause<'_>) {
    FAILURES.fetch_add(1, Ordering::Relaxed);
    let failure = DetachedFailure { id, remarks, cause };
    let hook = HOOK.lock().clone();
    if let Some(hook) = hook {
        quietly(|| hook(&failure));
        return;
    }
    let _ = with_director(|director| director.failed_unseen(id));
    if PRINTS.is_on() && !is_told_already(cause) {
        stderr::warn(format_args!("{failure}"));
    }
}

/// Whether a failure has a line of its own, or is not to have one: a payload other than a text is
/// how a fibre ends quietly.
fn is_told_already(cause: FailureCause<'_>) -> bool {
    match cause {
        FailureCause::Panic(payload) => words_of(payload).is_none(),
        FailureCause::Error(error) => error.is::<StackError>(),
    }
}
