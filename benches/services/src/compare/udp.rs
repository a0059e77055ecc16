//! The UDP service: clients ask and wait, each with one question at a time. Each has its answer
//! before the service is told to end: of what is on its way then, nobody knows whether it came.

use std::env::temp_dir;
use std::fs;
use std::net::UdpSocket;
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};

use crate::service::{Service, latencies, reading};
use crate::{Options, Reading};

/// Clients, as many as programs may run.
const CLIENTS: usize = 4;

/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// The file with the greeting, while it is there.
struct Greeting(PathBuf);

impl Greeting {
    fn write() -> anyhow::Result<Self> {
        let greeting = Self(temp_dir().join(format!("fibre-compare-{}", process::id())));
        fs::write(&greeting.0, "hello")?;
        Ok(greeting)
    }

    fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Greeting {
    fn drop(&mut self) {
        // Of what is left in the folder for temporary files nobody need be told.
        let _ = fs::remove_file(&self.0);
    }
}

/// Asks until it is told to stop.
fn client(socket: &UdpSocket, stops: &AtomicBool) -> anyhow::Result<Vec<u64>> {
    let mut times = Vec::new();
    let mut buffer = [0; 100];
    while !stops.load(Ordering::Relaxed) {
        let begun = Instant::now();
        socket.send(b"Ada")?;
        let length = socket.recv(&mut buffer).context("an answer is missing")?;
        ensure!(&buffer[..length] == b"hello Ada\n", "a wrong answer");
        times.push(begun.elapsed().as_nanos() as u64);
    }
    Ok(times)
}

/// Measures the service at a path.
pub(crate) fn measure(options: &Options, path: &str) -> anyhow::Result<Reading> {
    let greeting = Greeting::write()?;
    let greeting = greeting.path().to_str().context("a path that is no text")?;
    let mut service = Service::start(options, path, &["--greeting", greeting])?;
    let address = service.address()?;
    let stops = AtomicBool::new(false);
    let mut sockets = Vec::new();
    for _ in 0..CLIENTS {
        let socket = UdpSocket::bind("127.0.0.1:0")?;
        socket.connect(address)?;
        socket.set_read_timeout(Some(PATIENCE))?;
        sockets.push(socket);
    }
    let mut times = latencies()?;
    thread::scope(|scope| {
        let clients: Vec<_> = sockets
            .iter()
            .map(|socket| scope.spawn(|| client(socket, &stops)))
            .collect();
        thread::sleep(Duration::from_secs_f64(options.seconds));
        stops.store(true, Ordering::Relaxed);
        for client in clients {
            for time in client.join().ok().context("a client has panicked")?? {
                times.record(time)?;
            }
        }
        anyhow::Ok(())
    })?;
    service.terminate()?;
    let (_, cpu) = service.end()?;
    reading(cpu, &times)
}
