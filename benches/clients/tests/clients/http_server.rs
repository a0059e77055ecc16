//! An HTTP server on fibres that answers what the path says.
//!
//! | path | answer |
//! |---|---|
//! | `/meet/NAME/COUNT/TOKEN` | the token, once so many have come to the meeting |
//! | `/page/a/b/…` | links to `/page/…` for each name |
//! | `/gather/` | links to eight pages; they all wait until each has been asked for |
//! | `/cut` | half a body, and the end of the connection |
//! | `/never` | none |
//! | `/TOKEN` | the token |

use std::io::{self, BufRead, BufReader, Write};

use fibre::net::{TcpListener, TcpStream};
use fibre::sync::Event;

use crate::meeting::Meetings;

/// Starts a server that runs as long as the process, and returns where it is.
pub(crate) fn start() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let place = format!("http://{}", listener.local_addr().unwrap());
    fibre::spawn(move || {
        let meetings = Meetings::default();
        loop {
            let (connection, _) = listener.accept().unwrap();
            let meetings = meetings.clone();
            // Clients go away as they like.
            fibre::spawn(move || answer_all(&connection, &meetings));
        }
    });
    place
}

/// Answers the requests of a connection.
fn answer_all(connection: &TcpStream, meetings: &Meetings) -> io::Result<()> {
    let mut lines = BufReader::new(connection).lines();
    while let Some(request) = lines.next().transpose()? {
        for line in lines.by_ref() {
            if line?.is_empty() {
                break;
            }
        }
        let path = request.split(' ').nth(1).unwrap_or_default();
        let parts: Vec<&str> = path.split('/').skip(1).collect();
        let body = match parts[..] {
            ["gather", ""] => (0..8)
                .map(|number| format!("<a href=\"/meet/all/8/{number}\">"))
                .collect(),
            ["meet", name, count, token] | ["gather", "meet", name, count, token] => {
                meetings.attend(name, count.parse().unwrap());
                token.to_owned()
            }
            ["cut"] => {
                let half = b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nonly thi";
                return (&*connection).write_all(half);
            }
            ["never"] => {
                Event::new().wait();
                return Ok(());
            }
            ["page", ..] | [""] => page(&parts),
            _ => parts.join("/"),
        };
        let length = body.len();
        let answer = format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n{body}");
        (&*connection).write_all(answer.as_bytes())?;
    }
    Ok(())
}

/// A page of a site with a page for every path of up to three letters out of `abc`.
fn page(parts: &[&str]) -> String {
    let here = parts.iter().filter(|part| !["", "page"].contains(part));
    let here: Vec<&str> = here.copied().collect();
    if here.len() == 3 {
        return "a leaf".to_owned();
    }
    let link = |name: &&str| {
        let path = [&here[..], &[name]].concat().join("/");
        format!("<a href=\"/page/{path}\">")
    };
    ["a", "b", "c"].iter().map(link).collect()
}
