//! From a status to bytes.
//!
//! Everything here appends to a connection's output and never writes to the
//! socket, so that the answers of pipelined requests leave together.

/// The interim answer to `Expect: 100-continue`.
pub(crate) const CONTINUE: &[u8] = b"HTTP/1.1 100 Continue\r\n\r\n";

/// The end of the answer to `/plaintext`, after its general fields.
const PLAINTEXT_FIELDS: &[u8] = b"Content-Type: text/plain\r\nContent-Length: 13\r\n\r\n";

/// The body of the answer to `/plaintext`.
const PLAINTEXT: &[u8] = b"Hello, World!";

/// How an answer turned out.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Status {
    Ok,
    BadRequest,
    NotFound,
    MethodNotAllowed,
    RequestTimeout,
    ContentTooLarge,
    TargetTooLong,
    ExpectationFailed,
    FieldsTooLarge,
    InternalError,
    NotImplemented,
    Unavailable,
    UnknownVersion,
}

impl Status {
    /// The status as a status line spells it.
    fn text(self) -> &'static str {
        match self {
            Self::Ok => "200 OK",
            Self::BadRequest => "400 Bad Request",
            Self::NotFound => "404 Not Found",
            Self::MethodNotAllowed => "405 Method Not Allowed",
            Self::RequestTimeout => "408 Request Timeout",
            Self::ContentTooLarge => "413 Content Too Large",
            Self::TargetTooLong => "414 URI Too Long",
            Self::ExpectationFailed => "417 Expectation Failed",
            Self::FieldsTooLarge => "431 Request Header Fields Too Large",
            Self::InternalError => "500 Internal Server Error",
            Self::NotImplemented => "501 Not Implemented",
            Self::Unavailable => "503 Service Unavailable",
            Self::UnknownVersion => "505 HTTP Version Not Supported",
        }
    }

    /// The fields only this status has.
    fn fields(self) -> &'static [u8] {
        match self {
            Self::MethodNotAllowed => b"Allow: GET, HEAD\r\n",
            _ => b"",
        }
    }
}

/// What becomes of the connection after an answer.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Persistence {
    /// It stays open, as HTTP/1.1 does unless told otherwise.
    Keep,
    /// It stays open, and the HTTP/1.0 client who asked for that is told so.
    KeepAsAsked,
    /// It is closed.
    Close,
}

impl Persistence {
    /// The field that says so, where one is needed.
    fn fields(self) -> &'static [u8] {
        match self {
            Self::Keep => b"",
            Self::KeepAsAsked => b"Connection: keep-alive\r\n",
            Self::Close => b"Connection: close\r\n",
        }
    }
}

/// What an answer looks like, whatever its status.
#[derive(Clone, Copy)]
pub(crate) struct Manner {
    /// What becomes of the connection.
    pub(crate) persistence: Persistence,
    /// True for the answer to HEAD: it ends where its body would start.
    pub(crate) head_only: bool,
}

impl Manner {
    /// The manner of an answer to a request that was not understood.
    pub(crate) const LAST: Self = Self {
        persistence: Persistence::Close,
        head_only: false,
    };
}

/// An answer under construction at the end of a connection's output.
pub(crate) struct Answer<'a> {
    /// The connection's output.
    pub(crate) output: &'a mut Vec<u8>,
    /// The text of the `Date` field.
    pub(crate) date: &'a [u8],
    /// What the answer looks like.
    pub(crate) manner: Manner,
}

impl Answer<'_> {
    /// The whole answer to `/plaintext`.
    pub(crate) fn plaintext(mut self) {
        self.general_fields(Status::Ok);
        self.output.extend_from_slice(PLAINTEXT_FIELDS);
        self.body(PLAINTEXT);
    }

    /// A whole answer that says nothing but its status.
    pub(crate) fn status(self, status: Status) {
        let text = [status.text(), "\n"].concat();
        self.content(status, "text/plain", text.len() as u64, text.as_bytes());
    }

    /// An answer with a body of `length` bytes that begins with `start`.
    pub(crate) fn content(mut self, status: Status, kind: &str, length: u64, start: &[u8]) {
        self.general_fields(status);
        let fields = format!("Content-Type: {kind}\r\nContent-Length: {length}\r\n\r\n");
        self.output.extend_from_slice(fields.as_bytes());
        self.body(start);
    }

    /// The status line and the fields that do not depend on the content.
    fn general_fields(&mut self, status: Status) {
        let parts = [
            b"HTTP/1.1 ",
            status.text().as_bytes(),
            b"\r\nServer: fibre\r\nDate: ",
            self.date,
            b"\r\n",
            self.manner.persistence.fields(),
            status.fields(),
        ];
        for part in parts {
            self.output.extend_from_slice(part);
        }
    }

    /// The body or its start, unless the request was HEAD.
    fn body(&mut self, bytes: &[u8]) {
        if !self.manner.head_only {
            self.output.extend_from_slice(bytes);
        }
    }
}
