//! What a fibre is: its control block.
//!
//! One allocation holds the control block, the closure and later the result; the typed part lies
//! behind it and is reached through a small table of functions ([`Body`]). Two references exist at
//! first: the handle's and the runtime's. The processor that runs the fibre to its end drops the
//! latter.
//!
//! The owners of its fields:
//!
//! * `context`, the stack in `wait_slot` and the closure belong to the fibre's owner: first the one
//!   that took the fibre from a queue, then, while it runs, the fibre itself.
//! * `state`, `completion` and `references` are atomic words of their own files.
//! * `locals` and `shields` belong to the running fibre.
//! * `home` is written by the owner before it runs the fibre, and read by the winner of the fibre's
//!   waiter.

mod layout;
mod waking;

use crate::config::policy::Priority;
use crate::fibre::bindings::{Bindings, TextRef};
use crate::fibre::cancel_batch::Cancellable;
use crate::fibre::cancel_group::CancelGroup;
use crate::fibre::labels::{LabelLine, LabelText, Labels};
use crate::fibre::lazy_box::LazyBox;
use crate::fibre::local_table::Locals;
use crate::fibre::{FibreList, Hook, Reserved, RunState, WaitSlot, Wake};
use crate::queue::{Level, Link, Runnable};
use crate::ready::ReadyQueue;
use crate::stack::class_of;
use crate::stack::context::{Action, Context, Suspender};
use crate::sync::asymmetric;
use crate::sync::short_lock::ShortLock;
use crate::sync::{AtomicPtr, AtomicU32, Ordering};
use crate::sys::stderr;
use crate::wait::completion::Completion;
use crate::wait::since;
use crate::wait::wait_object::{WaitKind, WaitObject};
use std::cell::{Cell, UnsafeCell};
use std::mem::{self, offset_of};
use std::ptr::{self, NonNull};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

const _: () = assert!(size_of::<Option<Context>>() == size_of::<Context>());

pub(crate) use layout::BlockLayout;
pub(crate) use waking::cancelled_fibres;

/// A pointer to a control block.
pub(crate) type FibreRef = NonNull<ControlBlock>;

/// The typed part of a fibre, as functions over its control block.
#[derive(Debug)]
pub(crate) struct Body {
    /// Runs the closure to its end and publishes the result. On the fibre's stack.
    pub run: unsafe fn(FibreRef),
    /// Ends a fibre that could not get a stack: drops the closure and publishes
    /// the reason. On any stack.
    pub fail: unsafe fn(FibreRef, crate::stack::StackError),
    /// Publishes the end of a fibre that will never run again, and leaves what it has where it is.
    /// On any stack.
    pub abandon: unsafe fn(FibreRef),
    /// Moves the result to where the second argument points. After the end.
    pub take_result: unsafe fn(FibreRef, *mut ()),
    /// Drops the result. After the end, instead of taking it.
    pub drop_result: unsafe fn(FibreRef),
    /// Frees the allocation. The closure and the result are gone.
    pub free: unsafe fn(FibreRef),
    /// Shows the viewer what a report of the fibre's overflow says of it. Async-signal-safe.
    pub describe: unsafe fn(FibreRef, Viewer<'_>),
    /// Whether it is an activity, and its block the beginning of an activity's.
    pub is_activity: bool,
    /// Whether it may be unwound: none of its functions is one of C's.
    pub unwinds: bool,
}

/// A function that is shown a report.
pub type Viewer<'v> = &'v mut dyn FnMut(FibreReport<'_>);

/// What a report of an overflow says of a fibre, besides its number.
#[derive(Debug, Clone, Copy)]
pub struct FibreReport<'a> {
    /// What its makers call it: a fibre, a thread.
    pub noun: &'a str,
    /// Its name, if it has one.
    pub name: Option<&'a str>,
    /// How its program gives such fibres larger stacks.
    pub remedy: &'a str,
}

/// One fibre. The link comes first: a queue's node is the block itself.
#[repr(C)]
#[derive(Debug)]
pub struct ControlBlock {
    /// The hook in ready queues.
    link: Link,
    /// The run state: whether its stack may be resumed, and whether it has been cancelled.
    pub state: RunState<ControlBlock>,
    /// References to this allocation.
    references: AtomicU32,
    /// How many shields it has raised: while there are any, no wait of it is cancelled.
    pub shields: Cell<u32>,
    /// The ready queue it goes to when woken; set at each dispatch.
    home: AtomicPtr<ReadyQueue>,
    /// Its stack and the computation on it; `None` before the first run and after
    /// the last.
    context: UnsafeCell<Option<Context>>,
    /// Its stack if it got one when it was spawned; later, what it waits for.
    pub(crate) wait_slot: WaitSlot,
    /// Its fibre-local values.
    pub(crate) locals: Locals,
    /// The hook in the fibre list of started fibres.
    fibre_list: Hook,
    /// The functions of its typed part.
    body: &'static Body,
    /// The completion of its end.
    pub completion: Completion,
    /// What the user chose.
    pub(crate) attributes: Attributes,
    /// Its number: unique in the process, never reused.
    id: u64,
}

/// When a fibre gets its stack.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum StackTime {
    /// When it first runs: fibres that wait for their first run need none.
    #[default]
    FirstRun,
    /// When it first runs, but it is promised one when it is spawned.
    Promised,
    /// When it is spawned.
    Spawn,
}

