//! The crawler: a site of pages that each link to ten others.

use std::io::{self, BufRead, BufReader, Write};
use std::time::Duration;

use anyhow::ensure;
use fibre::Cluster;
use fibre::net::{TcpListener, TcpStream};

use crate::service::Service;
use crate::{Options, Reading};

/// Pages of the site, for each second that a run is to take.
const PAGES_A_SECOND: f64 = 2000.0;

/// Links of a page.
const LINKS: usize = 10;

/// Answers one request of HTTP/1.0.
fn answer(mut stream: &TcpStream, pages: usize) -> io::Result<()> {
    let mut line = String::new();
    BufReader::new(stream).read_line(&mut line)?;
    let path = line.split(' ').nth(1).unwrap_or("/");
    let number: usize = path[1..].parse().unwrap_or(0);
    let mut answer = String::from("HTTP/1.0 200 OK\r\n\r\n");
    for link in (1..=LINKS).map(|link| number * LINKS + link) {
        if link < pages {
            answer.push_str(&format!("<a href=\"/{link}\">"));
        }
    }
    stream.write_all(answer.as_bytes())
}

/// Measures the crawler at a path.
pub(crate) fn measure(options: &Options, path: &str) -> anyhow::Result<Reading> {
    let pages = (PAGES_A_SECOND * options.seconds) as usize;
    let cluster = Cluster::builder().processors(1).name("site").build()?;
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let site = listener.local_addr()?.to_string();
    let accepting = listener.try_clone()?;
    drop(cluster.spawn(move || {
        for (stream, _) in accepting.connections() {
            fibre::spawn(move || answer(&stream, pages));
        }
    }));
    let crawler = Service::start(options, path, &["--at-once", "50", &site])?;
    let (text, cpu) = crawler.end()?;
    listener.close();
    cluster.stop_within(Duration::from_secs(5), Duration::from_secs(5))?;
    let found = text.lines().filter(|line| !line.ends_with("failed"));
    ensure!(found.count() == pages, "pages are missing");
    Ok(Reading {
        cpu_us: cpu.as_secs_f64() * 1e6 / pages as f64,
        quantiles_ms: None,
    })
}
