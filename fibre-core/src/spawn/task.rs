//! Starting fibres, and what they do at their end.
//!
//! A spawned fibre is one allocation: control block, closure, and in the place of the closure later
//! the result. A panic of the closure is caught at the fibre's root and is its result. A result
//! that will not be asked for is dropped on the fibre's own stack, because a destructor may block.

use crate::fibre::{
    Attributes, Body, ControlBlock, FibreRef, Portrait, Reserved, StackTime, Viewer, block_cache,
};
use crate::park;
use crate::processor::Processor;
use crate::queue::Runnable;
use crate::scheduler::domain::Domain;
use crate::scheduler::fibre_limit::Limit;
use crate::spawn::join::{JoinHandle, Result};
use crate::spawn::scope_count::ChildrenRef;
use crate::stack::{Depot, StackError, put_cold};
use crate::sys::fork;
use crate::sys::stderr;
use crate::sys::unwind_guard::drop_quietly;
use crate::wait::completion::Finished;
use std::alloc::Layout;
use std::any::Any;
use std::cell::UnsafeCell;
use std::fmt;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::NonNull;
use std::sync::Arc;

/// The panic payload that a join returns if the fibre's cluster was stopped without waiting for the
/// fibre any longer; see [`Cluster::stop_within`](crate::Cluster::stop_within). The fibre has not
/// panicked: it will never run again, and nothing that it has is dropped.
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
    /// The closure, the result, or neither.
    stage: UnsafeCell<Stage<F, T>>,
    /// The scope that is told about the end, if it was spawned in one.
    scope: Option<ChildrenRef>,
}

/// What a task holds besides its control block.
enum Stage<F, T> {
    /// The closure, before it runs.
    Closure(F),
    /// The result, after the end.
    Result(Result<T>),
    /// Nothing: the fibre runs, or the result has been taken.
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
        describe,
    };

    /// Replaces the task's second part, and returns what was there.
    ///
    /// # Safety
    ///
    /// `this` is a task of this type, and its stage is the caller's.
    unsafe fn replace(this: FibreRef, stage: Stage<F, T>) -> Stage<F, T> {
        // SAFETY: the caller's promise.
        unsafe { std::mem::replace(&mut *this.cast::<Self>().as_ref().stage.get(), stage) }
    }

    /// The function of [`Body::run`].
    unsafe fn run(this: FibreRef) {
        // SAFETY: the stage is the running fibre's until it finishes.
        let Stage::Closure(closure) = (unsafe { Self::replace(this, Stage::Empty) }) else {
            unreachable!("a fibre ran twice")
        };
        let result = catch_unwind(AssertUnwindSafe(closure));
        fork::die_if_forked("the end of a fibre");
        if let Err(payload) = &result {
            // SAFETY: the runtime's reference keeps the task alive until its stack is left.
            tell_of_panic(unsafe { this.as_ref() }, &**payload);
        }
        // SAFETY: the runtime's reference keeps the task alive until its stack is left.
        let locals = unsafe { &this.as_ref().locals };
        locals.end();
        // SAFETY: the same task, unfinished.
        unsafe { Self::finish(this, result) };
        // The destructor of an unwanted result may have used some.
        locals.end();
    }

    /// The function of [`Body::fail`].
    unsafe fn fail(this: FibreRef, error: StackError) {
        stderr::warn(format_args!("{error}; the fibre ends before it began"));
        // SAFETY: the stage is the owner's: the fibre has not started.
        let closure = unsafe { Self::replace(this, Stage::Empty) };
        drop_quietly(closure);
        // SAFETY: the runtime's reference keeps the task alive.
        unsafe { this.as_ref() }.locals.end();
        // SAFETY: the same task, unfinished.
        unsafe { Self::finish(this, Err(Box::new(error))) };
    }

    /// The function of [`Body::abandon`].
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

    /// The function of [`Body::take_result`].
    unsafe fn take_result(this: FibreRef, place: *mut ()) {
        // SAFETY: after the end the stage is the handle's, and `place` is for a result.
        unsafe {
            let Stage::Result(result) = Self::replace(this, Stage::Empty) else {
                unreachable!("a result was taken twice")
            };
            place.cast::<Result<T>>().write(result);
        }
    }

    /// The function of [`Body::drop_result`].
    unsafe fn drop_result(this: FibreRef) {
        // SAFETY: after the end the stage belongs to the caller, as nobody else asks for the
        // result.
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

    /// The function of [`Body::free`].
    unsafe fn free(this: FibreRef) {
        // SAFETY: made in `launch` with this layout, and nobody refers to it.
        unsafe { free_task::<Self>(this) };
    }
}

