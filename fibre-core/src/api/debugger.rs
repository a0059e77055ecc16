//! What debuggers read in a live process or a core file: where everything lies.
//!
//! A debugger knows neither the layouts that the compiler chose nor, in a stripped program, their
//! names. So one [`Header`] of fixed layout says where the rest is. A debugger finds it by the
//! symbol `fibre_debugger`, or by the section `.fibre_debugger`, which stripping does not remove.
//! The script `fibre-inspect/gdb/fibre.py` reads it. The two change together, and the
//! [version](VERSION) with them.
//!
//! From the header on, a debugger finds:
//!
//! * the clusters, in a list ([`crate::scheduler::records`]), and what processors these have;
//! * in their fibre lists all fibres that have started, a hook of each control block;
//! * in a control block what [`BlockLayout`] says. At the place where a fibre has left its stack
//!   lie its registers RBX and RBP, upwards, and above them its frame;
//! * above the place where a stack begins, the thread pointer of its thread block, or zero. The
//!   frames of a fibre with a block begin below that block.
//!
//! The runtime writes this data only when a cluster or a processor begins or ends.

use crate::api::embed;
use crate::fibre::{BlockLayout, Body, ControlBlock};
use crate::scheduler::records::{CLUSTERS, ClusterRecord};
use crate::stack::{DEPARTED_PLACE, Stack};
use crate::wait::wait_object::{KIND_WORDS, Words};
use std::mem::offset_of;
use std::ptr;
use std::sync::atomic::{AtomicIsize, AtomicPtr};

/// The version of all layouts. A reader that does not know it must not go on.
const VERSION: u32 = 4;

/// The beginning of what a debugger reads.
#[repr(C)]
#[derive(Debug)]
pub struct Header {
    /// What it begins with.
    magic: [u8; 8],
    /// The version of all layouts.
    version: u32,
    /// The number of the header's bytes.
    length: u32,
    /// The head of the list of all clusters.
    clusters: &'static AtomicPtr<ClusterRecord>,
    /// What fibres wait for, in words, by the number of the kind less one.
    kinds: &'static [Words; KIND_WORDS.len()],
    /// How many kinds there are.
    kind_count: usize,
    /// The functions of fibres that a layer above has made.
    embedded: *const Body,
    /// Where a thread block has the address that the frames of its fibre begin at, to be rounded
    /// down to a multiple of 16: from the thread pointer on. Zero: there is no thread block.
    departed: &'static AtomicIsize,
    /// Where such a fibre's program is, from the beginning of its block on: see
    /// [`embed::NamePlace`].
    program: u32,
    /// Where its data is, a pointer.
    data: u32,
    /// Where in the program the place of the name is.
    name_place: u32,
    /// Where the thread pointer of a stack's thread block is, from where the stack begins on.
    thread_word: u32,
    /// Where everything lies in a block.
    block: BlockLayout,
}

// SAFETY: it leads to statics, and never changes.
unsafe impl Sync for Header {}

/// The header.
#[unsafe(export_name = "fibre_debugger")]
#[unsafe(link_section = ".fibre_debugger")]
#[used]
static HEADER: Header = Header {
    magic: *b"fibre\0\0\0",
    version: VERSION,
    length: size_of::<Header>() as u32,
    clusters: &CLUSTERS,
    kinds: &KIND_WORDS,
    kind_count: KIND_WORDS.len(),
    embedded: &raw const embed::BODY,
    departed: &DEPARTED_PLACE,
    program: offset_of!(embed::Embedded, program) as u32,
    data: offset_of!(embed::Embedded, data) as u32,
    name_place: offset_of!(embed::Program, name) as u32,
    thread_word: Stack::THREAD_WORD as u32,
    block: ControlBlock::LAYOUT,
};

/// The header, for layers above: a program that refers to it has it.
#[must_use]
pub fn header() -> *const Header {
    ptr::from_ref(&HEADER)
}
