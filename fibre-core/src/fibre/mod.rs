//! What a fibre is: its control block.
//!
//! One allocation holds the control block, the closure and later the result; the
//! typed part lies behind it and is reached through a small table of functions
//! ([`Body`]). Two references exist at first: the runtime's, given up by the
//! processor that ran the fibre to its end, and the handle's.
//!
//! Who may touch what: `context`, the stack in `errand`, `suspender` and the closure belong to whoever owns
//! the fibre, that is, to the one that took it from a queue, and then to the
//! fibre itself while it runs. `state`, `completion` and `references` are
//! atomic words of their own files; `locals` and `shields` are
//! the running fibre's. `home` is written by the owner before it runs
//! the fibre, and read by the winner of the fibre's waiter.

mod errand;
pub mod memory;
mod roster;
mod state;

pub use errand::Errand;
pub use roster::{Hook, Roster, RosterRef};
pub use state::{Cancel, Left, RunState, Wake};

use crate::awaited::{Awaited, WaitKind};
use crate::cancel_group::CancelGroup;
use crate::cancellable::Cancellable;
use crate::completion::Completion;
use crate::context::{Context, Suspender};
use crate::local_table::Locals;
use crate::policy::Priority;
use crate::queue::{Level, Link};
use crate::ready::ReadyQueue;
use crate::stack::class_of;
use crate::sync::{AtomicPtr, AtomicU32, Ordering};
use crate::visits;
use crate::wait_times;
use crate::waiter::Wakeable;
use std::cell::{Cell, UnsafeCell};
use std::mem::offset_of;
use std::ptr::{self, NonNull};
use std::sync::Arc;

/// A pointer to a control block.
pub type FibreRef = NonNull<ControlBlock>;

/// The typed part of a fibre, as functions over its control block.
#[derive(Debug)]
pub struct Body {
    /// Runs the closure to its end and publishes the result. On the fibre's stack.
    pub run: unsafe fn(FibreRef),
    /// Ends a fibre that could not get a stack: drops the closure and publishes
    /// the reason. On any stack.
    pub fail: unsafe fn(FibreRef, crate::stack::StackError),
    /// Makes its end known of a fibre that will never run again; what it has is left
    /// where it is. On any stack.
    pub abandon: unsafe fn(FibreRef),
    /// Moves the result to where the second argument points. After the end.
    pub take_result: unsafe fn(FibreRef, *mut ()),
    /// Drops the result. After the end, instead of taking it.
    pub drop_result: unsafe fn(FibreRef),
    /// Frees the allocation. The closure and the result are gone.
    pub free: unsafe fn(FibreRef),
}

/// See the module text. The link comes first: a queue's node is the block itself.
#[repr(C)]
#[derive(Debug)]
pub struct ControlBlock {
    /// The hook in ready queues.
    link: Link,
    /// May its stack be resumed? And has it been cancelled?
    pub state: RunState<ControlBlock>,
    /// References to this allocation.
    references: AtomicU32,
    /// How many calls that it is in want no wait to be cancelled.
    pub shields: Cell<u32>,
    /// The ready queue it goes to when woken; set at each dispatch.
    home: AtomicPtr<ReadyQueue>,
    /// Its stack and the computation on it; `None` before the first run and after
    /// the last.
    pub context: UnsafeCell<Option<Context>>,
    /// A stack for its first run, if it got one when it was spawned; later, what it waits for.
    pub errand: Errand,
    /// The way off its stack, once on it.
    pub suspender: Cell<Option<Suspender>>,
    /// Its fibre-local values.
    pub locals: Locals,
    /// The hook in the roster of started fibres.
    roster: Hook,
    /// Its typed part.
    body: &'static Body,
    /// "It has ended."
    pub completion: Completion,
    /// What the user chose.
    pub attributes: Attributes,
    /// Its number: unique in the process, never reused.
    id: u64,
}

