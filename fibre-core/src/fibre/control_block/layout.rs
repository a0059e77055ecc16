//! Where debuggers find a fibre's data in its control block.

use super::{Attributes, ControlBlock, Rare};
use crate::fibre::labels::LabelText;
use crate::fibre::{FibreList, Hook, RunState};
use crate::stack::context::Context;
use std::mem::offset_of;

/// Distances in bytes from the beginning of a block, unless said otherwise. See
/// [`crate::api::debugger`].
#[repr(C)]
#[derive(Debug)]
pub(crate) struct BlockLayout {
    /// The fibre's number.
    id: u32,
    /// The ready queue that it goes to when woken.
    home: u32,
    /// Where it has left its stack; zero while it runs.
    pointer: u32,
    /// The address where it goes on there.
    code: u32,
    /// What it waits for.
    awaited: u32,
    /// The address where its stack begins.
    root: u32,
    /// Since when it waits.
    since: u32,
    /// The table of its functions.
    body: u32,
    /// Its rare attributes, a pointer.
    rare: u32,
    /// Its name, from the beginning of these on: address and length, which is how compilers lay out
    /// a box of text.
    name: u32,
    /// Its labels, from the beginning of these on: a pointer to their text.
    labels: u32,
    /// Where the bytes of that text are; their number is at its beginning.
    label_bytes: u32,
    /// What is shown of its scoped values, from the beginning of its rare attributes on: a pointer
    /// to a pointer to such a text.
    shown: u32,
    /// Its hook in a fibre list.
    hook: u32,
    /// The next hook, from the beginning of a hook on.
    next: u32,
    /// The first hook, from the beginning of a fibre list on.
    first: u32,
}

/// A distance. There are none that this would cut.
const fn distance(bytes: usize) -> u32 {
    assert!(bytes < 1 << 16);
    bytes as u32
}

impl ControlBlock {
    /// Where everything lies.
    pub(crate) const LAYOUT: BlockLayout = BlockLayout {
        id: distance(offset_of!(Self, id)),
        home: distance(offset_of!(Self, home)),
        pointer: distance(offset_of!(Self, context) + Context::POINTER),
        code: distance(offset_of!(Self, context) + Context::CODE),
        awaited: distance(offset_of!(Self, wait_slot)),
        root: distance(offset_of!(Self, context) + Context::ROOT),
        since: distance(offset_of!(Self, state) + RunState::<Self>::SINCE),
        body: distance(offset_of!(Self, body)),
        rare: distance(offset_of!(Self, attributes) + offset_of!(Attributes, rare)),
        name: distance(offset_of!(Rare, name)),
        labels: distance(offset_of!(Rare, labels)),
        label_bytes: distance(LabelText::BYTES),
        shown: distance(offset_of!(Rare, origin)),
        hook: distance(offset_of!(Self, fibre_list)),
        next: distance(Hook::NEXT),
        first: distance(FibreList::FIRST),
    };
}
