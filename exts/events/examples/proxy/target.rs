//! From what a client has sent to where it goes, and as what; or to the status that refuses it.
//!
//! A target is an absolute URI with the scheme `http`. What goes to its server is the same request
//! with the path alone, with the host of the URI, and without the fields that are for the proxy or
//! this connection only.

use httparse::Status as Found;

/// The most fields that a request may have.
const FIELDS: usize = 64;

/// Fields that end here, beside those that `Connection` names.
const HOP_BY_HOP: [&str; 9] = [
    "connection",
    "host",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "upgrade",
];

/// Where a request goes, and as what.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Target {
    pub(crate) host: String,
    pub(crate) port: u16,
    pub(crate) request: Vec<u8>,
}

/// Why a request is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refusal {
    BadRequest,
    MethodNotAllowed,
    RequestTimeout,
    ContentTooLarge,
    FieldsTooLarge,
    NotImplemented,
    BadGateway,
    GatewayTimeout,
    UnknownVersion,
}

impl Refusal {
    /// The answer that says so, the last of its connection.
    pub(crate) fn answer(self) -> Vec<u8> {
        let status = match self {
            Self::BadRequest => "400 Bad Request",
            Self::MethodNotAllowed => "405 Method Not Allowed\r\nAllow: GET, HEAD",
            Self::RequestTimeout => "408 Request Timeout",
            Self::ContentTooLarge => "413 Content Too Large",
            Self::FieldsTooLarge => "431 Request Header Fields Too Large",
            Self::NotImplemented => "501 Not Implemented",
            Self::BadGateway => "502 Bad Gateway",
            Self::GatewayTimeout => "504 Gateway Timeout",
            Self::UnknownVersion => "505 HTTP Version Not Supported",
        };
        format!("HTTP/1.1 {status}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n").into_bytes()
    }
}

/// Reads the request at the front of `bytes`; `None` if its head is not all there.
///
/// # Errors
///
/// Why it is refused.
pub(crate) fn parse(bytes: &[u8]) -> Result<Option<Target>, Refusal> {
    let mut fields = [httparse::EMPTY_HEADER; FIELDS];
    let mut head = httparse::Request::new(&mut fields);
    match head.parse(bytes) {
        Ok(Found::Complete(_)) => understand(&head).map(Some),
        Ok(Found::Partial) => Ok(None),
        Err(httparse::Error::TooManyHeaders) => Err(Refusal::FieldsTooLarge),
        Err(httparse::Error::Version) => Err(Refusal::UnknownVersion),
        Err(_) => Err(Refusal::BadRequest),
    }
}

/// Makes sense of a head that is well formed.
fn understand(head: &httparse::Request<'_, '_>) -> Result<Target, Refusal> {
    let method = head.method.unwrap_or_default();
    let uri = head.path.unwrap_or_default();
    let rest = uri.strip_prefix("http://").ok_or(Refusal::BadRequest)?;
    if !matches!(method, "GET" | "HEAD") {
        return Err(Refusal::MethodNotAllowed);
    }
    let at = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(at);
    let (host, port) = split_authority(authority)?;
    let path = path.split('#').next().unwrap_or_default();
    let slash = if path.starts_with('/') { "" } else { "/" };
    let first = format!("{method} {slash}{path} HTTP/1.1\r\nHost: {authority}\r\n");
    let mut request = first.into_bytes();
    let named = named_by_connection(head);
    for field in &*head.headers {
        let name = field.name.to_ascii_lowercase();
        match &*name {
            "transfer-encoding" => return Err(Refusal::NotImplemented),
            "content-length" if field.value.iter().all(|&digit| digit == b'0') => continue,
            "content-length" => return Err(Refusal::ContentTooLarge),
            name if HOP_BY_HOP.contains(&name) || named.iter().any(|one| one == name) => continue,
            _ => request.extend([field.name.as_bytes(), b": ", field.value, b"\r\n"].concat()),
        }
    }
    request.extend(b"Connection: close\r\nVia: 1.1 proxy\r\n\r\n");
    Ok(Target {
        host,
        port,
        request,
    })
}

/// The host and the port of an authority, which has no user.
fn split_authority(authority: &str) -> Result<(String, u16), Refusal> {
    let (host, port) = match authority.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => {
            (host, port.parse().map_err(|_| Refusal::BadRequest)?)
        }
        _ => (authority, 80),
    };
    let host = host.trim_start_matches('[').trim_end_matches(']');
    if host.is_empty() || host.contains('@') {
        return Err(Refusal::BadRequest);
    }
    Ok((host.to_owned(), port))
}

/// The fields that `Connection` names, in lower case.
fn named_by_connection(head: &httparse::Request<'_, '_>) -> Vec<String> {
    let fields = head.headers.iter();
    let connection = fields.filter(|field| field.name.eq_ignore_ascii_case("connection"));
    let text = connection.map(|field| String::from_utf8_lossy(field.value).to_ascii_lowercase());
    let mut named = Vec::new();
    for list in text {
        named.extend(list.split(',').map(|name| name.trim().to_owned()));
    }
    named
}
