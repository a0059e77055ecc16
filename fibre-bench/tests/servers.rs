//! Every server gives the same bytes for the same requests, however they
//! arrive, and ends when its input is closed. Otherwise their figures could
//! not be compared.

use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::{Shutdown, TcpStream};
use std::process::{Child, Command, Stdio};
use std::thread;

use fibre_bench::http::ANSWER;
use fibre_bench::serving::ANNOUNCEMENT;

const REQUEST: &[u8] = b"GET /plaintext HTTP/1.1\r\nHost: test\r\n\r\n";

/// Requests sent before the first answer is read: more than both socket
/// buffers hold.
const FLOOD: usize = 200_000;

struct Server {
    child: Child,
    address: String,
}

impl Server {
    fn start(path: &str) -> io::Result<Self> {
        let mut child = Command::new(path)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let output = child.stdout.take().ok_or(io::ErrorKind::BrokenPipe)?;
        let mut line = String::new();
        BufReader::new(output).read_line(&mut line)?;
        let address = line.trim().strip_prefix(ANNOUNCEMENT);
        let address = address.ok_or(io::ErrorKind::InvalidData)?.into();
        Ok(Self { child, address })
    }

    fn connect(&self) -> io::Result<TcpStream> {
        TcpStream::connect(&self.address)
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

fn check(path: &str) -> io::Result<()> {
    let mut server = Server::start(path)?;

    let mut stream = server.connect()?;
    stream.set_nodelay(true)?;
    for _ in 0..3 {
        stream.write_all(REQUEST)?;
        expect_answers(&mut stream, 1)?;
    }
    for byte in REQUEST {
        stream.write_all(&[*byte])?;
    }
    stream.write_all(&REQUEST.repeat(40))?;
    expect_answers(&mut stream, 41)?;

    let mut flood = server.connect()?;
    let mut writer = flood.try_clone()?;
    let writing = thread::spawn(move || {
        let written = writer.write_all(&REQUEST.repeat(FLOOD));
        written.and_then(|()| writer.shutdown(Shutdown::Write))
    });
    thread::sleep(std::time::Duration::from_millis(200)); // both directions fill up
    stream.write_all(REQUEST)?;
    expect_answers(&mut stream, 1)?; // a slow client holds up nobody else
    expect_answers(&mut flood, FLOOD)?;
    assert_eq!(
        flood.read(&mut [0])?,
        0,
        "the server closes after the client"
    );
    writing.join().map_err(|_| io::ErrorKind::Other)??;

    drop(server.child.stdin.take());
    assert!(server.child.wait()?.success());
    Ok(())
}

#[test]
fn epoll() -> io::Result<()> {
    check(env!("CARGO_BIN_EXE_server-epoll"))
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
