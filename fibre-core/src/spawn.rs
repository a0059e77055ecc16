//! Starting fibres, and what they do at their end.
//!
//! A spawned fibre is one allocation: control block, closure, and in the place of
//! the closure later the result. A panic of the closure is caught at the fibre's
//! root and is its result. Results that nobody will ask for are dropped on the
//! fibre's own stack, because a destructor may block.

use crate::children::ChildrenRef;
use crate::completion::Finished;
use crate::domain::Domain;
use crate::fibre::{Attributes, Body, ControlBlock, FibreRef, StackTime, memory};
use crate::fork;
use crate::join::{JoinHandle, Result};
use crate::limit::Limit;
use crate::park;
use crate::processor::Processor;
use crate::quiet::drop_quietly;
use crate::report;
use crate::stack::{Stack, StackError, is_any_scarce, is_scarce, put_cold};
use std::alloc::Layout;
use std::cell::UnsafeCell;
use std::fmt;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::NonNull;
use std::sync::Arc;

/// What a join of a fibre returns as the panic's payload, if the fibre's cluster was
/// stopped without waiting for it any longer; see
/// [`Cluster::stop_within`](crate::Cluster::stop_within). The fibre has not panicked:
/// it will never run again, and nothing that it has is dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Abandoned;

impl fmt::Display for Abandoned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the fibre was left behind by its cluster, which has been stopped")
    }
}

impl std::error::Error for Abandoned {}

/// A fibre's allocation.
#[repr(C)]
struct Task<F, T> {
    /// Comes first: a pointer to it is a pointer to the whole.
    block: ControlBlock,
    /// What is in the place behind it.
    stage: UnsafeCell<Stage<F, T>>,
    /// Whom to tell about the end, if spawned in a scope.
    scope: Option<ChildrenRef>,
}

/// What a task holds besides its control block.
enum Stage<F, T> {
    /// Not run yet.
    Closure(F),
    /// Ended.
    Result(Result<T>),
    /// Running, or the result has been taken.
    Empty,
}

impl<F: FnOnce() -> T, T> Task<F, T> {
    /// The functions of this type of task.
    const BODY: &'static Body = &Body {
        run: Self::run,
        fail: Self::fail,
        abandon: Self::abandon,
        take_result: Self::take_result,
        drop_result: Self::drop_result,
        free: Self::free,
    };

    /// Takes what is in the task's second part.
    ///
    /// # Safety
    ///
    /// `this` is a task of this type, and its stage is the caller's.
    unsafe fn replace(this: FibreRef, stage: Stage<F, T>) -> Stage<F, T> {
        // SAFETY: the caller's promise.
        unsafe { std::mem::replace(&mut *this.cast::<Self>().as_ref().stage.get(), stage) }
    }

    /// See [`Body::run`].
    unsafe fn run(this: FibreRef) {
        // SAFETY: the stage is the running fibre's until it finishes.
        let Stage::Closure(closure) = (unsafe { Self::replace(this, Stage::Empty) }) else {
            unreachable!("a fibre ran twice")
        };
        let result = catch_unwind(AssertUnwindSafe(closure));
        fork::die_if_forked("the end of a fibre");
        // SAFETY: the runtime's reference keeps the task alive until its stack is left.
        let locals = unsafe { &this.as_ref().locals };
        locals.end();
        // SAFETY: the same task, unfinished.
        unsafe { Self::finish(this, result) };
        // A result that nobody wanted may have used some when it was dropped.
        locals.end();
    }

    /// See [`Body::fail`].
    unsafe fn fail(this: FibreRef, error: StackError) {
        report::say(format_args!("{error}; the fibre ends before it began"));
        // SAFETY: the stage is the owner's: the fibre has not started.
        let closure = unsafe { Self::replace(this, Stage::Empty) };
        drop_quietly(closure);
        // SAFETY: the runtime's reference keeps the task alive.
        unsafe { this.as_ref() }.locals.end();
        // SAFETY: the same task, unfinished.
        unsafe { Self::finish(this, Err(Box::new(error))) };
    }

    /// See [`Body::abandon`].
    unsafe fn abandon(this: FibreRef) {
        // SAFETY: the runtime's reference, which is never given up.
        let (block, scope) = unsafe { (this.as_ref(), this.cast::<Self>().as_ref().scope) };
        // A scope has to wait: others may still use what the fibre has borrowed from it.
        if scope.is_some() || block.completion.is_done() {
            return;
        }
        // SAFETY: the stage was the fibre's, which will never run again.
        unsafe {
            std::mem::forget(Self::replace(this, Stage::Empty));
            Self::finish(this, Err(Box::new(Abandoned)));
        }
    }

    /// Publishes the result, and tells the scope.
    ///
    /// # Safety
    ///
    /// `this` is a task of this type whose stage is the caller's.
    unsafe fn finish(this: FibreRef, result: Result<T>) {
        // SAFETY: the runtime's reference keeps the task alive in all of this.
        unsafe {
            let scope = this.cast::<Self>().as_ref().scope;
            drop(Self::replace(this, Stage::Result(result)));
            let finished = this.as_ref().completion.finish::<ControlBlock>();
            if finished == Finished::Unwanted {
                Self::drop_result(this);
            }
            if let Some(scope) = scope {
                ChildrenRef::child_ended(scope);
            }
        }
    }

    /// See [`Body::take_result`].
    unsafe fn take_result(this: FibreRef, place: *mut ()) {
        // SAFETY: after the end the stage is the handle's, and `place` is for a result.
        unsafe {
            let Stage::Result(result) = Self::replace(this, Stage::Empty) else {
                unreachable!("a result was taken twice")
            };
            place.cast::<Result<T>>().write(result);
        }
    }

    /// See [`Body::drop_result`].
    unsafe fn drop_result(this: FibreRef) {
        // SAFETY: after the end the stage belongs to whom nobody else asks.
        let stage = unsafe { Self::replace(this, Stage::Empty) };
        // SAFETY: the runtime or a handle refers to the task.
        let scope = unsafe { this.cast::<Self>().as_ref() }.scope;
        if let (Stage::Result(Err(_)), Some(scope)) = (&stage, scope) {
            // SAFETY: the fibre has not been counted down yet; or a handle is being
            // dropped, which its lifetime keeps inside the scope.
            unsafe { ChildrenRef::unasked_panic(scope) };
        }
        drop_quietly(stage);
    }

    /// See [`Body::free`].
    unsafe fn free(this: FibreRef) {
        // SAFETY: made in `launch` with this layout, and nobody refers to it.
        unsafe { free_task::<Self>(this) };
    }
}

