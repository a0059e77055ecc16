//! Servers that may open 48 descriptors, and more clients than that.
//!
//! Each is a program of this repository that others begin theirs with, as a process of its own.
//! While the clients stay it has no descriptor left, and must not burn a CPU; when they have gone
//! it answers again. The examples are built on first use, with the profile of this test.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test fails by panicking"
)]

use rustix::process::{Resource, Rlimit, setrlimit};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// The most descriptors of a server.
const DESCRIPTORS: u64 = 48;

/// How many clients come: more than a server can have.
const CLIENTS: usize = 60;

/// How long a server may take for anything, beside whatever else the machine does.
const PATIENCE: Duration = Duration::from_secs(60);

/// For how long a server without descriptors is watched.
const WATCHED: Duration = Duration::from_secs(2);

/// A request of HTTP.
const GET: &[u8] = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";

/// A server that runs, and is killed when this is dropped.
struct Server {
    process: Child,
    address: SocketAddr,
}

impl Server {
    /// Starts a program with few descriptors. It says first where it listens.
    fn start(program: &Path, arguments: &[&str]) -> Self {
        let limit = Rlimit {
            current: Some(DESCRIPTORS),
            maximum: Some(DESCRIPTORS),
        };
        let mut command = Command::new(program);
        command
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        // SAFETY: between fork and exec the closure makes one system call, and neither allocates
        // nor takes a lock.
        unsafe { command.pre_exec(move || Ok(setrlimit(Resource::Nofile, limit)?)) };
        let mut process = command.stderr(Stdio::null()).spawn().unwrap();
        let mut line = String::new();
        let mut output = BufReader::new(process.stdout.take().unwrap());
        output.read_line(&mut line).unwrap();
        // Its further lines go nowhere, and are no reason to end.
        std::thread::spawn(move || std::io::copy(&mut output, &mut std::io::sink()));
        let address = line.trim().rsplit([' ', '/']).next().unwrap();
        let address = address.parse().expect(&line);
        Self { process, address }
    }

    /// How many descriptors it has open.
    fn open(&self) -> usize {
        self.seen().fd_count().unwrap()
    }

    /// How much CPU time it has taken.
    fn cpu_time(&self) -> Duration {
        let stat = self.seen().stat().unwrap();
        Duration::from_millis((stat.utime + stat.stime) * 1000 / procfs::ticks_per_second())
    }

    /// The process, as `/proc` shows it.
    fn seen(&self) -> procfs::process::Process {
        procfs::process::Process::new(self.process.id().cast_signed()).unwrap()
    }

    /// Whether a new client gets an answer to this within a second.
    fn answers(&self, request: &[u8]) -> bool {
        let asked = TcpStream::connect(self.address).and_then(|mut client| {
            client.set_read_timeout(Some(Duration::from_secs(1)))?;
            client.write_all(request)?;
            client.read(&mut [0; 64])
        });
        asked.is_ok_and(|count| count > 0)
    }

