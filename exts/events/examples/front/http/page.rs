//! Answers that are built before they are asked for, and the statuses that they have.
//!
//! An answer is there twice: for connections that stay open, and for the last one of a connection.
//! There is no `Date` field, as an answer is older than its request.

use super::super::connection::Connection;
use std::collections::HashMap;
use std::sync::Arc;

/// An answer in both forms.
#[derive(Debug)]
pub(crate) struct Page {
    /// For a connection that stays open, and for the last answer of one.
    forms: [Form; 2],
}

/// An answer in one of its forms.
#[derive(Debug)]
struct Form {
    /// Its head, and its body if that is small.
    bytes: Arc<[u8]>,
    /// The length of the head.
    head: usize,
    /// Its body, if that is shared by both forms.
    body: Option<Arc<[u8]>>,
}

/// How an answer is to look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Manner {
    /// Whether it is the last one of its connection.
    pub(crate) closes: bool,
    /// Whether it ends where its body would begin, as the answer to HEAD does.
    pub(crate) head_only: bool,
}

impl Manner {
    /// That of a refusal.
    pub(crate) const LAST: Self = Self {
        closes: true,
        head_only: false,
    };
}

impl Page {
    /// An answer of a server of this name, with this status line's end, these further fields, and
    /// this body. Each form has a copy of the body, so that it leaves in one piece.
    pub(crate) fn small(name: &str, status: &str, fields: &str, body: &[u8]) -> Self {
        let form = |head: String| Form {
            head: head.len(),
            bytes: [head.as_bytes(), body].concat().into(),
            body: None,
        };
        Self {
            forms: heads(name, status, fields, body.len()).map(form),
        }
    }

    /// The same with a body that both forms share.
    pub(crate) fn large(name: &str, status: &str, fields: &str, body: &Arc<[u8]>) -> Self {
        let form = |head: String| Form {
            head: head.len(),
            bytes: head.into_bytes().into(),
            body: Some(Arc::clone(body)),
        };
        Self {
            forms: heads(name, status, fields, body.len()).map(form),
        }
    }

    /// An answer that is these bytes, whatever becomes of the connection.
    pub(crate) fn verbatim(bytes: &[u8], head: usize) -> Self {
        let form = || Form {
            bytes: bytes.into(),
            head,
            body: None,
        };
        Self {
            forms: [form(), form()],
        }
    }

    /// How many bytes it has.
    pub(crate) fn size(&self) -> usize {
        let forms = self.forms.iter().map(|form| form.bytes.len());
        let body = self.forms[0].body.as_ref().map_or(0, |body| body.len());
        forms.sum::<usize>() + body
    }

    /// Sends it in some manner.
    pub(crate) fn say_to<T: Default>(&self, connection: &mut Connection<T>, manner: Manner) {
        connection.closes |= manner.closes;
        let form = &self.forms[usize::from(manner.closes)];
        if manner.head_only {
            connection.say(&form.bytes, form.head);
            return;
        }
        connection.say(&form.bytes, form.bytes.len());
        if let Some(body) = form.body.as_ref().filter(|body| !body.is_empty()) {
            connection.say(body, body.len());
        }
    }
}

/// The heads for connections that stay open, and for the last answer of one.
fn heads(name: &str, status: &str, fields: &str, length: usize) -> [String; 2] {
    ["", "Connection: close\r\n"].map(|connection| {
        format!(
            "HTTP/1.1 {status}\r\nServer: {name}\r\n{fields}{connection}Content-Length: {length}\r\n\r\n"
        )
    })
}

/// Why a request is refused, or not answered with a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Status {
    BadRequest,
    Forbidden,
    NotFound,
    MethodNotAllowed,
    RequestTimeout,
    ContentTooLarge,
    FieldsTooLarge,
    InternalError,
    NotImplemented,
    UnknownVersion,
}

impl Status {
    const ALL: [Self; 10] = [
        Self::BadRequest,
        Self::Forbidden,
        Self::NotFound,
        Self::MethodNotAllowed,
        Self::RequestTimeout,
        Self::ContentTooLarge,
        Self::FieldsTooLarge,
        Self::InternalError,
        Self::NotImplemented,
        Self::UnknownVersion,
    ];

    /// The status as a status line spells it.
    fn text(self) -> &'static str {
        match self {
            Self::BadRequest => "400 Bad Request",
            Self::Forbidden => "403 Forbidden",
            Self::NotFound => "404 Not Found",
            Self::MethodNotAllowed => "405 Method Not Allowed",
            Self::RequestTimeout => "408 Request Timeout",
            Self::ContentTooLarge => "413 Content Too Large",
            Self::FieldsTooLarge => "431 Request Header Fields Too Large",
            Self::InternalError => "500 Internal Server Error",
            Self::NotImplemented => "501 Not Implemented",
            Self::UnknownVersion => "505 HTTP Version Not Supported",
        }
    }

    /// The fields that only this status has.
    fn fields(self) -> &'static str {
        match self {
            Self::MethodNotAllowed => "Allow: GET, HEAD\r\n",
            _ => "",
        }
    }
}

/// A page for each status.
#[derive(Debug)]
pub(crate) struct Refusals(HashMap<Status, Page>);

impl Refusals {
    /// The pages of a server of this name.
    pub(crate) fn new(name: &str) -> Self {
        let page = |status: Status| {
            let body = format!("{}\n", status.text());
            let fields = [status.fields(), "Content-Type: text/plain\r\n"].concat();
            let page = Page::small(name, status.text(), &fields, body.as_bytes());
            (status, page)
        };
        Self(Status::ALL.into_iter().map(page).collect())
    }

    /// The page of a status.
    pub(crate) fn of(&self, status: Status) -> &Page {
        &self.0[&status]
    }
}