/// Reports which fibre a panic was in: the panic hook knows the kernel thread only. Payloads other
/// than texts are left to the joiners: `resume_unwind` with such a payload is how a fibre ends
/// quietly.
#[cold]
fn tell_of_panic(fibre: &ControlBlock, payload: &(dyn Any + Send)) {
    let words = payload.downcast_ref::<String>().map(String::as_str);
    let Some(words) = words.or_else(|| payload.downcast_ref::<&str>().copied()) else {
        return;
    };
    let id = fibre.id();
    match fibre.attributes.name() {
        Some(name) => stderr::warn(format_args!("fibre {id} ({name:?}) has panicked: {words}")),
        None => stderr::warn(format_args!("fibre {id} has panicked: {words}")),
    }
}

/// The function of [`Body::describe`].
unsafe fn describe(this: FibreRef, tell: Viewer<'_>) {
    // SAFETY: the caller's promise: the block is there, and its attributes never change.
    let attributes = unsafe { &this.as_ref().attributes };
    tell(Portrait {
        noun: "fibre",
        name: attributes.name(),
        remedy: "Builder::stack_size, or ClusterBuilder::stack_size for all of its cluster",
    });
}

/// Frees a fibre's allocation.
///
/// # Safety
///
/// The memory was taken by [`Place::admit`] for a `T`, which it holds, and nobody refers to it.
#[inline]
pub unsafe fn free_task<T>(this: FibreRef) {
    let layout = Layout::new::<T>();
    // SAFETY: the caller's promise.
    unsafe {
        this.cast::<T>().drop_in_place();
        match Processor::current().as_ref() {
            Some(here) => here.blocks().put(this.cast(), layout),
            None => block_cache::release(this.cast(), layout),
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
    /// The allocator has no memory for it.
    NoMemory,
}

impl fmt::Display for SpawnError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stopped => f.write_str("the cluster has been stopped"),
            Self::TooManyFibres(most) => {
                write!(f, "the cluster may not have more than {most} fibres")
            }
            Self::NoStack(error) => write!(f, "{error}"),
            Self::NoMemory => f.write_str("there is no memory for the fibre"),
        }
    }
}

impl std::error::Error for SpawnError {}

impl From<SpawnError> for io::Error {
    fn from(error: SpawnError) -> Self {
        let kind = match error {
            SpawnError::Stopped => io::ErrorKind::Other,
            SpawnError::TooManyFibres(_) => io::ErrorKind::WouldBlock,
            SpawnError::NoStack(_) | SpawnError::NoMemory => io::ErrorKind::OutOfMemory,
        };
        if error == SpawnError::NoMemory || !has_memory_for_error() {
            // A kind needs no allocation.
            return kind.into();
        }
        Self::new(kind, error)
    }
}

/// Whether the allocator has the memory of an [`io::Error`] that carries a [`SpawnError`]: std
/// aborts where it has not.
#[cold]
fn has_memory_for_error() -> bool {
    let ample = Layout::new::<[SpawnError; 8]>();
    block_cache::allocate(ample)
        // SAFETY: just allocated, and unused.
        .inspect(|block| unsafe { block_cache::release(*block, ample) })
        .is_some()
}

/// What a new fibre gets before it is made.
pub struct Admitted<T> {
    /// Room for the task.
    pub memory: NonNull<T>,
    /// The fibre's number.
    pub id: u64,
    /// The stack, or the promise of one, that it has already.
    pub reserved: Reserved,
}

