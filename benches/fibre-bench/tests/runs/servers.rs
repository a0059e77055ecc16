//! Every server gives the same bytes for the same requests, however they
//! arrive and whatever options it is given, and ends when its input is closed.
//! Otherwise their figures could not be compared.

use crate::support;

use std::io::{self, Read as _, Write as _};
use std::net::{Shutdown, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use fibre_bench::http::ANSWER;
use fibre_bench::serving::is_uring_allowed;
use support::Server;

/// An ordinary request.
const REQUEST: &[u8] = b"GET /plaintext HTTP/1.1\r\nHost: test\r\n\r\n";

/// Requests sent before the first answer is read: more than both socket
/// buffers hold.
const FLOOD: usize = 200_000;

/// How long a special request keeps its handler busy.
const WORK: Duration = Duration::from_millis(50);

impl Server {
    /// A new connection.
    fn connect(&self) -> io::Result<TcpStream> {
        let stream = TcpStream::connect(&self.address)?;
        stream.set_nodelay(true)?;
        Ok(stream)
    }

    /// Closes the server's input. It has to end well then.
    fn end(mut self) -> io::Result<()> {
        drop(self.child.stdin.take());
        assert!(self.child.wait()?.success());
        Ok(())
    }
}

/// Reads `count` answers and nothing else.
fn expect_answers(stream: &mut TcpStream, count: usize) -> io::Result<()> {
    let mut answer = [0; ANSWER.len()];
    for index in 0..count {
        stream.read_exact(&mut answer)?;
        assert_eq!(&answer, ANSWER, "answer {index}");
    }
    Ok(())
}

/// Sends `bytes` from another thread and then the end of the stream.
fn flood(stream: &TcpStream, bytes: Vec<u8>) -> io::Result<thread::JoinHandle<io::Result<()>>> {
    let mut writer = stream.try_clone()?;
    Ok(thread::spawn(move || {
        writer.write_all(&bytes)?;
        writer.shutdown(Shutdown::Write)
    }))
}

/// Everything that is asked of every server.
fn check(path: &str) -> io::Result<()> {
    check_requests(path, &[])?;
    check_requests(path, &["127.0.0.1:0", "--processors", "2"])?;
    check_work(path)?;
    check_echo(path, &["--echo"])?;
    check_echo(path, &["--echo", "--processors", "2", "--small-buffer"])
}

/// Requests whole, in single bytes, in batches, and more than fit.
fn check_requests(path: &str, arguments: &[&str]) -> io::Result<()> {
    let server = Server::start(path, arguments)?;
    let streams: io::Result<Vec<_>> = (0..8).map(|_| server.connect()).collect();
    for stream in &mut streams? {
        for _ in 0..3 {
            stream.write_all(REQUEST)?;
            expect_answers(stream, 1)?;
        }
    }
    let mut stream = server.connect()?;
    for byte in REQUEST {
        stream.write_all(&[*byte])?;
    }
    stream.write_all(&REQUEST.repeat(40))?;
    expect_answers(&mut stream, 41)?;

    let mut flooded = server.connect()?;
    let writing = flood(&flooded, REQUEST.repeat(FLOOD))?;
    thread::sleep(Duration::from_millis(200)); // both directions fill up
    stream.write_all(REQUEST)?;
    expect_answers(&mut stream, 1)?; // a slow client holds up nobody else
    expect_answers(&mut flooded, FLOOD)?;
    let left = flooded.read(&mut [0])?;
    assert_eq!(left, 0, "the server closes after the client");
    writing.join().map_err(|_| io::ErrorKind::Other)??;
    server.end()
}

/// Requests that keep their handler busy, cut in the middle of the path.
fn check_work(path: &str) -> io::Result<()> {
    let server = Server::start(path, &[])?;
    let mut stream = server.connect()?;
    for kind in ["spin", "block"] {
        let started = Instant::now();
        let line = format!("GET /{kind}?ms={} HTTP/1.1\r\n\r\n", WORK.as_millis());
        let (first, second) = line.as_bytes().split_at(11);
        stream.write_all(first)?;
        thread::sleep(Duration::from_millis(5));
        stream.write_all(second)?;
        stream.write_all(REQUEST)?;
        expect_answers(&mut stream, 2)?;
        let taken = started.elapsed();
        assert!(taken >= WORK, "{kind} took {taken:?}");
    }
    let mut fastest = Duration::MAX;
    for _ in 0..20 {
        let started = Instant::now();
        stream.write_all(REQUEST)?;
        expect_answers(&mut stream, 1)?;
        fastest = fastest.min(started.elapsed());
    }
    assert!(fastest < WORK, "an ordinary request has no work");
    server.end()
}

/// Bytes that come back, few and many.
fn check_echo(path: &str, arguments: &[&str]) -> io::Result<()> {
    let server = Server::start(path, arguments)?;
    let mut stream = server.connect()?;
    for length in [1, 16, 4096, 10_000] {
        let message: Vec<u8> = (0..length).map(|index| index as u8).collect();
        stream.write_all(&message)?;
        let mut echoed = vec![0; length];
        stream.read_exact(&mut echoed)?;
        assert_eq!(echoed, message, "{length} bytes");
    }
    let message: Vec<u8> = (0..20_000_000_u32).map(|index| index as u8).collect();
    let writing = flood(&stream, message.clone())?;
    thread::sleep(Duration::from_millis(50)); // both directions fill up
    let mut echoed = Vec::new();
    stream.read_to_end(&mut echoed)?;
    assert!(echoed == message, "a long message comes back");
    writing.join().map_err(|_| io::ErrorKind::Other)??;
    server.end()
}

#[test]
fn epoll() -> io::Result<()> {
    check(env!("CARGO_BIN_EXE_server-epoll"))
}

#[test]
fn epoll_level_triggered() -> io::Result<()> {
    let path = env!("CARGO_BIN_EXE_server-epoll");
    check_requests(path, &["127.0.0.1:0", "level"])?;
    check_echo(path, &["127.0.0.1:0", "level", "--echo"])
}

#[test]
fn uring() -> io::Result<()> {
    let path = env!("CARGO_BIN_EXE_server-uring");
    if !is_uring_allowed() {
        return Ok(());
    }
    check(path)?;
    for (receive, send) in [("single", "ring"), ("poll", "call")] {
        let manner = ["127.0.0.1:0", "--receive", receive, "--send", send];
        check_requests(path, &manner)?;
        check_echo(path, &[manner.as_slice(), &["--echo"]].concat())?;
    }
    Ok(())
}

#[test]
fn fibre() -> io::Result<()> {
    check(env!("CARGO_BIN_EXE_server-fibre"))
}

#[test]
fn tokio() -> io::Result<()> {
    check(env!("CARGO_BIN_EXE_server-tokio"))
}

#[test]
fn may() -> io::Result<()> {
    check(env!("CARGO_BIN_EXE_server-may"))
}

#[test]
fn thread_per_connection() -> io::Result<()> {
    check(env!("CARGO_BIN_EXE_server-thread"))
}