/// What a user may choose for a fibre. Every fibre carries it, and nearly all carry the
/// defaults, so it is small: what is rarely chosen lies in an allocation of its own.
#[derive(Debug, Clone, Default)]
pub(crate) struct Attributes {
    /// The attributes that few fibres have.
    rare: LazyBox<Rare>,
    /// The processor that it stays on, plus one; zero for any.
    processor: u16,
    /// The class of its stack, plus one; zero for the cluster's.
    class: u8,
    /// When it gets its stack.
    pub stack_time: StackTime,
    /// Which of the ready fibres runs first.
    pub priority: Priority,
    /// Whether it runs only if no other fibre is found, whatever its priority.
    pub background: bool,
}

/// The attributes that few fibres have.
#[derive(Debug, Default)]
struct Rare {
    /// Its name in reports.
    name: Option<Box<str>>,
    /// The group that it is cancelled with.
    group: Option<Arc<CancelGroup<ControlBlock>>>,
    /// What it says of itself. The fibre itself sets these while it runs.
    labels: LazyBox<Labels>,
    /// What is shown of its scoped values, and who has spawned it, if that is noted.
    origin: LazyBox<Origin>,
}

/// What few fibres have of those that were there before them.
#[derive(Debug, Default)]
#[repr(C)]
struct Origin {
    /// What is shown of its scoped values. First, for debuggers.
    shown: ShownSlot,
    /// The number of the fibre that has spawned it; zero: no fibre has, or it is not noted.
    parent: AtomicU64,
}

/// Where the text is that is shown of a fibre's scoped values, behind its lock. It begins with the
/// text's address, for debuggers.
type ShownSlot = ShortLock<Option<TextRef>>;

impl Clone for Rare {
    /// A copy without labels: these are the fibre's, and not its maker's.
    fn clone(&self) -> Self {
        Self {
            name: self.name.clone(),
            group: self.group.clone(),
            labels: LazyBox::new(),
            origin: LazyBox::new(),
        }
    }
}

impl Attributes {
    /// Its name in reports.
    pub(crate) fn name(&self) -> Option<&str> {
        self.rare.get()?.name.as_deref()
    }

    /// The number of the fibre that has spawned it, if that is noted.
    pub(crate) fn parent(&self) -> Option<u64> {
        let origin = self.rare.get()?.origin.get()?;
        let parent = origin.parent.load(Ordering::Relaxed);
        (parent != 0).then_some(parent)
    }

    /// Notes that. Called by the spawner.
    pub(crate) fn set_parent(&self, parent: u64) {
        let origin = self.rare.get_or_make().origin.get_or_make();
        origin.parent.store(parent, Ordering::Relaxed);
    }

    /// Takes in a label. Called by the fibre itself.
    pub(crate) fn set_label(&self, label: &LabelText) {
        self.rare
            .get_or_make()
            .labels
            .get_or_make()
            .lock()
            .set(label);
    }

