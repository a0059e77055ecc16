//! What a roused fibre does. Its cluster unwinds waiting fibres (docs/decisions/0101) and has
//! roused it in the middle of a wait: it leaves the wait, or goes on if a waker was faster.

use crate::fibre::ControlBlock;
use crate::park::leave::{leave, suspend, suspend_untied};
use crate::processor::Processor;
use crate::stack::context::Action;
use crate::wait::waiter;

type Waiter = waiter::Waiter<ControlBlock>;

/// The part of a wait without a limit of a fibre that has been roused, to leave the wait and be
/// unwound. `false`: a waker was faster, and has let it go on.
#[cold]
#[inline(never)]
pub(super) fn has_left(
    block: &ControlBlock,
    waiter: &Waiter,
    withdraw: impl FnOnce(&Waiter),
) -> bool {
    let _ = block.link().take_rousing();
    withdraw(waiter);
    // Nobody can claim it any more.
    if !waiter.is_claimed() {
        return true;
    }
    // Its waker has queued the fibre, or is about to do so.
    suspend_untied(block, Action::ParkAtHome);
    while block.link().take_rousing() {
        suspend_untied(block, Action::ParkAtHome);
    }
    false
}

/// [`has_left`] for a fibre that may go on on any processor. Its waker finds it running, and queues
/// it once it has parked again.
#[cold]
#[inline(never)]
pub(super) fn has_left_anywhere(
    block: &ControlBlock,
    waiter: &Waiter,
    withdraw: impl FnOnce(&Waiter),
) -> bool {
    let _ = block.link().take_rousing();
    withdraw(waiter);
    if !waiter.is_claimed() {
        return true;
    }
    leave(block);
    while block.link().take_rousing() {
        leave(block);
    }
    false
}

/// The part of a wait with a limit, or in several places, of a fibre that has been roused: ends the
/// wait as its canceller, or goes on waiting for a waker that was faster.
#[cold]
#[inline(never)]
pub(super) fn give_up_roused(block: &ControlBlock, waiter: &Waiter) {
    while block.link().take_rousing() {
        if waiter.cancel().is_some() {
            return;
        }
        suspend(block, Action::ParkAtHome);
    }
}

/// [`give_up_roused`] for a fibre that does not wait at home.
#[cold]
#[inline(never)]
pub(super) fn give_up_parked(block: &ControlBlock, waiter: &Waiter) {
    let stays = Processor::here(Processor::never_gives_fibres_away) == Some(true);
    while block.link().take_rousing() {
        let gives_up = waiter.cancel().is_some();
        match (stays, gives_up) {
            // The fibre is its own waker, and runs already.
            (true, true) => _ = block.state.wake(),
            // The state says that it has left its stack, or that it is queued, which stays true.
            (true, false) => suspend(block, Action::ParkAtHome),
            // Whoever has roused it has made it run.
            (false, true) => {}
            (false, false) => leave(block),
        }
        if gives_up {
            return;
        }
    }
}
