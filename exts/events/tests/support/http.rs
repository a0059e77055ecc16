//! Plain blocking clients that speak HTTP.

use crate::front::server::{Server, Service};
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};

/// What came back for a request.
#[derive(Debug, PartialEq, Eq)]
pub struct Answer {
    pub status: u16,
    pub closes: bool,
    pub body: Vec<u8>,
}

/// A connection to the server.
pub struct Client(BufReader<TcpStream>);

impl Client {
    pub fn of<S: Service>(server: &Server<S>) -> Self {
        Self::at(server.address())
    }

    pub fn at(address: SocketAddr) -> Self {
        Self(BufReader::new(TcpStream::connect(address).unwrap()))
    }

    pub fn send(&mut self, bytes: &[u8]) {
        self.0.get_mut().write_all(bytes).unwrap();
    }

    /// Sends a request for a path by a method.
    pub fn ask(&mut self, method: &str, path: &str) {
        self.send(format!("{method} {path} HTTP/1.1\r\nHost: a\r\n\r\n").as_bytes());
    }

    /// The next answer, which has a body unless it answers HEAD.
    pub fn answer(&mut self, has_body: bool) -> Answer {
        self.try_answer(has_body).expect("no answer")
    }

    /// The same; `None` if the server has closed the connection instead.
    fn try_answer(&mut self, has_body: bool) -> Option<Answer> {
        let mut lines = Vec::new();
        loop {
            let mut line = String::new();
            match self.0.read_line(&mut line) {
                Ok(1..) => {}
                Ok(0) if lines.is_empty() => return None,
                Err(error) if lines.is_empty() && error.kind() == ErrorKind::ConnectionReset => {
                    return None;
                }
                other => panic!("a part of an answer, then {other:?}"),
            }
            if line == "\r\n" {
                break;
            }
            lines.push(line.trim_end().to_owned());
        }
        let field = |name: &str| lines.iter().find_map(|line| line.strip_prefix(name));
        let length = field("Content-Length: ").unwrap().parse().unwrap();
        let mut body = vec![0; if has_body { length } else { 0 }];
        self.0.read_exact(&mut body).unwrap();
        Some(Answer {
            status: lines[0].split(' ').nth(1).unwrap().parse().unwrap(),
            closes: field("Connection: ") == Some("close"),
            body,
        })
    }

    /// Asks for a path; `None` if the server has closed the connection instead of answering.
    pub fn try_get(&mut self, path: &str) -> Option<Answer> {
        let request = format!("GET {path} HTTP/1.1\r\nHost: a\r\n\r\n");
        // A connection that is closed may refuse it.
        let _sent = self.0.get_mut().write_all(request.as_bytes());
        self.try_answer(true)
    }

    /// Asks for a path and returns its answer.
    pub fn get(&mut self, path: &str) -> Answer {
        self.ask("GET", path);
        self.answer(true)
    }

    /// Waits until the server has closed; what it sends until then.
    pub fn rest(&mut self) -> Vec<u8> {
        let mut rest = Vec::new();
        match self.0.read_to_end(&mut rest) {
            Ok(_) => rest,
            Err(error) => {
                assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset);
                rest
            }
        }
    }

    /// Says that no more requests follow.
    pub fn ends(&mut self) {
        self.0
            .get_mut()
            .shutdown(std::net::Shutdown::Write)
            .unwrap();
    }
}