    /// Shows its labels, and its scoped values that are shown, if it has any and does not change
    /// them at the moment. Allocates nothing, and is async-signal-safe.
    pub(crate) fn with_labels(&self, f: &mut dyn FnMut(LabelLine<'_>)) {
        let Some(rare) = self.rare.get() else {
            return;
        };
        let mut text = LabelText::default();
        if let Some(labels) = rare.labels.get().and_then(Labels::try_lock) {
            text = *labels;
        }
        if let Some(shown) = rare.origin.get().and_then(|it| it.shown.try_lock())
            && let Some(shown) = &*shown
        {
            text.add_others(shown);
        }
        if !text.as_str().is_empty() {
            f(LabelLine(text.as_str()));
        }
    }

    /// Sets what is shown of its scoped values. Called by the fibre itself, or before it starts.
    /// Without memory for that, nothing is shown.
    fn show(&self, text: Option<TextRef>) {
        let origin = match &text {
            Some(_) => {
                let rare = self.rare.try_get_or_make();
                rare.and_then(|rare| rare.origin.try_get_or_make())
            }
            None => self.rare.get().and_then(|rare| rare.origin.get()),
        };
        if let Some(origin) = origin {
            let before = mem::replace(&mut *origin.shown.lock(), text);
            // Not under the lock.
            drop(before);
        }
    }

    /// Gives it a name.
    pub(crate) fn set_name(&mut self, name: Box<str>) {
        self.rare.get_mut().name = Some(name);
    }

    /// The group that it is cancelled with.
    #[inline]
    pub(crate) fn group(&self) -> Option<&Arc<CancelGroup<ControlBlock>>> {
        self.rare.get()?.group.as_ref()
    }

    /// Lets a group cancel it.
    pub(crate) fn set_group(&mut self, group: Arc<CancelGroup<ControlBlock>>) {
        self.rare.get_mut().group = Some(group);
    }

    /// The class of its stack, in a cluster with stacks of the class `usual` for fibres that ask
    /// for nothing else.
    #[inline]
    pub(crate) fn stack_class(&self, usual: usize) -> usize {
        match self.class {
            0 => usual,
            class => usize::from(class) - 1,
        }
    }

    /// Whether it takes the cluster's stacks.
    #[inline]
    pub(crate) fn takes_usual_stack(&self) -> bool {
        self.class == 0
    }

    /// Gives it a stack of at least `bytes` usable bytes.
    pub(crate) fn set_stack_size(&mut self, bytes: usize) {
        // There are fewer classes than a pointer has bits.
        self.class = class_of(bytes) as u8 + 1;
    }

    /// The processor that it stays on; `None` for any.
    #[inline]
    pub(crate) fn processor(&self) -> Option<usize> {
        usize::from(self.processor).checked_sub(1)
    }

    /// Keeps it on a processor.
    pub(crate) fn set_processor(&mut self, processor: usize) {
        // No cluster has so many that the last one could be meant.
        self.processor = u16::try_from(processor.saturating_add(1)).unwrap_or(u16::MAX);
    }

    /// The level of the ready queues that the fibre belongs to.
    #[inline]
    pub(crate) fn level(&self) -> Level {
        match self.priority {
            _ if self.background => Level::Background,
            Priority::High => Level::High,
            Priority::Normal => Level::Normal,
            Priority::Low => Level::Low,
        }
    }
}

impl ControlBlock {
    /// The block of a fibre that has not started, with two references; `reserved` is what it has of
    /// its stack already.
    // Always: the block is made in its place, not copied there.
    #[inline(always)]
    pub(crate) fn new(
        body: &'static Body,
        attributes: Attributes,
        id: u64,
        reserved: Reserved,
    ) -> Self {
        Self {
            link: Link::with(attributes.level(), attributes.processor().is_some()),
            state: RunState::new(),
            references: AtomicU32::new(2),
            home: AtomicPtr::new(ptr::null_mut()),
            context: UnsafeCell::new(None),
            wait_slot: WaitSlot::new(reserved),
            locals: Locals::new(),
            shields: Cell::new(0),
            fibre_list: Hook::new(),
            body,
            completion: Completion::new(),
            attributes,
            id,
        }
    }

    /// The fibre's number.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// The fibre's name now: a layer above may keep a name that changes.
    ///
    /// # Safety
    ///
    /// The fibre has not ended, and does not end meanwhile.
    pub unsafe fn current_name(&self) -> Option<String> {
        let mut copy = None;
        // SAFETY: passed on.
        unsafe { self.with_current_name(&mut |name| copy = name.map(str::to_owned)) };
        copy
    }

    /// Calls `f` with the fibre's name now, which it need not copy.
    ///
    /// # Safety
    ///
    /// As for [`current_name`](Self::current_name).
    pub(crate) unsafe fn with_current_name(&self, f: &mut dyn FnMut(Option<&str>)) {
        let mut tell = |fibre_report: FibreReport<'_>| f(fibre_report.name);
        // SAFETY: passed on.
        unsafe { (self.body.describe)(NonNull::from(self), &mut tell) };
    }

