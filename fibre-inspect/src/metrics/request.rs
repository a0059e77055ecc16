//! What an HTTP client asks for.

use httparse::{EMPTY_HEADER, Error, Header, Request, Status};
use std::net::IpAddr;

/// The most bytes of a request's head; more are refused.
pub(crate) const LONGEST: usize = 8 << 10;

/// The most lines of it, but for the first.
const HEADERS: usize = 64;

/// A page for people.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Page {
    /// What draws the others.
    Home,
    /// What `fibre-top` shows, as JSON.
    Snapshot,
    /// All fibres, as text.
    Dump,
    /// The events of `FIBRE_TRACE`.
    Trace,
}

impl Page {
    /// The page of a path.
    fn of(path: &str) -> Option<Self> {
        Some(match path {
            "/" => Self::Home,
            "/snapshot" => Self::Snapshot,
            "/dump" => Self::Dump,
            "/trace" => Self::Trace,
            _ => return None,
        })
    }
}

/// What the bytes that have come mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Asked {
    /// More has to come.
    Unfinished,
    /// For the metrics, as OpenMetrics text.
    Metrics,
    /// For the metrics in Prometheus's older format: it accepts that, and names no other.
    PlainMetrics,
    /// For a page for people.
    Page(Page),
    /// For such a page, under a name that another site may have given to this address.
    ForeignHost,
    /// For something else.
    Nothing,
    /// To do something else than to read.
    Method,
    /// For the metrics, in neither of these forms.
    NoForm,
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
            let page = Page::of(path);
            match request.method {
                _ if path != "/metrics" && page.is_none() => Asked::Nothing,
                Some("GET" | "HEAD") => match page {
                    None => form(request.headers),
                    Some(page) if is_own_host(request.headers) => Asked::Page(page),
                    Some(_) => Asked::ForeignHost,
                },
                _ => Asked::Method,
            }
        }
        Err(Error::TooManyHeaders) => Asked::TooLong,
        Err(_) => Asked::Garbage,
    }
}

/// Whether a request names its server by an address, or by the name that is this machine's
/// everywhere. A browser on this machine may have been led here by another site under a name of
/// that site's, with scripts that could then read the page.
fn is_own_host(headers: &[Header<'_>]) -> bool {
    let is_host = |header: &&Header<'_>| header.name.eq_ignore_ascii_case("host");
    headers.iter().filter(is_host).all(|header| {
        let text = String::from_utf8_lossy(header.value);
        let (host, port) = match text.strip_prefix('[') {
            Some(rest) => rest.split_once(']').unwrap_or((rest, "")),
            None => text.split_at(text.find(':').unwrap_or(text.len())),
        };
        let is_port = port.is_empty() || port.strip_prefix(':').is_some_and(is_number);
        is_port && (host.eq_ignore_ascii_case("localhost") || host.parse::<IpAddr>().is_ok())
    })
}

/// Whether all of a text are digits.
fn is_number(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit())
}

