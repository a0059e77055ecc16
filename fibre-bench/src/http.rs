//! The one answer every server gives, and the one way every server finds the
//! end of a request.
//!
//! The servers measure how a runtime waits and switches, not how well a parser
//! is written, so a request is whatever ends with an empty line. The scanner
//! keeps its place between two reads as a count of matched bytes. Therefore no
//! server has to keep the bytes of an unfinished request, and a loop of one
//! thread can read all its connections into one buffer.

use std::iter;

/// The bytes that end a request head.
const HEAD_END: &[u8; 4] = b"\r\n\r\n";

/// The answer to every request, 64 bytes long.
pub const ANSWER: &[u8; 64] =
    b"HTTP/1.1 200 OK\r\nServer: hi\r\nContent-Length: 13\r\n\r\nHello, World!";

/// Answers that leave in one write when a client pipelines its requests.
const ANSWERS_PER_WRITE: usize = 16;

/// A run of answers, to send as many as one read found requests.
static ANSWERS: [[u8; ANSWER.len()]; ANSWERS_PER_WRITE] = [*ANSWER; ANSWERS_PER_WRITE];

/// Bytes every server offers to one read.
pub const READ_BUFFER: usize = 4096;

/// Finds the ends of requests in a stream that arrives in pieces.
#[derive(Debug, Default)]
pub struct RequestScanner {
    /// How many bytes of `HEAD_END` the stream ended with so far.
    matched: usize,
}

impl RequestScanner {
    /// Takes the next bytes of the stream and returns how many requests end in
    /// them.
    #[inline]
    pub fn feed(&mut self, bytes: &[u8]) -> usize {
        let mut ended = 0;
        let mut rest = bytes;
        loop {
            if self.matched == 0 {
                let Some(start) = memchr::memchr(HEAD_END[0], rest) else {
                    return ended;
                };
                rest = &rest[start..];
            }
            let Some((&byte, after)) = rest.split_first() else {
                return ended;
            };
            rest = after;
            ended += usize::from(self.step(byte));
        }
    }

    /// Takes one byte; true when it ends a request.
    #[inline]
    fn step(&mut self, byte: u8) -> bool {
        if byte == HEAD_END[self.matched] {
            self.matched = (self.matched + 1) % HEAD_END.len();
            self.matched == 0
        } else {
            self.matched = usize::from(byte == HEAD_END[0]);
            false
        }
    }
}

/// The bytes that answer `requests` requests, in as few writes as the pipeline
/// allows: one, unless more than 16 requests arrived together.
pub fn answers(requests: usize) -> impl Iterator<Item = &'static [u8]> {
    let mut left = requests;
    iter::from_fn(move || {
        let now = left.min(ANSWERS_PER_WRITE);
        left -= now;
        (now > 0).then(|| ANSWERS[..now].as_flattened())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const REQUEST: &[u8] = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n";

    #[test]
    fn a_request_is_found_however_it_is_cut() {
        for cut in 0..=REQUEST.len() {
            let mut scanner = RequestScanner::default();
            let (head, tail) = REQUEST.split_at(cut);
            assert_eq!(
                scanner.feed(head) + scanner.feed(tail),
                1,
                "cut after {cut} bytes"
            );
        }
    }

    #[test]
    fn pipelined_requests_are_counted() {
        let mut scanner = RequestScanner::default();
        assert_eq!(scanner.feed(&REQUEST.repeat(20)), 20);
        assert_eq!(
            answers(20).map(<[u8]>::len).sum::<usize>(),
            20 * ANSWER.len()
        );
        assert_eq!(answers(20).count(), 2);
        assert_eq!(answers(0).count(), 0);
    }

    #[test]
    fn a_false_start_is_no_end() {
        let mut scanner = RequestScanner::default();
        assert_eq!(scanner.feed(b"a\r\n\rb\r\r\n"), 0);
        assert_eq!(scanner.feed(b"\r\n"), 1);
    }
}