    /// The fibre's end, as what a joiner waits for; its owner is the fibre itself.
    #[inline]
    pub fn awaited_end(&self) -> WaitObject {
        let awaited = WaitObject::new(WaitKind::Join, self);
        // SAFETY: a joiner has a handle, and so the block; its number never changes.
        unsafe { awaited.owned(offset_of!(Self, id)) }
    }

    /// Notes what the fibre is about to wait for, for others to see. Called by the fibre itself.
    #[inline(always)]
    pub fn note(&self, awaited: WaitObject) {
        self.wait_slot.note(awaited);
    }

    /// Notes since when it waits, where times are noted.
    pub fn note_since(&self) {
        if since::are_noted() {
            self.state.set_since(since::now());
        }
    }

    /// Binds something else, and returns what was bound before. Called by the fibre itself.
    pub(crate) fn replace_bindings(&self, bindings: Bindings) -> Bindings {
        let text = bindings.text();
        let before = self.locals.replace_bindings(bindings);
        if text.is_some() || before.text().is_some() {
            self.attributes.show(text);
        }
        before
    }

    /// Binds what is bound for the caller, who starts this fibre. Fails never: it takes no memory
    /// but for what is shown, and does without that.
    #[cold]
    pub(crate) fn inherit(&self, bindings: &Bindings) {
        drop(self.replace_bindings(bindings.clone()));
    }

    /// Ends the fibre's values, and gives up what is bound for it. Called by the fibre itself, at
    /// its end; blocks for as long as their destructors block.
    #[inline]
    pub(crate) fn end_locals(&self) {
        if !self.locals.is_empty() {
            self.locals.end();
        }
    }

    /// The functions of its typed part.
    pub(crate) fn body(&self) -> &'static Body {
        self.body
    }

    /// The fibre's hook in ready queues, with what these must know of it.
    #[inline]
    pub fn link(&self) -> &Link {
        &self.link
    }

    /// The fibre as what may be run.
    ///
    /// # Safety
    ///
    /// The invariants of [`Runnable`] hold for it: the caller is the one to
    /// queue the fibre, or to run it.
    #[inline]
    pub unsafe fn runnable(this: FibreRef) -> Runnable {
        // SAFETY: the caller's promise; the block begins with its link (invariant 3).
        unsafe { Runnable::new(this.cast()) }
    }

    /// Where the fibre has left its stack, and the address where it goes on. A hint, if the fibre
    /// may run meanwhile; `None`: it runs.
    ///
    /// # Safety
    ///
    /// The fibre has started, and does not end meanwhile.
    pub(crate) unsafe fn left(&self) -> Option<[usize; 2]> {
        // SAFETY: a fibre that has started has a context.
        unsafe { Context::left(self.place_of_context().as_ptr()) }
    }

    /// The address where its stack begins, the highest one.
    ///
    /// # Safety
    ///
    /// As for [`left`](Self::left).
    pub(crate) unsafe fn root(&self) -> usize {
        // SAFETY: as above; where its stack begins does not change.
        unsafe { self.place_of_context().as_ref() }.root()
    }

    /// Where its context is, if it has one.
    #[inline(always)]
    fn place_of_context(&self) -> NonNull<Context> {
        // SAFETY: not null. The option is as large as a context, and so begins where that does.
        unsafe { NonNull::new_unchecked(self.context.get()) }.cast()
    }

    /// Leaves the fibre's stack; returns when a processor resumes it.
    ///
    /// # Safety
    ///
    /// The calling fibre's own block.
    #[inline(always)]
    pub(crate) unsafe fn leave_stack(&self, action: Action) {
        // SAFETY: a fibre that runs has a context, and is on the stack of that.
        let _ = unsafe { Suspender::of(self.place_of_context()).suspend(action) };
    }

    /// The queue that the fibre goes to when woken; null before its first run.
    #[inline]
    pub(crate) fn home(&self) -> *const ReadyQueue {
        self.home.load(Ordering::Relaxed)
    }

    /// The member of a fibre list that this fibre is.
    #[inline]
    pub(crate) fn hook(this: FibreRef) -> NonNull<Hook> {
        // SAFETY: within the block.
        unsafe { NonNull::new_unchecked(&raw mut (*this.as_ptr()).fibre_list) }
    }

    /// Makes `home` the queue that the fibre goes to when woken. Called by the owner only.
    #[inline]
    pub(crate) fn set_home(&self, home: *const ReadyQueue) {
        self.home.store(home.cast_mut(), Ordering::Relaxed);
    }

