//! From bytes to a request.

/// The longest head that is read.
pub(crate) const LONGEST_HEAD: usize = 8 * 1024;

/// The most fields a head may have.
const MOST_FIELDS: usize = 64;

/// The most bytes that a client may ask for.
const MOST_BYTES: usize = 1 << 30;

/// What a client asks for.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Request {
    /// How long its head is.
    pub(crate) length: usize,
    /// What should be answered.
    pub(crate) wish: Wish,
    /// Another request may follow.
    pub(crate) keep_alive: bool,
}

/// What should be answered.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Wish {
    /// The greeting.
    Greeting,
    /// So many bytes.
    Bytes(usize),
    /// There is no such thing.
    Nothing,
}

/// Why a request is refused, which also ends the connection.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Refusal(pub(crate) &'static str);

/// The request that the bytes begin with; `None` if more is needed to tell.
pub(crate) fn parse(bytes: &[u8]) -> Result<Option<Request>, Refusal> {
    let mut fields = [httparse::EMPTY_HEADER; MOST_FIELDS];
    let mut head = httparse::Request::new(&mut fields);
    let length = match head.parse(bytes) {
        Ok(httparse::Status::Complete(length)) => length,
        Ok(httparse::Status::Partial) if bytes.len() < LONGEST_HEAD => return Ok(None),
        Ok(httparse::Status::Partial) | Err(httparse::Error::TooManyHeaders) => {
            return Err(Refusal("431 Request Header Fields Too Large"));
        }
        Err(_) => return Err(Refusal("400 Bad Request")),
    };
    if head.method != Some("GET") {
        return Err(Refusal("405 Method Not Allowed"));
    }
    let mut keep_alive = head.version == Some(1);
    for field in head.headers {
        if field.name.eq_ignore_ascii_case("content-length")
            || field.name.eq_ignore_ascii_case("transfer-encoding")
        {
            return Err(Refusal("413 Content Too Large"));
        }
        if field.name.eq_ignore_ascii_case("connection") {
            keep_alive &= !field.value.eq_ignore_ascii_case(b"close");
        }
    }
    Ok(Some(Request {
        length,
        wish: wish(head.path.unwrap_or_default()),
        keep_alive,
    }))
}

/// What there is under a path.
fn wish(path: &str) -> Wish {
    if path == "/" {
        return Wish::Greeting;
    }
    let count = path.strip_prefix("/bytes/").map(str::parse);
    match count {
        Some(Ok(count)) if count <= MOST_BYTES => Wish::Bytes(count),
        _ => Wish::Nothing,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a whole head means.
    fn parsed(head: &str) -> Result<(Wish, bool), Refusal> {
        let request = parse(head.as_bytes())?.unwrap();
        assert_eq!(request.length, head.len());
        Ok((request.wish, request.keep_alive))
    }

    #[test]
    fn whole_heads_are_understood() {
        let host = "Host: a\r\n\r\n";
        let get = |path: &str| parsed(&format!("GET {path} HTTP/1.1\r\n{host}"));
        assert_eq!(get("/"), Ok((Wish::Greeting, true)));
        assert_eq!(get("/bytes/17"), Ok((Wish::Bytes(17), true)));
        assert_eq!(get("/bytes/9999999999"), Ok((Wish::Nothing, true)));
        let closing = parsed("GET /b HTTP/1.1\r\nConnection: Close\r\n\r\n");
        assert_eq!(closing, Ok((Wish::Nothing, false)));
        assert_eq!(
            parsed("GET / HTTP/1.0\r\n\r\n"),
            Ok((Wish::Greeting, false))
        );
    }

    #[test]
    fn every_beginning_is_awaited() {
        let head = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n";
        for length in 0..head.len() {
            assert_eq!(parse(&head[..length]), Ok(None), "{length}");
        }
    }

    #[test]
    fn what_is_not_served_is_refused() {
        let refusal = |head: &[u8]| parse(head).unwrap_err().0;
        assert!(refusal(b"\x16\x03\x01").starts_with("400"));
        assert!(refusal(b"POST / HTTP/1.1\r\n\r\n").starts_with("405"));
        assert!(refusal(b"GET / HTTP/1.1\r\nContent-Length: 1\r\n\r\n").starts_with("413"));
        let long = format!("GET /{} ", "a".repeat(LONGEST_HEAD));
        assert!(refusal(long.as_bytes()).starts_with("431"));
    }
}
