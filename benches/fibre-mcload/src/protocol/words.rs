//! What answers are made of, in both dialects.

/// What an answer says.
#[derive(Debug, PartialEq, Eq)]
pub enum Said<'a> {
    /// The value of a key, which the text dialect names.
    Value {
        /// Its name.
        key: Option<&'a [u8]>,
        /// Its bytes.
        bytes: &'a [u8],
    },
    /// The key has none.
    Miss,
    /// It was stored.
    Stored,
    /// It was not stored, by the rules.
    NotStored,
    /// The server could not or would not: the line that says why.
    Refused(&'a [u8]),
}

/// An answer.
#[derive(Debug, PartialEq, Eq)]
pub struct Answer<'a> {
    /// What it says.
    pub said: Said<'a>,
    /// The token of the request, where the dialect has them.
    pub token: Option<u32>,
    /// How many bytes it takes.
    pub length: usize,
}

/// What lies at the front of some bytes.
#[derive(Debug, PartialEq, Eq)]
#[must_use]
pub enum Front<'a> {
    /// An answer.
    Whole(Answer<'a>),
    /// A part of one, which takes at least so many bytes.
    Part(usize),
    /// No answer.
    Nonsense,
}

/// An answer that is a line and its end.
pub(super) fn of_line<'a>(said: Said<'a>, token: Option<u32>, line: &[u8]) -> Front<'a> {
    Front::Whole(Answer {
        said,
        token,
        length: line.len() + 2,
    })
}

/// What both dialects say when they refuse.
pub(super) fn refusal(line: &[u8]) -> Front<'_> {
    let refusals: [&[u8]; 3] = [b"ERROR", b"SERVER_ERROR", b"CLIENT_ERROR"];
    let word = line.split(|&byte| byte == b' ').next();
    match word {
        Some(word) if refusals.contains(&word) => of_line(Said::Refused(line), None, line),
        _ => Front::Nonsense,
    }
}

/// The bytes of a value after a line, and how many there are with `after`, which follows them.
pub(super) fn data<'a>(
    line: &[u8],
    length: usize,
    after: &[u8],
    bytes: &'a [u8],
) -> Result<(&'a [u8], usize), Front<'a>> {
    let start = line.len() + 2;
    let whole = start + length + after.len();
    let Some(rest) = bytes.get(start..whole) else {
        return Err(Front::Part(whole));
    };
    let (value, end) = rest.split_at(length);
    if end == after {
        Ok((value, whole))
    } else {
        Err(Front::Nonsense)
    }
}

/// The number that digits say.
#[inline]
pub(super) fn number(digits: &[u8]) -> Option<usize> {
    let sound = !digits.is_empty() && digits.len() < 10 && digits.iter().all(u8::is_ascii_digit);
    sound.then(|| {
        let digit = |number, byte: &u8| number * 10 + usize::from(byte - b'0');
        digits.iter().fold(0, digit)
    })
}

/// Appends a number in digits.
#[inline]
pub(super) fn write_number(mut number: usize, out: &mut Vec<u8>) {
    let mut digits = [0; 20];
    let mut start = digits.len();
    loop {
        start -= 1;
        digits[start] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[start..]);
}
