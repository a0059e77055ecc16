//! The mappings of the process, from `/proc/self/maps`. Takes no memory from the allocator.

use super::region::Region;
use fibre_core::internal::page_size;
use std::ops::Range;

/// The most bytes of the file that are read.
const MOST: usize = 64 << 20;

/// How the names begin of what the kernel shows to programs: nobody writes there.
const KERNELS: [&[u8]; 4] = [b"[vvar", b"[vdso", b"[vsyscall", b"[uprobes"];

/// How the names of shared memory begin that is no file of a program's.
const SHARED: [&[u8]; 7] = [
    b"/dev/zero",
    b"[anon_shmem:",
    b"/memfd:",
    b"/dev/shm/",
    b"/SYSV",
    b"/anon_hugepage",
    b"/dev/hugepages/",
];

/// What a mapping is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Nobody may read it, or it has nothing that a program writes.
    Other,
    /// The memory below the program break.
    Break,
    /// The stack of the first thread.
    Stack,
    /// Memory that blocks of the allocator may be in.
    Anonymous,
    /// The process's own view of a file: some pages may have been written to, also where nobody may
    /// write any more.
    File,
    /// Memory that processes share.
    Shared,
}

/// A mapping.
#[derive(Debug, Clone, Copy)]
pub(super) struct Mapping {
    pub low: usize,
    pub high: usize,
    pub kind: Kind,
}

impl Mapping {
    pub(super) fn addresses(&self) -> Range<usize> {
        self.low..self.high
    }

    /// The parts of it that lie outside of these addresses.
    fn without(self, addresses: &Range<usize>) -> impl Iterator<Item = Self> {
        let below = (self.low, self.high.min(addresses.start));
        let above = (self.low.max(addresses.end), self.high);
        let parts = [below, above].into_iter().filter(|(low, high)| low < high);
        parts.map(move |(low, high)| Self { low, high, ..self })
    }

    /// Whether words in it may refer to something.
    pub(super) fn counts(&self) -> bool {
        self.kind != Kind::Other
    }
}

/// The mappings, by their addresses, but for memory that only this function uses: what the caller
/// maps later may come to lie there. `None`: they cannot be read.
pub(super) fn read() -> Option<Region<Mapping>> {
    let mut text = Region::<u8>::new(MOST)?;
    // SAFETY: bytes.
    unsafe { text.fill() };
    // SAFETY: a path that ends with a zero.
    let file = unsafe {
        libc::open(
            c"/proc/self/maps".as_ptr(),
            libc::O_RDONLY | libc::O_CLOEXEC,
        )
    };
    if file < 0 {
        return None;
    }
    let mut length = 0;
    let complete = loop {
        let rest = &mut text[length..];
        // SAFETY: the kernel writes to the slice at most.
        let count = unsafe { libc::read(file, rest.as_mut_ptr().cast(), rest.len()) };
        match usize::try_from(count) {
            Ok(0) => break length < MOST,
            Ok(count) => length += count,
            Err(_) => break false,
        }
    };
    // SAFETY: opened above.
    unsafe { libc::close(file) };
    let (own, text) = (text.addresses(), &text[..length]);
    let mut mappings = Region::new(text.iter().filter(|byte| **byte == b'\n').count() + 2)?;
    let lines = text
        .split(|byte| *byte == b'\n')
        .filter(|line| !line.is_empty());
    for line in lines {
        let fits = parse(line)?
            .without(&own)
            .all(|mapping| mappings.push(mapping));
        if !fits {
            return None;
        }
    }
    complete.then_some(mappings)
}

/// A mapping, from its line.
fn parse(line: &[u8]) -> Option<Mapping> {
    let mut parts = line
        .split(|byte| *byte == b' ')
        .filter(|part| !part.is_empty());
    let addresses = parts.next()?;
    let dash = addresses.iter().position(|byte| *byte == b'-')?;
    let (low, high) = (hex(&addresses[..dash])?, hex(&addresses[dash + 1..])?);
    let access: [u8; 4] = parts.next()?.try_into().ok()?;
    let number = parts.nth(2)?;
    let name = parts.next().unwrap_or_default();
    let [reads, writes, _, shared] = access;
    let named = |begin: &[u8]| name.starts_with(begin);
    // What may be written can be read, too.
    let kind = if reads != b'r' && writes != b'w' || KERNELS.into_iter().any(named) {
        Kind::Other
    } else if SHARED.into_iter().any(named) {
        Kind::Shared
    } else if shared == b's' {
        Kind::Other
    } else if number != b"0" {
        Kind::File
    } else if named(b"[heap]") {
        Kind::Break
    } else if named(b"[stack]") {
        Kind::Stack
    } else if name.is_empty() || named(b"[anon:") {
        Kind::Anonymous
    } else {
        // A stack, as old kernels name them, or a file of a system without numbers.
        Kind::File
    };
    Some(Mapping { low, high, kind })
}

