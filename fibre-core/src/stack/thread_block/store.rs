//! Stacks with blocks that no cluster has. A block costs more than a stack, so some are kept for
//! clusters to come.

use super::birth;
use super::block::exist;
use crate::stack::pages;
use crate::stack::size::CLASSES;
use crate::stack::slab::Stack;
use crate::sync::thread_mutex::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// How many are kept of each class: some 8 KiB each.
const KEPT: usize = 4096;

/// The stacks, by class.
static STORES: [Mutex<Vec<Stack>>; CLASSES] = [const { Mutex::new(Vec::new()) }; CLASSES];

/// How many there are in all: changed under a lock, and read as a hint.
static COUNT: AtomicUsize = AtomicUsize::new(0);

/// Takes those out of these stacks, all of one class, that have blocks, and are about to go back to
/// the system. Some are kept, if `may_keep` says so. The blocks of the others are ended, and they
/// stay among these. Where a block cannot be ended, its stack is not used again, as the C library
/// goes on listing the block.
pub(crate) fn keep(class: usize, stacks: &mut Vec<Stack>, may_keep: bool) {
    if !exist() {
        return;
    }
    let has_block = |stack: &Stack| stack.block().is_some();
    stacks.sort_unstable_by_key(has_block);
    let first = stacks.partition_point(|stack| !has_block(stack));
    if first == stacks.len() {
        return;
    }
    let mut store = STORES[class].lock();
    let most = if may_keep { KEPT } else { 0 };
    let room = most.saturating_sub(store.len());
    let kept = room.min(stacks.len() - first);
    let kept = store.try_reserve(kept).map_or(0, |()| kept);
    pages::release_deep(&stacks[first..first + kept]);
    store.extend(stacks.drain(first..first + kept));
    COUNT.fetch_add(kept, Ordering::Relaxed);
    drop(store);
    birth::end(&stacks[first..]);
    stacks.retain(|stack| !has_block(stack));
}

/// All stacks of this class that are kept, without their blocks, for a caller that needs their
/// addresses. Those stay that have a block which cannot be ended now.
pub(crate) fn surrender(class: usize) -> Vec<Stack> {
    if COUNT.load(Ordering::Relaxed) == 0 {
        return Vec::new();
    }
    let mut store = STORES[class].lock();
    let mut stacks = std::mem::take(&mut *store);
    COUNT.fetch_sub(stacks.len(), Ordering::Relaxed);
    drop(store);
    birth::end(&stacks);
    let has_block = |stack: &Stack| stack.block().is_some();
    stacks.sort_unstable_by_key(has_block);
    let ended = stacks.partition_point(|stack| !has_block(stack));
    let mut store = STORES[class].lock();
    if store.try_reserve(stacks.len() - ended).is_ok() {
        COUNT.fetch_add(stacks.len() - ended, Ordering::Relaxed);
        store.extend(stacks.drain(ended..));
    }
    drop(store);
    stacks.truncate(ended);
    stacks
}

/// A stack of this class with a block, if there is one.
pub(super) fn take(class: usize) -> Option<Stack> {
    if COUNT.load(Ordering::Relaxed) == 0 {
        return None;
    }
    let kept = STORES[class].lock().pop()?;
    COUNT.fetch_sub(1, Ordering::Relaxed);
    Some(kept)
}

/// Ends the block of a stack that must keep nothing of its fibre, if it has one.
pub(crate) fn end_block(stack: &Stack) {
    if exist() && stack.block().is_some() {
        birth::end(std::slice::from_ref(stack));
    }
}
