//! The table of functions that a control block has for its typed part.
//!
//! There is one table, written for all types that implement [`FibreBody`]: closures with their
//! results ([`crate::spawn::task`]), activities, and the fibres of layers above.

use crate::fibre::{Body, FibreRef, FibreReport, Viewer, block_cache};
use crate::processor::Processor;
use crate::stack::StackError;
use std::alloc::Layout;
use std::ptr::NonNull;

/// How a user enlarges the stack of a fibre of ours.
pub(crate) const REMEDY: &str =
    "Builder::stack_size, or ClusterBuilder::stack_size for all of its cluster";

/// The allocation of a fibre: its control block, and what it runs.
///
/// The functions are those of [`Body`], which says when each is called.
///
/// # Safety
///
/// A pointer to the whole is a pointer to the control block, which comes first.
pub(crate) unsafe trait FibreBody: Sized {
    /// Whether it is an activity, and its block the beginning of an activity's.
    const IS_ACTIVITY: bool = false;

    /// Whether it may be unwound: none of its functions is one of C's.
    const UNWINDS: bool = true;

    /// The functions over a control block that begins such a whole.
    // SAFETY: each is called as `Body` says, with the block of such a whole.
    const BODY: Body = unsafe {
        Body {
            run: |this| Self::run(this.cast()),
            fail: |this, error| Self::fail(this.cast(), error),
            abandon: |this| Self::abandon(this.cast()),
            take_result: |this, place| Self::take_result(this.cast(), place),
            drop_result: |this| Self::drop_result(this.cast()),
            free: |this| Self::free(this.cast()),
            describe: |this, tell| Self::describe(this.cast(), tell),
            is_activity: Self::IS_ACTIVITY,
            unwinds: Self::UNWINDS,
        }
    };

    /// The function of [`Body::run`].
    ///
    /// # Safety
    ///
    /// The caller is the fibre, on its stack, and the runtime's reference keeps it.
    unsafe fn run(this: NonNull<Self>);

    /// The function of [`Body::fail`].
    ///
    /// # Safety
    ///
    /// The fibre has not started, and the runtime's reference keeps it.
    unsafe fn fail(this: NonNull<Self>, error: StackError);

    /// The function of [`Body::abandon`].
    ///
    /// # Safety
    ///
    /// The fibre will never run again, and the runtime's reference is never given up.
    unsafe fn abandon(this: NonNull<Self>);

    /// The function of [`Body::take_result`]. By default there is no result, as no join handle is
    /// made.
    ///
    /// # Safety
    ///
    /// The fibre has ended, the caller has a reference, and the place is for a result.
    unsafe fn take_result(_this: NonNull<Self>, _place: *mut ()) {
        unreachable!("no handle has been made")
    }

    /// The function of [`Body::drop_result`]. By default there is no result.
    ///
    /// # Safety
    ///
    /// The fibre has ended, and the caller has a reference.
    unsafe fn drop_result(_this: NonNull<Self>) {}

    /// The function of [`Body::free`].
    ///
    /// # Safety
    ///
    /// [`SpawnTarget::admit`](crate::spawn::task::SpawnTarget::admit) has taken the memory, and
    /// nobody refers to it.
    unsafe fn free(this: NonNull<Self>) {
        // SAFETY: the caller's promise.
        unsafe { free_task(this) };
    }

    /// The function of [`Body::describe`].
    ///
    /// # Safety
    ///
    /// The fibre is on its stack.
    unsafe fn describe(this: NonNull<Self>, tell: Viewer<'_>) {
        let block: FibreRef = this.cast();
        // SAFETY: the block is there, and its attributes never change.
        let attributes = unsafe { &block.as_ref().attributes };
        tell(FibreReport {
            noun: "fibre",
            name: attributes.name(),
            remedy: REMEDY,
        });
    }
}

/// Frees a fibre's allocation.
///
/// # Safety
///
/// The memory was taken by [`SpawnTarget::admit`](crate::spawn::task::SpawnTarget::admit) for a
/// `T`, which it holds, and nobody refers to it.
#[inline]
pub(crate) unsafe fn free_task<T>(this: NonNull<T>) {
    let layout = Layout::new::<T>();
    // SAFETY: the caller's promise.
    unsafe {
        this.drop_in_place();
        match Processor::current().as_ref() {
            Some(here) => here.blocks().put(this.cast(), layout),
            None => block_cache::release(this.cast(), layout),
        }
    }
}
