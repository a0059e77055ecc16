//! The proxy: clients send 64 bytes and wait for them to come back; in the middle of that the proxy
//! is told to end, and each client goes on for a while.

use std::io::{self, Read, Write};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use fibre::net::{TcpListener, TcpStream};
use fibre::{Cluster, Group, GroupError};
use hdrhistogram::Histogram;

use crate::service::{Service, latencies, reading};
use crate::{Options, Reading};

/// Bytes of a request.
const BYTES: usize = 64;

/// Requests that each client makes after the signal.
const AFTER: usize = 20;

/// A backend that sends back what it gets, until it is dropped with its cluster.
fn echo(cluster: &Cluster) -> io::Result<TcpListener> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let accepting = listener.try_clone()?;
    let accept = move || {
        for (stream, _) in accepting.connections() {
            fibre::spawn(move || fibre::io::copy(&stream, &stream));
        }
    };
    drop(cluster.spawn(accept));
    Ok(listener)
}

/// Sends a request, and waits for the answer, which must be the same.
fn exchange(mut stream: &TcpStream, request: &[u8; BYTES]) -> io::Result<()> {
    let mut answer = [0; BYTES];
    stream.write_all(request)?;
    stream.read_exact(&mut answer)?;
    match answer == *request {
        true => Ok(()),
        false => Err(io::Error::other("a wrong answer")),
    }
}

/// One client, until it has been told of the end, and for a while longer.
fn client(address: SocketAddr, number: usize, stops: &AtomicBool) -> io::Result<Vec<u64>> {
    let stream = TcpStream::connect(address)?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(Duration::from_secs(30)))?;
    let (mut times, mut left) = (Vec::new(), AFTER);
    let request = [number as u8; BYTES];
    while left > 0 {
        if stops.load(Ordering::Relaxed) {
            left -= 1;
        }
        let begun = Instant::now();
        exchange(&stream, &request)?;
        times.push(begun.elapsed().as_nanos() as u64);
    }
    Ok(times)
}

/// Runs all clients.
fn load(
    options: &Options,
    address: SocketAddr,
    stops: &AtomicBool,
) -> Result<Vec<Vec<u64>>, GroupError<io::Error>> {
    Group::builder().run(|group| {
        for number in 0..options.clients {
            group.spawn(move || client(address, number, stops));
        }
        Ok(group.results().collect())
    })
}

/// Measures the proxy at a path.
pub(crate) fn measure(options: &Options, path: &str) -> anyhow::Result<Reading> {
    let cluster = Cluster::builder().processors(1).name("load").build()?;
    let backend = echo(&cluster)?;
    let told = backend.local_addr()?.to_string();
    let mut service = Service::start(options, path, &["--backend", &told])?;
    let address = service.address()?;
    let stops = AtomicBool::new(false);
    let loaded = std::thread::scope(|scope| {
        let loading = scope.spawn(|| load(options, address, &stops));
        std::thread::sleep(Duration::from_secs_f64(options.seconds));
        // Each client then makes requests of a proxy that is ending.
        let told = service.terminate();
        stops.store(true, Ordering::Relaxed);
        let loaded = loading.join();
        told.map(|()| loaded)
    })?;
    let loaded = loaded.ok().context("the load has panicked")?;
    let loaded = loaded.context("a request has failed, or was lost at the end")?;
    ensure!(loaded.len() == options.clients, "not all clients came back");
    let mut times: Histogram<u64> = latencies()?;
    for time in loaded.into_iter().flatten() {
        times.record(time)?;
    }
    let (_, cpu) = service.end()?;
    backend.close();
    cluster.stop_within(Duration::from_secs(5), Duration::from_secs(5))?;
    reading(cpu, &times)
}
