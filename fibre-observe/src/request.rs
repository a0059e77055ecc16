//! What an HTTP client asks for.

use httparse::{EMPTY_HEADER, Error, Header, Request, Status};

/// The most bytes of a request's head; more are refused.
pub(crate) const LONGEST: usize = 8 << 10;

/// The most lines of it, but for the first.
const HEADERS: usize = 64;

/// What the bytes that have come mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Asked {
    /// More has to come.
    Unfinished,
    /// For the metrics, as OpenMetrics text.
    Metrics,
    /// For the metrics in Prometheus' older format: it accepts that, and names no other.
    PlainMetrics,
    /// For something else.
    Nothing,
    /// They are no request.
    Garbage,
    /// They are too many.
    TooLong,
}

/// Reads the head of a request.
pub(crate) fn asked(bytes: &[u8]) -> Asked {
    let mut headers = [EMPTY_HEADER; HEADERS];
    let mut request = Request::new(&mut headers);
    match request.parse(bytes) {
        Ok(Status::Partial) if bytes.len() >= LONGEST => Asked::TooLong,
        Ok(Status::Partial) => Asked::Unfinished,
        Ok(Status::Complete(_)) => {
            let path = request.path.unwrap_or_default();
            let path = path.split('?').next().unwrap_or_default();
            if request.method == Some("GET") && path == "/metrics" {
                form(request.headers)
            } else {
                Asked::Nothing
            }
        }
        Err(Error::TooManyHeaders) => Asked::TooLong,
        Err(_) => Asked::Garbage,
    }
}

/// The form in which the metrics are wanted.
fn form(headers: &[Header<'_>]) -> Asked {
    let is_accept = |header: &&Header<'_>| header.name.eq_ignore_ascii_case("accept");
    let accepts = headers.iter().filter(is_accept);
    let accepts = accepts.map(|header| String::from_utf8_lossy(header.value).to_ascii_lowercase());
    let accepts = accepts.collect::<Vec<_>>().join(",");
    if accepts.contains("text/plain") && !accepts.contains("application/openmetrics-text") {
        Asked::PlainMetrics
    } else {
        Asked::Metrics
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_told_apart() {
        let long = format!("GET /metrics HTTP/1.1\r\nX: {}", "x".repeat(LONGEST));
        let many = format!(
            "GET /metrics HTTP/1.1\r\n{}\r\n",
            "X: x\r\n".repeat(HEADERS + 1)
        );
        for (text, wanted) in [
            ("", Asked::Unfinished),
            ("GET /met", Asked::Unfinished),
            ("GET /metrics HTTP/1.1\r\nHost: x\r\n", Asked::Unfinished),
            ("GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n", Asked::Metrics),
            (
                "GET /metrics HTTP/1.1\r\nACCEPT: text/plain\r\n\r\n",
                Asked::PlainMetrics,
            ),
            (
                "GET /metrics HTTP/1.1\r\nAccept: application/openmetrics-text;version=1.0.0,\
                 text/plain;version=0.0.4;q=0.5,*/*;q=0.1\r\n\r\n",
                Asked::Metrics,
            ),
            (
                "GET /metrics HTTP/1.1\r\nAccept: */*\r\n\r\n",
                Asked::Metrics,
            ),
            ("GET /metrics?name=x HTTP/1.0\r\n\r\n", Asked::Metrics),
            ("GET / HTTP/1.1\r\n\r\n", Asked::Nothing),
            ("GET /metrics/x HTTP/1.1\r\n\r\n", Asked::Nothing),
            ("POST /metrics HTTP/1.1\r\n\r\n", Asked::Nothing),
            ("\u{16}\u{3}\u{1}", Asked::Garbage),
            ("GET  \r\n\r\n", Asked::Garbage),
            (&long, Asked::TooLong),
            (&many, Asked::TooLong),
        ] {
            assert_eq!(asked(text.as_bytes()), wanted, "{text:?}");
        }
    }
}
