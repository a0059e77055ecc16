//! The two servers of the paper, section 4, and their client.
//!
//! *Echo*: a message comes back as it is. *Counter*: a request of one byte, 0 to read the counter
//! and 1 to add one to it; the answer is the value in eight bytes, the least significant first.

use std::io::{self, Read as _, Write as _};
use std::net::SocketAddr;
use std::sync::Arc;

use anyhow::{Context as _, anyhow, ensure};
use fibre::net::TcpStream;
use fibre::sync::Barrier;
use fibre::{Cluster, JoinHandle};

use crate::measure::{CpuClock, Sample, Stopwatch};

/// The request that asks for the counter's value.
pub const READ: u8 = 0;
/// The request that adds one to the counter, and asks for its new value.
pub const INCREMENT: u8 = 1;

/// What the client sends.
#[derive(Debug, Clone, Copy)]
pub struct Load {
    /// Connections, each with a fibre that sends and waits for the answer.
    pub connections: usize,
    /// Messages on each.
    pub messages: u64,
    /// What they are.
    pub kind: Kind,
}

/// What messages are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// So many bytes that come back.
    Echo(usize),
    /// Requests to the counter; so many in a hundred read it.
    Counter(u64),
}

impl Load {
    /// Puts the load on a server. An operation is a message with its answer; opening the
    /// connections does not count. The number is that of the increments. Blocks the thread.
    ///
    /// # Errors
    ///
    /// When a connection fails, or an answer is wrong.
    pub fn put_on(self, address: SocketAddr) -> anyhow::Result<(Sample, u64)> {
        self.put_on_process(address, &[CpuClock::own()])
    }

    /// As [`put_on`](Self::put_on), with the CPU time that these clocks count together: for a
    /// server in another process.
    ///
    /// # Errors
    ///
    /// When a connection fails, an answer is wrong, or a clock cannot be read.
    pub fn put_on_process(
        self,
        address: SocketAddr,
        clocks: &[CpuClock],
    ) -> anyhow::Result<(Sample, u64)> {
        let client = Cluster::builder().processors(1).name("client").build()?;
        let begin = Arc::new(Barrier::new(self.connections + 1));
        let connect = |number| {
            let begin = Arc::clone(&begin);
            client.spawn(move || self.drive(address, number, &begin))
        };
        let connections: Vec<_> = (0..self.connections as u64).map(connect).collect();
        begin.wait();
        let watch = Stopwatch::start_on(clocks)?;
        let increments: u64 = join_all(connections)?.into_iter().sum();
        let sample = watch.stop(self.connections as u64 * self.messages)?;
        client.stop();
        Ok((sample, increments))
    }

    /// One connection. Returns how many increments it has sent.
    fn drive(self, address: SocketAddr, number: u64, begin: &Barrier) -> anyhow::Result<u64> {
        let opened = TcpStream::connect(address).and_then(|stream| {
            stream.set_nodelay(true)?;
            Ok(stream)
        });
        // Before an error is reported, or the others would wait for ever.
        begin.wait();
        let mut stream = opened.context("connecting")?;
        match self.kind {
            Kind::Echo(bytes) => {
                let message: Vec<u8> = (b'a'..=b'z').cycle().take(bytes).collect();
                let mut answer = vec![0; bytes];
                for _ in 0..self.messages {
                    stream.write_all(&message)?;
                    stream.read_exact(&mut answer)?;
                    ensure!(answer == message, "another message came back");
                }
                Ok(0)
            }
            Kind::Counter(reads) => self.count(&mut stream, number, reads),
        }
    }

    /// The requests of one connection to the counter.
    fn count(self, stream: &mut TcpStream, number: u64, reads: u64) -> anyhow::Result<u64> {
        let (mut increments, mut least) = (0, 0);
        for message in 0..self.messages {
            // Multiples of 37 go through all hundredths.
            let is_read = (message + number) * 37 % 100 < reads;
            let request = if is_read { READ } else { INCREMENT };
            stream.write_all(&[request])?;
            let mut answer = [0; 8];
            stream.read_exact(&mut answer)?;
            let value = u64::from_le_bytes(answer);
            let fits = if is_read {
                value >= least
            } else {
                value > least
            };
            ensure!(fits, "the counter went from {least} to {value}");
            least = value;
            increments += u64::from(!is_read);
        }
        Ok(increments)
    }
}

/// Joins fibres that may fail.
fn join_all(fibres: Vec<JoinHandle<anyhow::Result<u64>>>) -> anyhow::Result<Vec<u64>> {
    let joined = fibres.into_iter().map(|fibre| {
        let ended = fibre.join().map_err(|_| anyhow!("a connection panicked"));
        ended.and_then(|result| result)
    });
    joined.collect()
}

/// The bytes of an answer.
#[must_use]
pub fn answer(value: u64) -> [u8; 8] {
    value.to_le_bytes()
}

/// The request in a byte: whether it reads.
///
/// # Errors
///
/// If it is none.
pub fn is_read(request: u8) -> io::Result<bool> {
    match request {
        READ => Ok(true),
        INCREMENT => Ok(false),
        other => Err(io::Error::other(format!("{other} is no request"))),
    }
}

/// Checks that the counter has counted each increment.
///
/// # Errors
///
/// If it has not.
pub fn check(counter: u64, increments: u64) -> anyhow::Result<()> {
    ensure!(
        counter == increments,
        "the counter is {counter} after {increments} increments"
    );
    Ok(())
}