/// The place where a new fibre is to live.
pub enum Place<'a> {
    /// With the caller, a fibre of this processor, which makes way for it.
    Now(&'a Processor),
    /// With the caller, a processor of the domain.
    Here(&'a Processor),
    /// In this domain, which the caller keeps alive.
    There(&'a Arc<Domain>),
}

impl Place<'_> {
    /// The domain of the place.
    #[inline]
    fn domain(&self) -> &Domain {
        match self {
            Self::Here(processor) | Self::Now(processor) => processor.domain(),
            Self::There(domain) => domain,
        }
    }

    /// Takes the fibre's stack, or the promise of one, if the fibre is to have it before it runs.
    fn reserve(&self, attributes: &Attributes) -> std::result::Result<Reserved, StackError> {
        let class = attributes.stack_class(self.domain().settings.stack_size);
        match (attributes.stack_time, self) {
            (StackTime::FirstRun, _) => Ok(Reserved::Nothing),
            (StackTime::Promised, Self::Here(processor) | Self::Now(processor)) => {
                processor.promise_stack(class).map(|()| Reserved::Promise)
            }
            (StackTime::Promised, Self::There(domain)) => {
                let promised = domain.stacks.promise_one(class);
                promised.map(|()| Reserved::Promise)
            }
            (StackTime::Spawn, Self::Here(processor) | Self::Now(processor)) => {
                processor.take_stack(class).map(Reserved::Stack)
            }
            (StackTime::Spawn, Self::There(domain)) => {
                domain.stacks.take_one(class).map(Reserved::Stack)
            }
        }
    }

    /// Undoes [`reserve`](Self::reserve).
    #[cold]
    fn unreserve(&self, attributes: &Attributes, reserved: Reserved) {
        let class = attributes.stack_class(self.domain().settings.stack_size);
        match (reserved, self) {
            (Reserved::Nothing, _) => {}
            (Reserved::Stack(stack), _) => put_cold(stack),
            (Reserved::Promise, Self::Here(processor) | Self::Now(processor)) => {
                processor.unpromise_stack(class);
            }
            (Reserved::Promise, Self::There(_)) => Depot::unpromise_one(class),
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

    /// Takes memory for a fibre with these attributes, counts the fibre, and returns the memory
    /// with its number and what it has of its stack already.
    ///
    /// # Errors
    ///
    /// When there cannot be such a fibre; then nothing has been taken.
    #[inline]
    pub fn admit<T>(
        &self,
        attributes: &Attributes,
    ) -> std::result::Result<Admitted<T>, SpawnError> {
        let layout = Layout::new::<T>();
        // The memory comes first, as it can be given back without a trace.
        let memory = match self {
            Self::Here(processor) | Self::Now(processor) => processor.blocks().take(layout),
            Self::There(_) => block_cache::allocate(layout),
        };
        let memory = memory.ok_or(SpawnError::NoMemory)?;
        match admit(self, attributes) {
            Ok((id, reserved)) => Ok(Admitted {
                memory: memory.cast(),
                id,
                reserved,
            }),
            Err(error) => {
                // SAFETY: just taken for this layout, and unused.
                unsafe { block_cache::release(memory, layout) };
                Err(error)
            }
        }
    }

    /// Refuses attributes that cannot be met here.
    pub fn check(&self, attributes: &Attributes) -> io::Result<()> {
        match attributes.processor() {
            Some(processor) if processor >= self.domain().regular() => Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                format!("the cluster has no processor {processor}"),
            )),
            _ => Ok(()),
        }
    }

    /// Queues a fibre, or lets it run.
    #[inline]
    pub fn put(&self, fibre: Runnable) {
        match self {
            Self::Here(processor) => processor.place(fibre),
            Self::Now(processor) => park::make_way(processor, fibre),
            Self::There(domain) => domain.place(fibre, None, domain.next_turn()),
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
    let Admitted {
        memory: task,
        id,
        reserved,
    } = place.admit::<Task<F, T>>(&attributes)?;
    // SAFETY: fresh memory of this layout.
    unsafe {
        task.write(Task {
            block: ControlBlock::new(Task::<F, T>::BODY, attributes, id),
            stage: UnsafeCell::new(Stage::<F, T>::Closure(closure)),
            scope,
        });
        (*task.as_ptr()).block.errand.reserve(reserved);
    }
    let fibre: FibreRef = task.cast();
    // SAFETY: the fibre is new, and ends only once it has been placed; nobody else has it.
    let runnable = unsafe {
        ControlBlock::join_group(fibre);
        ControlBlock::runnable(fibre)
    };
    place.put(runnable);
    // SAFETY: the second reference is the handle's.
    Ok(unsafe { JoinHandle::new(fibre) })
}

/// Counts a new fibre, and gives it its number and perhaps its stack.
#[inline]
fn admit(
    place: &Place<'_>,
    attributes: &Attributes,
) -> std::result::Result<(u64, Reserved), SpawnError> {
    let limit = place.domain().limit.as_ref();
    if limit.is_none() && attributes.stack_time == StackTime::FirstRun {
        let id = place.register().ok_or(SpawnError::Stopped)?;
        return Ok((id, Reserved::Nothing));
    }
    admit_with_care(place, attributes, limit)
}

/// The part of [`admit`] for clusters with a limit, and for fibres that want to be sure of their
/// stacks.
#[inline(never)]
fn admit_with_care(
    place: &Place<'_>,
    attributes: &Attributes,
    limit: Option<&Limit>,
) -> std::result::Result<(u64, Reserved), SpawnError> {
    if let Some(limit) = limit {
        limit.admit().map_err(SpawnError::TooManyFibres)?;
    }
    let reserved = place.reserve(attributes).map_err(SpawnError::NoStack);
    let admitted = reserved.and_then(|reserved| match place.register() {
        Some(id) => Ok((id, reserved)),
        None => {
            place.unreserve(attributes, reserved);
            Err(SpawnError::Stopped)
        }
    });
    if let (Err(_), Some(limit)) = (&admitted, limit) {
        limit.leave();
    }
    admitted
}

/// Panics for a spawn that cannot return an error.
#[cold]
pub fn refuse(error: SpawnError) -> ! {
    panic!("cannot spawn a fibre: {error}")
}
