//! The blocks of glibc's malloc, from the words that it keeps between them.
//!
//! ```text
//!   chunk: │ size of the chunk before, if that is free │ size │ 3 bits │ block … │ next chunk …
//! ```
//!
//! A *segment* is memory that consists of chunks from its first to its last byte: the memory below
//! the program break; what an arena has of one of its heaps, which are aligned to 64 MiB; or a
//! mapping with one block. Something is taken for a segment only if all of its sizes lead from one
//! chunk to the next up to its very end, and agree with the sizes that free chunks have behind
//! them. Any other memory is not: then all of it counts as in use.
//!
//! Nothing here takes memory from the allocator, or waits: a copy of the process calls it, and any
//! lock may be taken there.

use super::region::Region;
use std::ops::Range;

/// The bytes of the two words before a block.
const HEAD: usize = 16;
/// What chunks are aligned to.
const GRAIN: usize = 16;
/// The smallest chunk.
const SMALLEST: usize = 32;
/// What the heaps of arenas are aligned to, and the most that one has.
const HEAP: usize = 64 << 20;
/// How far behind its beginning the first chunk of such a heap may be.
const FARTHEST: usize = 0x2000;
/// The last bytes of a heap that is full have two chunks that are too small.
const FENCE: usize = 64;

/// The lists of free blocks that a thread has, and the bytes of the chunk with their heads.
const LISTS: usize = 64;
const CACHE: usize = HEAD + LISTS * (2 + 8);

/// The chunk before is in use.
const BEFORE_IN_USE: usize = 1;
/// The chunk is a mapping of its own.
const MAPPED: usize = 2;
/// The chunk is not below the program break.
const OTHER_ARENA: usize = 4;
/// All bits that are no part of a size.
const BITS: usize = 7;

/// The word at an address.
///
/// # Safety
///
/// It can be read.
pub(super) unsafe fn word(address: usize) -> usize {
    debug_assert!(address.is_multiple_of(8), "a word");
    // SAFETY: the caller's promise.
    unsafe { std::ptr::with_exposed_provenance::<usize>(address).read_volatile() }
}

/// The size and the bits of a chunk.
///
/// # Safety
///
/// Its head can be read.
unsafe fn head(chunk: usize) -> (usize, usize) {
    // SAFETY: the caller's promise.
    let head = unsafe { word(chunk + 8) };
    (head & !BITS, head & BITS)
}

/// Memory that consists of chunks.
#[derive(Debug, Clone, Copy)]
pub(super) struct Segment {
    /// Where the heap of an arena begins, with what only the allocator uses; else `low`.
    pub begin: usize,
    pub low: usize,
    pub high: usize,
    /// The number of its first bit, a multiple of 64.
    bits: usize,
}

/// A chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Chunk {
    /// The address of its head.
    pub start: usize,
    /// Where the next one begins.
    pub end: usize,
    /// The number of its bit.
    pub bit: usize,
}

impl Chunk {
    /// The addresses of its block.
    pub(super) fn block(&self) -> Range<usize> {
        // Of the next chunk's head the first word belongs to this one, if it is in use.
        self.start + HEAD..self.end + 8
    }
}

/// All segments, with a bit for each 16 bytes: whether a chunk begins there, and whether its block
/// has been marked.
pub(super) struct Heap {
    segments: Region<Segment>,
    starts: Region<u64>,
    marks: Region<u64>,
    /// Chunks of the size that heads of threads' lists have.
    caches: Region<usize>,
    /// What the allocator writes to each block on such a list; see [`mark_caches`].
    ///
    /// [`mark_caches`]: Self::mark_caches
    key: Key,
}

/// By what the free blocks are known that the allocator keeps for threads.
#[derive(Debug, Clone, Copy)]
enum Key {
    /// By a number that chance has chosen for the process; since version 2.34.
    Number(usize),
    /// By the address of the thread's lists.
    Lists,
}

impl Heap {
    /// No segments yet, and room for so many, with so many bytes in all.
    pub(super) fn new(segments: usize, bytes: usize) -> Option<Self> {
        let bits = bytes / GRAIN / 64 + segments;
        let mut heap = Self {
            segments: Region::new(segments)?,
            starts: Region::new(bits)?,
            marks: Region::new(bits)?,
            caches: Region::new(bytes / CACHE + 1)?,
            key: Key::Number(0),
        };
        // SAFETY: numbers.
        unsafe {
            heap.starts.fill();
            heap.marks.fill();
        }
        Some(heap)
    }

