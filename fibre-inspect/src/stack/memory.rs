//! Memory of this process that may not be there.
//!
//! Another thread may be about to give a stack back, or to unload a library. A plain load from
//! there could end the process. So the kernel reads the memory, and returns an error if nothing is
//! there.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicI32, Ordering};

/// The most that one call reads: the kernel reads a piece as a whole, or not at all.
const PIECE: usize = 4096;

/// The pieces that one call reads.
const PIECES: usize = 16;

/// The descriptor of this process's memory, for kernels and sandboxes without `process_vm_readv`.
static FILE: AtomicI32 = AtomicI32::new(-1);

/// Opens what [`read`] may need, which is called in a signal handler, too.
pub(crate) fn prepare() {
    /// Whether it has been tried.
    static TRIED: OnceLock<()> = OnceLock::new();
    TRIED.get_or_init(|| {
        let mut one = [0];
        let here = [1_u8];
        if by_call(here.as_ptr().addr(), &mut one) == 1 {
            return;
        }
        // SAFETY: a path that ends with a zero.
        let file =
            unsafe { libc::open(c"/proc/self/mem".as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC) };
        FILE.store(file, Ordering::Relaxed);
    });
}

/// The descriptor that memory is read by, if it is.
pub(crate) fn file() -> Option<i32> {
    Some(FILE.load(Ordering::Relaxed)).filter(|file| *file >= 0)
}

/// Reads the memory from an address on; returns how many bytes there were, up to the first page
/// that cannot be read. Async-signal-safe, but for `errno`, which it may change.
pub(crate) fn read(address: usize, into: &mut [u8]) -> usize {
    let file = FILE.load(Ordering::Relaxed);
    let mut done = 0;
    while done < into.len() {
        let from = address + done;
        let rest = &mut into[done..];
        let count = if file < 0 {
            by_call(from, rest)
        } else {
            by_file(file, from, rest)
        };
        if count == 0 {
            break;
        }
        done += count;
    }
    done
}

/// A word of memory.
pub(crate) fn word(address: usize) -> Option<usize> {
    let mut bytes = [0; 8];
    (read(address, &mut bytes) == 8).then(|| usize::from_ne_bytes(bytes))
}

/// Some bytes, if all of them are there.
pub(crate) fn bytes(address: usize, length: usize) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    bytes.try_reserve_exact(length).ok()?;
    bytes.resize(length, 0);
    (read(address, &mut bytes) == length).then_some(bytes)
}

/// Reads by `process_vm_readv`, at least one page, if there is anything.
fn by_call(address: usize, into: &mut [u8]) -> usize {
    let local = libc::iovec {
        iov_base: into.as_mut_ptr().cast(),
        iov_len: into.len(),
    };
    let nothing = libc::iovec {
        iov_base: std::ptr::null_mut(),
        iov_len: 0,
    };
    let mut remote = [nothing; PIECES];
    let (mut from, end) = (address, address.saturating_add(into.len()));
    let mut pieces = 0;
    for piece in &mut remote {
        // Pieces end with pages, so that each is there as a whole or not at all.
        let next = end.min((from / PIECE + 1) * PIECE);
        if from >= next {
            break;
        }
        piece.iov_base = std::ptr::without_provenance_mut(from);
        piece.iov_len = next - from;
        (from, pieces) = (next, pieces + 1);
    }
    // SAFETY: the kernel writes to the slice at most, and checks what it reads.
    let count = unsafe {
        libc::process_vm_readv(
            libc::getpid(),
            &raw const local,
            1,
            remote.as_ptr(),
            pieces,
            0,
        )
    };
    usize::try_from(count).unwrap_or(0)
}

/// Reads from `/proc/self/mem`, up to the end of a page.
fn by_file(file: i32, address: usize, into: &mut [u8]) -> usize {
    let length = into.len().min(PIECE - address % PIECE);
    let Ok(offset) = libc::off_t::try_from(address) else {
        return 0;
    };
    // SAFETY: the kernel writes to the slice at most, and checks what it reads.
    let count = unsafe { libc::pread(file, into.as_mut_ptr().cast(), length, offset) };
    usize::try_from(count).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_there_is_read_up_to_what_is_not() {
        // SAFETY: a new mapping; its second half is closed before anybody reads it.
        let start = unsafe {
            let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
            let access = libc::PROT_READ | libc::PROT_WRITE;
            let start = libc::mmap(std::ptr::null_mut(), 64 * PIECE, access, flags, -1, 0);
            start.cast::<u8>().write_bytes(7, 32 * PIECE);
            libc::mprotect(start.byte_add(32 * PIECE), 32 * PIECE, libc::PROT_NONE);
            start.addr()
        };
        let mut bytes = vec![0; 64 * PIECE];
        assert_eq!(read(start + 3, &mut bytes), 32 * PIECE - 3);
        assert!(bytes[..32 * PIECE - 3].iter().all(|byte| *byte == 7));
        assert_eq!(read(start + 40 * PIECE, &mut bytes), 0);
        assert_eq!(word(start + 8), Some(0x0707_0707_0707_0707));
        assert_eq!(word(8), None);
        // The other way, which sandboxes may need, reads the same.
        // SAFETY: a path that ends with a zero.
        let file = unsafe { libc::open(c"/proc/self/mem".as_ptr(), libc::O_RDONLY) };
        assert_eq!(by_file(file, start + 3, &mut bytes), PIECE - 3);
        // It also reads what is there and closed; but not what is not there.
        assert_eq!(by_file(file, 8, &mut bytes), 0);
    }
}