/// When a fibre gets its stack.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum StackTime {
    /// When it first runs: fibres that wait to be run need none.
    #[default]
    FirstRun,
    /// The same; but when it is spawned, if the last stack of that size was refused.
    FirstRunUnlessScarce,
    /// When it is spawned.
    Spawn,
}

/// What a user may choose for a fibre. Every fibre carries it, and nearly all carry the
/// defaults, so it is small: what is rarely chosen lies in an allocation of its own.
#[derive(Debug, Clone, Default)]
pub struct Attributes {
    /// What few fibres have.
    rare: Option<Box<Rare>>,
    /// The processor that it stays on, plus one; zero for any.
    processor: u16,
    /// The class of its stack, plus one; zero for the cluster's.
    class: u8,
    /// When it gets its stack.
    pub stack_time: StackTime,
    /// Which of the ready fibres runs first.
    pub priority: Priority,
    /// Whether it runs only if nothing else is found, whatever its priority.
    pub background: bool,
}

/// What few fibres have.
#[derive(Debug, Clone, Default)]
struct Rare {
    /// Its name in reports.
    name: Option<Box<str>>,
    /// With whom it is cancelled.
    group: Option<Arc<CancelGroup<ControlBlock>>>,
}

impl Attributes {
    /// What few fibres have, made if this one has none of it yet.
    fn rare(&mut self) -> &mut Rare {
        self.rare.get_or_insert_default()
    }

    /// Its name in reports.
    pub fn name(&self) -> Option<&str> {
        self.rare.as_ref()?.name.as_deref()
    }

    /// Gives it a name.
    pub fn set_name(&mut self, name: Box<str>) {
        self.rare().name = Some(name);
    }

    /// With whom it is cancelled.
    #[inline]
    pub fn group(&self) -> Option<&Arc<CancelGroup<ControlBlock>>> {
        self.rare.as_ref()?.group.as_ref()
    }

    /// Has it cancelled with others.
    pub fn set_group(&mut self, group: Arc<CancelGroup<ControlBlock>>) {
        self.rare().group = Some(group);
    }

    /// The class of its stack, in a cluster where fibres have stacks of so many bytes.
    #[inline]
    pub fn stack_class(&self, default: usize) -> usize {
        match self.class {
            0 => class_of(default),
            class => usize::from(class) - 1,
        }
    }

    /// Gives it a stack of at least so many usable bytes.
    pub fn set_stack_size(&mut self, bytes: usize) {
        // There are fewer classes than a pointer has bits.
        self.class = class_of(bytes) as u8 + 1;
    }

    /// The processor that it stays on; `None` for any.
    #[inline]
    pub fn processor(&self) -> Option<usize> {
        usize::from(self.processor).checked_sub(1)
    }

    /// Has it stay on a processor.
    pub fn set_processor(&mut self, processor: usize) {
        // No cluster has so many that the last one could be meant.
        self.processor = u16::try_from(processor.saturating_add(1)).unwrap_or(u16::MAX);
    }

    /// The level of the ready queues that the fibre belongs to.
    #[inline]
    pub fn level(&self) -> Level {
        match self.priority {
            _ if self.background => Level::Background,
            Priority::High => Level::High,
            Priority::Normal => Level::Normal,
            Priority::Low => Level::Low,
        }
    }
}

impl ControlBlock {
    /// The block of a fibre that has not started, with two references.
    pub fn new(body: &'static Body, attributes: Attributes, id: u64) -> Self {
        Self {
            link: Link::with(attributes.level(), attributes.processor().is_some()),
            state: RunState::new(),
            references: AtomicU32::new(2),
            home: AtomicPtr::new(ptr::null_mut()),
            context: UnsafeCell::new(None),
            errand: Errand::new(),
            suspender: Cell::new(None),
            locals: Locals::new(),
            shields: Cell::new(0),
            roster: Hook::new(),
            body,
            completion: Completion::new(),
            attributes,
            id,
        }
    }