    /// Finds the segments in a mapping: the mappings must come by their addresses.
    ///
    /// # Safety
    ///
    /// All of it can be read, and does not change.
    pub(super) unsafe fn add(&mut self, mapping: Range<usize>, is_break: bool) {
        // SAFETY: passed on.
        unsafe {
            if is_break {
                self.add_chain(mapping.start, mapping.start, mapping.end, false);
                return;
            }
            let mut at = mapping.start;
            while at < mapping.end {
                let aligned = at.is_multiple_of(HEAP);
                let heap = aligned.then(|| arena_heap(at, mapping.end)).flatten();
                if let Some((first, end, fenced)) = heap {
                    self.add_chain(at, first, end, fenced);
                    at = end;
                } else if let Some(end) = mapped(at, mapping.end) {
                    self.add_segment(at, at, end);
                    self.set_start(at);
                    at = end;
                } else {
                    // What is not known ends where the next heap of an arena may begin.
                    at = (at / HEAP + 1) * HEAP;
                }
            }
        }
    }

    /// Adds a segment, if it is one.
    ///
    /// # Safety
    ///
    /// As for [`add`](Self::add).
    unsafe fn add_chain(&mut self, begin: usize, first: usize, end: usize, fenced: bool) {
        // SAFETY: passed on.
        unsafe {
            if !is_chain(first, end, fenced) || !self.add_segment(begin, first, end) {
                return;
            }
            let mut at = first;
            while end - at >= HEAD {
                let (size, _) = head(at);
                if size < SMALLEST {
                    break;
                }
                self.set_start(at);
                // There is room for all that fit in.
                let _ = size == CACHE && self.caches.push(at);
                at += size;
            }
        }
    }

    /// Adds an empty segment. `false`: there is no room.
    fn add_segment(&mut self, begin: usize, low: usize, high: usize) -> bool {
        let before = self.segments.last();
        let bits = before.map_or(0, |last| {
            (last.bits + (last.high - last.low) / GRAIN).next_multiple_of(64)
        });
        let fits = (bits + (high - low) / GRAIN).div_ceil(64) <= self.starts.len();
        fits && self.segments.push(Segment {
            begin,
            low,
            high,
            bits,
        })
    }

    /// Notes that a chunk begins here, in the last segment.
    fn set_start(&mut self, chunk: usize) {
        if let Some(segment) = self.segments.last() {
            let bit = segment.bits + (chunk - segment.low) / GRAIN;
            self.starts[bit / 64] |= 1 << (bit % 64);
        }
    }

    /// The segments, by their addresses.
    pub(super) fn segments(&self) -> &[Segment] {
        &self.segments
    }

    /// The chunk in use with a block that has this address in it.
    ///
    /// # Safety
    ///
    /// The segments are there, and do not change.
    pub(super) unsafe fn find(&self, address: usize) -> Option<Chunk> {
        let after = self
            .segments
            .partition_point(|segment| segment.low <= address);
        let segment = self.segments[..after]
            .last()
            .filter(|found| address < found.high)?;
        // A block begins 16 bytes behind its chunk.
        let at = segment.bits + address.checked_sub(segment.low + HEAD)? / GRAIN;
        let mut place = at / 64;
        let mut bits = self.starts[place] & (u64::MAX >> (63 - at % 64));
        while bits == 0 {
            if place * 64 <= segment.bits {
                return None;
            }
            place -= 1;
            bits = self.starts[place];
        }
        let bit = place * 64 + 63 - bits.leading_zeros() as usize;
        let start = segment.low + (bit - segment.bits) * GRAIN;
        // SAFETY: passed on; the segment's chunks have been walked before.
        let (size, kind) = unsafe { head(start) };
        let end = start + size;
        let in_use = kind & MAPPED != 0 || {
            // The last one is the memory that no block has yet.
            // SAFETY: within the segment.
            end + HEAD <= segment.high && unsafe { head(end) }.1 & BEFORE_IN_USE != 0
        };
        // The last word of a mapping is not one of a next chunk.
        let end = if kind & MAPPED == 0 { end } else { end - 8 };
        in_use.then_some(Chunk { start, end, bit })
    }

