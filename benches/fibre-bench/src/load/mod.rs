//! The load generator: a closed loop of clients on one thread, or a few.
//!
//! Each connection sends, waits for the whole answer, and sends again. A
//! request costs the generator one `send`, one `recv` and its share of one
//! `epoll_wait`: sockets are registered once, edge-triggered, and an answer
//! goes straight into the next request. So one core of load can keep a server
//! on another core busy, and what is measured is the server.
//!
//! A run has two steps. *Opening*: all connections are opened, no more than a
//! small window of them at a time, and each has one request answered and then
//! rests. *Driving*: all of them send at once; after the warm-up the counting
//! begins, and with it the reading of the server's CPU clock, in the same turn
//! of the loop. A connection that fails in either step is counted and not
//! replaced: a run with failures is no measurement.
//!
//! [`Plan`] is the closed loop, [`Probe`] the delay of one connection while
//! others keep the server from its work, and [`Summary`] what either saw.

mod connection;
mod driver;
mod exchange;
mod failure;
mod plan;
mod probe;
mod summary;

use std::time::Instant;
use std::{io, thread};

use driver::Driver;
pub use exchange::Exchange;
pub use plan::{Lifetime, Plan, Stalls};
pub use probe::{Disturbance, Probe};
pub use summary::Summary;
use summary::Tally;

/// The load generator's line that says that its idle connections are all open.
pub const HOLDING: &str = "holding";

impl Plan {
    /// Opens all connections, drives them and says what came of it.
    ///
    /// # Errors
    ///
    /// When the generator itself fails. What goes wrong on a connection is in
    /// the summary.
    pub fn run(&self) -> io::Result<Summary> {
        let drivers = self.open()?;
        let begin = Instant::now() + self.warm_up;
        let mut clock = self.server;
        let each = drivers.into_iter().map(|driver| (driver, clock.take()));
        let tallies = in_parallel(each, |(driver, clock)| driver.drive(begin, clock))?;
        Ok(self.summary(Tally::merged(tallies)?))
    }

    /// Opens all connections, has one request answered on each, and keeps them
    /// at rest until `wait` returns. Does not wait if one could not be opened.
    ///
    /// # Errors
    ///
    /// When the generator itself fails or `wait` does.
    pub fn hold(&self, wait: impl FnOnce() -> io::Result<()>) -> io::Result<Summary> {
        let drivers = self.open()?;
        let started = Instant::now();
        if drivers.iter().all(Driver::is_whole) {
            wait()?;
        }
        let held = started.elapsed();
        let tallies = in_parallel(drivers, |driver| driver.release(held))?;
        Ok(Summary {
            requests_per_second: 0.0, // rest has no rate
            ..self.summary(Tally::merged(tallies)?)
        })
    }

    /// Opens the connections, each thread its share.
    fn open(&self) -> io::Result<Vec<Driver<'_>>> {
        let share = |thread| (self.connections + thread) / self.threads;
        in_parallel((0..self.threads).map(share), |share| {
            Driver::open(self, share)
        })
    }

    /// The summary of a tally of this plan.
    fn summary(&self, tally: Tally) -> Summary {
        tally.summary(self.connections)
    }
}

/// Does `work` on each item, each on a thread of its own; a single one on this
/// thread.
fn in_parallel<I, O>(
    items: impl IntoIterator<Item = I, IntoIter: ExactSizeIterator>,
    work: impl Fn(I) -> io::Result<O> + Sync,
) -> io::Result<Vec<O>>
where
    I: Send,
    O: Send,
{
    let items = items.into_iter();
    if items.len() == 1 {
        return items.map(work).collect();
    }
    let work = &work;
    thread::scope(|scope| {
        let threads: Vec<_> = items.map(|item| scope.spawn(move || work(item))).collect();
        let join = |thread: thread::ScopedJoinHandle<'_, io::Result<O>>| {
            let outcome = thread.join();
            outcome.unwrap_or_else(|_| Err(io::Error::other("a thread of the load panicked")))
        };
        threads.into_iter().map(join).collect()
    })
}
