//! A fibre: its control block, and what belongs to it.
//!
//! * `control_block`: the one allocation of a fibre;
//! * `state`: its run-state word;
//! * `activity_word`: whether an activity has to run, and does;
//! * `wait_slot`: what it waits for, or its reserved stack;
//! * `fibre_list`, `fibre_list_ref`: the started fibres of a processor, and looking at them from
//!   outside;
//! * `block_cache`: the memory of ended fibres;
//! * `labels`: what it says of itself to observers;
//! * `lazy_box`: a box that is made when it is first needed;
//! * `bindings`: scoped values, which fibres inherit;
//! * `local_table`: fibre-local values by key;
//! * `switch_hooks`: functions of the program that are called at each switch; `switch_reason`: why
//!   a fibre has been switched from;
//! * `director`: what decides for a cluster under test;
//! * `cancel_batch`, `cancel_group`: how fibres are cancelled, and which of them together.

pub mod activity_word;
pub(crate) mod bindings;
pub(crate) mod block_cache;
pub(crate) mod cancel_batch;
pub(crate) mod cancel_group;
mod control_block;
pub(crate) mod director;
mod fibre_list;
mod fibre_list_ref;
pub(crate) mod labels;
pub(crate) mod lazy_box;
pub(crate) mod local_table;
pub mod state;
pub(crate) mod switch_hooks;
pub(crate) mod switch_reason;
mod wait_slot;

pub use self::control_block::{ControlBlock, FibreReport, Viewer};
pub(crate) use self::{
    control_block::*,
    fibre_list::{FibreList, Hook},
    fibre_list_ref::{FibreListRef, IdleMemory, ThreadMemory},
    state::{Cancel, Left, RunState, Wake},
    switch_hooks::HookList,
    wait_slot::{Reserved, WaitSlot},
};
