//! Which waiting fibres nobody can wake, in a copy of the process that stands still.
//!
//! Whoever wakes a fibre reaches its stack, where its waiter lies, or its control block, and
//! reaches these by words that refer to them, or to blocks with such words, and so on. So all
//! memory is marked that can be reached from the roots, as a garbage collector does: a word refers
//! to what it points into. What is a fibre's here is its stack, from where it has left that, and
//! its control block. It counts once a word refers to either, and then all of it does. The roots
//! are all words of the process, but for
//!
//! * blocks of the allocator, which count once a word refers to them;
//! * stacks of candidates, and the part of any stack that is not in use;
//! * frames of the call that waits for the search;
//! * words that the runtime knows its fibres by, and does not wake them by;
//! * what belongs to this search.
//!
//! Candidates that have not been reached are stuck. Those of them that refer to each other, or to
//! the same blocks, are one set.
//!
//! A reference may be hidden: the kernel may have it, or it is a number that points nowhere. For
//! what counts its references that is seen: a channel with more handles than words that refer to
//! it in a set makes that set reached.
//!
//! The code runs in a copy of the process that has one thread. Any lock may be taken there, so it
//! takes no memory from the allocator.

use super::heap::{Chunk, Heap, word};
use super::maps::{self, Kind, Mapping, Pages};
use super::region::Region;
use super::unused::{Caller, RED_ZONE, add_unused};
use crate::sample::hold::Place;
use fibre_core::internal::owned_stacks;
use std::ops::Range;

/// The most bytes that the kernel puts on a stack for a signal.
const SIGNAL_FRAME: usize = 16 << 10;

/// The largest count of references that is taken for one.
const MOST_REFERENCES: usize = 1 << 32;

/// How far into its block an object may be that its block counts references to.
const FARTHEST: usize = 512;

/// A fibre that waits.
#[derive(Debug, Clone, Copy)]
pub(super) struct Candidate {
    /// The address of its control block.
    pub block: usize,
    /// Where the part of that begins that makes it a part of other fibres' lists.
    pub rest: usize,
    /// The part of its stack that is in use.
    pub low: usize,
    pub high: usize,
    /// The address of a channel that it waits for; zero: of none.
    pub channel: usize,
}

/// What is known of a candidate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub(super) struct Verdict {
    pub found: u32,
    /// The set that it belongs to, if it is stuck.
    pub set: u32,
}

/// Not known.
const OPEN: u32 = 0;
/// It can be reached.
pub(super) const REACHED: u32 = 1;
/// It cannot be reached.
pub(super) const STUCK: u32 = 2;

/// How the judge has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(i32)]
pub(super) enum End {
    /// A number that nothing else ends a process with by chance.
    Judged = 73,
    /// The mappings cannot be read, or there is no memory.
    NoMemory = 10,
    /// A thread is on a stack that is not known to be in use.
    OddStack = 11,
    /// Memory could not be read.
    Fault = 12,
    /// No candidate's control block is a block of the allocator that is known here.
    OddAllocator = 13,
    /// It could not get descriptors of its own.
    Shares = 14,
    /// Its maker has ended.
    Alone = 15,
}

/// What the judge is given.
pub(super) struct Case<'a> {
    pub candidates: &'a [Candidate],
    /// The addresses of words that refer to fibres, which nobody wakes by them. In order.
    pub words: &'a [usize],
    /// Addresses on stacks of processors: what is below is not in use.
    pub frames: &'a [usize],
    /// Addresses where fibres have left their stacks: what is below is not in use.
    pub left: &'a [usize],
    /// The call that waits for the search.
    pub caller: Option<Caller>,
    /// Memory of the search, and memory that is not in use.
    pub own: &'a [Range<usize>],
    /// A free block that the allocator keeps for this thread; zero: there is none.
    pub free: usize,
}

/// The search.
struct Judge<'a> {
    candidates: &'a [Candidate],
    words: &'a [usize],
    heap: Heap,
    /// Of each candidate where its stack is in use, and its number; by addresses.
    stacks: Region<(usize, usize, usize)>,
    /// Of each candidate the chunk of its control block, and its number; by addresses.
    blocks: Region<(usize, usize)>,
    /// Addresses on stacks of fibres: what is below is not in use. In order.
    left: Region<usize>,
    /// All addresses that a word may refer to.
    span: Range<usize>,
    /// What is to be looked at.
    work: Region<(usize, usize)>,
    pages: Pages,
    /// Whether there was no room for all that is to be looked at.
    overflown: bool,
}

