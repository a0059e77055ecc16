//! Starting fibres, and what they do at their end.
//!
//! A spawned fibre is one allocation: the control block and the closure, which the result replaces
//! later. The fibre's root catches a panic of the closure, which is then the result. If nobody will
//! ask for the result, it is dropped on the fibre's own stack, because a destructor may block.

use crate::fibre::{Attributes, Body, ControlBlock, FibreRef, Reserved, StackTime, block_cache};
use crate::park;
use crate::park::scoped::{begin_inherited, inherit, inherit_from};
use crate::processor::{Processor, spreads_next_spawn, with_director};
use crate::queue::Runnable;
use crate::ready::record_ready_here;
use crate::scheduler::domain::Domain;
use crate::scheduler::fibre_limit::Limit;
use crate::spawn::abandoned::Abandoned;
use crate::spawn::body::FibreBody;
use crate::spawn::detached;
use crate::spawn::ending::{end_thread, end_values};
use crate::spawn::join::{JoinHandle, Result};
use crate::spawn::parents;
use crate::spawn::scope_count::ChildrenRef;
use crate::stack::{ClusterCache, Images, Stack, StackError, as_thread, class_of, put_cold};
use crate::sync::unwind_guard::drop_quietly;
use crate::sys::stderr;
use crate::trace::{self, TraceKind};
use crate::wait::cancelled::Cancelled;
use crate::wait::completion::Finished;
use std::alloc::Layout;
use std::any::Any;
use std::cell::Cell;
use std::fmt;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::NonNull;
use std::sync::Arc;

/// A fibre's allocation.
#[repr(C)]
struct Task<F, T> {
    /// Comes first: a pointer to it is a pointer to the whole.
    block: ControlBlock,
    /// The closure, the result, or neither.
    stage: Cell<Stage<F, T>>,
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

// SAFETY: `repr(C)`, and the block comes first. The stage is the running fibre's until it finishes,
// and the handle's afterwards.
unsafe impl<F: FnOnce() -> T, T> FibreBody for Task<F, T> {
    unsafe fn run(this: NonNull<Self>) {
        // SAFETY: the running fibre, which the runtime's reference keeps until its stack is left.
        let task = unsafe { this.as_ref() };
        let Stage::Closure(closure) = task.stage.replace(Stage::Empty) else {
            unreachable!("a fibre ran twice")
        };
        if !task.block.locals.is_empty() {
            begin_inherited();
        }
        let result = catch_unwind(AssertUnwindSafe(closure));
        end_thread("the end of a fibre");
        if let Err(payload) = &result {
            let name = task.block.attributes.name();
            // Its scope tells nobody what it was in.
            let is_alone = task.scope.is_none();
            tell_of_panic("fibre", &task.block, name, &**payload, is_alone);
        }
        end_values(&task.block);
        // SAFETY: it has not finished before.
        unsafe { task.finish(result) };
    }

    unsafe fn fail(this: NonNull<Self>, error: StackError) {
        stderr::warn(format_args!("{error}; the fibre ends before it began"));
        // SAFETY: the fibre has not started, and the runtime's reference keeps it.
        let task = unsafe { this.as_ref() };
        drop_quietly(task.stage.replace(Stage::Empty));
        task.block.end_locals();
        // SAFETY: it has not finished before.
        unsafe { task.finish(Err(Box::new(error))) };
    }

    unsafe fn abandon(this: NonNull<Self>) {
        // SAFETY: the fibre will never run again, and the runtime's reference is never given up.
        let task = unsafe { this.as_ref() };
        // A scope has to wait: others may still use what the fibre has borrowed from it.
        if task.scope.is_some() || task.block.completion.is_done() {
            return;
        }
        std::mem::forget(task.stage.replace(Stage::Result(Err(Box::new(Abandoned)))));
        if task.block.completion.finish::<ControlBlock>() == Finished::Unwanted {
            task.drop_stage();
        }
    }

    unsafe fn take_result(this: NonNull<Self>, place: *mut ()) {
        // SAFETY: the fibre has ended, and the caller has a reference.
        let task = unsafe { this.as_ref() };
        let Stage::Result(result) = task.stage.replace(Stage::Empty) else {
            unreachable!("a result was taken twice")
        };
        // SAFETY: the place is for a result.
        unsafe { place.cast::<Result<T>>().write(result) };
    }

