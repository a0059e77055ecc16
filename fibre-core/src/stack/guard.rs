//! Guard pages: memory below stacks that nothing may touch.
//!
//! `MADV_GUARD_INSTALL` (Linux 6.13) marks page-table entries and needs no mapping of its own, so a
//! million guards fit into one process. Older kernels get `mprotect`, which splits the mapping. The
//! runtime counts those guards, and refuses them well before the process runs out of mappings,
//! because at the limit allocations elsewhere in the program fail. It never leaves a guard out
//! silently.
//!
//! Locked memory (`mlockall`) takes no markers, and would give no pages back. So a slab that turns
//! out to be locked is unlocked as a whole, which costs no mappings.

use super::error::StackError;
use super::slab::{STACKS_PER_SLAB, Slab};
use super::system::{self, Advice, PIECES, Piece};
use crate::sys::environment::environment_variable;
use rustix::io::Errno;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// How many mappings guards by `mprotect` leave to the rest of the program.
const MAPPINGS_FOR_OTHERS: usize = 8192;

/// Whether the kernel has been found to lack `MADV_GUARD_INSTALL`.
static NO_MARKERS: AtomicBool = AtomicBool::new(false);

/// Whether markers have been made.
static MARKED: AtomicBool = AtomicBool::new(false);

/// Guards made by `mprotect`.
static PROTECTED: AtomicUsize = AtomicUsize::new(0);

const _: () = assert!(STACKS_PER_SLAB <= PIECES);

/// Guards stacks of a slab, `count` of them from `first`; returns how many were guarded, at least
/// one.
///
/// # Safety
///
/// The slab is the caller's, and these stacks are not in use.
pub(super) unsafe fn install(slab: &Slab, first: usize, count: usize) -> Result<usize, StackError> {
    let mut guards = [Piece {
        start: 0,
        length: 0,
    }; PIECES];
    let guards = &mut guards[..count];
    for (place, index) in guards.iter_mut().zip(first..) {
        *place = slab.guard(index);
    }
    // SAFETY: passed on.
    if markers_wanted() && unsafe { mark(slab, guards) } {
        MARKED.store(true, Ordering::Relaxed);
        return Ok(count);
    }
    let mut done = 0;
    for guard in guards {
        // SAFETY: passed on.
        match unsafe { protect(*guard) } {
            Ok(()) => done += 1,
            Err(_) if done > 0 => break,
            Err(error) => return Err(error),
        }
    }
    slab.protected.fetch_add(done, Ordering::Relaxed);
    Ok(done)
}

/// Notes that a slab's mapping is gone, and its guards with it.
pub(super) fn uninstalled(slab: &Slab) {
    let protected = slab.protected.swap(0, Ordering::Relaxed);
    PROTECTED.fetch_sub(protected, Ordering::Relaxed);
}

/// Whether guards may be refused, and not for want of memory only: guards by `mprotect` are
/// mappings, and the number of a process' mappings is limited.
pub(super) fn may_be_refused() -> bool {
    !markers_wanted()
}

/// Whether it is known how stacks are guarded: some have been.
pub(super) fn is_known() -> bool {
    !markers_wanted() || MARKED.load(Ordering::Relaxed)
}

/// Whether page-table markers should be tried (not with `FIBRE_GUARD=mprotect`).
fn markers_wanted() -> bool {
    static ENVIRONMENT: OnceLock<bool> = OnceLock::new();
    let wanted = ENVIRONMENT.get_or_init(|| {
        environment_variable("FIBRE_GUARD").is_none_or(|value| value != "mprotect")
    });
    *wanted && !NO_MARKERS.load(Ordering::Relaxed)
}

/// Tries page-table markers; `false` means: not on this memory.
///
/// # Safety
///
/// As for [`install`].
unsafe fn mark(slab: &Slab, guards: &[Piece]) -> bool {
    // SAFETY: guards of stacks that are not in use.
    match unsafe { system::advise_each(guards, Advice::Guard) } {
        Ok(()) => return true,
        Err(Errno::INVAL) => {}
        Err(_) => return false,
    }
    // The kernel does not know them, or the memory is locked.
    // SAFETY: our slab; fibres on its stacks do not notice.
    let unlocked = unsafe { system::unlock(slab.whole()) };
    // SAFETY: as above.
    match unsafe { system::advise_each(guards, Advice::Guard) } {
        Ok(()) => return true,
        Err(Errno::INVAL) if unlocked.is_ok() => NO_MARKERS.store(true, Ordering::Relaxed),
        Err(_) => {}
    }
    false
}

/// Makes a guard by `mprotect`, within the limit.
///
/// # Safety
///
/// As for [`install`].
unsafe fn protect(guard: Piece) -> Result<(), StackError> {
    // Each guard splits one mapping: two more, its own and the stack above it.
    let limit = max_map_count();
    let used = PROTECTED.fetch_add(1, Ordering::Relaxed) * 2;
    if used + MAPPINGS_FOR_OTHERS.min(limit / 2) > limit {
        PROTECTED.fetch_sub(1, Ordering::Relaxed);
        return Err(StackError::MapLimit(limit));
    }
    // SAFETY: passed on.
    unsafe { system::protect(guard) }.map_err(|errno| {
        PROTECTED.fetch_sub(1, Ordering::Relaxed);
        StackError::no_memory(errno)
    })
}

/// How many mappings a process may have.
fn max_map_count() -> usize {
    /// The kernel's default.
    const DEFAULT: usize = 65_530;
    static LIMIT: OnceLock<usize> = OnceLock::new();
    *LIMIT.get_or_init(|| {
        std::fs::read_to_string("/proc/sys/vm/max_map_count")
            .ok()
            .and_then(|text| text.trim().parse().ok())
            .unwrap_or(DEFAULT)
    })
}

#[cfg(test)]
pub(super) mod tests {
    use super::{NO_MARKERS, Ordering};

    /// Runs `f` as if the kernel had no markers.
    pub(in super::super) fn without_markers(f: impl FnOnce()) {
        let before = NO_MARKERS.swap(true, Ordering::Relaxed);
        f();
        NO_MARKERS.store(before, Ordering::Relaxed);
    }
}