/// What tells which pages of a mapping there are.
#[derive(Debug)]
pub(super) struct Pages(i32);

impl Pages {
    /// How many pages are asked for at once.
    const MANY: usize = 512;
    /// The page is in memory, or has been moved out.
    const IS_THERE: u64 = 3 << 62;
    /// It is one of a file, as that has it.
    const IS_OF_FILE: u64 = 1 << 61;

    /// Opens the file of the process that says it. Without one, all pages are taken to be there.
    pub(super) fn open() -> Self {
        let flags = libc::O_RDONLY | libc::O_CLOEXEC;
        // SAFETY: a path that ends with a zero.
        Self(unsafe { libc::open(c"/proc/self/pagemap".as_ptr(), flags) })
    }

    /// Says nothing.
    pub(super) fn none() -> Self {
        Self(-1)
    }

    /// Calls `f` with the pieces of these addresses, which are private memory, that the process has
    /// ever written to. All else is zeros, or what a file has.
    pub(super) fn for_each(&self, addresses: Range<usize>, f: &mut impl FnMut(Range<usize>)) {
        let size = page_size();
        let mut at = addresses.start;
        while at < addresses.end {
            let first = at / size;
            let mut pages = [Self::IS_THERE; Self::MANY];
            let offset = libc::off_t::try_from(first * 8).unwrap_or(libc::off_t::MAX);
            // SAFETY: the kernel writes to the array at most. What it does not write stays.
            unsafe {
                libc::pread(
                    self.0,
                    pages.as_mut_ptr().cast(),
                    size_of_val(&pages),
                    offset,
                )
            };
            let end = addresses.end.min((first + Self::MANY) * size);
            while at < end {
                let is_there = |at: usize| {
                    let page = pages[at / size - first];
                    page & Self::IS_THERE != 0 && page & Self::IS_OF_FILE == 0
                };
                let (from, there) = (at, is_there(at));
                while at < end && is_there(at) == there {
                    at = end.min((at / size + 1) * size);
                }
                if there {
                    f(from..at);
                }
            }
        }
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        // SAFETY: opened by `open`, if it could be.
        unsafe { libc::close(self.0) };
    }
}

