//! From bytes to a request, or to the status that refuses it: a subset of HTTP/1.1.
//!
//! The grammar is httparse's. Requests with a body are refused, so a request ends with its head,
//! and nothing is in doubt about where the next one begins.

use super::page::{Manner, Status};
use httparse::Status as Found;

/// The most fields that a request may have.
const FIELDS: usize = 64;

/// A request with its head complete.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Request {
    /// Bytes of the head.
    pub(crate) length: usize,
    /// The path, or `None` where the method is neither GET nor HEAD.
    pub(crate) path: Option<Vec<u8>>,
    /// How the answer is to look.
    pub(crate) manner: Manner,
}

/// Reads the request at the front of `bytes`; `None` if its head is not all there.
///
/// # Errors
///
/// The status that refuses it.
pub(crate) fn parse(bytes: &[u8]) -> Result<Option<Request>, Status> {
    let mut fields = [httparse::EMPTY_HEADER; FIELDS];
    let mut head = httparse::Request::new(&mut fields);
    match head.parse(bytes) {
        Ok(Found::Complete(length)) if has_bare_line_end(&bytes[..length]) => {
            Err(Status::BadRequest)
        }
        Ok(Found::Complete(length)) => understand(&head, length).map(Some),
        Ok(Found::Partial) => Ok(None),
        Err(httparse::Error::TooManyHeaders) => Err(Status::FieldsTooLarge),
        Err(httparse::Error::Version) => Err(Status::UnknownVersion),
        Err(_) => Err(Status::BadRequest),
    }
}

/// Whether a line of these ends by LF alone, where a proxy might see another end.
fn has_bare_line_end(lines: &[u8]) -> bool {
    let mut before = 0;
    lines.iter().any(|&byte| {
        let is_bare = byte == b'\n' && before != b'\r';
        before = byte;
        is_bare
    })
}

/// Makes sense of a head that is well formed.
fn understand(head: &httparse::Request<'_, '_>, length: usize) -> Result<Request, Status> {
    let is_modern = head.version == Some(1);
    let (mut hosts, mut closes) = (0, false);
    for field in &*head.headers {
        let is = |name: &str| field.name.eq_ignore_ascii_case(name);
        if is("host") {
            hosts += 1;
        } else if is("transfer-encoding") {
            return Err(Status::NotImplemented);
        } else if is("content-length") {
            refuse_body(field.value)?;
        } else if is("connection") {
            for option in field.value.split(|&byte| byte == b',') {
                closes |= option.trim_ascii().eq_ignore_ascii_case(b"close");
            }
        }
    }
    if hosts > 1 || hosts == 0 && is_modern {
        return Err(Status::BadRequest);
    }
    let method = head.method.unwrap_or_default();
    let target = head.path.unwrap_or_default();
    if !target.starts_with('/') {
        return Err(Status::BadRequest);
    }
    let path = target.split(['?', '#']).next().unwrap_or_default();
    Ok(Request {
        length,
        path: matches!(method, "GET" | "HEAD").then(|| path.as_bytes().to_vec()),
        manner: Manner {
            // A client of HTTP/1.0 would have to be told that its connection stays.
            closes: closes || !is_modern,
            head_only: method == "HEAD",
        },
    })
}

/// Refuses a body, and an invalid length.
fn refuse_body(length: &[u8]) -> Result<(), Status> {
    match length {
        [] => Err(Status::BadRequest),
        digits if digits.iter().all(|&digit| digit == b'0') => Ok(()),
        digits if digits.iter().all(u8::is_ascii_digit) => Err(Status::ContentTooLarge),
        _ => Err(Status::BadRequest),
    }
}
