//! An HTTP server that waits before it answers, on fibres.
//!
//! `GET /50/abc` is answered by `abc` after 50 ms. Connections stay open for further requests.

use std::io::{self, BufRead, BufReader, Write};
use std::net::SocketAddr;
use std::time::Duration;

use fibre::net::{TcpListener, TcpStream};

/// Starts a server on a free port of 127.0.0.1, which serves until the process ends, and returns
/// where it is. Blocks nothing.
///
/// # Errors
///
/// The socket cannot be made.
pub fn start() -> io::Result<SocketAddr> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?;
    fibre::spawn(move || serve(&listener));
    Ok(address)
}

/// Serves the connections of a listener, each on a fibre of its own, until accepting fails.
fn serve(listener: &TcpListener) -> io::Result<()> {
    loop {
        let (connection, _) = listener.accept()?;
        // A client that goes away has its own error.
        fibre::spawn(move || answer_all(connection));
    }
}

/// Answers the requests of a connection until its end.
fn answer_all(connection: TcpStream) -> io::Result<()> {
    connection.set_nodelay(true)?;
    let mut reader = BufReader::new(&connection);
    while let Some(path) = read_request(&mut reader)? {
        let answer = match parse(&path) {
            Some((wait, token)) => {
                fibre::sleep(wait);
                let length = token.len();
                format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n{token}")
            }
            None => "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n".to_owned(),
        };
        (&connection).write_all(answer.as_bytes())?;
    }
    Ok(())
}

/// Reads a request without a body, and returns its path; `None` at the end of the connection.
fn read_request(reader: &mut impl BufRead) -> io::Result<Option<String>> {
    let mut first = String::new();
    if reader.read_line(&mut first)? == 0 {
        return Ok(None);
    }
    let mut line = String::new();
    while line.trim_end() != "" || line.is_empty() {
        line.clear();
        if reader.read_line(&mut line)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    }
    Ok(Some(first.split(' ').nth(1).unwrap_or_default().to_owned()))
}

/// How long to wait, and what to answer.
fn parse(path: &str) -> Option<(Duration, &str)> {
    let (wait, token) = path.strip_prefix('/')?.split_once('/')?;
    Some((Duration::from_millis(wait.parse().ok()?), token))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_read_one_by_one() {
        let mut text: &[u8] = b"GET /5/a HTTP/1.1\r\nHost: b\r\n\r\nGET /6/c HTTP/1.1\r\n\r\n";
        assert_eq!(read_request(&mut text).unwrap().unwrap(), "/5/a");
        assert_eq!(read_request(&mut text).unwrap().unwrap(), "/6/c");
        assert!(read_request(&mut text).unwrap().is_none());
        let mut half: &[u8] = b"GET /5/a HTTP/1.1\r\nHost: b\r\n";
        assert!(read_request(&mut half).is_err());
    }

    #[test]
    fn a_path_has_a_time_and_a_token() {
        assert_eq!(parse("/5/a"), Some((Duration::from_millis(5), "a")));
        assert_eq!(parse("/5"), None);
        assert_eq!(parse("/x/a"), None);
    }
}
