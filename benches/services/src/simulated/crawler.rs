//! The crawler, and a site with pages that are slow, missing, or link to each other.

#[allow(dead_code, reason = "its main function is the program's")]
#[path = "../crawler/fibre.rs"]
mod service;

use crate::network::{ms, once_in, spoil};
use clap::Parser;
use fibre::GroupError;
use fibre::net::TcpListener;
use fibre_services::Crawler;
use fibre_test::Sim;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Read, Write};
use std::sync::Arc;
use std::time::Duration;

/// Where the site listens.
const PORT: u16 = 80;

/// A page.
#[derive(Debug, Clone)]
struct Page {
    text: String,
    links: Vec<String>,
    /// How long the site takes for it.
    pause: Duration,
    is_missing: bool,
}

/// The pages, by their paths.
type Site = BTreeMap<String, Page>;

/// Draws a site.
fn draw(sim: &Sim) -> Site {
    let count = 1 + sim.draw(0..10);
    let path = |number: u64| match number {
        0 => "/".to_owned(),
        number => format!("/{number}"),
    };
    let page = |number: u64| {
        let links: Vec<String> = (0..sim.draw(0..4))
            .map(|_| path(sim.draw(0..count)))
            .collect();
        let anchor = |link: &String| format!("<a href=\"{link}\">");
        let text: String = links.iter().map(anchor).collect();
        let page = Page {
            text: text + &"x".repeat(sim.draw(0..500) as usize),
            links,
            pause: ms(if once_in(sim, 6) {
                12_000
            } else {
                sim.draw(0..50)
            }),
            is_missing: number != 0 && once_in(sim, 8),
        };
        (path(number), page)
    };
    (0..count).map(page).collect()
}

/// Answers each connection.
fn serve(site: &Arc<Site>) -> io::Result<()> {
    let listener = TcpListener::bind(("0.0.0.0", PORT))?;
    for (mut stream, _) in listener.connections() {
        let site = Arc::clone(site);
        fibre::spawn(move || {
            let mut request = Vec::new();
            while !request.ends_with(b"\r\n\r\n") {
                let mut byte = [0];
                stream.read_exact(&mut byte)?;
                request.push(byte[0]);
            }
            let request = String::from_utf8_lossy(&request);
            let path = request.split(' ').nth(1).unwrap_or_default();
            match site.get(path).filter(|page| !page.is_missing) {
                Some(page) => {
                    fibre::sleep(page.pause);
                    write!(stream, "HTTP/1.0 200 OK\r\n\r\n{}", page.text)
                }
                None => write!(stream, "HTTP/1.0 404 Not Found\r\n\r\n"),
            }
        });
    }
    Ok(())
}

/// The pages that a crawler comes to if those that it could not read lead nowhere.
fn reachable(site: &Site, could_read: impl Fn(&str) -> bool) -> BTreeSet<String> {
    let (mut seen, mut next) = (BTreeSet::new(), vec!["/".to_owned()]);
    while let Some(path) = next.pop() {
        if seen.insert(path.clone()) && could_read(&path) {
            next.extend(site[&path].links.clone());
        }
    }
    seen
}

/// Crawls a site over a bad link.
pub(crate) fn run(sim: &Sim) {
    let (host, client) = (sim.host("site"), sim.host("client"));
    let site = Arc::new(draw(sim));
    let serves = Arc::clone(&site);
    host.run(move || serve(&serves));
    sim.settle();
    let is_sound = spoil(sim, "client", "site");
    let address = format!("{}:{PORT}", host.address());
    let at_once = (1 + sim.draw(0..4)).to_string();
    let options = [
        "crawler",
        &address,
        "--at-once",
        &at_once,
        "--each",
        "10",
        "--all",
        "60",
    ];
    let options = Crawler::parse_from(options);
    let begun = sim.now();
    let pages = client.run(move || service::crawl(&options));
    let pages = pages.join().expect("it panicked");
    let took = sim.now() - begun;
    assert!(took <= Duration::from_secs(60), "it took {took:?}");
    let pages = match pages {
        Ok(pages) => pages,
        Err(GroupError::TimedOut) => {
            assert_eq!(took, Duration::from_secs(60), "it ended early");
            return;
        }
        Err(other) => panic!("it failed: {other:?}"),
    };
    let seen: BTreeSet<String> = pages.keys().cloned().collect();
    let came = |path: &str| pages.get(path).is_some_and(Option::is_some);
    assert_eq!(seen, reachable(&site, came), "other pages");
    for (path, size) in pages {
        let page = &site[&path];
        let is_there = !page.is_missing && page.pause < Duration::from_secs(10);
        match size {
            Some(size) => assert!(
                is_there && size == page.text.len(),
                "{path} has {size} bytes"
            ),
            None => assert!(!is_there || !is_sound, "{path} failed over a sound link"),
        }
    }
}
