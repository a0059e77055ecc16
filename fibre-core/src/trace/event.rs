//! What an event is, in 16 bytes.
//!
//! ```text
//!   first word     63 … 8  ticks since the recording began      7 … 0  kind
//!   second word    63 … 0  what the kind says
//! ```
//!
//! Most kinds name a fibre, and one more thing:
//!
//! ```text
//!   second word    63 … 22  number of the fibre                21 … 0  beside
//! ```
//!
//! What others do for a processor that does not switch names that processor:
//!
//! ```text
//!   second word    63 … 44  cluster    43 … 28  processor    27 … 4  how many    3 … 0  of what
//! ```
//!
//! The numbers are a part of the format of trace files, which the tool `fibre-trace` reads: they
//! never change their meaning.

/// The bits of what stands beside a fibre.
const BESIDE_BITS: u32 = 22;

/// What an event tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
#[repr(u8)]
pub enum TraceKind {
    /// The processor lets this fibre go on.
    Run = 1,
    /// The processor lets this fibre run for the first time.
    Start = 2,
    /// This fibre has let others run, and is ready.
    Yield = 3,
    /// The running fibre waits. The word says for what, as `WaitObject` has it; zero: not known.
    Block = 4,
    /// This fibre has ended.
    End = 5,
    /// This activity has run, and rests until it is made ready again.
    Rest = 6,
    /// This fibre has left for another cluster.
    Leave = 7,
    /// This fibre has been made ready: by the fibre that runs here, or, if none does, by what the
    /// processor does, which stands beside it (`TracePhase`). On the track of plain threads, the
    /// kernel's number of the thread stands beside it.
    Ready = 8,
    /// This fibre has been spawned, as in `Ready`.
    Spawn = 9,
    /// This fibre has been taken from another processor. That one's number stands beside it.
    Steal = 10,
    /// Events have been delivered. The word has their number in its lower 16 bits, and above these
    /// the ticks that it took.
    Poll = 11,
    /// The processor sleeps.
    Sleep = 12,
    /// It is awake again; one: another thread has woken it.
    Wake = 13,
    /// A mark of the program, or the end of a longer one: eight bytes of text, zeros behind it. On
    /// the track of plain threads `Thread` comes before it.
    Mark = 14,
    /// Eight bytes of text that the next events go on with.
    Text = 15,
    /// The kernel's number of the plain thread that what follows is about: a mark, thread blocks
    /// that have ended, or something done for a processor.
    Thread = 16,
    /// The C library has made a thread block for a fibre that is about to begin, or has just been
    /// spawned. On the track of plain threads `Thread` comes before it.
    BlockBorn = 17,
    /// The C library has ended thread blocks: the word says how many. On the track of plain threads
    /// `Thread` comes before it.
    BlocksEnded = 18,
    /// Something has been done for a processor that one fibre has kept for long: so many ready
    /// fibres were given to others (0), or so many waits have ended as their deadlines had passed
    /// (1). On the track of plain threads `Thread` comes before it.
    Rescue = 19,
}

/// The second word of an event about a processor that does not switch.
pub(crate) fn of_rescue(cluster: u64, processor: usize, what: u8, count: u64) -> u64 {
    /// The largest number in so many bits that is not above this one.
    fn cut(number: u64, bits: u32) -> u64 {
        number.min((1 << bits) - 1)
    }
    cut(cluster, 20) << 44 | cut(processor as u64, 16) << 28 | cut(count, 24) << 4 | u64::from(what)
}

/// The second word of an event about a fibre.
#[inline]
pub(super) fn of_fibre(fibre: u64, beside: u64) -> u64 {
    fibre << BESIDE_BITS | beside & ((1 << BESIDE_BITS) - 1)
}

/// The first word of an event.
#[inline]
pub(super) fn stamped(kind: TraceKind, ticks: u64) -> u64 {
    ticks << 8 | kind as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_keep_their_parts_apart() {
        let word = of_fibre(7, u64::MAX);
        assert_eq!((word >> 22, word & 0x3f_ffff), (7, 0x3f_ffff));
        let word = of_rescue(3, 2, 1, u64::MAX);
        assert_eq!(word, 3 << 44 | 2 << 28 | 0xff_ffff << 4 | 1);
        let word = stamped(TraceKind::Thread, 5);
        assert_eq!((word >> 8, word as u8), (5, 16));
    }
}