    unsafe fn drop_result(this: NonNull<Self>) {
        // SAFETY: the fibre has ended, and the caller has a reference.
        unsafe { this.as_ref() }.drop_stage();
    }
}

impl<F, T> Task<F, T> {
    /// Publishes the result, and tells the scope. From then on the stage is the handle's.
    ///
    /// # Safety
    ///
    /// Called once.
    unsafe fn finish(&self, result: Result<T>) {
        drop(self.stage.replace(Stage::Result(result)));
        if self.block.completion.finish::<ControlBlock>() == Finished::Unwanted {
            self.drop_stage();
            // The destructor of the result may have used some.
            self.block.end_locals();
        }
        if let Some(scope) = self.scope {
            // SAFETY: a task counts down once, here.
            unsafe { ChildrenRef::child_ended(scope) };
        }
    }

    /// Drops a result that nobody asks for.
    fn drop_stage(&self) {
        let stage = self.stage.replace(Stage::Empty);
        if let Stage::Result(Err(payload)) = &stage {
            match self.scope {
                // SAFETY: the fibre has not been counted down yet; or a handle is being
                // dropped, which its lifetime keeps inside the scope.
                Some(scope) => unsafe {
                    ChildrenRef::unasked_panic(scope, payload.is::<Cancelled>());
                },
                None => detached::tell_of_payload(&self.block, &**payload),
            }
        }
        drop_quietly(stage);
    }
}

/// Counts a panic, and reports which fibre it was in: the panic hook knows the kernel thread only.
/// Payloads other than texts are left to the joiners: `resume_unwind` with such a payload is how a
/// fibre ends quietly. If `is_alone`, another line may tell more of it, if nobody joins it.
#[cold]
pub(crate) fn tell_of_panic(
    noun: &str,
    block: &ControlBlock,
    name: Option<&str>,
    payload: &(dyn Any + Send),
    is_alone: bool,
) {
    if payload.is::<Cancelled>() {
        // No panic: a call was unwound because of the fibre's cancellation.
        return;
    }
    Processor::here(|here| here.stats().panics.add(1));
    let Some(words) = detached::words_of(payload) else {
        return;
    };
    if is_alone && block.completion.is_detached() && detached::prints() {
        return;
    }
    if with_director(|director| director.is_quiet()) == Some(true) {
        return;
    }
    let mut remarks = name.map(|name| format!(" ({name:?})")).unwrap_or_default();
    block.attributes.with_labels(&mut |labels| {
        remarks.push_str(&format!(" [{labels}]"));
    });
    stderr::warn(format_args!(
        "{noun} {}{remarks} has panicked: {words}",
        block.id()
    ));
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

/// What a new fibre gets before it is made. It is leaked unless the fibre is.
#[must_use]
pub(crate) struct Admitted<T> {
    /// Room for the task, which nobody else has.
    memory: NonNull<T>,
    /// The fibre's number.
    id: u64,
    /// The stack, or the promise of one, that it has already.
    reserved: Reserved,
}

impl<T> Admitted<T> {
    /// Makes the fibre in its place, with its number and what is reserved for it.
    #[inline(always)]
    pub(crate) fn fill(self, make: impl FnOnce(u64, Reserved) -> T) -> NonNull<T> {
        // SAFETY: fresh memory of this layout, which is ours.
        unsafe { self.memory.write(make(self.id, self.reserved)) };
        self.memory
    }
}

/// The place where a new fibre is to live.
pub(crate) enum SpawnTarget<'a> {
    /// With the caller, a fibre of this processor, which makes way for it.
    Now(&'a Processor),
    /// With the caller, a processor of the domain.
    Here(&'a Processor),
    /// In this domain, which the caller keeps alive.
    There(&'a Arc<Domain>),
}

impl SpawnTarget<'_> {
    /// The domain of the place.
    #[inline]
    pub(crate) fn domain(&self) -> &Arc<Domain> {
        match self {
            Self::Here(processor) | Self::Now(processor) => processor.domain(),
            Self::There(domain) => domain,
        }
    }

    /// Takes the fibre's stack, or the promise of one, if the fibre is to have it before it runs.
    fn reserve(&self, attributes: &Attributes) -> std::result::Result<Reserved, StackError> {
        let class = attributes.stack_class(class_of(self.domain().settings.stack_size));
        match (attributes.stack_time, self) {
            (StackTime::FirstRun, _) => Ok(Reserved::Nothing),
            (_, place) if place.domain().settings.own_thread_locals => {
                place.reserve_as_thread(class).map(Reserved::Stack)
            }
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

    /// Takes a stack of this class with a block of thread-locals, which a promise does not cover.
    #[cold]
    fn reserve_as_thread(&self, class: usize) -> std::result::Result<Stack, StackError> {
        let stack = match self {
            Self::Here(processor) | Self::Now(processor) => processor.take_stack(class)?,
            Self::There(domain) => domain.stacks.take_one(class)?,
        };
        match as_thread(stack, &Images::default()) {
            Ok((stack, ..)) => Ok(stack),
            Err((stack, error)) => {
                put_cold(stack);
                Err(error)
            }
        }
    }

    /// Undoes [`reserve`](Self::reserve).
    #[cold]
    fn unreserve(&self, attributes: &Attributes, reserved: Reserved) {
        let class = attributes.stack_class(class_of(self.domain().settings.stack_size));
        match (reserved, self) {
            (Reserved::Nothing | Reserved::Activity, _) => {}
            (Reserved::Stack(stack), _) => put_cold(stack),
            (Reserved::Promise, Self::Here(processor) | Self::Now(processor)) => {
                processor.unpromise_stack(class);
            }
            (Reserved::Promise, Self::There(_)) => ClusterCache::unpromise_one(class),
        }
    }

    /// Counts the fibre; `None` if the domain has stopped.
    #[inline]
    fn register(&self) -> Option<u64> {
        match self {
            Self::Here(processor) | Self::Now(processor) => Some(processor.stats().count_spawned()),
            Self::There(domain) => domain.register_foreign(),
        }
    }

    /// Takes memory for a fibre.
    #[inline(always)]
    pub(crate) fn allocate(&self, layout: Layout) -> Option<NonNull<u8>> {
        match self {
            Self::Here(processor) | Self::Now(processor) => processor.blocks().take(layout),
            Self::There(_) => block_cache::allocate(layout),
        }
    }

    /// Takes memory for a fibre with these attributes, counts the fibre, and returns the memory
    /// with its number and what it has of its stack already.
    ///
    /// # Errors
    ///
    /// When there cannot be such a fibre; then nothing has been taken.
    #[inline]
    pub(crate) fn admit<T>(
        &self,
        attributes: &Attributes,
    ) -> std::result::Result<Admitted<T>, SpawnError> {
        let (memory, id, reserved) = self.admit_as(Layout::new::<T>(), attributes)?;
        Ok(Admitted {
            memory: memory.cast(),
            id,
            reserved,
        })
    }

    /// [`admit`](Self::admit) of a fibre of this layout.
    #[inline(always)]
    fn admit_as(
        &self,
        layout: Layout,
        attributes: &Attributes,
    ) -> std::result::Result<(NonNull<u8>, u64, Reserved), SpawnError> {
        // The memory comes first, as it can be given back without a trace.
        let memory = self.allocate(layout).ok_or(SpawnError::NoMemory)?;
        match count_in(self, attributes) {
            Ok((id, reserved)) => Ok((memory, id, reserved)),
            Err(error) => {
                // SAFETY: just taken for this layout, and unused.
                unsafe { block_cache::release(memory, layout) };
                Err(error)
            }
        }
    }

    /// Refuses attributes that cannot be met here.
    pub(crate) fn check(&self, attributes: &Attributes) -> io::Result<()> {
        match attributes.processor() {
            Some(processor) if processor >= self.domain().regular() => Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                format!("the cluster has no processor {processor}"),
            )),
            _ => Ok(()),
        }
    }

    /// Queues a fibre, or lets it run.
    #[inline(always)]
    pub(crate) fn put(&self, fibre: Runnable) {
        if trace::are_spawns_noted() {
            note_spawn(&fibre);
        }
        match self {
            Self::Here(processor) => processor.place(fibre),
            Self::Now(processor) => park::make_way(processor, fibre),
            Self::There(domain) => domain.place_from_outside(fibre, spreads_next_spawn()),
        }
    }
}

/// Notes who has spawned a fibre, which is new, for those that want to know it.
#[cold]
#[inline(never)]
fn note_spawn(fibre: &Runnable) {
    if trace::is_on() {
        record_ready_here(TraceKind::Spawn, fibre.id());
    }
    parents::note(fibre.block());
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
pub(crate) unsafe fn launch<F, T>(
    place: &SpawnTarget<'_>,
    attributes: Attributes,
    scope: Option<ChildrenRef>,
    closure: F,
) -> std::result::Result<JoinHandle<T>, SpawnError>
where
    F: FnOnce() -> T + Send,
    T: Send,
{
    let layout = Layout::new::<Task<F, T>>();
    let fibre = admit_block(place, layout, &Task::<F, T>::BODY, attributes)?;
    let task = fibre.cast::<Task<F, T>>().as_ptr();
    // SAFETY: fresh memory of this layout, which has only its block yet. The second reference is
    // the handle's.
    unsafe {
        (&raw mut (*task).stage).write(Cell::new(Stage::Closure(closure)));
        (&raw mut (*task).scope).write(scope);
        set_off(place, fibre, scope);
        Ok(JoinHandle::new(fibre))
    }
}

/// The part of [`launch`] before the closure is in its place: takes memory for the whole fibre, and
/// writes its block there. Compiled once, not for each closure.
#[inline(never)]
fn admit_block(
    place: &SpawnTarget<'_>,
    layout: Layout,
    body: &'static Body,
    attributes: Attributes,
) -> std::result::Result<FibreRef, SpawnError> {
    let (memory, id, reserved) = place.admit_as(layout, &attributes)?;
    let fibre: FibreRef = memory.cast();
    // SAFETY: fresh memory of a layout that begins with a block.
    unsafe { fibre.write(ControlBlock::new(body, attributes, id, reserved)) };
    // SAFETY: just written.
    inherit(unsafe { fibre.as_ref() });
    Ok(fibre)
}

/// The part of [`launch`] after that: the fibre may run.
///
/// # Safety
///
/// The fibre is new and whole, and the scope is its own.
#[inline(never)]
unsafe fn set_off(place: &SpawnTarget<'_>, fibre: FibreRef, scope: Option<ChildrenRef>) {
    if let Some(scope) = scope {
        // SAFETY: the fibre is new, and has been counted.
        unsafe { fibre.as_ref().link().exempt(scope.exemptions()) };
    }
    // SAFETY: the caller's promise.
    unsafe { put_new(place, fibre) };
}

/// Lets a new fibre run.
///
/// # Safety
///
/// The fibre is new and whole.
#[inline(always)]
unsafe fn put_new(place: &SpawnTarget<'_>, fibre: FibreRef) {
    // SAFETY: the fibre is new, and ends only once it has been placed; nobody else has it.
    let runnable = unsafe {
        ControlBlock::join_group(fibre);
        ControlBlock::runnable(fibre)
    };
    place.put(runnable);
}

/// [`launch`] of a fibre that borrows nothing.
///
/// # Errors
///
/// As for [`launch`].
#[inline(always)]
pub(crate) fn launch_static<F, T>(
    place: &SpawnTarget<'_>,
    attributes: Attributes,
    closure: F,
) -> std::result::Result<JoinHandle<T>, SpawnError>
where
    F: FnOnce() -> T + Send + 'static,
    T: Send + 'static,
{
    // SAFETY: everything is 'static.
    unsafe { launch(place, attributes, None, closure) }
}

/// [`launch`] of a fibre that borrows nothing and is like most, by a fibre of this processor. So
/// what follows from its place and its attributes is decided by the compiler.
///
/// # Errors
///
/// As for [`launch`].
#[inline(always)]
pub(crate) fn launch_usual<F, T>(
    here: &Processor,
    closure: F,
) -> std::result::Result<JoinHandle<T>, SpawnError>
where
    F: FnOnce() -> T + Send + 'static,
    T: Send + 'static,
{
    let (place, attributes) = (SpawnTarget::Here(here), Attributes::default());
    let admitted = place.admit::<Task<F, T>>(&attributes)?;
    let task = admitted.fill(|id, reserved| Task {
        block: ControlBlock::new(&Task::<F, T>::BODY, attributes, id, reserved),
        stage: Cell::new(Stage::Closure(closure)),
        scope: None,
    });
    // SAFETY: the fibre is new, and borrows nothing. The second reference is the handle's. The
    // caller does not end meanwhile.
    unsafe {
        if let Some(caller) = here.running() {
            inherit_from(caller.as_ref(), &task.as_ref().block);
        }
        put_new(&place, task.cast());
        Ok(JoinHandle::new(task.cast()))
    }
}

/// Counts a new fibre, and gives it its number and perhaps its stack.
#[inline]
fn count_in(
    place: &SpawnTarget<'_>,
    attributes: &Attributes,
) -> std::result::Result<(u64, Reserved), SpawnError> {
    let limit = place.domain().limit.as_ref();
    if limit.is_none() && attributes.stack_time == StackTime::FirstRun {
        let id = place.register().ok_or(SpawnError::Stopped)?;
        return Ok((id, Reserved::Nothing));
    }
    count_in_with_care(place, attributes, limit)
}

/// The part of [`count_in`] for clusters with a limit, and for fibres that want to be sure of their
/// stacks.
#[inline(never)]
fn count_in_with_care(
    place: &SpawnTarget<'_>,
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
pub(crate) fn refuse(error: SpawnError) -> ! {
    panic!("cannot spawn a fibre: {error}")
}
