//! From bytes to a request, or to the status that refuses it.
//!
//! The grammar is httparse's; here is what RFC 9112 asks beyond it. Whatever
//! leaves in doubt where a request ends is refused, because a proxy in front
//! might see the end elsewhere (request smuggling): a repeated or malformed
//! `Content-Length`, a `Content-Length` beside a `Transfer-Encoding`, a transfer
//! coding other than `chunked`, or any at all in HTTP/1.0; lines that end by LF
//! alone; and names like `Content_Length`, which some programs take for the real one.
//!
//! A [`Request`] owns what it needs, so that the bytes it came from can be used
//! up while its body is skipped. The path of a file is the only part allocated.

use std::mem::MaybeUninit;

use httparse::Status as Parse;

use crate::body::Body;
use crate::lines::has_bare_line_end;
use crate::response::{Manner, Persistence, Status};

/// The most fields a request may have.
const MOST_FIELDS: usize = 64;

/// Which bytes the name and the port of a host may have: those that can neither end
/// it nor begin another part of an address.
const IN_HOST: [bool; 256] = {
    let mut allowed = [false; 256];
    let mut byte = b'!';
    while byte <= b'~' {
        allowed[byte as usize] = !matches!(
            byte,
            b'/' | b'?' | b'#' | b'@' | b',' | b'\\' | b'"' | b'<' | b'>'
        );
        byte += 1;
    }
    allowed
};

/// A request with its head complete.
pub(crate) struct Request {
    /// Bytes of the head.
    pub(crate) length: usize,
    /// What is asked for.
    pub(crate) resource: Resource,
    /// The body that follows.
    pub(crate) body: Body,
    /// What the answer should look like.
    pub(crate) manner: Manner,
    /// True if the client waits for a go-ahead before it sends the body.
    pub(crate) expects_continue: bool,
}

/// What a request asks for.
pub(crate) enum Resource {
    /// `/plaintext`
    Plaintext,
    /// Another path, decoded, without the slashes at its front.
    Path(Vec<u8>),
    /// Anything by a method other than GET and HEAD.
    NotAllowed,
}

/// Reads the request at the front of `bytes`; `None` if its head is not all
/// there yet.
pub(crate) fn parse(bytes: &[u8]) -> Result<Option<Request>, Status> {
    let mut fields = [const { MaybeUninit::uninit() }; MOST_FIELDS];
    let mut head = httparse::Request::new(&mut []);
    match head.parse_with_uninit_headers(bytes, &mut fields) {
        Ok(Parse::Complete(length)) if has_bare_line_end(&bytes[..length]) => {
            Err(Status::BadRequest)
        }
        Ok(Parse::Complete(length)) => Request::understand(&head, length).map(Some),
        Ok(Parse::Partial) => Ok(None),
        Err(httparse::Error::TooManyHeaders) => Err(Status::FieldsTooLarge),
        Err(httparse::Error::Version) if names_a_version(bytes) => Err(Status::UnknownVersion),
        Err(_) => Err(Status::BadRequest),
    }
}

/// The status for a head that fills the whole buffer and is still not complete.
pub(crate) fn too_large(bytes: &[u8]) -> Status {
    if bytes.contains(&b'\n') {
        Status::FieldsTooLarge
    } else {
        Status::TargetTooLong
    }
}

/// True if the request line ends like `HTTP/2.0` or the beginning of it.
fn names_a_version(bytes: &[u8]) -> bool {
    let line = bytes
        .trim_ascii_start()
        .split(|&byte| byte == b'\n')
        .next()
        .unwrap_or_default();
    let word = line
        .trim_ascii_end()
        .rsplit(|&byte| byte == b' ')
        .next()
        .unwrap_or_default();
    match word.strip_prefix(b"HTTP/") {
        Some([major, minor @ ..]) => {
            major.is_ascii_digit() && matches!(minor, [] | [b'.'] | [b'.', b'0'..=b'9'])
        }
        _ => false,
    }
}

impl Request {
    /// Makes sense of a head that is well formed.
    fn understand(head: &httparse::Request<'_, '_>, length: usize) -> Result<Self, Status> {
        let modern = head.version == Some(1);
        let mut fields = Fields::default();
        for field in &*head.headers {
            fields.note(field.name.as_bytes(), field.value)?;
        }
        if modern && !fields.host {
            return Err(Status::BadRequest);
        }
        let method = head.method.unwrap_or_default();
        Ok(Self {
            length,
            resource: resource(method, head.path.unwrap_or_default())?,
            body: fields.body(modern)?,
            manner: Manner {
                persistence: fields.persistence(modern),
                head_only: method == "HEAD",
            },
            expects_continue: modern && fields.expects_continue,
        })
    }
}

/// The fields that matter here, as far as they have been read.
#[derive(Default)]
struct Fields {
    /// There was a `Host`.
    host: bool,
    /// The value of `Content-Length`.
    content_length: Option<u64>,
    /// There was a `Transfer-Encoding`, and it was `chunked`.
    chunked: bool,
    /// `Connection` has the option `close`.
    close: bool,
    /// `Connection` has the option `keep-alive`.
    keep_alive: bool,
    /// There was an `Expect: 100-continue`.
    expects_continue: bool,
}