/// Judges. The verdicts are all open. `places` are those of all threads that may do something.
///
/// # Safety
///
/// The process is a copy with this thread only.
pub(super) unsafe fn judge(
    case: &Case<'_>,
    places: impl Iterator<Item = Place> + Clone,
    pages: Pages,
    verdicts: &mut [Verdict],
) -> End {
    // SAFETY: passed on.
    unsafe {
        let Some(mappings) = maps::read() else {
            return End::NoMemory;
        };
        let Some((mut judge, mut holes)) = Judge::new(case, &mappings, pages, verdicts) else {
            return End::NoMemory;
        };
        if judge.blocks.is_empty() {
            return End::OddAllocator;
        }
        let places = places.map(|place| Caller::place(case.caller, place));
        if !add_unused(
            (case.own, case.frames),
            &mappings,
            places.clone(),
            &mut holes,
        ) || !judge.note_left(case, places.clone())
        {
            return End::NoMemory;
        }
        for mapping in mappings.iter().filter(|mapping| mapping.counts()) {
            judge.mark_from_mapping(mapping, &holes, verdicts);
        }
        for place in places.clone() {
            let its = mappings
                .iter()
                .find(|its| its.addresses().contains(&place.frame));
            let high = its.map_or(place.frame, |its| its.high.min(place.frame + SIGNAL_FRAME));
            judge.mark_from(place.frame.next_multiple_of(8)..high, verdicts);
        }
        let caller = case.caller.map(|caller| caller.boundary & !7);
        if !judge.mark_from_stacks(places, caller, verdicts) {
            return End::OddStack;
        }
        let sets = judge.sets(verdicts);
        if judge.overflown || sets.is_none() {
            End::NoMemory
        } else {
            End::Judged
        }
    }
}

impl<'a> Judge<'a> {
    /// Finds where all is; also returns, as holes in the roots, the segments of the heap and the
    /// mappings of stacks. Candidates with a control block in no block are reached.
    ///
    /// # Safety
    ///
    /// As for [`judge`].
    unsafe fn new(
        case: &Case<'a>,
        mappings: &[Mapping],
        pages: Pages,
        verdicts: &mut [Verdict],
    ) -> Option<(Self, Region<(usize, usize)>)> {
        let has_blocks = |its: &&Mapping| matches!(its.kind, Kind::Anonymous | Kind::Break);
        let bytes = mappings
            .iter()
            .filter(has_blocks)
            .map(|its| its.high - its.low)
            .sum();
        let mut slabs = 0;
        owned_stacks(&mut |_, stack| slabs += usize::from(stack.is_none()));
        let all = bytes / 4096 + mappings.len();
        let mut heap = Heap::new(all, bytes)?;
        let mut holes = Region::new(all + slabs + mappings.len() + case.own.len() + (1 << 16))?;
        let mut fits = true;
        owned_stacks(&mut |slab, stack| {
            fits &= stack.is_some() || holes.push((slab.start, slab.end));
        });
        let slabs_end = holes.len();
        for mapping in mappings.iter().filter(has_blocks) {
            let is_slab = |(low, high): &(usize, usize)| *low < mapping.high && mapping.low < *high;
            if !holes[..slabs_end].iter().any(is_slab) {
                // SAFETY: it can be read, and nothing changes in the copy.
                unsafe { heap.add(mapping.addresses(), mapping.kind == Kind::Break) };
            }
        }
        // SAFETY: nothing changes in the copy.
        unsafe { heap.mark_caches(case.free) };
        for segment in heap.segments() {
            fits &= holes.push((segment.begin, segment.high));
        }
        let count = case.candidates.len();
        let mut judge = Self {
            candidates: case.candidates,
            words: case.words,
            heap,
            stacks: Region::new(count)?,
            blocks: Region::new(count)?,
            left: Region::new(case.left.len() + (1 << 16))?,
            span: 0..0,
            work: Region::new(bytes / 32 + 2 * count + 16)?,
            pages,
            overflown: false,
        };
        for (number, candidate) in case.candidates.iter().enumerate() {
            // SAFETY: the copy does not change.
            let Some(chunk) = (unsafe { judge.heap.find(candidate.block) }) else {
                verdicts[number].found = REACHED;
                fits &= judge.work.push((candidate.low, candidate.high));
                continue;
            };
            fits &= judge.stacks.push((candidate.low, candidate.high, number));
            fits &= judge.blocks.push((chunk.start, number));
        }
        judge.stacks.sort_unstable();
        judge.blocks.sort_unstable();
        judge.span = judge.all();
        fits.then_some((judge, holes))
    }

