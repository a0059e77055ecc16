//! `mg` and `ms`, with tokens that answers repeat.

use super::words::{Answer, Front, Said, data, number, of_line, refusal, write_number};

/// Appends `mg KEY v OTOKEN`: ask for the value.
#[inline]
pub(super) fn ask(token: u32, name: impl FnOnce(&mut Vec<u8>), out: &mut Vec<u8>) {
    out.extend_from_slice(b"mg ");
    name(out);
    out.extend_from_slice(b" v");
    end(token, out);
}

/// Appends `ms KEY LENGTH OTOKEN`.
#[inline]
pub(super) fn store(token: u32, name: impl FnOnce(&mut Vec<u8>), length: usize, out: &mut Vec<u8>) {
    out.extend_from_slice(b"ms ");
    name(out);
    out.push(b' ');
    write_number(length, out);
    end(token, out);
}

/// Appends the token and the end of the line.
#[inline]
fn end(token: u32, out: &mut Vec<u8>) {
    out.extend_from_slice(b" O");
    write_number(token as usize, out);
    out.extend_from_slice(b"\r\n");
}

/// What a line and the bytes from its beginning say.
#[inline]
pub(super) fn front<'a>(line: &'a [u8], bytes: &'a [u8]) -> Front<'a> {
    let (word, rest) = line.split_at(line.len().min(2));
    if !matches!(rest, [] | [b' ', ..]) {
        return refusal(line);
    }
    let Some(token) = token(rest) else {
        return Front::Nonsense;
    };
    match word {
        b"HD" => of_line(Said::Stored, token, line),
        b"EN" => of_line(Said::Miss, token, line),
        b"NS" => of_line(Said::NotStored, token, line),
        b"VA" => value(rest, token, line, bytes),
        _ => refusal(line),
    }
}

/// The token among the flags, if there is one; nothing if it is no number.
#[inline]
fn token(flags: &[u8]) -> Option<Option<u32>> {
    let mut flags = flags.split(|&byte| byte == b' ');
    let Some(token) = flags.find_map(|flag| flag.strip_prefix(b"O")) else {
        return Some(None);
    };
    let sound = token.len() <= 10 && token.iter().all(u8::is_ascii_digit) && !token.is_empty();
    let digit = |number: u64, byte: &u8| number * 10 + u64::from(byte - b'0');
    let number = sound.then(|| token.iter().fold(0, digit))?;
    u32::try_from(number).ok().map(Some)
}

/// An answer `VA LENGTH FLAGS` with what follows.
fn value<'a>(rest: &'a [u8], token: Option<u32>, line: &[u8], bytes: &'a [u8]) -> Front<'a> {
    let length = rest.split(|&byte| byte == b' ').nth(1).and_then(number);
    let Some(length) = length else {
        return Front::Nonsense;
    };
    match data(line, length, b"\r\n", bytes) {
        Ok((bytes, length)) => Front::Whole(Answer {
            said: Said::Value { key: None, bytes },
            token,
            length,
        }),
        Err(front) => front,
    }
}
