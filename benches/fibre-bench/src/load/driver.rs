//! The event loop of one thread of load.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use fastrand::Rng;
use rustix::event::Timespec;
use rustix::event::epoll::{self, CreateFlags, Event, EventFlags};
use rustix::io::Errno;

use super::connection::{Connection, Progress};
use super::failure::Failure;
use super::plan::{Lifetime, PATIENCE, Plan};
use super::summary::Tally;
use crate::measure::CpuClock;
use crate::random::exponential;
use fibre_measure::Turns;

/// Events taken from the kernel by one wait.
const EVENTS: usize = 256;

/// Connections that may be on their way at a time while all are opened: fewer
/// than the shortest usual backlog. As many failures end the opening.
const WINDOW: usize = 64;

/// How often connections are looked at for answers that are overdue.
const SWEEP: Duration = Duration::from_millis(250);

/// The seed of the moments when connections stall. It is the same for all servers.
const SEED: u64 = 1;

/// Room for the answers one read may take.
const BUFFER: usize = 64 << 10;

/// Which step the loop is in: what an answer leads to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Step {
    /// The connection rests.
    Opening,
    /// The next request goes out.
    Driving,
}

/// A thread's share of the connections.
pub(super) struct Driver<'a> {
    /// What is asked for.
    plan: &'a Plan,
    /// Where the connections are registered.
    epoll: OwnedFd,
    /// Client addresses.
    turns: Turns,
    /// The connections, by the number they are registered with; `None` for one
    /// that failed, or that ended with its exchange.
    connections: Vec<Option<Connection>>,
    /// How many have not failed.
    live: usize,
    /// How many have done all exchanges that were asked of them.
    finished: usize,
    /// How many wait for their first answer.
    opening: usize,
    /// What an answer leads to.
    step: Step,
    /// What every connection reads into.
    buffer: Vec<u8>,
    /// What was counted.
    tally: Tally,
    /// When overdue answers are looked for next.
    next_sweep: Instant,
    /// What decides when connections stall.
    random: Rng,
}

impl<'a> Driver<'a> {
    /// Opens `count` connections and has one request answered on each.
    pub(super) fn open(plan: &'a Plan, count: usize) -> io::Result<Self> {
        let mut driver = Self {
            plan,
            epoll: epoll::create(CreateFlags::CLOEXEC)?,
            turns: Turns::new(plan.address),
            connections: Vec::with_capacity(count),
            live: 0,
            finished: 0,
            opening: 0,
            step: Step::Opening,
            buffer: vec![0; BUFFER],
            tally: Tally::new()?,
            next_sweep: Instant::now() + SWEEP,
            random: Rng::with_seed(SEED),
        };
        while driver.opening > 0 || driver.may_open(count) {
            while driver.opening < WINDOW && driver.may_open(count) {
                driver.connections.push(None);
                driver.live += 1;
                driver.opening += 1;
                driver.connect(driver.connections.len() - 1)?;
            }
            let until = driver.next_sweep;
            driver.turn(Instant::now(), until)?;
        }
        Ok(driver)
    }

    /// Whether another connection is to be opened.
    fn may_open(&self, count: usize) -> bool {
        self.connections.len() < count && self.tally.failures.total() < WINDOW as u64
    }

    /// Whether no connection has failed.
    pub(super) fn is_whole(&self) -> bool {
        self.tally.failures.total() == 0
    }

    /// Runs the load and counts from `begin` on; reads `clock` when counting
    /// begins and when it ends.
    pub(super) fn drive(mut self, begin: Instant, clock: Option<CpuClock>) -> io::Result<Tally> {
        self.step = Step::Driving;
        if self.plan.lifetime == Lifetime::Exchange {
            self.connections.truncate(self.live); // all are closed by now
        }
        for index in 0..self.connections.len() {
            self.set_stall(index);
            self.next(index, Instant::now())?;
        }
        self.turn_until(begin)?;
        self.tally.begin(clock)?;
        self.turn_until(Instant::now() + self.plan.length)?;
        self.tally.end(clock)?;
        if matches!(self.plan.lifetime, Lifetime::Exchanges(_)) {
            let late = self.live.saturating_sub(self.finished);
            (0..late).for_each(|_| self.tally.failures.count(Failure::TimedOut));
        }
        Ok(self.tally)
    }

    /// Draws when a connection stalls first.
    fn set_stall(&mut self, index: usize) {
        if let (Some(stalls), Some(connection)) = (&self.plan.stalls, &mut self.connections[index])
        {
            let mean = stalls.mean.as_secs_f64();
            let first = Duration::from_secs_f64(exponential(&mut self.random, mean));
            connection.stall_due = Instant::now() + first;
        }
    }

    /// Ends connections that have been at rest for `held`, counting those that
    /// did not keep still.
    pub(super) fn release(mut self, held: Duration) -> io::Result<Tally> {
        let mut before = u64::MAX;
        while before != self.tally.failures.total() {
            before = self.tally.failures.total();
            let now = Instant::now();
            self.turn(now, now)?;
        }
        self.tally.length = held;
        Ok(self.tally)
    }

