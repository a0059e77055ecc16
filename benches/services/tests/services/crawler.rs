//! The crawler.

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread;

use crate::program::{Program, both};

/// The programs.
const BOTH: [&str; 2] = both!("crawler");

/// A site where page n links to the next one and to the first, and the first also to one that is
/// missing and one that never answers. It ends with the process.
fn site() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            thread::spawn(move || answer(stream));
        }
    });
    address
}

/// Answers a request. A client that has gone is no concern of the site's.
fn answer(mut stream: TcpStream) {
    let mut line = String::new();
    let mut lines = BufReader::new(stream.try_clone().unwrap());
    let _ = lines.read_line(&mut line);
    let path = line.split(' ').nth(1).unwrap_or("/");
    let body = match path[1..].parse::<u32>() {
        Ok(number @ 1..100) => format!(r#"<a href="/{}"><a href="/">"#, number + 1),
        Ok(100) => "the last one".to_owned(),
        _ if path == "/" => r#"<a href="/1"><a href="/missing"><a href="/hangs">"#.to_owned(),
        _ if path == "/hangs" => {
            // Until the client gives up.
            let _ = lines.read_until(0, &mut Vec::new());
            return;
        }
        _ => {
            let _ = stream.write_all(b"HTTP/1.0 404 Not Found\r\n\r\n");
            return;
        }
    };
    let _ = stream.write_all(format!("HTTP/1.0 200 OK\r\n\r\n{body}").as_bytes());
}

#[test]
fn every_page_is_fetched_once_and_those_that_fail_are_told() {
    let site = site().to_string();
    let found = BOTH.map(|path| {
        let (status, text) = Program::start(path, &[&site, "--each", "2"]).end();
        assert!(status.success(), "{status}");
        text
    });
    assert_eq!(found[0], found[1]);
    let lines: Vec<_> = found[0].lines().collect();
    assert_eq!(lines.len(), 103);
    assert!(lines.contains(&"/missing failed") && lines.contains(&"/hangs failed"));
    assert!(lines.contains(&"/7 25") && lines.contains(&"/100 12"));
}

#[test]
fn all_of_it_has_a_limit() {
    let site = site().to_string();
    for path in BOTH {
        let limits = ["--each", "60", "--all", "0.5"];
        let (status, text) = Program::start(path, &[&[site.as_str()], &limits[..]].concat()).end();
        assert_eq!((status.code(), text.as_str()), (Some(1), ""));
    }
}

#[test]
fn a_site_that_is_not_there_is_a_page_that_fails() {
    let closed = TcpListener::bind("127.0.0.1:0").unwrap();
    let nowhere = closed.local_addr().unwrap().to_string();
    drop(closed);
    for path in BOTH {
        let (status, text) = Program::start(path, &[&nowhere]).end();
        assert!(status.success() && text == "/ failed\n", "{status}: {text}");
    }
}
