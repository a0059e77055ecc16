//! Frames that say whose they are, so that another's are noticed, and none is missed.
//!
//! A side that leaves a conversation says so in its last frame, and how. So an end or an error that
//! nobody has announced is somebody else's, and a failure.

use super::support::sockets::noise;
use std::io::{self, ErrorKind, Read, Write};

/// The longest payload.
const MOST: usize = 3000;

/// Bytes before the payload: whose, which, what, and how much follows.
const HEADER: usize = 32;

/// What a frame says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Word {
    /// More will come.
    More = 0,
    /// The sender closes.
    Bye = 1,
    /// The sender resets the connection once this has been answered.
    Rude = 2,
    /// The sender waits, for nothing to come, until something ends that. Not answered.
    Idle = 3,
}

/// Sends and receives the frames of one conversation.
pub struct Frames<S> {
    stream: S,
    /// Whose frames they are.
    tag: u64,
    /// The next frame to be sent.
    sends: u64,
    /// The next one to be received.
    receives: u64,
}

impl<S> Frames<S> {
    /// Frames of the conversation of this name.
    pub fn new(stream: S, tag: u64) -> Self {
        Self {
            stream,
            tag,
            sends: 0,
            receives: 0,
        }
    }

    /// The stream.
    pub fn into_stream(self) -> S {
        self.stream
    }

    /// The stream, and another one from now on.
    pub fn stream(&mut self) -> &mut S {
        &mut self.stream
    }
}

impl<S: Write> Frames<S> {
    /// Sends the next frame.
    pub fn send(&mut self, word: Word, length: usize) -> io::Result<()> {
        let numbers = [self.tag, self.sends, word as u64, (length % MOST) as u64];
        let payload = noise(self.tag ^ self.sends.rotate_left(32)).take(length % MOST);
        let header = numbers.iter().flat_map(|number| number.to_be_bytes());
        let frame: Vec<u8> = header.chain(payload).collect();
        self.sends += 1;
        self.stream.write_all(&frame)
    }
}

impl<S: Read> Frames<S> {
    /// Receives the first frame, of whoever has called.
    pub fn receive_from_anybody(&mut self) -> io::Result<Option<Word>> {
        let Some(header) = self.header()? else {
            return Ok(None);
        };
        self.tag = header[0];
        self.payload(header).map(Some)
    }

    /// Receives the next frame; `None` at the end.
    pub fn receive(&mut self) -> io::Result<Option<Word>> {
        match self.header()? {
            Some(header) => self.payload(header).map(Some),
            None => Ok(None),
        }
    }

    /// The numbers before a payload.
    fn header(&mut self) -> io::Result<Option<[u64; 4]>> {
        let mut header = [0; HEADER];
        let mut filled = 0;
        while filled < HEADER {
            match self.stream.read(&mut header[filled..])? {
                0 if filled == 0 => return Ok(None),
                0 => return Err(ErrorKind::UnexpectedEof.into()),
                count => filled += count,
            }
        }
        let number = |place: usize| {
            let bytes = header[8 * place..][..8].try_into();
            u64::from_be_bytes(bytes.unwrap())
        };
        Ok(Some([number(0), number(1), number(2), number(3)]))
    }

    /// What follows these numbers.
    fn payload(&mut self, [tag, place, word, length]: [u64; 4]) -> io::Result<Word> {
        assert_eq!(
            (tag, place),
            (self.tag, self.receives),
            "somebody else's frame"
        );
        let mut payload = vec![0; length as usize];
        self.stream.read_exact(&mut payload)?;
        let expected = noise(tag ^ place.rotate_left(32));
        assert!(
            payload.into_iter().eq(expected.take(length as usize)),
            "wrong bytes"
        );
        self.receives += 1;
        let words = [Word::More, Word::Bye, Word::Rude, Word::Idle];
        Ok(words[word as usize])
    }
}