    /// Turns until then, or until no connection is left that has something to do.
    fn turn_until(&mut self, until: Instant) -> io::Result<()> {
        while self.live > self.finished {
            let now = Instant::now();
            if now >= until {
                break;
            }
            self.turn(now, until)?;
        }
        Ok(())
    }

    /// Waits for events, no longer than `until`, and handles them.
    fn turn(&mut self, now: Instant, until: Instant) -> io::Result<()> {
        if now >= self.next_sweep {
            self.sweep(now);
        }
        let patience = until.min(self.next_sweep).saturating_duration_since(now);
        let patience = Timespec {
            tv_sec: 0, // a sweep is never that far
            tv_nsec: patience.subsec_nanos().into(),
        };
        let mut space = [MaybeUninit::<Event>::uninit(); EVENTS];
        let events = match epoll::wait(&self.epoll, &mut space, Some(&patience)) {
            Err(Errno::INTR) => return Ok(()),
            waited => waited?.0,
        };
        for event in events {
            let data = event.data;
            self.attend(data.u64() as usize, event.flags)?;
        }
        Ok(())
    }

    /// Handles an event of one connection.
    fn attend(&mut self, index: usize, flags: EventFlags) -> io::Result<()> {
        let Some(connection) = &mut self.connections[index] else {
            return Ok(());
        };
        let exchange = match (&self.plan.stalls, connection.stalls) {
            (Some(stalls), true) => &stalls.exchange,
            _ => &self.plan.exchange,
        };
        match connection.proceed(exchange, flags, &mut self.buffer) {
            Progress::Waiting => Ok(()),
            Progress::Failed(failure) => {
                self.fail(index, failure);
                Ok(())
            }
            Progress::Answered => {
                let now = Instant::now();
                let latency = now - connection.began;
                if !connection.stalls {
                    self.tally.count(self.plan.exchange.requests, latency);
                }
                self.answered(index, now)
            }
        }
    }

    /// A connection has come to rest: what follows.
    fn answered(&mut self, index: usize, now: Instant) -> io::Result<()> {
        let is_over = match (self.plan.lifetime, &self.connections[index]) {
            (Lifetime::Exchange, _) => true,
            (Lifetime::Reopened(exchanges), Some(connection)) => connection.begun + 1 >= exchanges,
            _ => false,
        };
        if is_over {
            self.connections[index] = None; // closes it
        }
        match self.step {
            Step::Driving => self.next(index, now),
            Step::Opening => {
                self.opening -= 1;
                let kept = self.connections[index].as_ref();
                kept.map_or(Ok(()), Connection::set_nodelay)
            }
        }
    }

    /// Begins the next exchange of a connection that has not failed.
    fn next(&mut self, index: usize, now: Instant) -> io::Result<()> {
        let Some(connection) = &mut self.connections[index] else {
            return match self.plan.lifetime {
                Lifetime::Exchange | Lifetime::Reopened(_) => self.connect(index),
                Lifetime::Run | Lifetime::Exchanges(_) => Ok(()),
            };
        };
        if self.plan.lifetime == Lifetime::Exchanges(connection.begun) {
            self.finished += 1;
            return Ok(());
        }
        let stalls = self.plan.stalls.as_ref();
        let stalls = stalls.filter(|_| now >= connection.stall_due);
        connection.stalls = stalls.is_some();
        if let Some(stalls) = stalls {
            let mean = stalls.mean.as_secs_f64();
            connection.stall_due += Duration::from_secs_f64(exponential(&mut self.random, mean));
        }
        let exchange = stalls.map_or(&self.plan.exchange, |stalls| &stalls.exchange);
        match connection.begin(exchange, now) {
            Ok(()) => connection.ask_for_room(exchange, &self.epoll, index),
            Err(failure) => {
                self.fail(index, failure);
                Ok(())
            }
        }
    }

    /// Opens connection number `index` and begins its first exchange.
    fn connect(&mut self, index: usize) -> io::Result<()> {
        let exchange = &self.plan.exchange;
        match Connection::open(&mut self.turns, exchange, &self.epoll, index)? {
            Ok(connection) => self.connections[index] = Some(connection),
            Err(failure) => self.fail(index, failure),
        }
        Ok(())
    }

    /// Gives a connection up.
    fn fail(&mut self, index: usize, failure: Failure) {
        let opening = self.step == Step::Opening
            && self.connections[index]
                .take()
                .is_none_or(|connection| connection.waiting);
        self.opening -= usize::from(opening);
        self.connections[index] = None;
        self.live -= 1;
        self.tally.failures.count(failure);
    }

    /// Gives up connections with an overdue answer.
    fn sweep(&mut self, now: Instant) {
        self.next_sweep = now + SWEEP;
        for index in 0..self.connections.len() {
            let overdue = self.connections[index].as_ref().is_some_and(|connection| {
                connection.waiting && now.saturating_duration_since(connection.began) > PATIENCE
            });
            if overdue {
                self.fail(index, Failure::TimedOut);
            }
        }
    }
}