/// Frees a fibre's allocation.
///
/// # Safety
///
/// It was taken from [`Place::memory`] for a `T`, which it is, and nobody refers to it.
#[inline]
pub unsafe fn free_task<T>(this: FibreRef) {
    let layout = Layout::new::<T>();
    // SAFETY: the caller's promise.
    unsafe {
        this.cast::<T>().drop_in_place();
        match Processor::current().as_ref() {
            Some(here) => here.blocks().put(this.cast(), layout),
            None => memory::release(this.cast(), layout),
        }
    }
}

/// Why a fibre cannot be spawned. [`Builder::spawn`](crate::Builder::spawn) has it inside its
/// [`io::Error`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum SpawnError {
    /// The cluster has been stopped.
    Stopped,
    /// The cluster has so many fibres already, which is as many as it may have
    /// ([`max_fibres`](crate::ClusterBuilder::max_fibres)).
    TooManyFibres(usize),
    /// There is no stack for it.
    NoStack(StackError),
}

impl fmt::Display for SpawnError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stopped => f.write_str("the cluster has been stopped"),
            Self::TooManyFibres(most) => {
                write!(f, "the cluster may not have more than {most} fibres")
            }
            Self::NoStack(error) => write!(f, "{error}"),
        }
    }
}

impl std::error::Error for SpawnError {}

impl From<SpawnError> for io::Error {
    fn from(error: SpawnError) -> Self {
        let kind = match error {
            SpawnError::Stopped => io::ErrorKind::Other,
            SpawnError::TooManyFibres(_) => io::ErrorKind::WouldBlock,
            SpawnError::NoStack(_) => io::ErrorKind::OutOfMemory,
        };
        Self::new(kind, error)
    }
}