    /// Cancels the fibre: ends the cancellable wait that it is in, if any, and lets it begin no
    /// other one. Any thread; blocks nothing; does nothing for a fibre that has been cancelled.
    ///
    /// # Safety
    ///
    /// The caller has a reference.
    pub unsafe fn cancel(this: FibreRef) {
        // SAFETY: the caller has a reference, in both steps.
        unsafe {
            if Self::begin_cancel(this) {
                asymmetric::membarrier_all();
                Self::end_cancel(this);
            }
        }
    }

    /// Whether nothing forbids that a wait of it which cannot fail is unwound.
    pub(crate) fn may_be_unwound(&self) -> bool {
        let is_firm = self.link.is_firm() || self.link.is_unwinding();
        self.body.unwinds && self.shields.get() == 0 && !is_firm
    }

    /// Rouses a fibre that has left its stack and may go on anywhere, if it is in a wait that may
    /// be unwound: it goes on in the middle of the wait, with a note of that in its link.
    ///
    /// # Safety
    ///
    /// The fibre is alive until the call returns.
    pub(crate) unsafe fn rouse(this: FibreRef) {
        // SAFETY: alive by the caller's promise.
        let block = unsafe { this.as_ref() };
        if !block.state.hold() {
            return;
        }
        // Held, so it does not run, and what it alone writes stays as it is.
        if block.wait_slot.is_in_open_wait() && block.may_be_unwound() {
            block.link.rouse();
            block.state.rouse_held();
        } else if block.state.let_go() == Wake::Noticed {
            return;
        }
        // SAFETY: it has left its stack, and whoever else would have queued it has left that to the
        // thread that held it.
        unsafe { Self::enqueue(this) };
    }

    /// Enters its cancel group, if it has one. It leaves the group before its end.
    ///
    /// # Safety
    ///
    /// The fibre is new, and [`leave_group`](Self::leave_group) will be called.
    #[inline]
    pub unsafe fn join_group(this: FibreRef) {
        // SAFETY: the fibre is new, hence alive.
        if let Some(group) = unsafe { this.as_ref() }.attributes.group() {
            // SAFETY: passed on.
            unsafe { group.join(this) };
        }
    }

    /// Undoes [`join_group`](Self::join_group), while the runtime's reference is there.
    #[inline]
    pub fn leave_group(&self) {
        if let Some(group) = self.attributes.group() {
            group.leave(NonNull::from(self));
        }
    }

    /// Puts a fibre that has just been woken into its home's ready queue.
    ///
    /// # Safety
    ///
    /// The caller is the one to queue the fibre.
    #[inline]
    unsafe fn enqueue(this: FibreRef) {
        // SAFETY: only the caller can let the fibre go on, so its block and its home are alive, and
        // it has left its stack.
        unsafe { ReadyQueue::push_woken(this.as_ref().home(), Self::runnable(this), Runnable::id) };
    }

    /// Puts a fibre that waits at home, and has just been woken, into its home's ready queue, where
    /// it stays: it may still be on its stack.
    ///
    /// # Safety
    ///
    /// The caller is the one to queue the fibre.
    #[inline]
    unsafe fn enqueue_at_home(this: FibreRef) {
        // SAFETY: only the caller can let the fibre go on, so its block and its home are alive; and
        // home is where it goes (invariant 4).
        unsafe {
            let runnable = Self::runnable(this);
            ReadyQueue::push_woken_at_home(this.as_ref().home(), runnable, Runnable::id);
        }
    }

    /// Lets a fibre that waits at home go on, before the others there.
    ///
    /// # Safety
    ///
    /// The caller has won its waiter, and does not resume it.
    pub unsafe fn wake_next(this: FibreRef) {
        // SAFETY: as in `enqueue_at_home`.
        unsafe {
            let runnable = Self::runnable(this);
            ReadyQueue::push_woken_first(this.as_ref().home(), runnable, Runnable::id);
        }
    }

    /// Takes another reference, beside one that the caller knows of.
    #[inline]
    pub(crate) fn retain_one(&self) {
        let before = self.references.fetch_add(1, Ordering::Relaxed);
        // As std's `Arc`: handles that are forgotten must not wrap the count.
        if before > u32::MAX / 2 {
            stderr::abort_with(format_args!(
                "one fibre has more references than can be counted"
            ));
        }
    }

