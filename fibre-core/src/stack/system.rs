//! The system calls that make stacks, and no others.
//!
//! Tests make calls fail here.

use crate::sys::syscall::syscall;
use rustix::io::Errno;
use std::ffi::CStr;
use std::sync::atomic::{AtomicBool, Ordering};

/// Some memory, laid out as an `iovec`.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Piece {
    /// Its first byte.
    pub(super) start: usize,
    /// The number of its bytes.
    pub(super) length: usize,
}

/// Advice to the kernel about memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(usize)]
pub(super) enum Advice {
    /// The pages may go; they read as zeros.
    Release = 4,
    /// No huge pages here.
    NoHugePages = 15,
    /// Populate the pages, writable.
    Populate = 23,
    /// Make the memory fault, by page-table markers (Linux 6.13). `libc` does not name it yet.
    Guard = 102,
}

/// The most pieces of one [`advise_each`].
pub(super) const PIECES: usize = 64;

/// Reserves memory, committed as it is touched.
pub(super) fn map(length: usize) -> Result<usize, Errno> {
    let access = libc::PROT_READ | libc::PROT_WRITE;
    let kind = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | libc::MAP_STACK;
    let arguments = [0, length, access as usize, kind as usize, usize::MAX, 0];
    // SAFETY: a new mapping, at an address of the kernel's choice.
    let start = unsafe { call(Call::Map, libc::SYS_mmap, arguments) }?;
    // Pointers into the mapping are made of this number elsewhere.
    Ok(std::ptr::with_exposed_provenance::<u8>(start).expose_provenance())
}

/// Has `/proc/self/maps` show what the memory is for. Kernels without such names, or built without
/// them, answer with an error, which is as good.
pub(super) fn name(piece: Piece) {
    const NAME: &CStr = c"fibre stacks";
    let (what, name) = (
        libc::PR_SET_VMA_ANON_NAME as usize,
        NAME.as_ptr().expose_provenance(),
    );
    let arguments = [
        libc::PR_SET_VMA as usize,
        what,
        piece.start,
        piece.length,
        name,
        0,
    ];
    // SAFETY: changes nothing but what is shown of the memory; the kernel copies the name.
    let _ = unsafe { syscall(libc::SYS_prctl, arguments) };
}

/// Gives a mapping up.
///
/// # Safety
///
/// The memory is the caller's, and is not in use.
pub(super) unsafe fn unmap(piece: Piece) -> Result<(), Errno> {
    // SAFETY: passed on.
    unsafe { on_piece(Call::Unmap, libc::SYS_munmap, piece, 0) }
}

/// Makes memory untouchable, by splitting its mapping.
///
/// # Safety
///
/// As for [`unmap`].
pub(super) unsafe fn protect(piece: Piece) -> Result<(), Errno> {
    // SAFETY: passed on.
    unsafe { on_piece(Call::Protect, libc::SYS_mprotect, piece, 0) }
}

/// Lets the kernel page memory again that `mlockall` has pinned.
///
/// # Safety
///
/// The memory is the caller's.
pub(super) unsafe fn unlock(piece: Piece) -> Result<(), Errno> {
    // SAFETY: passed on.
    unsafe { on_piece(Call::Unlock, libc::SYS_munlock, piece, 0) }
}

/// Advises the kernel about memory.
///
/// # Safety
///
/// The memory is the caller's, and nothing relies on what the advice changes.
pub(super) unsafe fn advise(piece: Piece, advice: Advice) -> Result<(), Errno> {
    // SAFETY: passed on.
    unsafe { on_piece(Call::Advise, libc::SYS_madvise, piece, advice as usize) }
}

/// Advises the kernel about at most [`PIECES`] pieces. One call where the kernel lets a process
/// advise itself like that, which saves not only calls: page tables are flushed once.
///
/// # Errors
///
/// The error of the first piece that failed; the pieces behind it are as they were.
///
/// # Safety
///
/// As for [`advise`], for all pieces.
pub(super) unsafe fn advise_each(pieces: &[Piece], advice: Advice) -> Result<(), Errno> {
    /// Whether the kernel has been found to lack that call.
    static ONE_BY_ONE: AtomicBool = AtomicBool::new(false);
    /// "This process", for calls that want a descriptor of a process.
    const MYSELF: usize = -10_001_isize as usize;
    if pieces.len() > 1 && !ONE_BY_ONE.load(Ordering::Relaxed) {
        let all: usize = pieces.iter().map(|piece| piece.length).sum();
        let (first, count) = (pieces.as_ptr().expose_provenance(), pieces.len());
        let arguments = [MYSELF, first, count, advice as usize, 0, 0];
        // SAFETY: passed on; the pieces are laid out as the kernel wants them.
        match unsafe { call(Call::Advise, libc::SYS_process_madvise, arguments) } {
            Ok(done) if done == all => return Ok(()),
            // Some pieces were advised; the call for the rest will return the error.
            Ok(_) | Err(Errno::NOMEM) => {}
            Err(_) => ONE_BY_ONE.store(true, Ordering::Relaxed),
        }
    }
    // SAFETY: passed on.
    pieces
        .iter()
        .try_for_each(|piece| unsafe { advise(*piece, advice) })
}

