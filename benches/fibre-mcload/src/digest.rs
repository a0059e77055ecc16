//! Taking answers: which request each belongs to, whether it may be, and how long it took.

use std::collections::VecDeque;

use crate::failure::Failure;
use crate::protocol::{Answer, Front, Said};
use crate::shared::Shared;
use crate::tally::{Tally, Wrong};
use crate::values::Flaw;

/// A request under way.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pending {
    /// The key.
    pub key: u32,
    /// The version that it stores, or the oldest one that may be the answer.
    pub version: u32,
    /// Whether it stores.
    pub stores: bool,
    /// When it was due.
    pub due: u64,
    /// When it was sent.
    pub sent: u64,
}

/// The requests under way on a connection, and the part of an answer that has come.
#[derive(Debug)]
pub(crate) struct Digest {
    /// Which tally it counts in.
    pub processor: usize,
    /// The requests, the oldest first.
    pub pending: VecDeque<Pending>,
    /// Bytes that were sent since the last answer.
    pub bytes_sent: u64,
    /// The token of the next request.
    token: u32,
    /// Bytes that are no whole answer yet.
    rest: Vec<u8>,
    /// How many of them there must be before it is worth to look again.
    needed: usize,
}

impl Digest {
    /// Nothing under way.
    pub(crate) fn new(processor: usize) -> Self {
        Self {
            processor,
            pending: VecDeque::new(),
            bytes_sent: 0,
            token: 0,
            rest: Vec::new(),
            needed: 0,
        }
    }

    /// Notes a request, and says its token.
    #[inline]
    pub(crate) fn ask(&mut self, pending: Pending) -> u32 {
        self.pending.push_back(pending);
        self.token = self.token.wrapping_add(1);
        self.token
    }

    /// Takes what was read.
    pub(crate) fn take(&mut self, shared: &Shared, bytes: &[u8]) -> Result<(), Failure> {
        if self.rest.is_empty() {
            let taken = self.answers(shared, bytes, bytes.len())?;
            self.rest.extend_from_slice(&bytes[taken..]);
            return Ok(());
        }
        self.rest.extend_from_slice(bytes);
        if self.rest.len() < self.needed {
            return Ok(());
        }
        let mut rest = std::mem::take(&mut self.rest);
        let taken = self.answers(shared, &rest, bytes.len())?;
        rest.drain(..taken);
        self.rest = rest;
        Ok(())
    }

    /// Takes all whole answers, and says how many bytes they are. So many bytes have just come.
    fn answers(&mut self, shared: &Shared, bytes: &[u8], came: usize) -> Result<usize, Failure> {
        let now = shared.clock.now();
        let mut tally = shared.tally(self.processor);
        let sent = std::mem::take(&mut self.bytes_sent);
        if shared.clock.counts(now) {
            tally.counts.bytes_sent += sent;
            tally.counts.bytes_received += came as u64;
        }
        let mut taken = 0;
        while taken < bytes.len() {
            match shared.plan.dialect.front(&bytes[taken..]) {
                Front::Whole(answer) => {
                    let pending = self.pending.pop_front();
                    let Some(pending) = pending else {
                        tally.wrong(Wrong::Disordered, || "an answer to no request".into());
                        return Err(Failure::Nonsense);
                    };
                    let expected = self.token.wrapping_sub(self.pending.len() as u32);
                    judge(&mut tally, shared, &pending, &answer, expected);
                    count(&mut tally, shared, &pending, &answer, now);
                    taken += answer.length;
                }
                Front::Part(needed) => {
                    self.needed = needed;
                    break;
                }
                Front::Nonsense => {
                    let shown = &bytes[taken..bytes.len().min(taken + 60)];
                    let words = || format!("no answer: {}", shown.escape_ascii());
                    tally.wrong(Wrong::Disordered, words);
                    return Err(Failure::Nonsense);
                }
            }
        }
        tally.last = now;
        Ok(taken)
    }

