//! Memory that a program names, before a call here touches it.
//!
//! The kernel answers a pointer to nowhere with `EFAULT`, where a library that follows it brings
//! the program down. So calls that POSIX programs know as the kernel's ask the kernel before they
//! read or write through a pointer: `rt_sigprocmask` reads a word before it finds out that it is
//! not told what to do with it, and writes one without changing anything. The question is about the
//! first word, the last one, and one of each page between. Memory on the caller's own stack needs
//! no question, and most programs have such objects there.
//!
//! Between question and use another thread may unmap the memory; then the program crashes, as it
//! would in any function of its own.

use crate::errno;
use crate::record::of_fibre;
use fibre_io::posix::memory::Memory;
pub use fibre_io::posix::memory::duration;
use rustix::io::Errno;
use std::ffi::c_int;
use std::ops::Range;

/// What `rt_sigprocmask` is told to do with a mask: nothing that there is.
const NOTHING: c_int = -1;

/// Bytes of a word.
const WORD: usize = size_of::<u64>();

/// How far above the call on the stack things lie that are not asked for.
const NEAR: usize = 64 << 10;

/// Bytes that are mapped together, or more of them.
const PAGE: usize = 4096;

/// Asks before it follows a pointer.
#[derive(Debug)]
pub struct Asked;

impl Memory for Asked {
    #[inline]
    fn readable<T>(start: *const T, count: usize) -> Result<(), Errno> {
        readable(start, count)
    }

    #[inline]
    fn writable<T>(start: *mut T, count: usize) -> Result<(), Errno> {
        writable(start, count)
    }
}

/// What a program has at this place.
///
/// # Errors
///
/// `EFAULT` if it cannot be read.
///
/// # Safety
///
/// What can be read there is such a value.
pub unsafe fn fetch<T: Copy>(place: *const T) -> Result<T, Errno> {
    // SAFETY: passed on.
    unsafe { Asked::fetch(place) }
}

/// The same, of a place that may be null: `None`.
///
/// # Errors
///
/// As [`fetch`].
///
/// # Safety
///
/// As for [`fetch`].
pub unsafe fn fetch_any<T: Copy>(place: *const T) -> Result<Option<T>, Errno> {
    // SAFETY: passed on.
    unsafe { Asked::fetch_any(place) }
}

/// Whether so many values can be read.
///
/// # Errors
///
/// `EFAULT` if not.
#[inline]
pub fn readable<T>(start: *const T, count: usize) -> Result<(), Errno> {
    if count == 0 || is_on_stack(start, count) {
        return Ok(());
    }
    let mut words = words(start, count)?;
    words.try_for_each(|word| ask(NOTHING, word, 0))
}

/// Whether so many values can be written, which the caller does next: what was there is lost. They
/// are whole words.
///
/// # Errors
///
/// `EFAULT` if not.
#[inline]
pub fn writable<T>(start: *mut T, count: usize) -> Result<(), Errno> {
    debug_assert!(size_of::<T>().is_multiple_of(WORD), "words are written");
    if count == 0 || is_on_stack(start, count) {
        return Ok(());
    }
    // The kernel writes anywhere, and what lies beside the values is not to be written to.
    let Range { start: first, end } = range(start, count);
    let within = |word: usize| word.clamp(first, end - WORD);
    let mut words = words(start, count)?;
    words.try_for_each(|word| ask(libc::SIG_BLOCK, 0, within(word)))
}

/// Asks the kernel about words that it is to read and to write; zero for none. Whatever else it
/// says, it has found them.
#[cold]
fn ask(how: c_int, read: usize, written: usize) -> Result<(), Errno> {
    let kept = errno::get();
    // SAFETY: it changes no mask, and writes what is to be written to anyway.
    let refused = unsafe { libc::syscall(libc::SYS_rt_sigprocmask, how, read, written, WORD) } < 0;
    let number = errno::get();
    errno::set(kept);
    if refused && number == libc::EFAULT {
        return Err(Errno::FAULT);
    }
    Ok(())
}

/// Whether they lie in the part of the calling fibre's stack that is in use.
#[inline]
fn is_on_stack<T>(start: *const T, count: usize) -> bool {
    let here = 0_u8;
    let used = (&raw const here).addr();
    let range = range(start, count);
    let is_whole = range.end > range.start && range.start > used && range.start - used < NEAR;
    // The first frame of this library on the stack is above all of the program's. On a stack that
    // the program has given it is elsewhere, hence the limit: a pointer that is wrong by less
    // brings the program down there, as it would in its own code.
    is_whole && of_fibre().is_some_and(|record| range.end <= record.frame.get().addr())
}

/// Their addresses.
fn range<T>(start: *const T, count: usize) -> Range<usize> {
    let length = count.saturating_mul(size_of::<T>());
    start.addr()..start.addr().wrapping_add(length)
}