/// Reports for each page of `piece` whether it is in memory (bit 0). `pages` has a byte for each.
pub(super) fn residence(piece: Piece, pages: &mut [u8]) -> Result<(), Errno> {
    debug_assert!(pages.len() * super::size::page_size() >= piece.length);
    let place = pages.as_mut_ptr().expose_provenance();
    let arguments = [piece.start, piece.length, place, 0, 0, 0];
    // SAFETY: only writes to `pages`, which is long enough; fails on what is not mapped.
    unsafe { call(Call::Look, libc::SYS_mincore, arguments) }.map(drop)
}

/// Makes a call about one piece of memory, with one more argument.
///
/// # Safety
///
/// The call's own contract.
unsafe fn on_piece(what: Call, number: i64, piece: Piece, third: usize) -> Result<(), Errno> {
    let arguments = [piece.start, piece.length, third, 0, 0, 0];
    // SAFETY: passed on.
    unsafe { call(what, number, arguments) }.map(drop)
}

/// The calls that tests can make fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(not(test), allow(dead_code, reason = "told apart by tests only"))]
pub(crate) enum Call {
    Map,
    Unmap,
    Protect,
    Unlock,
    Advise,
    Look,
}

/// Makes a system call that tests can make fail.
///
/// # Safety
///
/// The call's own contract.
unsafe fn call(what: Call, number: i64, arguments: [usize; 6]) -> Result<usize, Errno> {
    faults::strike(what)?;
    // SAFETY: passed on.
    unsafe { syscall(number, arguments) }
}

/// Faults outside of tests: none but the kernel's.
#[cfg(not(test))]
mod faults {
    use super::{Call, Errno};

    /// Lets every call through.
    #[inline]
    #[allow(clippy::unnecessary_wraps, reason = "its twin fails")]
    pub(super) fn strike(_: Call) -> Result<(), Errno> {
        Ok(())
    }
}

/// Faults that tests ask for.
#[cfg(test)]
pub(crate) mod faults {
    use super::{Call, Errno};
    use crate::sync::thread_mutex::{Mutex, MutexGuard};

    /// The calls that fail from now on, how many of them still succeed first, and how they fail.
    static FAULTS: Mutex<Vec<(Call, usize, Errno)>> = Mutex::new(Vec::new());
    /// One test at a time has faults, or must have none.
    static TURN: Mutex<()> = Mutex::new(());

    /// Fails if a test wants it.
    pub(super) fn strike(call: Call) -> Result<(), Errno> {
        let mut faults = FAULTS.lock();
        match faults.iter_mut().find(|(struck, ..)| *struck == call) {
            None => Ok(()),
            Some((_, 0, errno)) => Err(*errno),
            Some((_, spared, _)) => {
                *spared -= 1;
                Ok(())
            }
        }
    }

    /// The right to have faults, or to have none.
    pub(crate) struct Turn(#[allow(dead_code, reason = "held")] MutexGuard<'static, ()>);

    /// Waits for the other tests of this process that care about faults.
    pub(crate) fn turn() -> Turn {
        Turn(TURN.lock())
    }

    impl Turn {
        /// Runs `f` while all calls of this kind fail.
        pub(crate) fn with<R>(&self, call: Call, errno: Errno, f: impl FnOnce() -> R) -> R {
            self.with_after(call, 0, errno, f)
        }

        /// Runs `f` while all calls of this kind fail, but for the first `spared` ones.
        pub(crate) fn with_after<R>(
            &self,
            call: Call,
            spared: usize,
            errno: Errno,
            f: impl FnOnce() -> R,
        ) -> R {
            FAULTS.lock().push((call, spared, errno));
            let result = f();
            FAULTS.lock().pop();
            result
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stack::size::page_size;

    /// Whether `/proc/self/maps` says so of the memory at this address.
    fn is_shown(address: usize, name: &str) -> bool {
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        let number = |text: &str| usize::from_str_radix(text, 16).unwrap();
        let line = maps.lines().find(|line| {
            // It may be one mapping with memory that has the same name.
            let (start, rest) = line.split_once('-').unwrap();
            let (end, _) = rest.split_once(' ').unwrap();
            (number(start)..number(end)).contains(&address)
        });
        line.unwrap().ends_with(name)
    }

    #[test]
    fn memory_of_stacks_is_named_where_the_kernel_has_names() {
        let _turn = faults::turn();
        let length = 3 * page_size();
        let start = map(length).unwrap();
        name(Piece { start, length });
        let named = is_shown(start, "[anon:fibre stacks]");
        let other = c"other".as_ptr();
        // SAFETY: names a mapping of ours.
        let known = unsafe {
            libc::prctl(
                libc::PR_SET_VMA,
                libc::PR_SET_VMA_ANON_NAME,
                start,
                length,
                other,
            )
        };
        assert_eq!(named, known == 0);
        // SAFETY: ours, and not in use.
        unsafe { unmap(Piece { start, length }) }.unwrap();
    }
}
