//! What the runtime tells AddressSanitizer about switches: which stack is in use from now on.
//!
//! The sanitizer finds out by itself where a thread's stack lies, and treats accesses elsewhere as
//! accesses of the heap or as errors. So each switch is announced before and after it is made. Of
//! two flows that take turns, the runtime keeps the [`StackBounds`] of the one that does not run.
//! The sanitizer keeps that flow's *fake stack*.
//!
//! Fake stacks that hold locals (`detect_stack_use_after_return`) must be off: when a flow leaves
//! for good, its fake stack is freed before its last function has returned.
//!
//! A fibre with a thread control block of its own is a thread to the sanitizer, which knows its
//! stack by that. The thread pointer changes with the stack, so such switches are *silent*.
//!
//! Without the feature `sanitizer`, all of this is empty.

#[cfg(feature = "sanitizer")]
pub(super) use told::{FakeStack, StackBounds};
#[cfg(not(feature = "sanitizer"))]
pub(super) use untold::{FakeStack, StackBounds};

#[cfg(feature = "sanitizer")]
mod told {
    use crate::stack::Stack;
    use std::ffi::c_void;
    use std::ptr;

    // Of the sanitizer's runtime: sanitizer/common_interface_defs.h.
    unsafe extern "C" {
        fn __sanitizer_start_switch_fiber(
            save: *mut *mut c_void,
            bottom: *const c_void,
            size: usize,
        );
        fn __sanitizer_finish_switch_fiber(
            save: *mut c_void,
            bottom: *mut *const c_void,
            size: *mut usize,
        );
    }

    /// Where the stack of the flow lies that does not run; without size if switches are silent.
    #[derive(Debug, Clone, Copy)]
    pub(in crate::stack) struct StackBounds {
        bottom: *const c_void,
        size: usize,
    }

    /// What the sanitizer keeps of the flow that leaves, for its return.
    pub(in crate::stack) struct FakeStack(*mut c_void);

    impl FakeStack {
        /// That of a flow that begins.
        pub(in crate::stack) const fn none() -> Self {
            Self(ptr::null_mut())
        }
    }

    impl StackBounds {
        /// A stack of ours.
        pub(in crate::stack) fn of(stack: &Stack) -> Self {
            let bottom = stack.guard().end;
            Self {
                bottom: ptr::without_provenance(bottom),
                size: stack.base().get() - bottom,
            }
        }

        /// The bounds of two flows with silent switches.
        pub(in crate::stack) const fn silent() -> Self {
            Self {
                bottom: ptr::null(),
                size: 0,
            }
        }

        /// Announces a switch to this stack.
        pub(in crate::stack) fn announce(self) -> FakeStack {
            if self.size == 0 {
                return FakeStack::none();
            }
            let mut save = ptr::null_mut();
            // SAFETY: a switch to this stack follows.
            unsafe { __sanitizer_start_switch_fiber(&raw mut save, self.bottom, self.size) };
            FakeStack(save)
        }

        /// Announces a switch to this stack from a flow that does not come back.
        pub(in crate::stack) fn announce_end(self) {
            if self.size == 0 {
                return;
            }
            // SAFETY: as above.
            unsafe { __sanitizer_start_switch_fiber(ptr::null_mut(), self.bottom, self.size) };
        }

        /// [`arrive`](Self::arrive) by a switch between two flows with these bounds.
        pub(in crate::stack) fn arrived(self, fake: FakeStack) -> Self {
            match self.size {
                0 => self,
                _ => Self::arrive(fake),
            }
        }

        /// Says that a switch has been made; returns the stack that was left.
        pub(in crate::stack) fn arrive(FakeStack(save): FakeStack) -> Self {
            let (mut bottom, mut size) = (ptr::null(), 0);
            // SAFETY: a switch was announced, and made.
            unsafe { __sanitizer_finish_switch_fiber(save, &raw mut bottom, &raw mut size) };
            Self { bottom, size }
        }
    }
}

#[cfg(not(feature = "sanitizer"))]
mod untold {
    use crate::stack::Stack;

    /// The empty twin of what the sanitizer is told of a stack.
    #[derive(Debug, Clone, Copy)]
    pub(in crate::stack) struct StackBounds;

    /// The empty twin of what it keeps of a flow.
    pub(in crate::stack) struct FakeStack;

    impl FakeStack {
        #[inline(always)]
        pub(in crate::stack) const fn none() -> Self {
            Self
        }
    }

    impl StackBounds {
        #[inline(always)]
        pub(in crate::stack) fn of(_stack: &Stack) -> Self {
            Self
        }

        #[inline(always)]
        pub(in crate::stack) const fn silent() -> Self {
            Self
        }

        #[inline(always)]
        pub(in crate::stack) fn announce(self) -> FakeStack {
            FakeStack
        }

        #[inline(always)]
        pub(in crate::stack) fn arrived(self, _save: FakeStack) -> Self {
            Self
        }

        #[inline(always)]
        pub(in crate::stack) fn announce_end(self) {}

        #[inline(always)]
        pub(in crate::stack) fn arrive(_save: FakeStack) -> Self {
            Self
        }
    }
}