/// Words to ask about: that of the first byte, those at the beginnings of pages after it, and that
/// of the last byte.
#[cold]
fn words<T>(start: *const T, count: usize) -> Result<impl Iterator<Item = usize>, Errno> {
    let Range { start, end } = range(start, count);
    // No word to read or write would mean something else to the kernel.
    if end <= start || start < WORD {
        return Err(Errno::FAULT);
    }
    let word_of = |byte: usize| byte - byte % WORD;
    let pages = (start / PAGE + 1..=(end - 1) / PAGE).map(|page| page * PAGE);
    Ok([word_of(start)]
        .into_iter()
        .chain(pages)
        .chain([word_of(end - 1)]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::join::fibre_join;
    use crate::thread::fibre_create;
    use std::ffi::c_void;
    use std::{ptr, slice};

    /// Two pages, of which the second can be used only as `rights` say.
    fn pages(rights: i32) -> *mut u8 {
        // SAFETY: fresh memory, which the test keeps.
        unsafe {
            let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
            let all = libc::PROT_READ | libc::PROT_WRITE;
            let start = libc::mmap(ptr::null_mut(), 2 * PAGE, all, flags, -1, 0);
            assert_ne!(start, libc::MAP_FAILED);
            assert_eq!(libc::mprotect(start.byte_add(PAGE), PAGE, rights), 0);
            start.cast()
        }
    }

    #[test]
    fn what_is_not_there_is_told_from_what_is() {
        let start = pages(libc::PROT_NONE);
        for length in [1, 7, 8, 9, PAGE - 1, PAGE] {
            let last = start.wrapping_add(PAGE - length);
            assert_eq!(readable(last, length), Ok(()), "{length}");
            let beyond = last.wrapping_add(1);
            assert_eq!(readable(beyond, length), Err(Errno::FAULT), "{length}");
        }
        for nowhere in [0, 8, 1 << 62, usize::MAX, usize::MAX - 7] {
            let nowhere = ptr::without_provenance::<u64>(nowhere);
            assert_eq!(readable(nowhere, 1), Err(Errno::FAULT), "{nowhere:?}");
        }
        let all = ptr::without_provenance::<u64>(PAGE);
        assert_eq!(readable(all, usize::MAX), Err(Errno::FAULT));
        assert_eq!(readable(ptr::null::<u64>(), 0), Ok(()));
    }

    #[test]
    fn what_can_only_be_read_is_told_from_what_can_be_written() {
        let start: *mut u64 = pages(libc::PROT_READ).cast();
        let words = PAGE / WORD;
        assert_eq!(readable(start, 2 * words), Ok(()));
        assert_eq!(writable(start, words), Ok(()));
        assert_eq!(writable(start, words + 1), Err(Errno::FAULT));
        assert_eq!(writable(start.wrapping_add(words), 1), Err(Errno::FAULT));
    }

    #[test]
    fn what_lies_beside_is_left_alone() {
        let start = pages(libc::PROT_READ | libc::PROT_WRITE);
        for offset in [1, 7, WORD, PAGE - 4, PAGE - 1] {
            let bytes = WORD..WORD + 2 * WORD;
            // SAFETY: the memory of this test.
            let around = unsafe { slice::from_raw_parts_mut(start.add(offset), 4 * WORD) };
            around.fill(0xaa);
            let place = (&raw mut around[bytes.start]).cast::<[u64; 2]>();
            assert_eq!(writable(place, 1), Ok(()), "{offset}");
            let is_left = |(index, byte): (usize, &u8)| bytes.contains(&index) || *byte == 0xaa;
            assert!(
                around.iter().enumerate().all(is_left),
                "{offset}: {around:x?}"
            );
        }
    }

    /// Runs as a fibre of a C program.
    unsafe extern "C-unwind" fn look_at_own_stack(result: *mut c_void) -> *mut c_void {
        let place = std::hint::black_box(7_u64);
        assert!(is_on_stack(&raw const place, 1));
        assert!(!is_on_stack(&raw const place, 1 << 20));
        assert!(!is_on_stack(&raw const place, usize::MAX));
        // SAFETY: a number.
        assert_eq!(unsafe { fetch(&raw const place) }, Ok(7));
        assert_eq!(readable(&raw const place, usize::MAX), Err(Errno::FAULT));
        result
    }

    #[test]
    fn a_fibres_own_stack_needs_no_question() {
        let mut thread = 0;
        // SAFETY: places of this frame, and a function for such an argument.
        let (made, joined) = unsafe {
            let made = fibre_create(
                &raw mut thread,
                ptr::null(),
                Some(look_at_own_stack),
                ptr::null_mut(),
            );
            (made, fibre_join(thread, ptr::null_mut()))
        };
        assert_eq!((made, joined), (0, 0));
    }
}
