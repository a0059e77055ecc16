//! `get` and `set`.

use super::words::{Answer, Front, Said, data, number, of_line, refusal, write_number};

/// What follows the bytes of a value: one key was asked for, so the list ends after its value.
const AFTER: &[u8] = b"\r\nEND\r\n";

/// Appends `get KEY`.
#[inline]
pub(super) fn ask(name: impl FnOnce(&mut Vec<u8>), out: &mut Vec<u8>) {
    out.extend_from_slice(b"get ");
    name(out);
    out.extend_from_slice(b"\r\n");
}

/// Appends `set KEY FLAGS EXPIRY LENGTH`.
#[inline]
pub(super) fn store(name: impl FnOnce(&mut Vec<u8>), length: usize, out: &mut Vec<u8>) {
    out.extend_from_slice(b"set ");
    name(out);
    out.extend_from_slice(b" 0 0 ");
    write_number(length, out);
    out.extend_from_slice(b"\r\n");
}

/// What a line and the bytes from its beginning say.
#[inline]
pub(super) fn front<'a>(line: &'a [u8], bytes: &'a [u8]) -> Front<'a> {
    match line {
        b"END" => of_line(Said::Miss, None, line),
        b"STORED" => of_line(Said::Stored, None, line),
        b"NOT_STORED" => of_line(Said::NotStored, None, line),
        _ => match line.strip_prefix(b"VALUE ") {
            Some(rest) => value(rest, line, bytes),
            None => refusal(line),
        },
    }
}

/// An answer `VALUE KEY FLAGS LENGTH` with what follows.
fn value<'a>(rest: &'a [u8], line: &[u8], bytes: &'a [u8]) -> Front<'a> {
    let mut words = rest.split(|&byte| byte == b' ');
    let words = [words.next(), words.next(), words.next(), words.next()];
    let [Some(key), Some(flags), Some(length), None] = words else {
        return Front::Nonsense;
    };
    let (Some(_), Some(length)) = (number(flags), number(length)) else {
        return Front::Nonsense;
    };
    match data(line, length, AFTER, bytes) {
        Ok((value, length)) => Front::Whole(Answer {
            said: Said::Value {
                key: Some(key),
                bytes: value,
            },
            token: None,
            length,
        }),
        Err(front) => front,
    }
}