    /// Notes where fibres have left their stacks, where threads are on some, and where the caller
    /// is. `false`: there is no room.
    fn note_left(&mut self, case: &Case<'_>, places: impl Iterator<Item = Place>) -> bool {
        let threads = places.map(|place| place.stack - RED_ZONE);
        let all = case.left.iter().copied().chain(threads);
        let fits = all.into_iter().all(|at| self.left.push(at & !7));
        self.left.sort_unstable();
        fits
    }

    /// The part of a fibre's stack that is in use; all of it if that is not known.
    fn used(&self, stack: Range<usize>, caller: Option<usize>) -> Range<usize> {
        let from = self.left.partition_point(|at| *at < stack.start);
        let left = self.left.get(from).copied();
        let low = caller.into_iter().chain(left).find(|at| stack.contains(at));
        low.unwrap_or(stack.start)..stack.end
    }

    /// The addresses of all blocks and stacks.
    fn all(&self) -> Range<usize> {
        let segments = self.heap.segments().iter().map(|its| (its.low, its.high));
        let stacks = self.stacks.iter().map(|(low, high, _)| (*low, *high));
        let (mut low, mut high) = (usize::MAX, 0);
        for (start, end) in segments.chain(stacks) {
            (low, high) = (low.min(start), high.max(end));
        }
        low..high
    }

    /// Marks what the words of a part of a mapping lead to.
    ///
    /// # Safety
    ///
    /// As for [`judge`].
    unsafe fn mark_from_part(&mut self, part: Range<usize>, kind: Kind, verdicts: &mut [Verdict]) {
        if kind == Kind::Shared {
            // What is not in memory here may have been written by another process.
            // SAFETY: passed on.
            unsafe { self.mark_from(part, verdicts) };
            return;
        }
        let pages = std::mem::replace(&mut self.pages, Pages::none());
        // SAFETY: passed on.
        pages.for_each(part, &mut |piece| unsafe {
            self.mark_from(piece, verdicts)
        });
        self.pages = pages;
    }

    /// Marks what the words of a mapping lead to, except those in holes.
    ///
    /// # Safety
    ///
    /// As for [`judge`].
    unsafe fn mark_from_mapping(
        &mut self,
        mapping: &Mapping,
        holes: &[(usize, usize)],
        verdicts: &mut [Verdict],
    ) {
        let mut at = mapping.low;
        for (low, high) in holes {
            if *low >= mapping.high {
                break;
            }
            if *high > at {
                // SAFETY: passed on.
                unsafe { self.mark_from_part(at..(*low).max(at), mapping.kind, verdicts) };
                at = *high;
            }
        }
        // SAFETY: passed on.
        unsafe { self.mark_from_part(at..mapping.high.max(at), mapping.kind, verdicts) };
    }

    /// Marks what the stacks in use of all other fibres lead to. `false`: a thread is on a stack
    /// that is not known to be in use.
    ///
    /// # Safety
    ///
    /// As for [`judge`].
    unsafe fn mark_from_stacks(
        &mut self,
        places: impl Iterator<Item = Place> + Clone,
        caller: Option<usize>,
        verdicts: &mut [Verdict],
    ) -> bool {
        let mut odd = 0_usize;
        owned_stacks(&mut |slab, stack| {
            let on = |addresses: &Range<usize>| {
                places
                    .clone()
                    .filter(|place| addresses.contains(&place.stack))
                    .count()
            };
            let Some(stack) = stack else {
                odd += on(&slab);
                return;
            };
            odd -= on(&stack).min(odd);
            let candidate = self.stacks.partition_point(|(low, ..)| *low < stack.start);
            let its = self
                .stacks
                .get(candidate)
                .is_some_and(|(low, ..)| stack.contains(low));
            if !its {
                // SAFETY: passed on.
                unsafe { self.mark_from(self.used(stack, caller), verdicts) };
            }
        });
        odd == 0
    }

    /// Marks all that the words at these addresses lead to.
    ///
    /// # Safety
    ///
    /// As for [`judge`]; they can be read.
    unsafe fn mark_from(&mut self, addresses: Range<usize>, verdicts: &mut [Verdict]) {
        // SAFETY: passed on; what is in the work can be read.
        unsafe {
            let mut next = Some((addresses.start, addresses.end));
            while let Some((low, high)) = next {
                self.for_each_word(low..high, &mut |judge, value| {
                    judge.refer(value, verdicts);
                });
                next = self.work.pop();
            }
        }
    }

