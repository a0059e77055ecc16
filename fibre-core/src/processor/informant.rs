//! What the overflow report is told about fibres. In a signal handler: plain loads only.

use super::Processor;
use crate::fibre::ControlBlock;
use crate::stack::{Fibre, Informant};
use std::ptr;

/// See the module text. Nameplates of stacks hold the addresses of control blocks.
pub const INFORMANT: Informant = Informant { who_runs, describe };

/// The fibre that runs on this thread, or null.
fn who_runs() -> *const () {
    // SAFETY: not null means that this thread is that processor.
    let processor = unsafe { Processor::current().as_ref() };
    let running = processor.and_then(Processor::running);
    running.map_or(ptr::null(), |fibre| fibre.as_ptr().cast_const().cast())
}

/// Tells a fibre's number and name.
///
/// # Safety
///
/// `fibre` is a control block that is alive.
unsafe fn describe(fibre: *const (), tell: &mut dyn FnMut(Fibre<'_>)) {
    // SAFETY: the caller's promise.
    let block = unsafe { &*fibre.cast::<ControlBlock>() };
    tell(Fibre {
        id: block.id(),
        name: block.attributes.name(),
    });
}