impl Fields {
    /// Takes one field into account. The length of its name rules most out.
    fn note(&mut self, name: &[u8], value: &[u8]) -> Result<(), Status> {
        match name.len() {
            4 if name.eq_ignore_ascii_case(b"host") => self.note_host(value),
            6 if name.eq_ignore_ascii_case(b"expect") => self.note_expectation(value),
            10 if name.eq_ignore_ascii_case(b"connection") => self.note_connection(value),
            14 if name.eq_ignore_ascii_case(b"content-length") => self.note_length(value),
            14 if name.eq_ignore_ascii_case(b"content_length") => Err(Status::BadRequest),
            17 if name.eq_ignore_ascii_case(b"transfer-encoding") => self.note_coding(value),
            17 if name.eq_ignore_ascii_case(b"transfer_encoding") => Err(Status::BadRequest),
            _ => Ok(()),
        }
    }

    fn note_host(&mut self, value: &[u8]) -> Result<(), Status> {
        let named = value.iter().all(|&byte| IN_HOST[usize::from(byte)]);
        if self.host || !named {
            return Err(Status::BadRequest);
        }
        self.host = true;
        Ok(())
    }

    fn note_expectation(&mut self, value: &[u8]) -> Result<(), Status> {
        if !value.eq_ignore_ascii_case(b"100-continue") {
            return Err(Status::ExpectationFailed);
        }
        self.expects_continue = true;
        Ok(())
    }

    fn note_connection(&mut self, value: &[u8]) -> Result<(), Status> {
        for option in value.split(|&byte| byte == b',').map(<[u8]>::trim_ascii) {
            self.close |= option.eq_ignore_ascii_case(b"close");
            self.keep_alive |= option.eq_ignore_ascii_case(b"keep-alive");
        }
        Ok(())
    }

    fn note_length(&mut self, value: &[u8]) -> Result<(), Status> {
        let plain = !value.is_empty() && value.iter().all(u8::is_ascii_digit);
        if self.content_length.is_some() || !plain {
            return Err(Status::BadRequest);
        }
        let digits = str::from_utf8(value).unwrap_or_default();
        // Digits only: what does not fit a number is too large for a body, too.
        self.content_length = Some(digits.parse().unwrap_or(u64::MAX));
        Ok(())
    }

    fn note_coding(&mut self, value: &[u8]) -> Result<(), Status> {
        if self.chunked {
            return Err(Status::BadRequest);
        }
        if !value.eq_ignore_ascii_case(b"chunked") {
            return Err(Status::NotImplemented);
        }
        self.chunked = true;
        Ok(())
    }

    /// The body these fields frame; refused where that is ambiguous.
    fn body(&self, modern: bool) -> Result<Body, Status> {
        match (self.chunked, self.content_length) {
            (false, None) => Ok(Body::none()),
            (false, Some(length)) => Body::sized(length),
            (true, None) if modern => Ok(Body::chunked()),
            (true, _) => Err(Status::BadRequest),
        }
    }

    /// Whether the connection stays open, and what the answer says about it.
    fn persistence(&self, modern: bool) -> Persistence {
        match (modern, self.close, self.keep_alive) {
            (_, true, _) | (false, false, false) => Persistence::Close,
            (true, false, _) => Persistence::Keep,
            (false, false, true) => Persistence::KeepAsAsked,
        }
    }
}

/// Finds out what a request line asks for.
fn resource(method: &str, target: &str) -> Result<Resource, Status> {
    if !matches!(method, "GET" | "HEAD") {
        return Ok(Resource::NotAllowed);
    }
    match path(target)? {
        "/plaintext" => Ok(Resource::Plaintext),
        path => decode(path.trim_start_matches('/')).map(Resource::Path),
    }
}

/// The path of a target, which is one of `/path?query` and `http://host/path?query`.
fn path(target: &str) -> Result<&str, Status> {
    let path = if target.starts_with('/') {
        target
    } else {
        path_after_authority(target)?
    };
    Ok(path.split(['?', '#']).next().unwrap_or_default())
}

/// The path of a target that starts with a scheme and an authority.
fn path_after_authority(target: &str) -> Result<&str, Status> {
    match target.split_once("://") {
        Some((scheme, rest)) if scheme.eq_ignore_ascii_case("http") => Ok(rest
            .find(['/', '?', '#'])
            .map_or("/", |start| &rest[start..])),
        _ => Err(Status::BadRequest),
    }
}

/// Resolves the percent signs of a path. No path has a zero byte.
fn decode(path: &str) -> Result<Vec<u8>, Status> {
    let mut decoded = Vec::with_capacity(path.len());
    let mut bytes = path.bytes();
    while let Some(byte) = bytes.next() {
        decoded.push(if byte == b'%' {
            hexadecimal(&mut bytes)?
        } else {
            byte
        });
    }
    if decoded.contains(&0) {
        return Err(Status::BadRequest);
    }
    Ok(decoded)
}

/// Takes two hexadecimal digits.
fn hexadecimal(bytes: &mut impl Iterator<Item = u8>) -> Result<u8, Status> {
    let mut digit = || char::from(bytes.next()?).to_digit(16);
    let value = digit().zip(digit()).map(|(high, low)| 16 * high + low);
    value
        .and_then(|value| u8::try_from(value).ok())
        .ok_or(Status::BadRequest)
}
