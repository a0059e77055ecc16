//! Robust mutexes that a fibre holds at its end.
//!
//! A thread has a list of the robust mutexes that it holds, in its block. At its end the kernel
//! marks each as one whose owner has died, and wakes one that waits for it. The kernel knows the
//! lists of its own threads only, so for a fibre the same is done here. Where the whole process
//! ends, nobody does it.

use super::layout::Layout;
use crate::arch;
use crate::sys::syscall::syscall;
use std::ptr;
use std::sync::atomic::{AtomicI32, AtomicU32, Ordering};

/// The head of such a list, as the kernel has it.
#[repr(C)]
struct Head {
    /// The first entry, or the head itself. Bit 0: of a mutex with priority inheritance.
    first: usize,
    /// How far behind an entry the mutex has its word.
    to_word: isize,
}

/// Of a mutex's word: the owner's number, or what says that it has died or that others wait.
const OWNER: u32 = libc::FUTEX_TID_MASK;

/// No list is longer for the kernel, which an overwritten one might be.
const MOST: usize = 2048;

/// Marks the robust mutexes that the calling fibre holds as those of an owner that has died, and
/// forgets them.
///
/// # Safety
///
/// The caller is a fibre with a block, about to end. The mutexes that it holds are there.
pub(super) unsafe fn give_up(layout: &Layout) {
    let Some(place) = layout.robust else {
        return;
    };
    let own = arch::thread_pointer();
    let address = own.wrapping_add_signed(place);
    // SAFETY: every block has the head, and its number; only the fibre changes the list.
    unsafe {
        let head = ptr::with_exposed_provenance_mut::<Head>(address);
        let number =
            ptr::with_exposed_provenance::<AtomicI32>(own.wrapping_add_signed(layout.number));
        let number = (*number).load(Ordering::Relaxed) as u32;
        let mut entry = (*head).first;
        for _ in 0..MOST {
            let inherits = entry & 1 != 0;
            entry &= !1;
            if entry == address {
                break;
            }
            let next = ptr::with_exposed_provenance::<usize>(entry).read();
            if !inherits {
                let word = entry.wrapping_add_signed((*head).to_word);
                mark(&*ptr::with_exposed_provenance(word), number);
            }
            entry = next;
        }
        (*head).first = address;
    }
}

/// Marks one mutex, if it is this owner's, and wakes one that waits for it.
fn mark(word: &AtomicU32, owner: u32) {
    let mark = |value: u32| {
        (value & OWNER == owner).then_some((value & libc::FUTEX_WAITERS) | libc::FUTEX_OWNER_DIED)
    };
    let before = word.fetch_update(Ordering::Release, Ordering::Relaxed, mark);
    if before.is_ok_and(|value| value & libc::FUTEX_WAITERS != 0) {
        let place = word.as_ptr().expose_provenance();
        // In whatever process it waits.
        // SAFETY: a word of this process.
        let _ = unsafe {
            syscall(
                libc::SYS_futex,
                [place, libc::FUTEX_WAKE as usize, 1, 0, 0, 0],
            )
        };
    }
}