    /// Calls `f` with each word that may refer to something.
    ///
    /// # Safety
    ///
    /// As for [`mark_from`](Self::mark_from).
    unsafe fn for_each_word(
        &mut self,
        addresses: Range<usize>,
        f: &mut impl FnMut(&mut Self, usize),
    ) {
        let words = self.words;
        let from = words.partition_point(|word| *word < addresses.start);
        let mut left_out = words[from..].iter().copied().peekable();
        let (low, high) = (self.span.start, self.span.end);
        for at in addresses.step_by(8) {
            // SAFETY: the caller's promise.
            let value = unsafe { word(at) };
            if value < low || value >= high {
                continue;
            }
            while left_out.next_if(|word| *word < at).is_some() {}
            if left_out.peek() != Some(&at) {
                f(self, value);
            }
        }
    }

    /// Marks what a word refers to.
    ///
    /// # Safety
    ///
    /// As for [`judge`].
    unsafe fn refer(&mut self, value: usize, verdicts: &mut [Verdict]) {
        if let Some(number) = self.on_stack(value) {
            self.reach(number, verdicts);
            return;
        }
        // SAFETY: passed on.
        let Some(chunk) = (unsafe { self.heap.find(value) }) else {
            return;
        };
        if self.heap.is_marked(chunk) {
            return;
        }
        let (mut at, all) = self.of_block(chunk);
        if at == all {
            self.take(chunk);
        }
        while at < all {
            self.reach(self.blocks[at].1, verdicts);
            at += 1;
        }
    }

    /// A candidate can be reached.
    fn reach(&mut self, number: usize, verdicts: &mut [Verdict]) {
        if verdicts[number].found != OPEN {
            return;
        }
        verdicts[number].found = REACHED;
        let candidate = self.candidates[number];
        self.note(candidate.low..candidate.high);
        // SAFETY: the process is a copy, as the judge's maker was promised.
        if let Some(chunk) = unsafe { self.heap.find(candidate.block) } {
            self.take(chunk);
        }
    }

    /// Marks a block, which is to be looked at.
    fn take(&mut self, chunk: Chunk) {
        if self.heap.mark(chunk) {
            self.note(chunk.block());
        }
    }

    /// Notes what is to be looked at.
    fn note(&mut self, addresses: Range<usize>) {
        self.overflown |= !self.work.push((addresses.start, addresses.end));
    }

    /// The candidate with this address on its stack.
    fn on_stack(&self, address: usize) -> Option<usize> {
        let after = self.stacks.partition_point(|(low, ..)| *low <= address);
        let found = self.stacks[..after]
            .last()
            .filter(|(_, high, _)| address < *high);
        found.map(|(.., number)| *number)
    }

    /// The candidates with their control blocks in this block, by their places among all: one at
    /// most, unless the program divides blocks further.
    fn of_block(&self, chunk: Chunk) -> (usize, usize) {
        let from = self
            .blocks
            .partition_point(|(start, _)| *start < chunk.start);
        let its = self.blocks[from..]
            .iter()
            .take_while(|(start, _)| *start == chunk.start);
        (from, from + its.count())
    }

    /// Puts the candidates that have not been reached into sets. `None`: there is no memory.
    ///
    /// # Safety
    ///
    /// As for [`judge`].
    #[allow(
        clippy::needless_range_loop,
        reason = "the numbers are used for several lists"
    )]
    unsafe fn sets(&mut self, verdicts: &mut [Verdict]) -> Option<()> {
        let mut sets = Sets::new(self)?;
        for number in 0..verdicts.len() {
            if verdicts[number].found == OPEN {
                verdicts[number].found = STUCK;
                sets.begin(number);
            }
        }
        for number in 0..verdicts.len() {
            if verdicts[number].found != STUCK {
                continue;
            }
            let candidate = self.candidates[number];
            self.note(candidate.low..candidate.high);
            // SAFETY: passed on.
            unsafe {
                if let Some(chunk) = self.heap.find(candidate.block) {
                    self.note(candidate.rest..chunk.block().end);
                }
                while let Some((low, high)) = self.work.pop() {
                    self.for_each_word(low..high, &mut |judge, value| {
                        sets.refer(judge, number, value);
                    });
                }
            }
        }
        // SAFETY: passed on.
        unsafe { sets.check_counts(self, verdicts) };
        for number in 0..verdicts.len() {
            verdicts[number].set = sets.of(number) as u32;
        }
        for number in 0..verdicts.len() {
            if verdicts[number].found == STUCK && sets.hidden[sets.of(number)] {
                verdicts[number].found = REACHED;
            }
        }
        Some(())
    }
}

