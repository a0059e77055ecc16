//! The ring of one processor, or that of all plain threads.

use super::clock::ticks;
use super::event::{TraceKind, of_fibre, stamped};
use super::ring::{Ring, RingCopy};
use std::sync::atomic::{AtomicI32, AtomicU8, AtomicU64, Ordering};

/// The longest text of a mark, in bytes.
const MAX_MARK: usize = 64;

/// What a processor does between two fibres. It may make some ready meanwhile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum TracePhase {
    /// It runs a fibre, or looks for one.
    Nothing = 0,
    /// It delivers events.
    Polls = 1,
    /// It lets deadlines pass.
    FiresTimers = 2,
    /// It hands itself over: from the fibre that ran last to the one that this has named.
    HandsOver = 3,
    /// It finds that a fibre was woken while that was leaving its stack.
    FindsWoken = 4,
}

/// Where the events of one writer go. Its methods that record are the writer's only.
#[derive(Debug)]
pub(crate) struct Track {
    ring: Ring,
    /// The name of the cluster; none on the track of plain threads.
    pub(super) cluster: Option<String>,
    /// The number of the cluster, unique in the process.
    pub(super) number: u64,
    /// The processor's number in its cluster.
    pub(super) processor: usize,
    /// The kernel's number of the processor's thread.
    pub(super) thread: AtomicI32,
    /// What the processor does, as a [`TracePhase`].
    phase: AtomicU8,
    /// When it last began to deliver events.
    polls_since: AtomicU64,
    /// Events that found the track taken by another plain thread.
    pub(super) dropped: AtomicU64,
}

impl Track {
    /// An empty track with room for so many events. `None`: there is no memory.
    pub(super) fn new(
        events: usize,
        cluster: Option<String>,
        number: u64,
        processor: usize,
    ) -> Option<Self> {
        Some(Self {
            ring: Ring::new(events)?,
            cluster,
            number,
            processor,
            thread: AtomicI32::new(0),
            phase: AtomicU8::new(TracePhase::Nothing as u8),
            polls_since: AtomicU64::new(0),
            dropped: AtomicU64::new(0),
        })
    }

    /// Records an event, which says this.
    #[inline]
    pub(crate) fn record(&self, kind: TraceKind, word: u64) {
        self.ring.push([stamped(kind, ticks()), word]);
    }

    /// Records an event about a fibre, with something beside it.
    #[inline]
    pub(crate) fn record_fibre(&self, kind: TraceKind, fibre: u64, beside: u64) {
        self.record(kind, of_fibre(fibre, beside));
    }

    /// Records that a fibre has been made ready, or spawned, by what happens here.
    #[inline]
    pub(crate) fn record_ready(&self, kind: TraceKind, fibre: u64) {
        self.record_fibre(kind, fibre, self.phase.load(Ordering::Relaxed).into());
    }

    /// Records a mark of the program.
    pub(crate) fn record_mark(&self, text: &str) {
        let end = text.floor_char_boundary(MAX_MARK);
        let mut rest = &text.as_bytes()[..end];
        while let Some((piece, more)) = rest.split_first_chunk().filter(|(_, m)| !m.is_empty()) {
            self.record(TraceKind::Text, u64::from_le_bytes(*piece));
            rest = more;
        }
        let mut last = [0; 8];
        last[..rest.len()].copy_from_slice(rest);
        self.record(TraceKind::Mark, u64::from_le_bytes(last));
    }

    /// Notes what the processor does from now on.
    pub(crate) fn set_phase(&self, phase: TracePhase) {
        self.phase.store(phase as u8, Ordering::Relaxed);
        if phase == TracePhase::Polls {
            self.polls_since.store(ticks(), Ordering::Relaxed);
        }
    }

    /// Records that so many events have been delivered since the processor has polled. A poll that
    /// has found none is not worth an event.
    pub(crate) fn record_poll(&self, delivered: u32) {
        self.set_phase(TracePhase::Nothing);
        if delivered > 0 {
            let took = ticks() - self.polls_since.load(Ordering::Relaxed);
            let delivered = u64::from(delivered.min(0xffff));
            self.record(TraceKind::Poll, took << 16 | delivered);
        }
    }
}

/// A track, as readers see it.
#[derive(Debug, Clone)]
pub struct TraceTrack {
    /// The name of the processor's cluster; `None`: the track of all plain threads.
    pub cluster: Option<String>,
    /// The number of the cluster.
    pub number: u64,
    /// The processor's number in its cluster.
    pub processor: usize,
    /// The kernel's number of the processor's thread.
    pub thread: i32,
    /// How many events were lost as two plain threads had some at the same moment.
    pub dropped: u64,
    /// The events.
    pub copied: RingCopy,
}

impl TraceTrack {
    /// What is on a track now.
    pub(super) fn of(track: &Track) -> Self {
        Self {
            cluster: track.cluster.clone(),
            number: track.number,
            processor: track.processor,
            thread: track.thread.load(Ordering::Relaxed),
            dropped: track.dropped.load(Ordering::Relaxed),
            copied: track.ring.copy(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(mark: &str) -> Vec<(u8, Vec<u8>)> {
        let track = Track::new(16, None, 0, 0).unwrap();
        track.record_mark(mark);
        let events = TraceTrack::of(&track).copied.events;
        let parts = events.into_iter();
        parts
            .map(|[first, second]| (first as u8, second.to_le_bytes().to_vec()))
            .collect()
    }

    #[test]
    fn a_mark_is_as_many_events_as_its_text_needs() {
        let (text, mark) = (TraceKind::Text as u8, TraceKind::Mark as u8);
        assert_eq!(texts(""), [(mark, vec![0; 8])]);
        assert_eq!(texts("12345678"), [(mark, b"12345678".to_vec())]);
        let two = [
            (text, b"12345678".to_vec()),
            (mark, b"9\0\0\0\0\0\0\0".to_vec()),
        ];
        assert_eq!(texts("123456789"), two);
        // A letter of two bytes that would end behind the longest mark.
        let long = format!("{}é", "x".repeat(MAX_MARK - 1));
        let events = texts(&long);
        assert_eq!(events.len(), 8);
        assert_eq!(events[7], (mark, b"xxxxxxx\0".to_vec()));
    }
}
