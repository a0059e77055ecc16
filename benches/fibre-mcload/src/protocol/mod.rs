//! What is said to a server, and what it says.
//!
//! Both dialects are taken apart from the front of the bytes that are there: an answer is whole, or
//! says how many bytes there must be before it is worth to look again, or is not one that a server
//! may give. Nothing is copied: an answer lies in the bytes that it was read into.

mod meta;
mod text;
mod words;

use memchr::memchr;

pub use words::{Answer, Front, Said};

/// The two dialects.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Dialect {
    /// `get` and `set`.
    Text,
    /// `mg` and `ms`, which carry a token that the answer repeats.
    Meta,
}

/// The longest line of an answer.
const LINE: usize = 2048;

impl Dialect {
    /// Appends a question for a key, which `name` writes.
    #[inline]
    pub fn ask(self, token: u32, name: impl FnOnce(&mut Vec<u8>), out: &mut Vec<u8>) {
        match self {
            Self::Text => text::ask(name, out),
            Self::Meta => meta::ask(token, name, out),
        }
    }

    /// Appends an order to store a value of a length, which `value` writes, under a key, which
    /// `name` writes.
    #[inline]
    pub fn store(
        self,
        token: u32,
        name: impl FnOnce(&mut Vec<u8>),
        length: usize,
        value: impl FnOnce(&mut Vec<u8>),
        out: &mut Vec<u8>,
    ) {
        match self {
            Self::Text => text::store(name, length, out),
            Self::Meta => meta::store(token, name, length, out),
        }
        value(out);
        out.extend_from_slice(b"\r\n");
    }