/// The sets of candidates that have not been reached.
struct Sets {
    /// Of each candidate another one of its set, or itself; one more than its number.
    next: Region<u32>,
    /// Of each set, by the number of its first candidate, whether something refers to it that is
    /// not seen.
    hidden: Region<bool>,
    /// The candidate that has first met a block, by the block's bit; one more than its number.
    met: Region<u32>,
    /// The blocks of channels that candidates wait for, and how many words refer to each.
    channels: Region<(usize, usize)>,
}

impl Sets {
    fn new(judge: &Judge<'_>) -> Option<Self> {
        let count = judge.candidates.len();
        let mut sets = Self {
            next: Region::new(count)?,
            hidden: Region::new(count)?,
            met: Region::new(judge.heap.bits())?,
            channels: Region::new(count)?,
        };
        // SAFETY: numbers, and truth values.
        unsafe {
            sets.next.fill();
            sets.hidden.fill();
            sets.met.fill();
        }
        for candidate in judge
            .candidates
            .iter()
            .filter(|candidate| candidate.channel != 0)
        {
            // SAFETY: the process is a copy, as the judge's maker was promised.
            if let Some(chunk) = unsafe { judge.heap.find(candidate.channel) } {
                let _ = sets.channels.push((chunk.start, 0));
            }
        }
        sets.channels.sort_unstable();
        Some(sets)
    }

    /// Makes a set of one candidate.
    fn begin(&mut self, number: usize) {
        self.next[number] = number as u32 + 1;
    }

    /// The first candidate of the set that a candidate belongs to.
    fn of(&self, mut number: usize) -> usize {
        while self.next[number] != 0 && self.next[number] as usize - 1 != number {
            number = self.next[number] as usize - 1;
        }
        number
    }

    /// Makes one set of two.
    fn join(&mut self, one: usize, other: usize) {
        let (one, other) = (self.of(one), self.of(other));
        let first = one.min(other);
        self.next[one.max(other)] = first as u32 + 1;
    }

    /// A word that the candidate `number` leads to.
    ///
    /// # Safety
    ///
    /// As for [`judge`].
    unsafe fn refer(&mut self, judge: &mut Judge<'_>, number: usize, value: usize) {
        if let Some(other) = judge.on_stack(value) {
            self.join_if_stuck(number, other);
            return;
        }
        // SAFETY: passed on.
        let Some(chunk) = (unsafe { judge.heap.find(value) }) else {
            return;
        };
        if judge.heap.is_marked(chunk) {
            return;
        }
        let channel = self
            .channels
            .partition_point(|(start, _)| *start < chunk.start);
        if let Some((start, count)) = self.channels.get_mut(channel)
            && *start == chunk.start
        {
            *count += 1;
        }
        let (mut at, all) = judge.of_block(chunk);
        if at < all {
            while at < all {
                self.join_if_stuck(number, judge.blocks[at].1);
                at += 1;
            }
            return;
        }
        match self.met[chunk.bit] {
            0 => {
                self.met[chunk.bit] = number as u32 + 1;
                judge.note(chunk.block());
            }
            other => self.join(number, other as usize - 1),
        }
    }

    /// Makes one set of two candidates' if the other one is in any.
    fn join_if_stuck(&mut self, number: usize, other: usize) {
        if self.next[other] != 0 {
            self.join(number, other);
        }
    }

    /// Finds sets with channels that count more references than there are words for them.
    ///
    /// # Safety
    ///
    /// As for [`judge`].
    unsafe fn check_counts(&mut self, judge: &Judge<'_>, verdicts: &[Verdict]) {
        for (number, candidate) in judge.candidates.iter().enumerate() {
            if verdicts[number].found != STUCK || candidate.channel == 0 {
                continue;
            }
            // SAFETY: passed on.
            let Some(chunk) = (unsafe { judge.heap.find(candidate.channel) }) else {
                continue;
            };
            let block = chunk.block();
            let place = self
                .channels
                .partition_point(|(start, _)| *start < chunk.start);
            let count = self.channels.get(place).map_or(0, |(_, count)| *count);
            // SAFETY: passed on; a shared block begins with its count.
            let counted = unsafe { word(block.start) };
            let is_count = (1..MOST_REFERENCES).contains(&counted);
            if candidate.channel - block.start < FARTHEST && is_count && counted > count {
                let set = self.of(number);
                self.hidden[set] = true;
            }
        }
    }
}