/// The form that the metrics are wanted in: the one of the higher quality, then the one that is
/// named, then OpenMetrics. Quality 0 is a refusal; a form that no range is about is not refused,
/// so a client that accepts neither but refuses none gets OpenMetrics.
fn form(headers: &[Header<'_>]) -> Asked {
    let is_accept = |header: &&Header<'_>| header.name.eq_ignore_ascii_case("accept");
    let accepts = headers.iter().filter(is_accept);
    let accepts = accepts.map(|header| String::from_utf8_lossy(header.value).to_ascii_lowercase());
    let accepts = accepts.collect::<Vec<_>>().join(",");
    let wish = |kind, form| Wish::of(kind, form, &accepts);
    let open = wish(
        ["application/openmetrics-text", "application/*"],
        Asked::Metrics,
    );
    let plain = wish(["text/plain", "text/*"], Asked::PlainMetrics);
    // Of equals the last one is the greatest.
    let wishes = [plain, open].into_iter().filter(|wish| !wish.is_refused);
    let best = wishes.max_by_key(|wish| (wish.quality, wish.is_named));
    best.map_or(Asked::NoForm, |wish| wish.form)
}

/// How much a client wants a form.
#[derive(Debug)]
struct Wish {
    form: Asked,
    /// In thousandths; 0: not said, or refused.
    quality: u16,
    /// Whether the client names the form, not only a range that it is in.
    is_named: bool,
    /// Whether the client says that it wants none of it.
    is_refused: bool,
}

impl Wish {
    /// What the client says of a media type and the range it is in: the most specific words count.
    fn of([kind, range]: [&str; 2], form: Asked, accepts: &str) -> Self {
        let about = |wanted: &str| {
            let parts = accepts.split(',').filter_map(|part| {
                let mut words = part.split(';').map(str::trim);
                let is_it = words.next() == Some(wanted);
                let quality = words.find_map(|word| word.strip_prefix("q="));
                is_it.then(|| quality.and_then(thousandths).unwrap_or(1000))
            });
            // Versions of one type may have different qualities.
            parts.max()
        };
        let named = about(kind);
        let quality = named.or_else(|| about(range)).or_else(|| about("*/*"));
        Self {
            form,
            quality: quality.unwrap_or(0),
            is_named: named.is_some(),
            is_refused: quality == Some(0),
        }
    }
}

/// A quality in thousandths.
fn thousandths(quality: &str) -> Option<u16> {
    let value: f32 = quality.trim().parse().ok()?;
    (0.0..=1.0)
        .contains(&value)
        .then_some((value * 1000.0) as u16)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_for_those_who_know_the_address() {
        for (path, page) in [
            ("/", Page::Home),
            ("/snapshot", Page::Snapshot),
            ("/dump?again", Page::Dump),
            ("/trace", Page::Trace),
        ] {
            for host in [
                "",
                "Host: 127.0.0.1:9464\r\n",
                "Host: [::1]:9464\r\n",
                "Host: [::1]\r\n",
                "HOST: LocalHost\r\n",
                "Host: localhost:1\r\n",
            ] {
                let text = format!("GET {path} HTTP/1.1\r\n{host}\r\n");
                assert_eq!(asked(text.as_bytes()), Asked::Page(page), "{text}");
            }
            for host in [
                "evil.example",
                "localhost.evil.example:9464",
                "127.0.0.1.evil",
                "[::1",
                "127.0.0.1:x",
                "",
            ] {
                let text = format!("GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n");
                let wanted = match host {
                    "[::1" => Asked::Page(page),
                    _ => Asked::ForeignHost,
                };
                assert_eq!(asked(text.as_bytes()), wanted, "{text}");
            }
            let post = format!("POST {path} HTTP/1.1\r\nHost: localhost\r\n\r\n");
            assert_eq!(asked(post.as_bytes()), Asked::Method);
        }
    }

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
            ("GET / HTTP/1.1\r\n\r\n", Asked::Page(Page::Home)),
            ("GET /more HTTP/1.1\r\n\r\n", Asked::Nothing),
            ("GET /metrics/x HTTP/1.1\r\n\r\n", Asked::Nothing),
            ("HEAD /metrics HTTP/1.1\r\n\r\n", Asked::Metrics),
            ("HEAD / HTTP/1.1\r\n\r\n", Asked::Page(Page::Home)),
            ("HEAD /more HTTP/1.1\r\n\r\n", Asked::Nothing),
            ("POST /metrics HTTP/1.1\r\n\r\n", Asked::Method),
            ("POST / HTTP/1.1\r\n\r\n", Asked::Method),
            ("POST /more HTTP/1.1\r\n\r\n", Asked::Nothing),
            ("\u{16}\u{3}\u{1}", Asked::Garbage),
            ("GET  \r\n\r\n", Asked::Garbage),
            (&long, Asked::TooLong),
            (&many, Asked::TooLong),
        ] {
            assert_eq!(asked(text.as_bytes()), wanted, "{text:?}");
        }
    }

    #[test]
    fn a_form_is_chosen_by_its_quality() {
        for (accepts, wanted) in [
            (
                "application/openmetrics-text;q=0, text/plain",
                Asked::PlainMetrics,
            ),
            (
                "application/openmetrics-text; q=0.0, */*",
                Asked::PlainMetrics,
            ),
            ("application/*;q=0, */*;q=0.1", Asked::PlainMetrics),
            ("text/plain;q=0, */*", Asked::Metrics),
            ("text/plain;q=0", Asked::Metrics),
            ("text/plain, */*", Asked::PlainMetrics),
            ("text/*", Asked::PlainMetrics),
            (
                "text/plain;q=0.9, application/openmetrics-text;q=0.2",
                Asked::PlainMetrics,
            ),
            (
                "text/plain;q=0.2, application/openmetrics-text;q=0.9",
                Asked::Metrics,
            ),
            (
                "application/openmetrics-text;version=0.0.1;q=0,\
                 application/openmetrics-text;version=1.0.0;q=0.5,text/plain;q=0.4",
                Asked::Metrics,
            ),
            ("text/html", Asked::Metrics),
            ("text/plain;q=much", Asked::PlainMetrics),
            (
                "text/plain;q=0, application/openmetrics-text;q=0",
                Asked::NoForm,
            ),
            ("*/*;q=0", Asked::NoForm),
        ] {
            let request = format!("GET /metrics HTTP/1.1\r\nAccept: {accepts}\r\n\r\n");
            assert_eq!(asked(request.as_bytes()), wanted, "{accepts:?}");
        }
    }
}
