//! The files, and who relies on them: state that all clients share, of one colour.
//!
//! A file is blocks that answers share with it, so a read copies nothing here. A client that has
//! looked a file up has a *lease*: until it ends, no other client's write changes the file.

use crate::wire::{MOST, Status, Wish, milliseconds};
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Bytes of a block.
const BLOCK: usize = MOST;

/// All files.
pub(crate) struct Store {
    by_name: HashMap<Vec<u8>, usize>,
    files: Vec<File>,
    /// How long a lease lasts.
    lease: Duration,
}

/// A file.
struct File {
    blocks: Vec<Arc<[u8]>>,
    size: u64,
    /// Until when each client relies on it.
    leases: HashMap<u64, Instant>,
}

/// The answer to a call, before it is bytes.
pub(crate) struct Answer {
    pub(crate) status: Status,
    /// What the result begins with.
    pub(crate) words: Vec<u8>,
    /// What follows.
    pub(crate) parts: Vec<(Arc<[u8]>, Range<usize>)>,
}

impl Answer {
    /// An answer without parts.
    pub(crate) fn new(status: Status, words: Vec<u8>) -> Self {
        Self {
            status,
            words,
            parts: Vec::new(),
        }
    }
}

impl Store {
    /// Without files, yet.
    pub(crate) fn new(lease: Duration) -> Self {
        Self {
            by_name: HashMap::new(),
            files: Vec::new(),
            lease,
        }
    }

    /// Adds a file.
    pub(crate) fn add(&mut self, name: &[u8], bytes: &[u8]) {
        self.by_name.insert(name.to_vec(), self.files.len());
        self.files.push(File {
            blocks: bytes.chunks(BLOCK).map(Arc::from).collect(),
            size: bytes.len() as u64,
            leases: HashMap::new(),
        });
    }

    /// Does what a client wants.
    pub(crate) fn perform(&mut self, client: u64, wish: Option<Wish>, now: Instant) -> Answer {
        match wish {
            None => Answer::new(Status::Malformed, Vec::new()),
            Some(Wish::LookUp(name)) => self.look_up(client, &name, now),
            Some(Wish::Read {
                file,
                offset,
                count,
            }) => match self.file(file) {
                Some(file) => file.read(offset, count),
                None => Answer::new(Status::NoSuchFile, Vec::new()),
            },
            Some(Wish::Write {
                file,
                offset,
                bytes,
            }) => match self.file(file) {
                Some(file) => file.write(client, offset, &bytes, now),
                None => Answer::new(Status::NoSuchFile, Vec::new()),
            },
        }
    }

    /// The file of a handle.
    fn file(&mut self, handle: u64) -> Option<&mut File> {
        self.files.get_mut(usize::try_from(handle).ok()?)
    }

    /// Finds a file, and grants a lease.
    fn look_up(&mut self, client: u64, name: &[u8], now: Instant) -> Answer {
        let Some(&handle) = self.by_name.get(name) else {
            return Answer::new(Status::NoSuchFile, Vec::new());
        };
        let file = &mut self.files[handle];
        file.leases.retain(|_, until| *until > now);
        file.leases.insert(client, now + self.lease);
        let handle = (handle as u64).to_be_bytes();
        let words = [
            &handle[..],
            &file.size.to_be_bytes(),
            &milliseconds(self.lease),
        ];
        Answer::new(Status::Done, words.concat())
    }
}

impl File {
    /// The parts of blocks that a read gets.
    fn read(&self, offset: u64, count: usize) -> Answer {
        let begin = offset.min(self.size) as usize;
        let end = begin.saturating_add(count).min(self.size as usize);
        let mut answer = Answer::new(Status::Done, Vec::new());
        for (block, range) in pieces(begin..end) {
            answer.parts.push((Arc::clone(&self.blocks[block]), range));
        }
        answer
    }

    /// Changes bytes, unless another client relies on them.
    fn write(&mut self, client: u64, offset: u64, bytes: &[u8], now: Instant) -> Answer {
        let others = self.leases.iter().filter(|(of, _)| **of != client);
        let until = others.map(|(_, until)| *until).max();
        if let Some(until) = until.filter(|until| *until > now) {
            let left = milliseconds(until - now + Duration::from_millis(1));
            return Answer::new(Status::Busy, left.to_vec());
        }
        let end = offset.checked_add(bytes.len() as u64);
        if end.is_none_or(|end| end > self.size) {
            return Answer::new(Status::OutOfRange, Vec::new());
        }
        let (mut rest, begin) = (bytes, offset as usize);
        for (block, range) in pieces(begin..begin + bytes.len()) {
            let (now, later) = rest.split_at(range.len());
            // Answers that are on their way keep the block as it was.
            Arc::make_mut(&mut self.blocks[block])[range].copy_from_slice(now);
            rest = later;
        }
        Answer::new(Status::Done, Vec::new())
    }
}

/// The blocks that a range of a file lies in, and which part of each.
fn pieces(range: Range<usize>) -> impl Iterator<Item = (usize, Range<usize>)> {
    let mut begin = range.start;
    std::iter::from_fn(move || {
        if begin >= range.end {
            return None;
        }
        let (block, first) = (begin / BLOCK, begin % BLOCK);
        let last = BLOCK.min(first + range.end - begin);
        begin += last - first;
        Some((block, first..last))
    })
}