    /// Forgets the requests under way, and that the ages of their keys are known. Each has taken at
    /// least as long as it has been waited for, and that counts: what is slow enough to be given up
    /// must not be left out.
    pub(crate) fn lose(&mut self, shared: &Shared, failure: Failure) {
        let now = shared.clock.now();
        let mut tally = shared.tally(self.processor);
        *tally.lost.entry(failure.words()).or_default() += 1;
        tally.unanswered += self.pending.len() as u64;
        for pending in self.pending.drain(..) {
            let counts = if shared.plan.is_open() {
                shared.clock.counts(pending.due)
            } else {
                shared.clock.counts_between(pending.sent, now)
            };
            if counts {
                time(&mut tally, shared, &pending, now);
            }
            if pending.stores {
                tally.doubted += u64::from(shared.versions.doubt(pending.key));
            }
        }
        self.rest.clear();
        self.needed = 0;
    }
}

/// Finds out whether an answer may be the one to a request.
fn judge(tally: &mut Tally, shared: &Shared, pending: &Pending, answer: &Answer<'_>, token: u32) {
    let key = pending.key;
    if answer.token.is_some_and(|told| told != token) {
        let words = || format!("token {:?} instead of {token}", answer.token);
        return tally.wrong(Wrong::Disordered, words);
    }
    match (&answer.said, pending.stores) {
        (Said::Stored, true) => shared.versions.confirm(key, pending.version),
        (Said::Miss | Said::Refused(_), false) | (Said::NotStored | Said::Refused(_), true) => {}
        (Said::Value { key: name, bytes }, false) => {
            if name.is_some_and(|name| !shared.keys.is_name(key, name)) {
                let words = || {
                    format!(
                        "key {key} was asked for, {:?} came",
                        name.map(<[u8]>::escape_ascii)
                    )
                };
                return tally.wrong(Wrong::Disordered, words);
            }
            let newest = shared.versions.newest(key);
            if let Some(flaw) = shared.values.flaw(key, bytes, pending.version, newest) {
                let kind = match flaw {
                    Flaw::Foreign => Wrong::Foreign,
                    Flaw::Torn(_) => Wrong::Torn,
                    Flaw::Stale(_) => Wrong::Stale,
                    Flaw::Unwritten(_) => Wrong::Unwritten,
                };
                tally.wrong(kind, || {
                    let (oldest, length) = (pending.version, bytes.len());
                    format!("key {key}, {length} bytes, {flaw:?}; possible are versions {oldest} to {newest}")
                });
            }
        }
        (said, stores) => {
            let asked = if stores {
                "an order to store"
            } else {
                "a question"
            };
            tally.wrong(Wrong::Disordered, || {
                format!("{said:?} is no answer to {asked}")
            });
        }
    }
}

/// Counts an answer if it came within the measured time. The server's CPU time is taken over the
/// same. How long it took counts in an open loop by when the request was due, since one that is
/// late must not be left out; else likewise by when the answer came.
#[inline]
fn count(tally: &mut Tally, shared: &Shared, pending: &Pending, answer: &Answer<'_>, now: u64) {
    let came = shared.clock.counts(now);
    let timed = if shared.plan.is_open() {
        shared.clock.counts(pending.due)
    } else {
        came
    };
    if timed {
        time(tally, shared, pending, now);
    }
    if !came {
        return;
    }
    let refused = matches!(answer.said, Said::Refused(_));
    tally.counts.refused += u64::from(refused);
    if pending.stores {
        tally.counts.sets += 1;
        tally.counts.stored += u64::from(answer.said == Said::Stored);
        return;
    }
    tally.counts.gets += 1;
    match answer.said {
        Said::Miss => {
            tally.counts.misses += 1;
            tally.counts.misses_of_stored += u64::from(pending.version > 0);
        }
        _ => tally.counts.hits += u64::from(!refused),
    }
}

/// Adds how long a request has taken until now.
#[inline]
fn time(tally: &mut Tally, shared: &Shared, pending: &Pending, now: u64) {
    if shared.plan.is_open() {
        tally.service.add(now - pending.sent);
        tally.delays.add(pending.sent - pending.due);
    }
    let times = if pending.stores {
        &mut tally.sets
    } else {
        &mut tally.gets
    };
    times.add(now - pending.due);
}
