//! Bytes that have arrived but are not used up.
//!
//! A buffer starts small, because most connections are idle most of the time
//! and each owns one; it doubles up to [`LARGEST`], the most a request's head
//! may have, and is small again when all of it has been used. It is larger than
//! usual requests so that one read takes a whole request and comes back short,
//! which shows that the socket is empty.

use std::io::{self, Read};

/// The size of a buffer that has not grown.
const SMALLEST: usize = 4 * 1024;

/// The size that a buffer grows to at most: the limit of a request's head.
pub(crate) const LARGEST: usize = 16 * 1024;

/// The bytes between what was used and what is still to come.
pub(crate) struct Buffer {
    /// The storage, all of it initialised.
    bytes: Vec<u8>,
    /// Where the unused bytes start.
    start: usize,
    /// Where they end.
    end: usize,
}

impl Buffer {
    pub(crate) fn new() -> Self {
        Self {
            bytes: vec![0; SMALLEST],
            start: 0,
            end: 0,
        }
    }

    /// The bytes that have arrived and are not used up.
    pub(crate) fn unused(&self) -> &[u8] {
        &self.bytes[self.start..self.end]
    }

    /// True if everything that has arrived is used up.
    pub(crate) fn is_empty(&self) -> bool {
        self.start == self.end
    }

    /// True if the buffer can neither take more bytes nor grow.
    pub(crate) fn is_full(&self) -> bool {
        self.end - self.start >= LARGEST
    }

    /// Marks the first `count` unused bytes as used.
    pub(crate) fn consume(&mut self, count: usize) {
        self.start += count;
        assert!(self.start <= self.end, "more bytes used than had arrived");
    }

    /// Reads once from `source` and returns how many bytes came: 0 at its end.
    pub(crate) fn fill(&mut self, mut source: impl Read) -> io::Result<usize> {
        self.make_room();
        let count = source.read(&mut self.bytes[self.end..])?;
        self.end += count;
        Ok(count)
    }

    /// Moves the unused bytes to the front and grows if that leaves no room.
    fn make_room(&mut self) {
        self.bytes.copy_within(self.start..self.end, 0);
        self.end -= self.start;
        self.start = 0;
        if self.end == self.bytes.len() {
            self.bytes.resize(LARGEST.min(2 * self.end), 0);
        } else if self.end == 0 && self.bytes.len() > SMALLEST {
            self.bytes = vec![0; SMALLEST];
        }
    }
}
