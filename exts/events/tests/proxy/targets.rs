//! Where requests go, and as what.

use crate::target::{Refusal, parse};

/// What becomes of a request.
fn parsed(request: &str) -> Result<(String, u16, String), Refusal> {
    let target = parse(request.as_bytes())?.expect("not all there");
    let request = String::from_utf8(target.request).unwrap();
    Ok((target.host, target.port, request))
}

#[test]
fn the_uri_says_where_a_request_goes() {
    let cases = [
        ("http://a", "a", 80, "GET / ", "a"),
        ("http://a/", "a", 80, "GET / ", "a"),
        ("http://a:81/b?c=d#e", "a", 81, "GET /b?c=d ", "a:81"),
        ("http://a?b", "a", 80, "GET /?b ", "a"),
        ("http://[::1]:8080/x", "::1", 8080, "GET /x ", "[::1]:8080"),
        ("http://[::1]/x", "::1", 80, "GET /x ", "[::1]"),
    ];
    for (uri, host, port, first, authority) in cases {
        let (found, at, request) =
            parsed(&format!("GET {uri} HTTP/1.1\r\nHost: z\r\n\r\n")).unwrap();
        assert_eq!((&*found, at), (host, port), "{uri}");
        assert!(
            request.starts_with(&format!("{first}HTTP/1.1\r\nHost: {authority}\r\n")),
            "{request}"
        );
    }
}

#[test]
fn fields_for_this_connection_end_here_and_others_go_on() {
    let (.., request) = parsed(
        "HEAD http://a/ HTTP/1.1\r\nHost: z\r\nAccept: x\r\nConnection: keep-alive, X-Own\r\nX-Own: 1\r\n\
         Proxy-Authorization: secret\r\nKeep-Alive: 5\r\nContent-Length: 0\r\nX-Other: 2\r\n\r\n",
    )
    .unwrap();
    let expected = "HEAD / HTTP/1.1\r\nHost: a\r\nAccept: x\r\nX-Other: 2\r\nConnection: close\r\nVia: 1.1 proxy\r\n\r\n";
    assert_eq!(request, expected);
}

#[test]
fn what_is_no_request_for_a_proxy_is_refused() {
    use Refusal::{
        BadRequest, ContentTooLarge, FieldsTooLarge, MethodNotAllowed, NotImplemented,
        UnknownVersion,
    };
    let many = "x: y\r\n".repeat(65);
    let cases = [
        ("nonsense\r\n\r\n", BadRequest),
        ("GET / HTTP/1.1\r\nHost: a\r\n\r\n", BadRequest),
        ("GET https://a/ HTTP/1.1\r\n\r\n", BadRequest),
        ("GET http:///x HTTP/1.1\r\n\r\n", BadRequest),
        ("GET http://user@a/ HTTP/1.1\r\n\r\n", BadRequest),
        ("GET http://a:x/ HTTP/1.1\r\n\r\n", BadRequest),
        ("GET http://a:65536/ HTTP/1.1\r\n\r\n", BadRequest),
        ("POST http://a/ HTTP/1.1\r\n\r\n", MethodNotAllowed),
        (
            "GET http://a/ HTTP/1.1\r\nContent-Length: 1\r\n\r\n",
            ContentTooLarge,
        ),
        (
            "GET http://a/ HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n",
            NotImplemented,
        ),
        ("GET http://a/ HTTP/2.0\r\n\r\n", UnknownVersion),
    ];
    for (request, refusal) in cases {
        assert_eq!(parsed(request), Err(refusal), "{request}");
    }
    let request = format!("GET http://a/ HTTP/1.1\r\n{many}\r\n");
    assert_eq!(parsed(&request), Err(FieldsTooLarge));
    assert!(parse(b"GET http://a/ HTTP/1.1\r\nHost").unwrap().is_none());
}
