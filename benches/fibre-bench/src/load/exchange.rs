//! What a connection sends in one go, and the answer that must come.

use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use crate::http;

/// How every answer to a request begins.
const STATUS: &[u8] = b"HTTP/1.1 200";

/// One batch of requests and what has to come back.
///
/// HTTP answers are checked by their length and first bytes, so that any server
/// with an answer of that length can be measured; echoed bytes all have to be
/// equal. Both are one rule: of each answer the first `checked` bytes.
#[derive(Debug, Clone)]
pub struct Exchange {
    /// What is sent in one write.
    pub(super) request: Vec<u8>,
    /// Requests in it.
    pub(super) requests: u64,
    /// One answer, as far as it is checked.
    answer: Vec<u8>,
    /// Length of one answer.
    answer_length: usize,
    /// Length of all answers.
    pub(super) expected: usize,
}

impl Exchange {
    /// `depth` requests in one write, and as many answers of 64 bytes.
    #[must_use]
    pub fn http(host: SocketAddr, depth: usize) -> Self {
        let request = format!("GET /plaintext HTTP/1.1\r\nHost: {host}\r\n\r\n");
        Self {
            request: request.into_bytes().repeat(depth),
            requests: depth as u64,
            answer: STATUS.to_vec(),
            answer_length: http::ANSWER.len(),
            expected: http::ANSWER.len() * depth,
        }
    }

    /// A request that burns so much CPU time in the server before it is answered.
    #[must_use]
    pub fn spin(host: SocketAddr, time: Duration) -> Self {
        let path = format!("/spin?us={}", time.as_micros());
        let request = format!("GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n");
        Self {
            request: request.into_bytes(),
            ..Self::http(host, 1)
        }
    }

    /// A request for a file, and an answer as long as the first one; this asks the server for that.
    /// Blocks the thread.
    ///
    /// # Errors
    ///
    /// When the server does not answer, or not with the file.
    pub fn file(host: SocketAddr, path: &str) -> io::Result<Self> {
        let request = format!("GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n").into_bytes();
        let answer_length = length_of_answer(host, &request)?;
        Ok(Self {
            request,
            requests: 1,
            answer: STATUS.to_vec(),
            answer_length,
            expected: answer_length,
        })
    }

    /// One message of `size` bytes, which comes back as it is.
    #[must_use]
    pub fn echo(size: usize) -> Self {
        let message: Vec<u8> = (b'a'..=b'z').cycle().take(size).collect();
        Self {
            request: message.clone(),
            requests: 1,
            answer: message,
            answer_length: size,
            expected: size,
        }
    }

    /// Whether `bytes` may follow after `received` bytes of the answers.
    #[inline]
    pub(super) fn agrees(&self, received: usize, bytes: &[u8]) -> bool {
        if received + bytes.len() > self.expected {
            return false;
        }
        let mut at = received % self.answer_length;
        let mut rest = bytes;
        while !rest.is_empty() {
            let checked = self.answer.get(at..).unwrap_or_default();
            let compared = checked.len().min(rest.len());
            if checked[..compared] != rest[..compared] {
                return false;
            }
            rest = &rest[(self.answer_length - at).min(rest.len())..];
            at = 0;
        }
        true
    }
}

/// How long the answer to a request is, with its head.
fn length_of_answer(host: SocketAddr, request: &[u8]) -> io::Result<usize> {
    let mut stream = BufReader::new(TcpStream::connect(host)?);
    stream.get_mut().write_all(request)?;
    let (mut head, mut body) = (0, 0);
    loop {
        let mut line = String::new();
        let length = stream.read_line(&mut line)?;
        let is_first = head == 0;
        head += length;
        if length == 0 || is_first && !line.as_bytes().starts_with(STATUS) {
            return Err(io::Error::other(format!("the server answered {line:?}")));
        }
        let line = line.trim_end().to_ascii_lowercase();
        if let Some(digits) = line.strip_prefix("content-length: ") {
            body = digits.parse().map_err(io::Error::other)?;
        }
        if line.is_empty() {
            break;
        }
    }
    stream.read_exact(&mut vec![0; body])?;
    Ok(head + body)
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    /// Whether the pieces are taken one after the other.
    fn takes(exchange: &Exchange, pieces: &[&[u8]]) -> bool {
        let mut received = 0;
        pieces.iter().all(|piece| {
            let agrees = exchange.agrees(received, piece);
            received += piece.len();
            agrees
        })
    }

    #[test]
    fn answers_are_known_however_they_are_cut() {
        let exchange = Exchange::http((Ipv4Addr::LOCALHOST, 80).into(), 3);
        let answers = http::ANSWER.repeat(3);
        assert_eq!(exchange.expected, answers.len());
        for cut in 0..=answers.len() {
            let (first, second) = answers.split_at(cut);
            assert!(takes(&exchange, &[first, second]), "cut after {cut}");
        }
        assert!(!takes(&exchange, &[&http::ANSWER.repeat(4)]));
        assert!(!takes(&exchange, &[&answers, b"H"]));
        assert!(!takes(&exchange, &[&answers[1..]]));
        assert!(!takes(&exchange, &[&answers[..60], &answers[64..]]));
    }

    #[test]
    fn an_echo_is_checked_to_its_last_byte() {
        let exchange = Exchange::echo(100);
        let mut message = exchange.request.clone();
        assert!(takes(&exchange, &[&message[..30], &message[30..]]));
        message[99] = 0;
        assert!(!takes(&exchange, &[&message[..30], &message[30..]]));
    }
}
