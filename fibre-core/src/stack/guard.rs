//! Making memory below a stack untouchable.
//!
//! `MADV_GUARD_INSTALL` (Linux 6.13) marks page-table entries and needs no
//! mapping of its own, so a million guards fit into one process. Older kernels
//! get `mprotect`, which splits the mapping; those are counted, and refused well
//! before the process runs out of mappings, because at the limit it is other
//! people's allocations that fail. A guard is never silently left out.

use super::{GUARD_SIZE, StackError};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// `MADV_GUARD_INSTALL`, which `libc` does not name yet.
const MADV_GUARD_INSTALL: libc::c_int = 102;

/// Mappings that guards by `mprotect` leave to everybody else.
const MAPPINGS_FOR_OTHERS: usize = 8192;

/// Whether the kernel has been found to lack `MADV_GUARD_INSTALL`, or the
/// environment says to do without (`FIBRE_GUARD=mprotect`).
static NO_MARKERS: AtomicBool = AtomicBool::new(false);

/// Guards made by `mprotect`.
static PROTECTED: AtomicUsize = AtomicUsize::new(0);

/// Makes `GUARD_SIZE` bytes from `start` untouchable.
///
/// # Safety
///
/// The range is whole pages of a private anonymous mapping that is the caller's
/// and holds nothing.
pub(super) unsafe fn install(start: *mut libc::c_void) -> Result<(), StackError> {
    // SAFETY: passed on.
    if markers_wanted() && unsafe { install_marker(start) } {
        return Ok(());
    }
    // SAFETY: passed on.
    unsafe { protect(start) }
}

/// Whether page-table markers should be tried.
fn markers_wanted() -> bool {
    static ENVIRONMENT: OnceLock<bool> = OnceLock::new();
    let wanted = ENVIRONMENT
        .get_or_init(|| std::env::var_os("FIBRE_GUARD").is_none_or(|value| value != "mprotect"));
    *wanted && !NO_MARKERS.load(Ordering::Relaxed)
}

/// Tries a page-table marker; `false` means: not on this memory.
///
/// # Safety
///
/// As for [`install`].
unsafe fn install_marker(start: *mut libc::c_void) -> bool {
    // SAFETY: the caller's range; markers on empty pages destroy nothing.
    if unsafe { libc::madvise(start, GUARD_SIZE, MADV_GUARD_INSTALL) } == 0 {
        return true;
    }
    // Locked memory (mlockall) is refused: unlock the guard, which needs no pages.
    // SAFETY: the same range.
    let unlocked = unsafe { libc::munlock(start, GUARD_SIZE) } == 0;
    // SAFETY: the same range.
    if unlocked && unsafe { libc::madvise(start, GUARD_SIZE, MADV_GUARD_INSTALL) } == 0 {
        return true;
    }
    // Read at once, on the processor's own stack: no switch lies in between.
    if std::io::Error::last_os_error().raw_os_error() == Some(libc::EINVAL) {
        NO_MARKERS.store(true, Ordering::Relaxed);
    }
    false
}

/// Guards by `mprotect`, within the limit.
///
/// # Safety
///
/// As for [`install`].
unsafe fn protect(start: *mut libc::c_void) -> Result<(), StackError> {
    // Each guard splits one mapping: two more, its own and the stack above it.
    let limit = max_map_count();
    let used = PROTECTED.fetch_add(1, Ordering::Relaxed) * 2;
    if used + MAPPINGS_FOR_OTHERS.min(limit / 2) > limit {
        PROTECTED.fetch_sub(1, Ordering::Relaxed);
        return Err(StackError::MapLimit(limit));
    }
    // SAFETY: the caller's range.
    let done =
        unsafe { rustix::mm::mprotect(start, GUARD_SIZE, rustix::mm::MprotectFlags::empty()) };
    done.map_err(|errno| {
        PROTECTED.fetch_sub(1, Ordering::Relaxed);
        StackError::NoMemory(errno)
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
