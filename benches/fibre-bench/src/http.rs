//! The one answer every server gives, and the one way every server finds the
//! end of a request.
//!
//! The servers measure how a runtime waits and switches, not how well a parser
//! is written, so a request is whatever ends with an empty line. The scanner
//! keeps its place between two reads as a count of matched bytes. Therefore no
//! server has to keep the bytes of an unfinished request, and a loop of one
//! thread can read all its connections into one buffer.
//!
//! Some requests are special: `GET /spin?ms=N` burns CPU time in the handler, `GET /spin?us=N`
//! does for so many microseconds, and `GET /block?ms=N` blocks its kernel thread, to see how long
//! that delays others ([`Work`]). An ordinary request pays one comparison for them: of its
//! sixth byte, the first one after the slash. Only a head that has an `s` or a
//! `b` there, or that is cut before it, has its first bytes copied aside.

use std::sync::OnceLock;
use std::time::{Duration, Instant};
use std::{hint, iter, thread};

/// The bytes that end a request head.
const HEAD_END: &[u8; 4] = b"\r\n\r\n";

/// The answer to every request, 64 bytes long.
pub const ANSWER: &[u8; 64] =
    b"HTTP/1.1 200 OK\r\nServer: hi\r\nContent-Length: 13\r\n\r\nHello, World!";

/// How the head of an answer with a body of another length begins.
const HEAD: &str = "HTTP/1.1 200 OK\r\nServer: hi\r\nContent-Length: ";

/// Answers that leave in one write when a client pipelines its requests.
const ANSWERS_PER_WRITE: usize = 16;

/// A run of answers, to send as many as one read found requests.
static ANSWERS: [[u8; ANSWER.len()]; ANSWERS_PER_WRITE] = [*ANSWER; ANSWERS_PER_WRITE];

/// Bytes every server offers to one read.
pub const READ_BUFFER: usize = 4096;

/// Bytes it offers where memory counts: enough for 16 pipelined requests.
pub const SMALL_BUFFER: usize = 1024;

/// What a request may ask its handler to do before it is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Work {
    /// Use the CPU for that long.
    Spin(Duration),
    /// Block the kernel thread for that long.
    Block(Duration),
}

impl Work {
    /// The longest that a request may ask for.
    const LONGEST: Duration = Duration::from_secs(60);

    /// Does it, on the calling kernel thread.
    pub fn perform(self) {
        match self {
            Self::Spin(time) => {
                let started = Instant::now();
                while started.elapsed() < time {
                    hint::spin_loop();
                }
            }
            Self::Block(time) => thread::sleep(time),
        }
    }

    /// What a request that begins with `head` asks for, if it is special.
    fn asked_by(head: &[u8]) -> Option<Self> {
        let number_after = |prefix: &[u8], unit: fn(u64) -> Duration| {
            let number = head.strip_prefix(prefix)?;
            let digits = number.iter().take_while(|byte| byte.is_ascii_digit());
            let number = digits.fold(0, |sum: u64, digit| sum * 10 + u64::from(digit - b'0'));
            Some(unit(number).min(Self::LONGEST))
        };
        number_after(b"GET /spin?ms=", Duration::from_millis)
            .or_else(|| number_after(b"GET /spin?us=", Duration::from_micros))
            .map(Self::Spin)
            .or_else(|| number_after(b"GET /block?ms=", Duration::from_millis).map(Self::Block))
    }
}

/// The first bytes of a request head that may be a special one.
#[derive(Debug, Default)]
struct Opening {
    /// Room for the longest special request line, up to its last digit.
    bytes: [u8; Self::ROOM],
    /// How many of them were copied; [`Self::ORDINARY`] if none need be.
    length: u8,
}

impl Opening {
    /// Bytes kept of a head: the longer prefix and a number of six digits.
    const ROOM: usize = 20;
    /// A length that says: not special, look no further.
    const ORDINARY: u8 = u8::MAX;
    /// Where the byte lies that tells most requests from special ones.
    const TELLING: usize = 5;

    /// Takes what follows in the stream, at least up to the end of the head.
    #[inline]
    fn extend(&mut self, bytes: &[u8]) {
        if self.length == Self::ORDINARY || bytes.is_empty() {
            return;
        }
        let telling = bytes.get(Self::TELLING);
        if self.length == 0 && telling.is_some_and(|byte| !matches!(byte, b's' | b'b')) {
            self.length = Self::ORDINARY;
            return;
        }
        self.copy(bytes);
    }

    /// Copies as much as there is room for.
    #[cold]
    fn copy(&mut self, bytes: &[u8]) {
        let room = &mut self.bytes[usize::from(self.length)..];
        let copied = bytes.len().min(room.len());
        room[..copied].copy_from_slice(&bytes[..copied]);
        self.length += copied as u8; // at most ROOM
    }

    /// The head has ended: what it asks for. Makes ready for the next one.
    #[inline]
    fn finish(&mut self) -> Option<Work> {
        let length = std::mem::take(&mut self.length);
        (length != Self::ORDINARY)
            .then(|| Work::asked_by(&self.bytes[..usize::from(length)]))
            .flatten()
    }
}

/// Finds the ends of requests in a stream that arrives in pieces.
#[derive(Debug, Default)]
pub struct RequestScanner {
    /// How many bytes of `HEAD_END` the stream ended with so far.
    matched: usize,
    /// How the current head began.
    opening: Opening,
}

