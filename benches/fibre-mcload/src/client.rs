//! A connection: one fibre, from the first request to the last.
//!
//! It goes round: send what is due and has room, wait for what comes, take the answers. It waits in
//! one place, for answers, with a deadline: when the next request is due, or the oldest answer
//! overdue. Sending never waits: a server that stops reading until its own answers are taken would
//! wait for us for ever. What a full socket does not take is kept, and then the fibre waits for
//! room, too.
//!
//! Answers come in the order of requests, so a queue of what was asked says what each is about; in
//! the meta dialect tokens say whether that is so.
//!
//! When a connection is lost, so are the requests under way; the next connection goes on with new
//! ones.

use std::io::{self, Write as _};
use std::sync::Arc;

use fastrand::Rng;
use fibre::io::{PollFd, Readiness};
use fibre::net::TcpStream;

use crate::clock::nanoseconds;
use crate::digest::{Digest, Pending};
use crate::failure::Failure;
use crate::random::stream;
use crate::shared::{PAUSE, Shared};
use crate::work::{Pace, Schedule, Work};

/// Bytes that may wait to be sent before no more requests are added to them.
const BACKLOG: usize = 64 << 10;

/// Requests under way while all keys are stored.
const PRELOAD: usize = 16;

/// How often in a row a connection may be lost before the measured time.
const ATTEMPTS: u32 = 20;

/// A connection that is opened anew when it is lost.
pub(crate) struct Client {
    /// What all have in common.
    shared: Arc<Shared>,
    /// Which one it is.
    number: u32,
    /// What it asks for.
    random: Rng,
    /// What is to be done.
    work: Work,
    /// The connection, while there is one.
    stream: Option<TcpStream>,
    /// Whether the next one is in place of one that was lost.
    has_lost: bool,
    /// What was asked, and how answers are taken.
    digest: Digest,
    /// Requests to be sent.
    out: Vec<u8>,
    /// Bytes of them that were sent.
    sent: usize,
    /// The deadline for reading that the stream has.
    deadline: u64,
}

impl Client {
    /// Connection `number`, on a processor.
    pub(crate) fn new(shared: Arc<Shared>, number: u32, processor: usize) -> Self {
        Self {
            random: stream(shared.plan.seed, u64::from(number)),
            work: Work::Preload { next: number },
            stream: None,
            has_lost: false,
            digest: Digest::new(processor),
            out: Vec::new(),
            sent: 0,
            deadline: 0,
            number,
            shared,
        }
    }

    /// Stores its keys, waits for the others, and does what was planned.
    pub(crate) fn live(mut self) {
        self.prepare();
        self.shared.preparing.done();
        self.shared.go.wait();
        if self.shared.given_up().is_none() {
            self.work = self.planned();
            while let Err(failure) = self.session() {
                self.lose(failure);
                if self.shared.clock.now() >= self.shared.clock.end() {
                    break;
                }
                fibre::sleep(PAUSE);
            }
            self.settle();
        }
        self.shared.running.done();
    }

    /// Opens the connection and stores its keys, in several attempts.
    fn prepare(&mut self) {
        let mut attempts = 0;
        while let Err(failure) = self.session() {
            self.lose(failure);
            attempts += 1;
            if attempts == ATTEMPTS {
                self.shared.give_up(failure);
            }
            if self.shared.given_up().is_some() {
                return;
            }
            fibre::sleep(PAUSE);
        }
    }

    /// What it does after the preload.
    fn planned(&self) -> Work {
        let plan = &self.shared.plan;
        let connections = u64::from(plan.connections);
        let number = u64::from(self.number);
        let left = plan.requests.map_or(u64::MAX, |requests| {
            requests / connections + u64::from(number < requests % connections)
        });
        let pace = plan.rate.map_or(Pace::Closed, |rate| {
            let mean = 1e9 * f64::from(plan.connections) / rate;
            let random = stream(!plan.seed, number);
            Pace::Open(Schedule::new(
                self.shared.clock.now(),
                plan.gap,
                mean,
                random,
            ))
        });
        Work::Mix { left, pace }
    }

    /// Goes on until all is done, or the connection is lost.
    fn session(&mut self) -> Result<(), Failure> {
        if self.stream.is_none() {
            let stream = self.shared.connect()?;
            // From now on a write takes what there is room for.
            stream.set_write_deadline(Some(self.shared.clock.instant(0)));
            self.deadline = 0;
            self.stream = Some(stream);
            if std::mem::take(&mut self.has_lost) {
                self.shared.tally(self.digest.processor).reconnects += 1;
            }
        }
        loop {
            self.fill(self.shared.clock.now());
            self.flush()?;
            if self.digest.pending.is_empty() && self.next_due().is_none() {
                return Ok(());
            }
            self.receive()?;
        }
    }

    /// When the next request is due, if there is one: in a closed loop that is at once.
    fn next_due(&self) -> Option<u64> {
        let end = self.shared.clock.end();
        match &self.work {
            Work::Preload { next } => {
                (*next < self.shared.keys.count() && self.shared.plan.preload).then_some(0)
            }
            Work::Mix { left: 0, .. } => None,
            Work::Mix { pace, .. } => {
                let now = self.shared.clock.now();
                let due = pace.next().unwrap_or(now);
                (now < end && due < end).then_some(due)
            }
        }
    }

    /// How many requests may be under way.
    fn window(&self) -> usize {
        match self.work {
            Work::Preload { .. } => PRELOAD.max(self.shared.plan.pipeline),
            Work::Mix { .. } => self.shared.plan.pipeline,
        }
    }