    /// Marks the free blocks that the allocator keeps for threads, and their heads: nothing in them
    /// counts. (Other free blocks are not found, as chunks note that they are free.)
    ///
    /// The program may have a block that looks like such a head, for instance a long table that is
    /// almost empty. But the second word of each free block has a number that nobody else knows;
    /// `sample` is such a block. Versions before 2.34 have the address of the head there.
    ///
    /// # Safety
    ///
    /// The segments are there, and do not change.
    pub(super) unsafe fn mark_caches(&mut self, sample: usize) {
        // SAFETY: passed on.
        unsafe {
            let found = self.find(sample);
            if found.is_none_or(|found| found.block().start != sample) {
                return;
            }
            let number = word(sample + 8);
            let named = self.find(number);
            self.key = match named.is_some_and(|named| named.block().start == number) {
                true => Key::Lists,
                false => Key::Number(number),
            };
        }
        while let Some(start) = self.caches.pop() {
            // SAFETY: passed on; the list has what may be chunks of this kind.
            let cache = unsafe { self.find(start + HEAD) };
            // SAFETY: passed on.
            let is_cache = |cache: &Chunk| unsafe { self.is_cache(*cache) };
            let Some(cache) = cache.filter(is_cache) else {
                continue;
            };
            self.mark(cache);
            for list in 0..LISTS {
                // SAFETY: passed on.
                unsafe { self.mark_list(cache, list) };
            }
        }
    }

    /// Marks the free blocks of one list.
    ///
    /// # Safety
    ///
    /// As for [`mark_caches`](Self::mark_caches), which has looked at the head.
    unsafe fn mark_list(&mut self, cache: Chunk, list: usize) {
        let lists = cache.block().start;
        // SAFETY: passed on.
        let (count, mut block) = unsafe { list_of(lists, list) };
        for _ in 0..count {
            // SAFETY: passed on.
            let Some(found) = (unsafe { self.free_block(lists, list, block) }) else {
                return;
            };
            self.mark(found);
            // The link to the next one is mixed with its own address, since version 2.32.
            // SAFETY: passed on.
            block = unsafe { word(block) } ^ block >> 12;
        }
    }

    /// The chunk of a free block, if one begins here that this list may have.
    ///
    /// # Safety
    ///
    /// As for [`mark_caches`](Self::mark_caches).
    unsafe fn free_block(&self, lists: usize, list: usize, block: usize) -> Option<Chunk> {
        let key = match self.key {
            Key::Number(number) => number,
            Key::Lists => lists,
        };
        // SAFETY: passed on.
        let found = unsafe { self.find(block) }?;
        let fits =
            found.block().start == block && found.end - found.start == SMALLEST + list * GRAIN;
        // SAFETY: passed on; each block has two words.
        let is_free = fits && unsafe { word(block + 8) } == key;
        is_free.then_some(found)
    }

    /// Whether a block has only free blocks of a thread, which the allocator keeps for it, as the
    /// versions 2.30 to 2.41 do: 64 counts, and as many lists of blocks of a size each. One with
    /// empty lists only is of no interest.
    ///
    /// # Safety
    ///
    /// The segments are there, and do not change.
    unsafe fn is_cache(&self, chunk: Chunk) -> bool {
        if chunk.end - chunk.start != CACHE {
            return false;
        }
        let lists = chunk.block().start;
        let mut any = false;
        let all = (0..LISTS).all(|list| {
            // SAFETY: passed on.
            let (count, first) = unsafe { list_of(lists, list) };
            any |= count != 0;
            match count {
                0 => first == 0,
                // SAFETY: passed on.
                _ => unsafe { self.free_block(lists, list, first) }.is_some(),
            }
        });
        all && any
    }

    /// The number of bits.
    pub(super) fn bits(&self) -> usize {
        self.marks.len() * 64
    }

    /// Marks a block. `false`: it has been marked.
    pub(super) fn mark(&mut self, chunk: Chunk) -> bool {
        let (place, bit) = (chunk.bit / 64, 1 << (chunk.bit % 64));
        let fresh = self.marks[place] & bit == 0;
        self.marks[place] |= bit;
        fresh
    }

    /// Whether a block has been marked.
    pub(super) fn is_marked(&self, chunk: Chunk) -> bool {
        self.marks[chunk.bit / 64] & 1 << (chunk.bit % 64) != 0
    }
}

/// How many blocks a thread's list has, and the first one.
///
/// # Safety
///
/// The thread's lists are there.
unsafe fn list_of(lists: usize, list: usize) -> (usize, usize) {
    // SAFETY: the caller's promise.
    let (counts, first) = unsafe {
        (
            word(lists + list / 4 * 8),
            word(lists + LISTS * 2 + list * 8),
        )
    };
    (counts >> (list % 4 * 16) & 0xffff, first)
}