/// A number.
fn hex(digits: &[u8]) -> Option<usize> {
    digits.iter().try_fold(0_usize, |number, digit| {
        let digit = char::from(*digit).to_digit(16)?;
        number.checked_mul(16)?.checked_add(digit as usize)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ptr;

    #[test]
    fn lines_say_what_a_mapping_is() {
        for (line, kind) in [
            ("7f00-7f10 rw-p 00000000 00:00 0 ", Kind::Anonymous),
            (
                "7f00-7f10 rw-p 00000000 00:00 0      [anon:fibre stacks]",
                Kind::Anonymous,
            ),
            ("7f00-7f10 rw-p 00000000 00:00 0      [heap]", Kind::Break),
            ("7f00-7f10 rw-p 00000000 00:00 0      [stack]", Kind::Stack),
            ("7f00-7f10 r--p 00000000 00:00 0      [vvar]", Kind::Other),
            (
                "7f00-7f10 r--p 00000000 00:00 0  [vvar_vclock]",
                Kind::Other,
            ),
            ("7f00-7f10 r-xp 00000000 00:00 0      [vdso]", Kind::Other),
            ("7f00-7f10 ---p 00000000 00:00 0 ", Kind::Other),
            ("7f00-7f10 -w-p 00000000 00:00 0 ", Kind::Anonymous),
            ("7f00-7f10 r--p 00000000 00:00 0 ", Kind::Anonymous),
            (
                "7f00-7f10 rw-p 00000000 00:00 0      [stack:77]",
                Kind::File,
            ),
            ("7f00-7f10 rw-p 00000000 08:01 77     /lib/x", Kind::File),
            ("7f00-7f10 rw-p 00000000 00:2b 0      /lib/x", Kind::File),
            ("7f00-7f10 r--p 00000000 08:01 77     /lib/x", Kind::File),
            ("7f00-7f10 r-xp 00000000 08:01 77     /lib/x", Kind::File),
            (
                "7f00-7f10 rw-s 00000000 00:01 77     /dev/zero (deleted)",
                Kind::Shared,
            ),
            (
                "7f00-7f10 r--p 00000000 00:01 77     /memfd:mine (deleted)",
                Kind::Shared,
            ),
            (
                "7f00-7f10 rw-s 00000000 00:01 77     [anon_shmem:mine]",
                Kind::Shared,
            ),
            (
                "7f00-7f10 rw-s 00000000 00:01 77     /anon_hugepage (deleted)",
                Kind::Shared,
            ),
            (
                "7f00-7f10 rw-s 00000000 00:01 77     /dev/dri/card0",
                Kind::Other,
            ),
        ] {
            let mapping = parse(line.as_bytes()).unwrap();
            assert_eq!(
                (mapping.low, mapping.high, mapping.kind),
                (0x7f00, 0x7f10, kind),
                "{line}"
            );
        }
        assert!(parse(b"nonsense").is_none());
    }

    #[test]
    fn a_mapping_without_some_addresses_is_what_lies_around_them() {
        let mapping = Mapping {
            low: 10,
            high: 20,
            kind: Kind::Anonymous,
        };
        let left = |addresses: Range<usize>| -> Vec<_> {
            let parts = mapping.without(&addresses);
            parts.map(|its| (its.low, its.high)).collect()
        };
        assert_eq!(left(12..15), [(10, 12), (15, 20)]);
        assert_eq!(left(0..10), [(10, 20)]);
        assert_eq!(left(20..30), [(10, 20)]);
        assert_eq!(left(0..15), [(15, 20)]);
        assert_eq!(left(15..30), [(10, 15)]);
        assert_eq!(left(10..20), []);
    }

    #[test]
    fn pages_that_have_been_written_to_are_there() {
        let size = page_size();
        let words = size / 8;
        let mut region = Region::<u64>::new(100 * words).unwrap();
        // SAFETY: numbers.
        unsafe { region.fill() };
        (region[10 * words], region[11 * words], region[50 * words]) = (1, 1, 1);
        let start = region.addresses().start;
        let mut found = Vec::new();
        let pages = Pages::open();
        pages.for_each(start + 8..start + 50 * size + 64, &mut |piece| {
            found.push(piece)
        });
        let page = |number: usize| start + number * size;
        assert_eq!(found, [page(10)..page(12), page(50)..page(50) + 64]);
        // Where the kernel does not say it, all is taken to be there.
        let mut found = Vec::new();
        Pages::none().for_each(start..page(3), &mut |piece| found.push(piece));
        assert_eq!(found, vec![start..page(3)]);
    }

    #[test]
    fn pages_of_a_file_count_once_they_have_been_written_to() {
        let size = page_size();
        let (access, kind) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE);
        // SAFETY: a path that ends with a zero, and a mapping that is left by the end.
        let pages = unsafe {
            let file = libc::open(c"/proc/self/exe".as_ptr(), libc::O_RDONLY);
            let start = libc::mmap(ptr::null_mut(), 3 * size, access, kind, file, 0);
            assert_ne!(start, libc::MAP_FAILED);
            let words = start.cast::<u64>();
            assert_ne!(words.read_volatile(), 0, "the page is there");
            words.add(size / 8).write_volatile(7);
            assert_eq!(libc::mprotect(start, 3 * size, libc::PROT_READ), 0);
            start.addr()..start.addr() + 3 * size
        };
        let mappings = read().unwrap();
        let found = mappings
            .iter()
            .find(|its| its.addresses().contains(&pages.start));
        assert_eq!(found.unwrap().kind, Kind::File);
        let mut pieces = Vec::new();
        Pages::open().for_each(pages.clone(), &mut |piece| pieces.push(piece));
        assert_eq!(pieces, vec![pages.start + size..pages.start + 2 * size]);
        // SAFETY: nobody refers to it.
        unsafe { libc::munmap(ptr::with_exposed_provenance_mut(pages.start), pages.len()) };
    }

    #[test]
    fn what_is_here_is_found() {
        static DATA: std::sync::atomic::AtomicU8 = std::sync::atomic::AtomicU8::new(1);
        let boxed = Box::new(1);
        let here = 1;
        let mappings = read().unwrap();
        for place in [
            (&raw const *boxed).addr(),
            (&raw const here).addr(),
            DATA.as_ptr().addr(),
        ] {
            let found = mappings
                .iter()
                .find(|mapping| mapping.addresses().contains(&place));
            assert!(found.unwrap().counts());
        }
    }
}
