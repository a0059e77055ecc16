//! The crawler on fibres: one for each fetch.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Read, Write};
use std::net::SocketAddr;

use clap::Parser;
use fibre::net::TcpStream;
use fibre::{Cluster, Group, GroupError};
use fibre_services::{Crawler, body, links, say};

/// Fetches a page by HTTP/1.0, and returns its body.
fn fetch(site: SocketAddr, path: &str) -> io::Result<String> {
    let mut stream = TcpStream::connect(site)?;
    write!(stream, "GET {path} HTTP/1.0\r\n\r\n")?;
    let mut answer = String::new();
    stream.take(1 << 20).read_to_string(&mut answer)?;
    body(&answer)
}

/// All pages that can be reached, with their sizes; those that failed have none.
pub(crate) fn crawl(
    options: &Crawler,
) -> Result<BTreeMap<String, Option<usize>>, GroupError<io::Error>> {
    let (site, each) = (options.site, options.each);
    let group = Group::builder().limit(options.at_once).timeout(options.all);
    group.run(|group| {
        let mut seen = BTreeSet::from(["/".to_owned()]);
        let mut to_fetch = vec!["/".to_owned()];
        let mut pages = BTreeMap::new();
        loop {
            for path in to_fetch.drain(..) {
                group.spawn(move || {
                    let page = fibre::timeout(each, || fetch(site, &path));
                    Ok((path, page.ok().and_then(Result::ok)))
                });
            }
            let Some((path, page)) = group.next() else {
                return Ok(pages);
            };
            for link in page.iter().flat_map(|page| links(page)) {
                if seen.insert(link.to_owned()) {
                    to_fetch.push(link.to_owned());
                }
            }
            pages.insert(path, page.map(|page| page.len()));
        }
    })
}

fn main() -> io::Result<()> {
    let options = Crawler::parse();
    let threads = options.threads.count();
    let cluster = Cluster::builder().processors(threads).build()?;
    let crawled = cluster.spawn(move || crawl(&options)).join();
    let pages = crawled.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    for (path, size) in pages.map_err(io::Error::other)? {
        match size {
            Some(size) => say(format_args!("{path} {size}"))?,
            None => say(format_args!("{path} failed"))?,
        }
    }
    Ok(())
}