    /// Its number.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// Its end, as what somebody waits for; who lets that happen is the fibre itself.
    #[inline]
    pub fn awaited_end(&self) -> Awaited {
        let awaited = Awaited::new(WaitKind::Join, self);
        // SAFETY: who waits has a handle, and so the block; its number never changes.
        unsafe { awaited.owned(offset_of!(Self, id)) }
    }

    /// Lets others see what it is about to wait for. The fibre itself.
    #[inline(always)]
    pub fn note(&self, awaited: Awaited) {
        self.errand.note(awaited);
        if wait_times::are_noted() {
            self.note_since();
        }
    }

    /// Notes since when it waits.
    #[cold]
    fn note_since(&self) {
        self.state.set_since(wait_times::now());
    }

    /// Its typed part.
    pub fn body(&self) -> &'static Body {
        self.body
    }

    /// Its hook, and what queues must know of it.
    #[inline]
    pub fn link(&self) -> &Link {
        &self.link
    }

    /// The queue node that this fibre is.
    #[inline]
    pub fn node(this: FibreRef) -> NonNull<Link> {
        this.cast()
    }

    /// The fibre that this queue node is.
    ///
    /// # Safety
    ///
    /// `node` came from [`node`](Self::node).
    #[inline]
    pub unsafe fn from_node(node: NonNull<Link>) -> FibreRef {
        node.cast()
    }

    /// The queue that it goes to when woken; null before its first run.
    #[inline]
    pub fn home(&self) -> *const ReadyQueue {
        self.home.load(Ordering::Relaxed)
    }

    /// The member of a roster that this fibre is.
    #[inline]
    pub fn hook(this: FibreRef) -> NonNull<Hook> {
        // SAFETY: within the block.
        unsafe { NonNull::new_unchecked(&raw mut (*this.as_ptr()).roster) }
    }

    /// The fibre that this member of a roster is.
    ///
    /// # Safety
    ///
    /// `hook` came from [`hook`](Self::hook).
    pub unsafe fn from_hook(hook: NonNull<Hook>) -> FibreRef {
        // SAFETY: the block that it is a part of.
        unsafe { hook.byte_sub(offset_of!(Self, roster)) }.cast()
    }

    /// Makes `home` the queue that the fibre goes to when woken. The owner only.
    #[inline]
    pub fn set_home(&self, home: *const ReadyQueue) {
        self.home.store(home.cast_mut(), Ordering::Relaxed);
    }

    /// Comes by one more reference.
    ///
    /// # Safety
    ///
    /// A reference to the allocation exists, which is not given up meanwhile.
    pub unsafe fn retain(this: FibreRef) {
        // SAFETY: alive by the caller's promise.
        unsafe { this.as_ref() }
            .references
            .fetch_add(1, Ordering::Relaxed);
    }

    /// Cancels the fibre: ends the cancellable wait that it is in, if any, and lets it begin
    /// no other one. Any thread; blocks nothing; once cancelled, it does nothing.
    ///
    /// # Safety
    ///
    /// The caller has a reference.
    pub unsafe fn cancel(this: FibreRef) {
        // SAFETY: passed on.
        unsafe {
            if Self::begin_cancel(this) {
                visits::have_all_see();
                Self::end_cancel(this);
            }
        }
    }

    /// The first step of [`cancel`](Self::cancel). `true`: [`end_cancel`](Self::end_cancel) is to be called soon, after
    /// [`have_all_see`](visits::have_all_see), or by the processor that the fibre waits on, if it does.
    ///
    /// # Safety
    ///
    /// The caller has a reference.
    pub unsafe fn begin_cancel(this: FibreRef) -> bool {
        // SAFETY: alive by the caller's reference; queued only if it is ours to queue.
        unsafe {
            match this.as_ref().state.cancel() {
                Cancel::Done => false,
                Cancel::Visit => true,
                Cancel::Enqueue => {
                    Self::enqueue(this);
                    false
                }
            }
        }
    }

    /// The second step of [`cancel`](Self::cancel).
    ///
    /// # Safety
    ///
    /// The first one has asked for it, and the caller still has its reference.
    pub unsafe fn end_cancel(this: FibreRef) {
        // SAFETY: alive by the caller's reference; queued only if it is ours to queue.
        unsafe {
            if this.as_ref().state.visit() {
                Self::enqueue_at_home(this);
            }
        }
    }

    /// Enters its group of cancellation, if it has one; it is out again before its end.
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
    /// The caller is the one to do so.
    #[inline]
    unsafe fn enqueue(this: FibreRef) {
        // SAFETY: nobody else can let the fibre go on, so its block and its home are alive.
        unsafe {
            ReadyQueue::push_woken(this.as_ref().home(), Self::node(this));
        }
    }

    /// Puts a fibre that has just been woken, and waits at home, into its home's ready queue, where it
    /// stays: it may be on its stack yet.
    ///
    /// # Safety
    ///
    /// The caller is the one to do so.
    #[inline]
    unsafe fn enqueue_at_home(this: FibreRef) {
        // SAFETY: as in `enqueue`.
        unsafe {
            ReadyQueue::push_woken_at_home(this.as_ref().home(), Self::node(this));
        }
    }

    /// Lets a fibre that waits at home go on, before the others there.
    ///
    /// # Safety
    ///
    /// The caller has won its waiter, and does not resume it.
    pub unsafe fn resume_first(this: FibreRef) {
        // SAFETY: as in `enqueue`.
        unsafe { ReadyQueue::push_woken_first(this.as_ref().home(), Self::node(this)) };
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

impl Cancellable for ControlBlock {
    unsafe fn retain(this: NonNull<Self>) {
        // SAFETY: passed on.
        unsafe { Self::retain(this) };
    }

    unsafe fn cancel_later(this: NonNull<Self>) {
        // SAFETY: alive by the caller's reference.
        unsafe { this.as_ref() }.state.cancel_later();
    }

    unsafe fn begin_cancel(this: NonNull<Self>) -> bool {
        // SAFETY: passed on.
        unsafe { Self::begin_cancel(this) }
    }

    fn have_all_see() {
        visits::have_all_see();
    }

    unsafe fn end_cancel(this: NonNull<Self>) {
        // SAFETY: passed on.
        unsafe { Self::end_cancel(this) };
    }

    unsafe fn release(this: NonNull<Self>) {
        // SAFETY: passed on.
        unsafe { Self::release(this) };
    }
}

impl Wakeable for ControlBlock {
    #[inline]
    unsafe fn resume(this: NonNull<Self>) {
        // SAFETY: the fibre waits for us, so its block and its home are alive.
        unsafe {
            if this.as_ref().state.wake() == Wake::Enqueue {
                Self::enqueue(this);
            }
        }
    }

    #[inline]
    unsafe fn resume_at_home(this: NonNull<Self>) {
        // SAFETY: the fibre waits for us, at home.
        unsafe { Self::enqueue_at_home(this) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A fibre that returns nothing much has to fit into three cache lines with its closure,
    /// result and scope: a fourth one costs a batch of spawns a third.
    #[test]
    fn a_block_leaves_room_in_three_lines() {
        let rest = 3 * size_of::<usize>();
        assert!(
            size_of::<ControlBlock>() + rest <= 192,
            "{}",
            size_of::<ControlBlock>()
        );
    }

    #[test]
    fn attributes_come_back_as_they_were_chosen() {
        let mut attributes = Attributes::default();
        assert_eq!((attributes.processor(), attributes.name()), (None, None));
        assert_eq!(attributes.stack_class(1 << 18), class_of(1 << 18));
        attributes.set_processor(0);
        attributes.set_stack_size(1);
        attributes.set_name("name".into());
        assert_eq!(attributes.processor(), Some(0));
        assert_eq!(attributes.stack_class(1 << 18), 0);
        assert_eq!(attributes.name(), Some("name"));
        attributes.set_processor(usize::MAX);
        assert!(attributes.processor() > Some(60_000));
    }
}
