//! What the overflow report learns about fibres. In a signal handler: plain loads only.

use super::{Processor, running};
use crate::fibre::FibreRef;
use crate::stack::{DEFAULT_STACK_SIZE, Fibre, OverflowHook, round_size};
use std::fmt::Display;
use std::ptr;

/// The hook. Owner words of stacks hold the addresses of control blocks.
pub(crate) const OVERFLOW_HOOK: OverflowHook = OverflowHook { who_runs, describe };

/// The fibre that runs on this thread, or null.
fn who_runs() -> *const () {
    running().map_or(ptr::null(), |fibre| fibre.as_ptr().cast_const().cast())
}

/// Reports a fibre's number, what its layer says of it, and the stack size of fibres here that ask
/// for none.
///
/// # Safety
///
/// `fibre` is a control block that is alive.
unsafe fn describe(fibre: *const (), tell: &mut dyn FnMut(Fibre<'_>)) {
    let default = Processor::here(|here| here.domain().settings.stack_size);
    // SAFETY: the caller's promise.
    unsafe {
        let fibre = FibreRef::new_unchecked(fibre.cast_mut().cast());
        let block = fibre.as_ref();
        (block.body().describe)(fibre, &mut |fibre_report| {
            let mut told = false;
            let mut with = |labels: &dyn Display| {
                tell(Fibre {
                    id: block.id(),
                    noun: fibre_report.noun,
                    name: fibre_report.name,
                    labels,
                    remedy: fibre_report.remedy,
                    default: round_size(default.unwrap_or(DEFAULT_STACK_SIZE)),
                });
            };
            block.attributes.with_labels(&mut |labels| {
                told = true;
                with(&format_args!(", {labels}"));
            });
            if !told {
                with(&"");
            }
        });
    }
}
