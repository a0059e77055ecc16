//! Clients of `sfs_like` that each read a whole file over a connection of their own, and how fast
//! that went: the load of the papers, sections 5.2 and V-C.
//!
//! A client has two batches of reads under way. It checks the first answer of its connection and
//! the last one, and has the kernel throw away all between: a client that decrypts would take as
//! much of a shared machine as the server. Prints one line of JSON.

#[path = "../sfs_like/client.rs"]
mod client;
#[allow(dead_code, reason = "a part is the server's")]
#[path = "../sfs_like/seal.rs"]
mod seal;
#[allow(dead_code, reason = "a part is the server's")]
#[path = "../sfs_like/wire.rs"]
mod wire;

use clap::Parser;
use client::Connection;
use rustix::net::{RecvFlags, recv};
use seal::{LENGTH, TAG};
use std::io::{self, Read, Write};
use std::net::SocketAddr;
use std::ops::Range;
use std::thread;
use std::time::Instant;
use wire::{MOST, Status, Wish, pattern};

/// Reads the file `pattern` from a server, once for each client
#[derive(Parser)]
#[command(version)]
struct Arguments {
    /// Where the server listens
    address: SocketAddr,

    /// Clients, each with a connection
    #[arg(long, default_value_t = 16)]
    clients: usize,

    /// Reads of a batch
    #[arg(long, default_value_t = 4)]
    batch: u64,
}

fn main() -> io::Result<()> {
    let arguments = Arguments::parse();
    let open = |_| Connection::open(arguments.address, &[0; 32]);
    let connections = (0..arguments.clients).map(open);
    let connections = connections.collect::<io::Result<Vec<_>>>()?;
    let started = Instant::now();
    let read = |connection| {
        let batch = arguments.batch.max(1);
        thread::spawn(move || Reader::read_all(connection, batch))
    };
    let readers: Vec<_> = connections.into_iter().map(read).collect();
    let mut bytes = 0;
    for reader in readers {
        let read = reader
            .join()
            .map_err(|_| io::Error::other("a client panicked"))?;
        bytes += read?;
    }
    let seconds = started.elapsed().as_secs_f64();
    println!("{{\"bytes\":{bytes},\"seconds\":{seconds}}}");
    Ok(())
}

/// A client that reads a file.
struct Reader {
    connection: Connection,
    file: u64,
    size: u64,
    /// Where what is thrown away would go.
    nowhere: Vec<u8>,
}

impl Reader {
    /// Reads the file; returns its size.
    fn read_all(mut connection: Connection, batch: u64) -> io::Result<u64> {
        let (file, size) = connection.look_up("pattern")?;
        let mut reader = Self {
            connection,
            file,
            size,
            nowhere: vec![0; 1 << 20],
        };
        let reads = size.div_ceil(MOST as u64);
        let last = reads.saturating_sub(1);
        let batches = |first: u64| first..(first + batch).min(last);
        reader.check_first()?;
        let mut asked = batches(1.min(last));
        reader.ask(asked.clone())?;
        while !asked.is_empty() {
            let next = batches(asked.end);
            reader.ask(next.clone())?;
            reader.throw_away(asked)?;
            asked = next;
        }
        reader.check_last(last)?;
        Ok(size)
    }

    /// Where a read begins, and what it gets.
    fn part(&self, number: u64) -> (u64, usize) {
        let offset = number * MOST as u64;
        (offset, MOST.min((self.size - offset) as usize))
    }

    /// What a client wants by its read of this number.
    fn wish(&self, number: u64) -> Wish {
        Wish::Read {
            file: self.file,
            offset: self.part(number).0,
            count: MOST,
        }
    }

    /// Sends some reads.
    fn ask(&mut self, reads: Range<u64>) -> io::Result<()> {
        let mut frames = Vec::new();
        for number in reads {
            let wish = self.wish(number);
            frames.extend(self.connection.frame(Some(wish)));
        }
        self.connection.stream.write_all(&frames)
    }

    /// Lets their answers go by.
    fn throw_away(&mut self, reads: Range<u64>) -> io::Result<()> {
        let lengths = reads.map(|number| LENGTH + 5 + self.part(number).1 + TAG);
        let mut left: usize = lengths.sum();
        while left > 0 {
            let room = left.min(self.nowhere.len());
            let flags = RecvFlags::TRUNC | RecvFlags::WAITALL;
            let (_, count) = recv(&self.connection.stream, &mut self.nowhere[..room], flags)?;
            if count == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            left -= count;
        }
        Ok(())
    }

    /// Makes the first read, and looks at what it gets.
    fn check_first(&mut self) -> io::Result<()> {
        let wish = self.wish(0);
        let reply = self.connection.call(wish)?;
        self.check(0, reply.status == Status::Done, &reply.result)
    }

    /// The same for the last one; its answer is the server's frame of this number and two.
    fn check_last(&mut self, last: u64) -> io::Result<()> {
        if last == 0 {
            return Ok(());
        }
        self.ask(last..last + 1)?;
        let mut frame = vec![0; LENGTH + 5 + self.part(last).1 + TAG];
        self.connection.stream.read_exact(&mut frame)?;
        // One answer to the look-up comes before those to the reads.
        let opened = self.connection.channel.open_at(last + 1, &mut frame);
        let bytes = opened.map_err(|_| io::Error::other("a forged frame"))?;
        let bytes = bytes.to_vec();
        self.check(last, bytes[4] == Status::Done as u8, &bytes[5..])
    }

    /// Compares what a read has got with what the file has.
    fn check(&self, number: u64, is_done: bool, bytes: &[u8]) -> io::Result<()> {
        let (offset, count) = self.part(number);
        let mut offsets = offset..;
        let is_right = bytes
            .iter()
            .all(|&byte| offsets.next().map(pattern) == Some(byte));
        if is_done && bytes.len() == count && is_right {
            return Ok(());
        }
        Err(io::Error::other(format!(
            "read {number} got something else"
        )))
    }
}