/// The first chunk, and the end, of an arena's heap that begins here; and whether that is full.
///
/// # Safety
///
/// The memory can be read up to `end`.
unsafe fn arena_heap(start: usize, end: usize) -> Option<(usize, usize, bool)> {
    if end - start < FARTHEST {
        return None;
    }
    // SAFETY: the caller's promise.
    unsafe {
        let [arena, _before, size, opened] = [0, 8, 16, 24].map(|offset| word(start + offset));
        let possible = size.is_multiple_of(4096) && (FARTHEST..=HEAP).contains(&size);
        if !possible || opened < size || size > end - start {
            return None;
        }
        // The first heap of an arena has the arena, too.
        let own = arena.wrapping_sub(start) < FARTHEST;
        let heap_of_arena = arena & !(HEAP - 1);
        if arena == 0 || (!own && heap_of_arena == start) {
            return None;
        }
        let end = start + size;
        (start + 32..start + FARTHEST)
            .step_by(GRAIN)
            .find_map(|at| {
                let (_, bits) = head(at);
                let first = bits == BEFORE_IN_USE | OTHER_ARENA;
                let ends = [false, true]
                    .into_iter()
                    .find(|fenced| first && is_chain(at, end, *fenced));
                ends.map(|fenced| (at, end, fenced))
            })
    }
}

/// The end of the mapping of one block that begins here.
///
/// # Safety
///
/// The memory can be read up to `end`.
unsafe fn mapped(start: usize, end: usize) -> Option<usize> {
    if !start.is_multiple_of(4096) {
        return None;
    }
    // SAFETY: the caller's promise.
    let (size, bits) = unsafe { head(start) };
    // SAFETY: the same.
    let before = unsafe { word(start) };
    let possible = bits == MAPPED && before == 0 && size.is_multiple_of(4096);
    (possible && size > 0 && size <= end - start).then(|| start + size)
}

