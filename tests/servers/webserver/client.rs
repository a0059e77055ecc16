//! A client that reads answers.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use httparse::Status;
use rustix::net::sockopt::set_socket_linger;

use super::heard::is_heard;

/// How long anything may take that should happen at once.
pub(crate) const SOON: Duration = Duration::from_secs(10);

/// The request most tests make.
pub(crate) const PLAINTEXT: &str = "GET /plaintext HTTP/1.1\r\nHost: test\r\n\r\n";

/// A connection and what has been received but not looked at.
pub(crate) struct Client {
    /// The socket.
    stream: TcpStream,
    /// Bytes that belong to answers not yet returned.
    received: Vec<u8>,
}

/// One answer.
#[derive(Debug)]
pub(crate) struct Answer {
    /// The status code.
    pub(crate) status: u16,
    /// Names and values of the fields.
    fields: Vec<(String, String)>,
    /// The body.
    pub(crate) body: Vec<u8>,
}

impl Answer {
    /// The value of a field.
    pub(crate) fn field(&self, name: &str) -> Option<&str> {
        let named = |(other, _): &&(String, String)| other.eq_ignore_ascii_case(name);
        self.fields
            .iter()
            .find(named)
            .map(|(_, value)| value.as_str())
    }

    /// The length that the answer's body has, or would have.
    pub(crate) fn length(&self) -> usize {
        self.field("content-length")
            .map_or(0, |length| length.parse().unwrap())
    }
}

impl Client {
    /// Connects; all further operations fail when they take too long.
    pub(crate) fn connect(addr: SocketAddr) -> io::Result<Self> {
        Self::connect_within(addr, SOON)
    }

    /// Connects within a time of the caller's.
    pub(crate) fn connect_within(addr: SocketAddr, time: Duration) -> io::Result<Self> {
        let stream = TcpStream::connect_timeout(&addr, time)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(SOON))?;
        stream.set_write_timeout(Some(SOON))?;
        Ok(Self {
            stream,
            received: Vec::new(),
        })
    }

    /// Sends bytes.
    pub(crate) fn send(&mut self, bytes: impl AsRef<[u8]>) {
        self.try_send(bytes).unwrap();
    }

    /// Sends bytes to a server that may have closed already.
    pub(crate) fn try_send(&mut self, bytes: impl AsRef<[u8]>) -> io::Result<()> {
        self.stream.write_all(bytes.as_ref())
    }

    /// The answer to `request`, which must be answered.
    pub(crate) fn ask(&mut self, request: impl AsRef<[u8]>) -> Answer {
        self.send(request);
        self.answer()
    }

    /// The answer to a GET of `path`.
    pub(crate) fn get(&mut self, path: &str) -> Answer {
        self.ask(format!("GET {path} HTTP/1.1\r\nHost: test\r\n\r\n"))
    }

    /// The next answer, which must come.
    pub(crate) fn answer(&mut self) -> Answer {
        self.try_answer()
            .unwrap()
            .expect("the server has closed the connection")
    }

    /// The next answer; `None` if the server closes instead.
    pub(crate) fn try_answer(&mut self) -> io::Result<Option<Answer>> {
        let Some(mut answer) = self.answer_to_head()? else {
            return Ok(None);
        };
        while self.received.len() < answer.length() {
            if !self.receive()? {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
        answer.body = self.received.drain(..answer.length()).collect();
        Ok(Some(answer))
    }

    /// The next answer up to its body; `None` if the server closes instead.
    pub(crate) fn answer_to_head(&mut self) -> io::Result<Option<Answer>> {
        loop {
            if let Some((answer, length)) = parse(&self.received) {
                self.received.drain(..length);
                return Ok(Some(answer));
            }
            if !self.receive()? {
                assert!(self.received.is_empty(), "half an answer");
                return Ok(None);
            }
        }
    }

    /// Reads once; false at the end.
    pub(crate) fn receive(&mut self) -> io::Result<bool> {
        let mut buffer = [0; 64 * 1024];
        let count = self.stream.read(&mut buffer)?;
        self.received.extend_from_slice(&buffer[..count]);
        Ok(count > 0)
    }

    /// Reads once, `most` bytes at most, and forgets them; how many, 0 if the connection has ended.
    pub(crate) fn take_some(&mut self, most: usize) -> usize {
        let mut buffer = vec![0; most];
        self.stream.read(&mut buffer).unwrap_or(0)
    }

    /// What sends to the server while others read.
    pub(crate) fn writer(&self) -> impl Write + Send + use<> {
        self.stream.try_clone().unwrap()
    }

    /// True if an answer or the end can be read within `time`.
    pub(crate) fn hears_within(&mut self, time: Duration) -> bool {
        self.stream.set_read_timeout(Some(time)).unwrap();
        let heard = self.stream.peek(&mut [0]).is_ok();
        self.stream.set_read_timeout(Some(SOON)).unwrap();
        heard
    }

    /// Checks that the server sends nothing more and closes.
    pub(crate) fn expect_end(&mut self) {
        match self.receive() {
            Ok(more) => assert!(!more, "{:?}", String::from_utf8_lossy(&self.received)),
            Err(error) => assert_eq!(error.kind(), io::ErrorKind::ConnectionReset),
        }
    }

    /// Whether the server has read all that was sent.
    pub(crate) fn is_heard(&self) -> bool {
        is_heard(&self.stream)
    }

    /// Closes the connection by a reset.
    pub(crate) fn reset(self) {
        set_socket_linger(&self.stream, Some(Duration::ZERO)).unwrap();
    }
}

/// Reads the head of an answer and its length; `None` if it is not all there.
fn parse(bytes: &[u8]) -> Option<(Answer, usize)> {
    let mut fields = [httparse::EMPTY_HEADER; 16];
    let mut head = httparse::Response::new(&mut fields);
    let Status::Complete(length) = head.parse(bytes).unwrap() else {
        return None;
    };
    let text = |value: &[u8]| String::from_utf8(value.to_vec()).unwrap();
    let fields = head
        .headers
        .iter()
        .map(|field| (field.name.to_owned(), text(field.value)));
    let answer = Answer {
        status: head.code?,
        fields: fields.collect(),
        body: Vec::new(),
    };
    Some((answer, length))
}
