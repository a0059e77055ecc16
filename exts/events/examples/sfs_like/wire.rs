//! What clients ask and the server answers, as bytes.
//!
//! A client begins with [`HELLO`] and its salt, and gets the server's salt. Then it sends frames,
//! each with a call: a number of its choice, in four bytes; a byte that says which; and that one's
//! arguments. The answer has the call's number, a [`Status`], and a result. All integers have their
//! most significant byte first.
//!
//! | call | arguments | result |
//! |---|---|---|
//! | 1, look up | a name | handle and size, eight bytes each; milliseconds of the lease, four |
//! | 2, read | handle and offset, eight bytes each; how many bytes, four | the bytes, fewer at the end |
//! | 3, write | handle and offset, eight bytes each; the bytes | – |
//!
//! A write that would break another client's lease is answered by [`Status::Busy`] and the
//! milliseconds that it lasts.

use std::time::Duration;

/// How a client begins.
pub(crate) const HELLO: &[u8; 8] = b"sfs-like";

/// The most bytes that a call reads or writes.
pub(crate) const MOST: usize = 32 * 1024;

/// A call, and its number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Call {
    pub(crate) number: u32,
    /// `None` if nobody understands it.
    pub(crate) wish: Option<Wish>,
}

/// What a client wants.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Wish {
    LookUp(Vec<u8>),
    Read {
        file: u64,
        offset: u64,
        count: usize,
    },
    Write {
        file: u64,
        offset: u64,
        bytes: Vec<u8>,
    },
}

/// How a call went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Status {
    Done = 0,
    NoSuchFile = 1,
    OutOfRange = 2,
    Busy = 3,
    Malformed = 4,
}

impl Call {
    /// The call in these bytes; `None` if there is not even a number.
    pub(crate) fn parse(bytes: &[u8]) -> Option<Self> {
        let (number, rest) = bytes.split_first_chunk()?;
        Some(Self {
            number: u32::from_be_bytes(*number),
            wish: Wish::parse(rest).filter(Wish::is_allowed),
        })
    }

    #[allow(dead_code, reason = "for clients")]
    /// Appends it to a frame.
    pub(crate) fn write_to(&self, frame: &mut Vec<u8>) {
        frame.extend(self.number.to_be_bytes());
        match &self.wish {
            None => {}
            Some(Wish::LookUp(name)) => {
                frame.push(1);
                frame.extend(name);
            }
            Some(Wish::Read {
                file,
                offset,
                count,
            }) => {
                frame.push(2);
                frame.extend(file.to_be_bytes());
                frame.extend(offset.to_be_bytes());
                frame.extend(u32::try_from(*count).unwrap_or(u32::MAX).to_be_bytes());
            }
            Some(Wish::Write {
                file,
                offset,
                bytes,
            }) => {
                frame.push(3);
                frame.extend(file.to_be_bytes());
                frame.extend(offset.to_be_bytes());
                frame.extend(bytes);
            }
        }
    }
}

impl Wish {
    /// The wish in these bytes.
    fn parse(bytes: &[u8]) -> Option<Self> {
        let (&kind, rest) = bytes.split_first()?;
        if kind == 1 {
            return Some(Self::LookUp(rest.to_vec()));
        }
        let (file, rest) = rest.split_first_chunk()?;
        let (offset, rest) = rest.split_first_chunk()?;
        let (file, offset) = (u64::from_be_bytes(*file), u64::from_be_bytes(*offset));
        match kind {
            2 => {
                let count = u32::from_be_bytes(rest.try_into().ok()?) as usize;
                Some(Self::Read {
                    file,
                    offset,
                    count,
                })
            }
            3 => Some(Self::Write {
                file,
                offset,
                bytes: rest.to_vec(),
            }),
            _ => None,
        }
    }

    /// Whether it asks for no more than it may.
    fn is_allowed(&self) -> bool {
        match self {
            Self::LookUp(name) => name.len() <= 255,
            Self::Read { count, .. } => *count <= MOST,
            Self::Write { bytes, .. } => bytes.len() <= MOST,
        }
    }
}

impl Status {
    #[allow(dead_code, reason = "for clients")]
    /// The status of this number.
    pub(crate) fn of(number: u8) -> Option<Self> {
        let all = [
            Self::Done,
            Self::NoSuchFile,
            Self::OutOfRange,
            Self::Busy,
            Self::Malformed,
        ];
        all.into_iter().find(|status| *status as u8 == number)
    }
}

/// Milliseconds on the wire.
pub(crate) fn milliseconds(time: Duration) -> [u8; 4] {
    u32::try_from(time.as_millis())
        .unwrap_or(u32::MAX)
        .to_be_bytes()
}

/// The byte at an offset of the file `pattern`.
pub(crate) fn pattern(offset: u64) -> u8 {
    (offset ^ (offset >> 8) ^ (offset >> 16)) as u8
}
