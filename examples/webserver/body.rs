//! Skipping a request's body in step with its framing.
//!
//! No resource here takes a body, but the next request starts where the body
//! ends, so it must be followed exactly. [`Body`] is given what has arrived and
//! says how much of it belongs to the body; the framing is that of RFC 9112,
//! section 7, at its strictest: a size is digits and nothing else, and lines end
//! by CR LF, as a proxy in front might take anything else for another end. All bytes
//! count against [`LARGEST`], a chunked body's framing included.

use httparse::{EMPTY_HEADER, Status as Parse};

use crate::lines::has_bare_line_end;
use crate::response::Status;

/// The most bytes a body may have.
const LARGEST: u64 = 1024 * 1024;

/// The most bytes a chunk's size line may have.
const LONGEST_LINE: usize = 256;

/// The most digits its size may have, which are zeros but for a few.
const LONGEST_SIZE: usize = 16;

/// The most fields a trailer may have.
const MOST_TRAILERS: usize = 16;

/// A body and how much of it has been skipped.
pub(crate) struct Body {
    /// What the next byte is part of.
    part: Part,
    /// Bytes skipped so far.
    skipped: u64,
}

/// The parts of a body.
#[derive(Clone, Copy)]
enum Part {
    /// This many more bytes, then the end.
    Sized(u64),
    /// The line that gives a chunk's size.
    Size,
    /// This many more bytes of a chunk.
    Chunk(u64),
    /// The line end that follows a chunk.
    ChunkEnd,
    /// Fields after the last chunk, and an empty line.
    Trailer,
    /// Nothing: the body has ended.
    End,
}

/// What a step over one part of a body came to.
enum Step {
    /// These bytes belonged to the body, and the next part is known.
    Over(usize, Part),
    /// More bytes must arrive first.
    Short,
}

impl Body {
    /// A request without a body.
    pub(crate) fn none() -> Self {
        Self {
            part: Part::End,
            skipped: 0,
        }
    }

    /// A body of `length` bytes; refused if that is too many.
    pub(crate) fn sized(length: u64) -> Result<Self, Status> {
        match length {
            0 => Ok(Self::none()),
            1..=LARGEST => Ok(Self {
                part: Part::Sized(length),
                skipped: 0,
            }),
            _ => Err(Status::ContentTooLarge),
        }
    }

    /// A body that comes in chunks.
    pub(crate) fn chunked() -> Self {
        Self {
            part: Part::Size,
            skipped: 0,
        }
    }

    /// True if no byte is missing.
    pub(crate) fn has_ended(&self) -> bool {
        matches!(self.part, Part::End)
    }

    /// Goes as far as `bytes` allow and returns how many of them belong to the
    /// body. Bytes of an unfinished line are not among them: they must be in
    /// `bytes` again next time.
    pub(crate) fn skip(&mut self, bytes: &[u8]) -> Result<usize, Status> {
        let mut used = 0;
        while !self.has_ended() {
            let Step::Over(count, next) = self.part.step(&bytes[used..])? else {
                break;
            };
            used += count;
            self.part = next;
            self.skipped += count as u64;
            if self.skipped > LARGEST {
                return Err(Status::ContentTooLarge);
            }
        }
        Ok(used)
    }
}

impl Part {
    /// Takes this part, or as much of it as there is, from `bytes`.
    fn step(self, bytes: &[u8]) -> Result<Step, Status> {
        match self {
            Self::Sized(left) => Ok(take(left, bytes, Self::Sized, Self::End)),
            Self::Chunk(left) => Ok(take(left, bytes, Self::Chunk, Self::ChunkEnd)),
            Self::Size => size_line(bytes),
            Self::ChunkEnd => chunk_end(bytes),
            Self::Trailer => trailer(bytes),
            Self::End => Ok(Step::Short),
        }
    }
}

/// Takes `left` bytes or what there is of them.
fn take(left: u64, bytes: &[u8], rest: fn(u64) -> Part, after: Part) -> Step {
    let count = left.min(bytes.len() as u64);
    match left - count {
        0 => Step::Over(count as usize, after),
        _ if count == 0 => Step::Short,
        more => Step::Over(count as usize, rest(more)),
    }
}

/// Takes the line that gives a chunk's size. The last chunk has size 0.
fn size_line(bytes: &[u8]) -> Result<Step, Status> {
    let line = &bytes[..bytes.len().min(LONGEST_LINE)];
    let digits = line.iter().take_while(|byte| byte.is_ascii_hexdigit());
    let (digits, rest) = line.split_at(digits.count());
    if digits.len() > LONGEST_SIZE || digits.is_empty() && !rest.is_empty() {
        return Err(Status::BadRequest);
    }
    let Some(rest) = line_end(rest)? else {
        let has_room = line.len() < LONGEST_LINE;
        return has_room.then_some(Step::Short).ok_or(Status::BadRequest);
    };
    let text = str::from_utf8(digits).unwrap_or_default();
    let size = u64::from_str_radix(text, 16).map_err(|_| Status::BadRequest)?;
    match size {
        0 => Ok(Step::Over(digits.len() + rest, Part::Trailer)),
        1..=LARGEST => Ok(Step::Over(digits.len() + rest, Part::Chunk(size))),
        _ => Err(Status::ContentTooLarge),
    }
}

/// How long the rest of a size line is, which is its end or an extension before that; `None` if
/// the end is not there yet.
fn line_end(rest: &[u8]) -> Result<Option<usize>, Status> {
    let text = match rest {
        [b';', ..] => rest.iter().take_while(|&&byte| is_text(byte)).count(),
        _ => 0,
    };
    match rest[text..] {
        [b'\r', b'\n', ..] => Ok(Some(text + 2)),
        [] | [b'\r'] => Ok(None),
        _ => Err(Status::BadRequest),
    }
}

/// Whether the byte may be part of an extension.
fn is_text(byte: u8) -> bool {
    byte == b'\t' || !byte.is_ascii_control()
}

/// Takes the line end after a chunk.
fn chunk_end(bytes: &[u8]) -> Result<Step, Status> {
    match bytes {
        [b'\r', b'\n', ..] => Ok(Step::Over(2, Part::Size)),
        [] | [b'\r'] => Ok(Step::Short),
        _ => Err(Status::BadRequest),
    }
}

/// Takes the trailer fields, which nobody here reads.
fn trailer(bytes: &[u8]) -> Result<Step, Status> {
    match httparse::parse_headers(bytes, &mut [EMPTY_HEADER; MOST_TRAILERS]) {
        Ok(Parse::Complete((count, _))) if has_bare_line_end(&bytes[..count]) => {
            Err(Status::BadRequest)
        }
        Ok(Parse::Complete((count, _))) => Ok(Step::Over(count, Part::End)),
        Ok(Parse::Partial) => Ok(Step::Short),
        Err(httparse::Error::TooManyHeaders) => Err(Status::FieldsTooLarge),
        Err(_) => Err(Status::BadRequest),
    }
}