    /// Whether the caller's reference is the only one. Then nobody else can come by another.
    #[inline]
    pub(crate) fn is_alone(&self) -> bool {
        self.references.load(Ordering::Acquire) == 1
    }

    /// Gives up the caller's reference, unless it is the only one.
    pub(crate) fn release_if_shared(&self) -> bool {
        let less = |references: u32| (references > 1).then(|| references - 1);
        let given_up = self
            .references
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, less);
        given_up.is_ok()
    }

    /// Gives up one reference, and the allocation with the last one.
    ///
    /// # Safety
    ///
    /// The reference was the caller's, and closure and result are gone if it
    /// was the last.
    pub unsafe fn release(this: FibreRef) {
        // SAFETY: alive by the caller's reference.
        let (references, body) = unsafe { (&this.as_ref().references, this.as_ref().body) };
        // The last holder is alone: nobody can come by a new reference.
        let last = references.load(Ordering::Acquire) == 1
            || references.fetch_sub(1, Ordering::AcqRel) == 1;
        if last {
            // SAFETY: nobody else has a reference.
            unsafe { (body.free)(this) };
        }
    }
}

impl FibreList {
    /// Calls `f` for each fibre; `f` must not change the fibre list.
    pub(crate) fn for_each_fibre(&self, mut f: impl FnMut(FibreRef, &ControlBlock)) {
        self.for_each(|hook| {
            let fibre = fibre_of(hook);
            // SAFETY: as `add` was promised, the block stays as long as it is in the fibre list.
            f(fibre, unsafe { fibre.as_ref() });
        });
    }

    /// The next fibre of the walk ([`begin_walk`](Self::begin_walk)).
    pub(crate) fn walk_to_fibre(&self) -> Option<FibreRef> {
        self.walk_on().map(fibre_of)
    }
}

/// The fibre with this hook, which is in a fibre list.
fn fibre_of(hook: NonNull<Hook>) -> FibreRef {
    // SAFETY: the hook is a part of a block, as `add` was promised.
    unsafe { hook.byte_sub(offset_of!(ControlBlock, fibre_list)) }.cast()
}

/// What a fibre that is ready gives access to.
impl Runnable {
    /// The fibre's address.
    #[inline]
    #[must_use]
    pub(crate) fn fibre(&self) -> FibreRef {
        self.node().cast()
    }

    /// The fibre's control block.
    #[inline]
    #[must_use]
    pub(crate) fn block(&self) -> &ControlBlock {
        // SAFETY: a block (invariant 3) that is alive (invariant 2).
        unsafe { self.fibre().as_ref() }
    }

    /// The fibre's number.
    pub(crate) fn id(&self) -> u64 {
        self.block().id
    }

    /// The fibre's stack and the computation on it.
    #[inline]
    pub(crate) fn context(&mut self) -> &mut Option<Context> {
        // SAFETY: the only way to the context of a fibre that is not on its stack (invariant 4),
        // and there is one runnable (invariant 1).
        unsafe { &mut *self.block().context.get() }
    }

    /// Whether the fibre has begun to run, and not ended.
    #[must_use]
    pub fn has_started(&self) -> bool {
        // SAFETY: as in `context`.
        unsafe { (*self.block().context.get()).is_some() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A fibre with a small result has to fit into three cache lines with its closure, result and
    /// scope: a fourth one costs a batch of spawns a third.
    #[test]
    fn a_block_leaves_room_in_three_lines() {
        let rest = 3 * size_of::<usize>();
        assert!(
            size_of::<ControlBlock>() + rest <= 192,
            "{}",
            size_of::<ControlBlock>()
        );
    }

    /// What few fibres have, a name or a group, must not cost more for what fewer have. The usual
    /// allocator gives 40 bytes to whoever asks for 32.
    #[test]
    fn rare_attributes_stay_small() {
        assert!(size_of::<Rare>() <= 40, "{}", size_of::<Rare>());
    }

    #[test]
    fn attributes_come_back_as_they_were_chosen() {
        let mut attributes = Attributes::default();
        assert_eq!((attributes.processor(), attributes.name()), (None, None));
        assert_eq!(attributes.stack_class(3), 3);
        attributes.set_processor(0);
        attributes.set_stack_size(1);
        attributes.set_name("name".into());
        assert_eq!(attributes.processor(), Some(0));
        assert_eq!(attributes.stack_class(3), 0);
        assert_eq!(attributes.name(), Some("name"));
        attributes.set_processor(usize::MAX);
        assert!(attributes.processor() > Some(60_000));
    }
}