    /// Takes apart what a server has said.
    #[inline]
    pub fn front(self, bytes: &[u8]) -> Front<'_> {
        let Some(end) = memchr(b'\n', &bytes[..bytes.len().min(LINE)]) else {
            return if bytes.len() < LINE {
                Front::Part(bytes.len() + 1)
            } else {
                Front::Nonsense
            };
        };
        let Some(line) = bytes[..end].strip_suffix(b"\r") else {
            return Front::Nonsense;
        };
        match self {
            Self::Text => text::front(line, bytes),
            Self::Meta => meta::front(line, bytes),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Everything that a dialect may say, and what it means.
    fn phrases(dialect: Dialect) -> Vec<(Vec<u8>, Said<'static>, Option<u32>)> {
        let value = |key, bytes| Said::Value { key, bytes };
        let refused = |line: &'static str| Said::Refused(line.as_bytes());
        let server = "SERVER_ERROR object too large for cache";
        let mut phrases: Vec<(&str, Said<'static>, Option<u32>)> = match dialect {
            Dialect::Text => vec![
                (
                    "VALUE k7 0 3\r\nabc\r\nEND\r\n",
                    value(Some(b"k7"), b"abc"),
                    None,
                ),
                ("VALUE k7 0 0\r\n\r\nEND\r\n", value(Some(b"k7"), b""), None),
                (
                    "VALUE k8 12 7\r\n\r\nEND\r\n\r\nEND\r\n",
                    value(Some(b"k8"), b"\r\nEND\r\n"),
                    None,
                ),
                ("END\r\n", Said::Miss, None),
                ("STORED\r\n", Said::Stored, None),
                ("NOT_STORED\r\n", Said::NotStored, None),
            ],
            Dialect::Meta => vec![
                ("VA 3 O17\r\nabc\r\n", value(None, b"abc"), Some(17)),
                (
                    "VA 4 f0 O4294967295 s4\r\n\r\n\r\n\r\n",
                    value(None, b"\r\n\r\n"),
                    Some(u32::MAX),
                ),
                ("EN O1\r\n", Said::Miss, Some(1)),
                ("EN\r\n", Said::Miss, None),
                ("HD O2\r\n", Said::Stored, Some(2)),
                ("NS O3\r\n", Said::NotStored, Some(3)),
            ],
        };
        phrases.push((
            "SERVER_ERROR object too large for cache\r\n",
            refused(server),
            None,
        ));
        phrases.push(("ERROR\r\n", refused("ERROR"), None));
        let bytes = |(text, said, token): (&str, _, _)| (text.as_bytes().to_vec(), said, token);
        phrases.into_iter().map(bytes).collect()
    }

    #[test]
    fn every_answer_is_understood_whatever_follows_it() {
        for dialect in [Dialect::Text, Dialect::Meta] {
            for (text, said, token) in phrases(dialect) {
                let length = text.len();
                for after in ["", "E", "VALUE", "\r\n"] {
                    let bytes = [&text, after.as_bytes()].concat();
                    let Front::Whole(answer) = dialect.front(&bytes) else {
                        panic!("{:?} is no answer", text.escape_ascii().to_string());
                    };
                    assert_eq!(answer.said, said);
                    assert_eq!((answer.token, answer.length), (token, length));
                }
            }
        }
    }

    #[test]
    fn an_answer_that_is_cut_anywhere_is_a_part_of_one() {
        for dialect in [Dialect::Text, Dialect::Meta] {
            for (text, ..) in phrases(dialect) {
                for cut in 0..text.len() {
                    let front = dialect.front(&text[..cut]);
                    let Front::Part(needed) = front else {
                        panic!("{:?} at {cut}: {front:?}", text.escape_ascii().to_string());
                    };
                    assert!(needed > cut && needed <= text.len());
                }
            }
        }
    }

    #[test]
    fn a_stream_in_pieces_of_any_size_is_the_same_answers() {
        for dialect in [Dialect::Text, Dialect::Meta] {
            let phrases = phrases(dialect);
            let stream: Vec<u8> = phrases.iter().flat_map(|phrase| phrase.0.clone()).collect();
            for size in 1..stream.len() {
                let mut buffer = Vec::new();
                let mut expected = phrases.iter();
                for piece in stream.chunks(size) {
                    buffer.extend_from_slice(piece);
                    while let Front::Whole(answer) = dialect.front(&buffer) {
                        let next = expected.next().map(|(_, said, token)| (said, *token));
                        assert_eq!(next, Some((&answer.said, answer.token)));
                        let length = answer.length;
                        buffer.drain(..length);
                    }
                }
                assert!(buffer.is_empty() && expected.next().is_none());
            }
        }
    }

    #[test]
    fn nonsense_is_told() {
        let text: [&[u8]; 9] = [
            b"VALUE k 0 x\r\n",
            b"VALUE k 0\r\n",
            b"VALUE k 0 3\r\nabcd\r\nEND\r\n",
            b"VALUE k 0 3\r\nab\r\nEND\r\nEND\r\n",
            b"VALUE k 0 12345678901\r\n",
            b"STORED\n",
            b"STORED \r\n",
            b"\r\n",
            b"ERRORS\r\n",
        ];
        for bytes in text {
            assert_eq!(
                Dialect::Text.front(bytes),
                Front::Nonsense,
                "{}",
                bytes.escape_ascii()
            );
        }
        for bytes in [
            &b"VA\r\n"[..],
            b"VA 3 O1\r\nabcd\r\n",
            b"HD Ox\r\n",
            b"XX\r\n",
            b"VA -1\r\n",
        ] {
            assert_eq!(
                Dialect::Meta.front(bytes),
                Front::Nonsense,
                "{}",
                bytes.escape_ascii()
            );
        }
        assert_eq!(Dialect::Text.front(&[b'x'; LINE]), Front::Nonsense);
    }

    #[test]
    fn requests_are_what_servers_understand() {
        let name = |out: &mut Vec<u8>| out.extend_from_slice(b"k1");
        let value = |out: &mut Vec<u8>| out.extend_from_slice(b"abc");
        let mut out = Vec::new();
        Dialect::Text.ask(9, name, &mut out);
        Dialect::Text.store(9, name, 3, value, &mut out);
        Dialect::Meta.ask(10, name, &mut out);
        Dialect::Meta.store(0, name, 3, value, &mut out);
        let expected = "get k1\r\nset k1 0 0 3\r\nabc\r\nmg k1 v O10\r\nms k1 3 O0\r\nabc\r\n";
        assert_eq!(out, expected.as_bytes());
    }
}