    /// Adds requests that are due, as far as there is room.
    fn fill(&mut self, now: u64) {
        let window = self.window();
        while self.digest.pending.len() < window && self.out.len() - self.sent < BACKLOG {
            match &mut self.work {
                Work::Preload { next } => {
                    let key = *next;
                    if key >= self.shared.keys.count() || !self.shared.plan.preload {
                        return;
                    }
                    *next += self.shared.plan.connections;
                    self.store(key, now, now);
                }
                Work::Mix { left, pace } => {
                    let end = self.shared.clock.end();
                    if *left == 0 || now >= end || pace.next().is_some_and(|due| due >= end) {
                        return;
                    }
                    let Some(due) = pace.take(now) else { return };
                    *left -= 1;
                    self.request(due, now);
                }
            }
        }
    }

    /// Adds the next request of the mix.
    fn request(&mut self, due: u64, now: u64) {
        let shared = &self.shared;
        if self.random.f64() < shared.plan.update {
            let key = shared
                .keys
                .draw_own(&mut self.random, self.number, shared.plan.connections);
            return self.store(key, due, now);
        }
        let key = shared.keys.draw(&mut self.random);
        let pending = Pending {
            key,
            version: shared.versions.oldest(key),
            stores: false,
            due,
            sent: now,
        };
        let token = self.digest.ask(pending);
        let name = |out: &mut Vec<u8>| shared.keys.write(key, out);
        shared.plan.dialect.ask(token, name, &mut self.out);
    }

    /// Adds an order to store the next version of a key.
    fn store(&mut self, key: u32, due: u64, now: u64) {
        let shared = &self.shared;
        let version = shared.versions.issue(key);
        let token = self.digest.ask(Pending {
            key,
            version,
            stores: true,
            due,
            sent: now,
        });
        let length = shared.values.length(key, version);
        shared.plan.dialect.store(
            token,
            |out| shared.keys.write(key, out),
            length,
            |out| shared.values.write(key, version, length, out),
            &mut self.out,
        );
    }

    /// Sends as much as the socket takes.
    fn flush(&mut self) -> Result<(), Failure> {
        let Some(mut stream) = self.stream.as_ref() else {
            return Err(Failure::Closed);
        };
        while self.sent < self.out.len() {
            match stream.write(&self.out[self.sent..]) {
                Ok(count) => {
                    self.sent += count;
                    self.digest.bytes_sent += count as u64;
                }
                Err(error) if error.kind() == io::ErrorKind::TimedOut => return Ok(()),
                Err(error) => return Err(error.into()),
            }
        }
        self.out.clear();
        self.sent = 0;
        Ok(())
    }

    /// Waits for answers, or for the next thing to do, and takes what has come.
    fn receive(&mut self) -> Result<(), Failure> {
        let now = self.shared.clock.now();
        let deadline = self.set_deadline(now)?;
        let Some(stream) = self.stream.as_ref() else {
            return Err(Failure::Closed);
        };
        if self.sent < self.out.len() {
            let both = Readiness::from_bits(Readiness::READ.bits() | Readiness::WRITE.bits());
            let mut fds = [PollFd::new(stream, both)];
            let ready = fibre::io::poll_until(&mut fds, self.shared.clock.instant(deadline))?;
            if ready == 0 || fds[0].readiness() == Readiness::WRITE {
                return Ok(());
            }
        }
        match stream.read_with(|| self.shared.buffers.take()) {
            Ok((_, 0)) => Err(Failure::Closed),
            Ok((buffer, count)) => self.digest.take(&self.shared, &buffer[..count]),
            Err(error) if error.kind() == io::ErrorKind::TimedOut => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Sees to it that waiting ends when it has to, or before, and says when; fails if an answer is
    /// overdue. An earlier deadline is left, so that a busy connection seldom sets one.
    fn set_deadline(&mut self, now: u64) -> Result<u64, Failure> {
        let timeout = nanoseconds(self.shared.plan.timeout);
        let oldest = self.digest.pending.front();
        let overdue = oldest.map_or(u64::MAX, |oldest| oldest.sent.saturating_add(timeout));
        if overdue <= now {
            return Err(Failure::TimedOut);
        }
        let has_room =
            self.digest.pending.len() < self.window() && self.out.len() - self.sent < BACKLOG;
        let due = if has_room { self.next_due() } else { None };
        let wanted = overdue.min(due.unwrap_or(u64::MAX));
        if self.deadline > wanted || self.deadline <= now {
            self.deadline = wanted;
            if let Some(stream) = &self.stream {
                stream.set_read_deadline(Some(self.shared.clock.instant(wanted)));
            }
        }
        Ok(self.deadline)
    }

    /// The connection is of no more use, and what was under way on it is lost.
    fn lose(&mut self, failure: Failure) {
        self.stream = None;
        self.has_lost = true;
        if let (Work::Preload { next }, Some(oldest)) =
            (&mut self.work, self.digest.pending.front())
        {
            *next = oldest.key; // they are sent in order
        }
        self.out.clear();
        self.sent = 0;
        self.digest.lose(&self.shared, failure);
    }

    /// What was due within the measured time and is still not sent counts with the time it has
    /// waited.
    fn settle(&mut self) {
        let end = self.shared.clock.end();
        let Work::Mix {
            left,
            pace: Pace::Open(schedule),
        } = &mut self.work
        else {
            return;
        };
        let mut tally = self.shared.tally(self.digest.processor);
        while *left > 0 && schedule.next() < end {
            let due = schedule.next();
            if self.shared.clock.counts(due) {
                tally.counts.unsent += 1;
                tally.gets.add(end - due);
            }
            schedule.advance();
            *left -= 1;
        }
    }
}
