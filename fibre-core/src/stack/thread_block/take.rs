//! How a stack gets a block.

use super::block::{self, ThreadBlock};
use super::images::Images;
use super::{birth, store};
use crate::stack::error::StackError;
use crate::stack::pool;
use crate::stack::slab::Stack;
use rustix::io::Errno;
use std::sync::atomic::Ordering;

/// Gives a stack, which nobody uses, a block like that of a new thread, or takes another stack of
/// its class that has one. `images` are the caller's. May block the thread for some 50 µs. Also
/// returns whether the block is a new one.
///
/// # Errors
///
/// The stack, which may have no block, and why not.
pub(crate) fn as_thread(
    stack: Stack,
    images: &Images,
) -> Result<(Stack, ThreadBlock, bool), (Stack, StackError)> {
    let stack = exchange(stack);
    match become_thread(&stack, images) {
        Ok((block, is_new)) => Ok((stack, block, is_new)),
        Err(error) => Err((stack, error)),
    }
}

/// A stack with a block in place of one without, if there is one of its class.
fn exchange(stack: Stack) -> Stack {
    if stack.block().is_some() {
        return stack;
    }
    let Some(kept) = store::take(stack.class()) else {
        return stack;
    };
    pool::put_cold(stack);
    kept
}

/// Gives the stack, which nobody uses, a block like that of a new thread. `images` are the
/// caller's. Also returns whether it is a new one.
///
/// # Errors
///
/// [`StackError::NoThread`], when there cannot be another thread.
fn become_thread(stack: &Stack, images: &Images) -> Result<(ThreadBlock, bool), StackError> {
    if let Some(block) = stack.block() {
        if images.renew(block) {
            return Ok((block, false));
        }
        birth::end(std::slice::from_ref(stack));
        if stack.block().is_some() {
            return Err(StackError::no_thread(Errno::AGAIN));
        }
    }
    block::note_exist();
    let block = birth::give_birth(stack)?;
    stack
        .thread_word()
        .store(block.thread_pointer(), Ordering::Relaxed);
    Ok((block, true))
}