/// Where a new fibre is to live.
pub enum Place<'a> {
    /// With the caller, a fibre of this processor, which makes way for it.
    Now(&'a Processor),
    /// With the caller, who is a processor of the domain.
    Here(&'a Processor),
    /// In this domain, which the caller keeps alive.
    There(&'a Arc<Domain>),
}

impl Place<'_> {
    /// The domain.
    #[inline]
    fn domain(&self) -> &Domain {
        match self {
            Self::Here(processor) | Self::Now(processor) => processor.domain(),
            Self::There(domain) => domain,
        }
    }

    /// Takes the fibre's stack, if it is to have it before it runs.
    #[inline]
    fn reserve(&self, attributes: &Attributes) -> std::result::Result<Option<Stack>, SpawnError> {
        match attributes.stack_time {
            StackTime::FirstRun => Ok(None),
            time => self
                .reserve_now(attributes, time)
                .map_err(SpawnError::NoStack),
        }
    }

    /// See [`reserve`](Self::reserve).
    fn reserve_now(
        &self,
        attributes: &Attributes,
        time: StackTime,
    ) -> std::result::Result<Option<Stack>, StackError> {
        let default = self.domain().settings.stack_size;
        let class = attributes.stack_class(default);
        if time == StackTime::FirstRunUnlessScarce && !is_scarce(class) {
            return Ok(None);
        }
        match self {
            Self::Here(processor) | Self::Now(processor) => processor.take_stack(class).map(Some),
            Self::There(domain) => domain.stacks.take_one(class).map(Some),
        }
    }

    /// Counts the fibre; `None` if the domain has stopped.
    #[inline]
    fn register(&self) -> Option<u64> {
        match self {
            Self::Here(processor) | Self::Now(processor) => {
                Some(processor.domain().register(processor.index()))
            }
            Self::There(domain) => domain.register_foreign(),
        }
    }

    /// Memory for it.
    #[inline]
    pub fn memory(&self, layout: Layout) -> NonNull<u8> {
        match self {
            Self::Here(processor) | Self::Now(processor) => processor.blocks().take(layout),
            Self::There(_) => memory::allocate(layout),
        }
    }

    /// Refuses attributes that cannot be had here.
    pub fn check(&self, attributes: &Attributes) -> io::Result<()> {
        match attributes.processor() {
            Some(processor) if processor >= self.domain().processors() => Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                format!("the cluster has no processor {processor}"),
            )),
            _ => Ok(()),
        }
    }

    /// Queues it, or lets it run.
    #[inline]
    pub fn put(&self, fibre: FibreRef) {
        match self {
            // SAFETY: the fibre is new.
            Self::Here(processor) => unsafe { processor.place(fibre) },
            Self::Now(processor) => park::make_way(processor, fibre),
            // SAFETY: the fibre is new.
            Self::There(domain) => unsafe { domain.place(fibre, None, domain.next_turn()) },
        }
    }
}

/// Spawns a fibre in `place`.
///
/// # Errors
///
/// When it cannot be; the closure is gone.
///
/// # Safety
///
/// What `closure` borrows, and `T`, live until the fibre has ended and its result
/// is gone; `scope`, if any, until it has been told.
pub unsafe fn launch<F, T>(
    place: &Place<'_>,
    attributes: Attributes,
    scope: Option<ChildrenRef>,
    closure: F,
) -> std::result::Result<JoinHandle<T>, SpawnError>
where
    F: FnOnce() -> T + Send,
    T: Send,
{
    let (id, stack) = admit(place, &attributes)?;
    let task = place
        .memory(Layout::new::<Task<F, T>>())
        .cast::<Task<F, T>>();
    // SAFETY: fresh memory of this layout.
    unsafe {
        task.write(Task {
            block: ControlBlock::new(Task::<F, T>::BODY, attributes, id),
            stage: UnsafeCell::new(Stage::<F, T>::Closure(closure)),
            scope,
        });
        if let Some(stack) = stack {
            (*task.as_ptr()).block.errand.reserve(stack);
        }
    }
    let fibre: FibreRef = task.cast();
    // SAFETY: the fibre is new, and ends only once it has been placed.
    unsafe { ControlBlock::join_group(fibre) };
    place.put(fibre);
    // SAFETY: the second reference is the handle's.
    Ok(unsafe { JoinHandle::new(fibre) })
}

/// Counts a new fibre, and gives it its number and perhaps its stack.
#[inline]
pub fn admit(
    place: &Place<'_>,
    attributes: &Attributes,
) -> std::result::Result<(u64, Option<Stack>), SpawnError> {
    let limit = place.domain().limit.as_ref();
    let stack_later = match attributes.stack_time {
        StackTime::FirstRun => true,
        StackTime::FirstRunUnlessScarce => !is_any_scarce(),
        StackTime::Spawn => false,
    };
    if limit.is_none() && stack_later {
        let id = place.register().ok_or(SpawnError::Stopped)?;
        return Ok((id, None));
    }
    admit_with_care(place, attributes, limit)
}

/// The part of [`admit`] for clusters with a limit, and fibres that may want a stack now.
#[cold]
fn admit_with_care(
    place: &Place<'_>,
    attributes: &Attributes,
    limit: Option<&Limit>,
) -> std::result::Result<(u64, Option<Stack>), SpawnError> {
    if let Some(limit) = limit {
        limit.admit().map_err(SpawnError::TooManyFibres)?;
    }
    let admitted = place
        .reserve(attributes)
        .and_then(|stack| match place.register() {
            Some(id) => Ok((id, stack)),
            None => {
                if let Some(stack) = stack {
                    put_cold(stack);
                }
                Err(SpawnError::Stopped)
            }
        });
    if let (Err(_), Some(limit)) = (&admitted, limit) {
        limit.leave();
    }
    admitted
}

/// Ends a spawn that cannot return an error.
#[cold]
pub fn refuse(error: SpawnError) -> ! {
    panic!("cannot spawn a fibre: {error}")
}
