//! The crawler on tokio: a task for each fetch.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use clap::Parser;
use fibre_services::{Crawler, body, links, say};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::timeout;

/// Fetches a page by HTTP/1.0, and returns its body.
async fn fetch(site: SocketAddr, path: &str) -> io::Result<String> {
    let mut stream = TcpStream::connect(site).await?;
    let request = format!("GET {path} HTTP/1.0\r\n\r\n");
    stream.write_all(request.as_bytes()).await?;
    let mut answer = String::new();
    stream.take(1 << 20).read_to_string(&mut answer).await?;
    body(&answer)
}

/// All pages that can be reached, with their sizes; those that failed have none.
async fn crawl(options: &Crawler) -> io::Result<BTreeMap<String, Option<usize>>> {
    let (site, each) = (options.site, options.each);
    let places = Arc::new(Semaphore::new(options.at_once));
    let mut fetches = JoinSet::new();
    let mut seen = BTreeSet::from(["/".to_owned()]);
    let mut to_fetch = vec!["/".to_owned()];
    let mut pages = BTreeMap::new();
    loop {
        for path in to_fetch.drain(..) {
            let places = Arc::clone(&places);
            fetches.spawn(async move {
                let _place = places.acquire_owned().await;
                let page = timeout(each, fetch(site, &path)).await;
                (path, page.ok().and_then(Result::ok))
            });
        }
        let Some(fetched) = fetches.join_next().await else {
            return Ok(pages);
        };
        let (path, page) = fetched.map_err(io::Error::other)?;
        for link in page.iter().flat_map(|page| links(page)) {
            if seen.insert(link.to_owned()) {
                to_fetch.push(link.to_owned());
            }
        }
        pages.insert(path, page.map(|page| page.len()));
    }
}

fn main() -> io::Result<()> {
    let options = Crawler::parse();
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    let runtime = builder.worker_threads(options.threads.count());
    let runtime = runtime.enable_all().build()?;
    let crawled = runtime.block_on(async { timeout(options.all, crawl(&options)).await });
    for (path, size) in crawled?? {
        match size {
            Some(size) => say(format_args!("{path} {size}"))?,
            None => say(format_args!("{path} failed"))?,
        }
    }
    Ok(())
}
