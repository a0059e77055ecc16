//! Clients of `http_cache` in a closed loop. Each asks for ten files on a connection, closes it,
//! and opens the next one: the load of the paper, section 5.1. A client is a fibre.
//!
//! All sizes are checked, and how each body begins and ends. Prints one line of JSON.

#[allow(dead_code, reason = "a part is the server's")]
#[path = "../http_cache/specweb.rs"]
mod specweb;

use clap::Parser;
use fastrand::Rng;
use fibre::net::TcpStream;
use specweb::{DIRECTORIES, File};
use std::io::{self, Read, Write};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// Asks a server for the files of SPECweb99's mix
#[derive(Parser)]
#[command(version)]
struct Arguments {
    /// Where the server listens
    address: SocketAddr,

    /// Clients at a time
    #[arg(long, default_value_t = 800)]
    clients: u64,

    /// Requests of a connection
    #[arg(long, default_value_t = 10)]
    requests: u64,

    /// Seconds before it counts
    #[arg(long, default_value_t = 1.0)]
    warm_up: f64,

    /// Seconds that it counts
    #[arg(long, default_value_t = 2.0)]
    seconds: f64,
}

/// What all clients share.
#[derive(Default)]
struct Counts {
    is_over: AtomicBool,
    requests: AtomicU64,
    bytes: AtomicU64,
    failures: AtomicU64,
}

fn main() -> io::Result<()> {
    let arguments = Arguments::parse();
    let cluster = fibre::Cluster::builder().processors(1).build()?;
    let counts = Arc::new(Counts::default());
    let clients: Vec<_> = (0..arguments.clients)
        .map(|number| {
            let counts = Arc::clone(&counts);
            let (address, requests) = (arguments.address, arguments.requests);
            cluster.spawn(move || ask_on(address, requests, number, &counts))
        })
        .collect();
    std::thread::sleep(Duration::from_secs_f64(arguments.warm_up));
    // The harness reads the server's clock between these lines.
    println!("counting");
    let (before, started) = (counts.read(), Instant::now());
    std::thread::sleep(Duration::from_secs_f64(arguments.seconds));
    let (after, seconds) = (counts.read(), started.elapsed().as_secs_f64());
    let [requests, bytes, failures] = [0, 1, 2].map(|index| after[index] - before[index]);
    println!(
        "{{\"requests\":{requests},\"bytes\":{bytes},\"failures\":{failures},\"seconds\":{seconds}}}"
    );
    counts.is_over.store(true, Relaxed);
    clients.into_iter().for_each(drop);
    cluster.stop();
    Ok(())
}

impl Counts {
    /// Requests, bytes and failures up to now.
    fn read(&self) -> [u64; 3] {
        [&self.requests, &self.bytes, &self.failures].map(|count| count.load(Relaxed))
    }
}

/// One client, until all is over.
fn ask_on(address: SocketAddr, requests: u64, number: u64, counts: &Counts) {
    let mut random = Rng::with_seed(number);
    let mut room = vec![0; 64 * 1024];
    while !counts.is_over.load(Relaxed) {
        if let Err(error) = converse(address, requests, &mut random, &mut room, counts) {
            if counts.failures.fetch_add(1, Relaxed) == 0 {
                eprintln!("a client fails: {error}");
            }
            fibre::sleep(Duration::from_millis(10));
        }
    }
}

/// One connection.
fn converse(
    address: SocketAddr,
    requests: u64,
    random: &mut Rng,
    room: &mut [u8],
    counts: &Counts,
) -> io::Result<()> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_nodelay(true)?;
    for _ in 0..requests {
        let file = File::chosen(
            DIRECTORIES,
            [random.u64(..), random.u64(..), random.u64(..)],
        );
        let path = file.path();
        write!(stream, "GET /{path} HTTP/1.1\r\nHost: {address}\r\n\r\n")?;
        receive(&mut stream, file, path.as_bytes(), room)?;
        counts.requests.fetch_add(1, Relaxed);
        counts.bytes.fetch_add(file.size() as u64, Relaxed);
        if counts.is_over.load(Relaxed) {
            break;
        }
    }
    Ok(())
}

/// Takes an answer, which is to be this file.
fn receive(stream: &mut TcpStream, file: File, path: &[u8], room: &mut [u8]) -> io::Result<()> {
    let wrong = |what: &str| io::Error::other(format!("{}: {what}", file.path()));
    let mut filled = 0;
    let head = loop {
        let count = stream.read(&mut room[filled..])?;
        filled += count;
        match room[..filled].windows(4).position(|end| end == b"\r\n\r\n") {
            Some(at) => break at + 4,
            None if count == 0 => return Err(wrong("no answer")),
            None => {}
        }
    };
    let begin = &room[head..filled];
    let compared = path.len().min(begin.len()).min(file.size());
    if !room.starts_with(b"HTTP/1.1 200") || path[..compared] != begin[..compared] {
        return Err(wrong("another answer"));
    }
    let mut left = (head + file.size())
        .checked_sub(filled)
        .ok_or_else(|| wrong("too long"))?;
    while left > 0 {
        let most = left.min(room.len());
        match stream.read(&mut room[..most])? {
            0 => return Err(wrong("too short")),
            count => left -= count,
        }
    }
    Ok(())
}