/// Whether chunks follow each other from `first` to `end`; in a heap that is full (`fenced`), the
/// last ones are too small.
///
/// # Safety
///
/// The memory can be read up to `end`.
unsafe fn is_chain(first: usize, end: usize, fenced: bool) -> bool {
    let mut at = first;
    while at != end {
        if end - at < HEAD {
            return false;
        }
        // SAFETY: the caller's promise.
        let (size, bits) = unsafe { head(at) };
        if fenced && end - at <= FENCE && size < SMALLEST {
            return true;
        }
        let possible = size >= SMALLEST && size.is_multiple_of(GRAIN) && size <= end - at;
        if !possible || bits & MAPPED != 0 {
            return false;
        }
        let next = at + size;
        if end - next >= HEAD {
            // SAFETY: the same.
            let (bits, before) = unsafe { (head(next).1, word(next)) };
            if bits & BEFORE_IN_USE == 0 && before != size {
                return false;
            }
        }
        at = next;
    }
    !fenced
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Memory below a program break with chunks of these sizes, and whether each is in use; the
    /// last one is what no block has yet. Chunks that are free have their size behind them.
    fn heap(chunks: &[(usize, bool)]) -> Region<usize> {
        let bytes: usize = chunks.iter().map(|(size, _)| size).sum();
        let mut memory = Region::new(bytes / 8).unwrap();
        // SAFETY: numbers.
        unsafe { memory.fill() };
        let (mut at, mut before) = (0, (0, true));
        for (size, in_use) in chunks {
            if !before.1 {
                memory[at] = before.0;
            }
            memory[at + 1] = size | usize::from(before.1);
            (at, before) = (at + size / 8, (*size, *in_use));
        }
        memory
    }

    /// The segments of this memory.
    fn found(memory: &Region<usize>) -> Heap {
        let addresses = memory.addresses();
        let mut heap = Heap::new(4, addresses.len()).unwrap();
        let end = addresses.start + memory.len() * 8;
        // SAFETY: it is there, and nobody changes it.
        unsafe { heap.add(addresses.start..end, true) };
        heap
    }

    #[test]
    fn addresses_belong_to_blocks_in_use() {
        let memory = heap(&[(32, true), (64, false), (48, true), (256, true)]);
        let (start, mut heap) = (memory.addresses().start, found(&memory));
        assert_eq!(heap.segments().len(), 1);
        // SAFETY: as above.
        let block =
            |heap: &Heap, at| unsafe { heap.find(start + at) }.map(|chunk| chunk.start - start);
        // A block has the first word of the next head, too.
        assert_eq!([16, 39].map(|at| block(&heap, at)), [Some(0); 2]);
        assert_eq!([8, 32 + 16, 32 + 70].map(|at| block(&heap, at)), [None; 3]);
        assert_eq!([112, 144].map(|at| block(&heap, at)), [Some(96); 2]);
        assert_eq!(block(&heap, 200), None, "no block yet");
        // SAFETY: as above.
        let chunk = unsafe { heap.find(start + 112) }.unwrap();
        assert_eq!(chunk.block(), start + 112..start + 152);
        assert!(!heap.is_marked(chunk) && heap.mark(chunk) && !heap.mark(chunk));
        assert!(heap.is_marked(chunk));
    }

    #[test]
    fn what_does_not_add_up_is_no_heap() {
        let good = || heap(&[(32, true), (64, false), (48, true), (256, true)]);
        assert_eq!(found(&good()).segments().len(), 1);
        let spoils: [fn(&mut Region<usize>); 5] = [
            // Sizes that lead astray, are too small, or are no multiples.
            |memory| memory[1] = 48 | BEFORE_IN_USE,
            |memory| memory[1] = 16 | BEFORE_IN_USE,
            |memory| memory[1] = 40 | BEFORE_IN_USE,
            // The size behind a free chunk.
            |memory| memory[12] = 48,
            // A mapping within.
            |memory| memory[5] |= MAPPED,
        ];
        for spoil in spoils {
            let mut memory = good();
            spoil(&mut memory);
            assert_eq!(found(&memory).segments().len(), 0);
        }
    }

    /// A thread's lists. The first one has the last two of three blocks, the later one first. `key`
    /// makes of the address of the lists what a free block is known by.
    fn lists(key: impl Fn(usize) -> usize) -> (Region<usize>, [usize; 3]) {
        let mut memory = heap(&[
            (CACHE, true),
            (32, true),
            (32, true),
            (32, true),
            (256, true),
        ]);
        let start = memory.addresses().start;
        let blocks = [0, 1, 2].map(|chunk| start + CACHE + chunk * 32 + HEAD);
        memory[2] = 2;
        memory[2 + LISTS / 4] = blocks[2];
        for (block, next) in [(blocks[2], blocks[1]), (blocks[1], 0)] {
            let place = (block - start) / 8;
            (memory[place], memory[place + 1]) = (next ^ block >> 12, key(start + HEAD));
        }
        (memory, blocks)
    }

    /// Which of these blocks are marked, if `sample` is known to be free.
    fn marked(memory: &Region<usize>, blocks: [usize; 3], sample: usize) -> [bool; 3] {
        let mut heap = found(memory);
        // SAFETY: as above.
        unsafe { heap.mark_caches(sample) };
        blocks.map(|block| {
            // SAFETY: as above.
            let chunk = unsafe { heap.find(block) };
            heap.is_marked(chunk.unwrap())
        })
    }

    #[test]
    fn free_blocks_of_a_thread_are_marked() {
        type Known = fn(usize) -> usize;
        let known: [Known; 2] = [|_| 0x5ca1_ab1e_0ddb_a115, |lists| lists];
        for known in known {
            let (mut memory, blocks) = lists(known);
            assert_eq!(marked(&memory, blocks, blocks[1]), [false, true, true]);
            // No sample.
            assert_eq!(marked(&memory, blocks, 0), [false; 3]);
            // Something else that is as long.
            memory[2] = 0;
            assert_eq!(marked(&memory, blocks, blocks[1]), [false; 3]);
        }
    }

    #[test]
    fn what_looks_like_free_blocks_of_a_thread_is_not_marked() {
        let (mut memory, blocks) = lists(|_| 0x5ca1_ab1e_0ddb_a115);
        let of = |block: usize, memory: &Region<usize>| (block - memory.addresses().start) / 8;
        // The sample is another block: this one has the program's words.
        let sample = of(blocks[0], &memory);
        memory[sample + 1] = 0x0b5e_55ed;
        assert_eq!(marked(&memory, blocks, blocks[0]), [false; 3]);
        // A table with nothing but zeros, up to its last word.
        let mut table = heap(&[(CACHE, true), (32, true), (256, true)]);
        let start = table.addresses().start;
        let block = start + CACHE + HEAD;
        table[CACHE / 8] = block;
        let mut heap = found(&table);
        // SAFETY: as above.
        let is_marked = unsafe {
            heap.mark_caches(block);
            let chunk = heap.find(start + HEAD).unwrap();
            assert!(chunk.block().contains(&(start + CACHE)));
            heap.is_marked(chunk)
        };
        assert!(!is_marked, "the last word counts");
    }
}