impl RequestScanner {
    /// Takes the next bytes of the stream and returns how many requests end in
    /// them. Hands to `perform` what special ones among them ask for.
    #[inline]
    pub fn feed(&mut self, bytes: &[u8], mut perform: impl FnMut(Work)) -> usize {
        let mut ended = 0;
        let mut rest = bytes;
        self.opening.extend(rest);
        while let Some(after) = self.pass_end(rest) {
            ended += 1;
            self.opening.finish().into_iter().for_each(&mut perform);
            self.opening.extend(after);
            rest = after;
        }
        ended
    }

    /// What follows the next end of a request; none if all of `bytes` belongs
    /// to a request that goes on.
    #[inline]
    fn pass_end<'a>(&mut self, bytes: &'a [u8]) -> Option<&'a [u8]> {
        let mut rest = bytes;
        loop {
            if self.matched == 0 {
                let start = memchr::memchr(HEAD_END[0], rest)?;
                rest = &rest[start..];
                match rest.split_first_chunk() {
                    Some((HEAD_END, after)) => return Some(after),
                    Some(_) => {
                        rest = &rest[1..];
                        continue;
                    }
                    None => {} // the end may be cut
                }
            }
            let (&byte, after) = rest.split_first()?;
            rest = after;
            if self.step(byte) {
                return Some(rest);
            }
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
    Answers::USUAL.to(requests)
}

/// What a server answers: the same each time.
#[derive(Debug, Clone, Copy)]
pub struct Answers {
    /// As many answers as leave in one write.
    run: &'static [u8],
    /// The length of one.
    each: usize,
}

impl Answers {
    /// [`ANSWER`].
    pub const USUAL: Self = Self {
        run: ANSWERS.as_flattened(),
        each: ANSWER.len(),
    };

    /// Answers with a body of so many bytes. The process keeps them for ever, and only the first
    /// ones that it asks for.
    pub fn with_body(bytes: usize) -> Self {
        static KEPT: OnceLock<Answers> = OnceLock::new();
        *KEPT.get_or_init(|| {
            let head = format!("{HEAD}{bytes}\r\n\r\n");
            let answer: Vec<u8> = head.bytes().chain(iter::repeat_n(b'x', bytes)).collect();
            Self {
                each: answer.len(),
                run: answer.repeat(ANSWERS_PER_WRITE).leak(),
            }
        })
    }

    /// The bytes that answer `requests` requests, write by write.
    pub fn to(self, requests: usize) -> impl Iterator<Item = &'static [u8]> {
        let mut left = requests;
        iter::from_fn(move || {
            let now = left.min(ANSWERS_PER_WRITE);
            left -= now;
            (now > 0).then(|| &self.run[..now * self.each])
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const REQUEST: &[u8] = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n";

    /// How many requests end in the pieces, and what they ask for.
    fn feed(pieces: &[&[u8]]) -> (usize, Vec<Work>) {
        let mut scanner = RequestScanner::default();
        let mut asked = Vec::new();
        let count = |piece: &&[u8]| scanner.feed(piece, |work| asked.push(work));
        (pieces.iter().map(count).sum(), asked)
    }

    #[test]
    fn a_request_is_found_however_it_is_cut() {
        for cut in 0..=REQUEST.len() {
            let (head, tail) = REQUEST.split_at(cut);
            assert_eq!(feed(&[head, tail]), (1, vec![]), "cut after {cut} bytes");
        }
    }

    #[test]
    fn pipelined_requests_are_counted() {
        assert_eq!(feed(&[&REQUEST.repeat(20)]), (20, vec![]));
        assert_eq!(
            answers(20).map(<[u8]>::len).sum::<usize>(),
            20 * ANSWER.len()
        );
        assert_eq!(answers(20).count(), 2);
        let kilobyte = Answers::with_body(1024);
        let sent: Vec<u8> = kilobyte.to(17).flatten().copied().collect();
        assert_eq!(sent.len() % 17, 0);
        let (head, body) = sent[..sent.len() / 17].split_at(sent.len() / 17 - 1024);
        assert!(head.ends_with(b"Content-Length: 1024\r\n\r\n"));
        assert!(body.iter().all(|&byte| byte == b'x'));
        assert_eq!(answers(0).count(), 0);
    }

    #[test]
    fn a_false_start_is_no_end() {
        assert_eq!(feed(&[b"a\r\n\rb\r\r\n"]).0, 0);
        assert_eq!(feed(&[b"a\r\n\rb\r\r\n", b"\r\n"]).0, 1);
    }

    #[test]
    fn special_requests_are_told_however_they_are_cut() {
        let stream = [
            REQUEST,
            b"GET /spin?ms=1500 HTTP/1.1\r\n\r\n",
            b"GET /block?ms=999999 HTTP/1.1\r\nHost: b\r\n\r\n",
            b"GET /s\r\n\r\n",
            b"GET /static?ms=3 HTTP/1.1\r\n\r\n",
            b"GET /spin?us=250\r\n\r\n",
            REQUEST,
        ]
        .concat();
        let asked = vec![
            Work::Spin(Duration::from_millis(1500)),
            Work::Block(Work::LONGEST),
            Work::Spin(Duration::from_micros(250)),
        ];
        for cut in 0..=stream.len() {
            let (head, tail) = stream.split_at(cut);
            assert_eq!(feed(&[head, tail]), (7, asked.clone()), "cut after {cut}");
        }
        let bytes: Vec<&[u8]> = stream.chunks(1).collect();
        assert_eq!(feed(&bytes), (7, asked));
    }

    #[test]
    fn work_takes_as_long_as_asked() {
        let time = Duration::from_millis(5);
        for work in [Work::Spin(time), Work::Block(time)] {
            let started = Instant::now();
            work.perform();
            assert!(started.elapsed() >= time);
        }
    }
}