    /// Waits until a new client gets an answer.
    fn expect_answer(&self, request: &[u8], when: &str) {
        eventually(when, || self.answers(request));
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Waits until something is so.
#[track_caller]
fn eventually(what: &str, mut is_so: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !is_so() {
        assert!(Instant::now() < deadline, "{what}");
        sleep(Duration::from_millis(20));
    }
}

/// Takes all descriptors of a server, and gives them back.
fn starve(program: &Path, arguments: &[&str], request: &[u8]) {
    let server = Server::start(program, arguments);
    server.expect_answer(request, "it answers in the beginning");
    let clients: Vec<_> = (0..CLIENTS)
        .map(|_| TcpStream::connect(server.address).unwrap())
        .collect();
    eventually("it has no descriptor left", || {
        server.open() >= DESCRIPTORS as usize
    });
    // Whatever it does then it has begun to do.
    sleep(Duration::from_millis(200));
    let before = server.cpu_time();
    sleep(WATCHED);
    let used = server.cpu_time() - before;
    assert!(used < WATCHED / 20, "{used:?} of CPU time in {WATCHED:?}");
    drop(clients);
    server.expect_answer(request, "it answers afterwards");
}

/// The directory of the programs that are built with this test, `target/PROFILE`.
fn programs() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let programs = test.parent().and_then(Path::parent);
    programs.expect("target/PROFILE/deps/test").to_owned()
}

/// An example of a package, built if need be.
fn example(package: &str, name: &str) -> PathBuf {
    let programs = programs();
    if std::env::var_os("XTASK_EXAMPLES_ARE_BUILT").is_some() {
        return programs.join("examples").join(name);
    }
    let name_of = |path: &Path| path.file_name().unwrap().to_str().unwrap().to_owned();
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["build", "--quiet", "--package", package, "--example", name]);
    cargo
        .arg("--profile")
        .arg(match name_of(&programs).as_str() {
            "debug" => "dev",
            other => other,
        });
    let mut target = programs.parent().unwrap();
    if name_of(target).contains("-linux-") {
        cargo.arg("--target").arg(name_of(target));
        target = target.parent().unwrap();
    }
    cargo.arg("--target-dir").arg(target);
    cargo.current_dir(env!("CARGO_MANIFEST_DIR"));
    assert!(cargo.status().unwrap().success(), "{name} does not build");
    programs.join("examples").join(name)
}

#[test]
fn echo() {
    starve(
        &example("fibre-rt", "echo"),
        &["--addr", "127.0.0.1:0"],
        b"hello",
    );
}

#[test]
fn graceful() {
    starve(
        &example("fibre-rt", "graceful"),
        &["--addr", "127.0.0.1:0"],
        b"hello",
    );
}

#[test]
fn webserver() {
    starve(
        &example("fibre-rt", "webserver"),
        &["--addr", "127.0.0.1:0"],
        GET,
    );
}

#[test]
fn hyper() {
    starve(
        &example("fibre-hyper", "http"),
        &["--address", "127.0.0.1:0"],
        GET,
    );
}

#[test]
fn hyper_on_tokio() {
    starve(
        &example("fibre-hyper", "http_tokio"),
        &["--address", "127.0.0.1:0"],
        GET,
    );
}

#[test]
fn tasks_echo() {
    starve(
        &example("fibre-tasks", "echo_server"),
        &["--port", "0"],
        b"hello",
    );
}

#[test]
fn tasks_counter() {
    starve(
        &example("fibre-tasks", "counter_server"),
        &["--port", "0"],
        b"\x01",
    );
}

#[test]
fn tasks_broadcast() {
    starve(
        &example("fibre-tasks", "broadcast"),
        &["--port", "0"],
        b"hello",
    );
}

#[test]
fn events_hello() {
    starve(&example("fibre-events", "hello_events"), &["0"], GET);
}

#[test]
fn events_sws() {
    starve(&example("fibre-events", "sws"), &["--port", "0"], GET);
}

#[test]
fn events_http_cache() {
    starve(
        &example("fibre-events", "http_cache"),
        &["--port", "0", "--root", "."],
        GET,
    );
}

#[test]
fn events_proxy() {
    starve(&example("fibre-events", "proxy"), &["--port", "0"], GET);
}

#[test]
fn https() {
    let program = Path::new(env!("CARGO_BIN_EXE_https"));
    // The beginning of a handshake that cannot go on: the answer is an alert.
    let nonsense = b"\x16\x03\x01\x00\x04\x01\x00\x00\x00";
    starve(program, &["--addr", "127.0.0.1:0"], nonsense);
}

#[test]
fn chat() {
    let program = Path::new(env!("CARGO_BIN_EXE_chat"));
    let upgrade = b"GET /echo HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\n\
        Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\
        Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";
    starve(program, &["--addr", "127.0.0.1:0"], upgrade);
}
