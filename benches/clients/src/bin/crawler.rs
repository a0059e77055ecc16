//! A crawler by ureq as it is, over its default transport.
//!
//! It prints all pages that links lead to, with their sizes, and fetches no page twice. Each fetch
//! has a fibre of its own, which fibre-libc lets block where a thread would.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::time::Duration;

use clap::Parser;
use fibre::{Group, GroupError};
use fibre_libc as _;
use ureq::Agent;

/// Fetches all pages of a site that links lead to, and prints their paths and sizes.
#[derive(Parser)]
#[command(version)]
struct Options {
    /// The site, such as http://127.0.0.1:8080
    site: String,
    /// Fetches at a time
    #[arg(long, default_value_t = 8)]
    at_once: usize,
    /// How long a fetch may take, in seconds
    #[arg(long, default_value_t = 10)]
    each: u64,
}

/// The paths that a page links to.
fn links(page: &str) -> impl Iterator<Item = &str> {
    let rests = page.split("href=\"").skip(1);
    rests.filter_map(|rest| rest.split('"').next())
}

/// A page, unless it takes longer than `limit`. Blocks the fibre.
///
/// A time-out of ureq's for the whole of it would make ureq look names up on a thread. It waits for
/// that by a channel of std's, and so blocks the processor.
fn fetch(agent: &Agent, url: &str, limit: Duration) -> Result<String, ureq::Error> {
    let page = fibre::timeout(limit, || agent.get(url).call()?.body_mut().read_to_string());
    page.unwrap_or_else(|late| Err(io::Error::from(late).into()))
}

/// All pages that can be reached, with their sizes or why there is none.
fn crawl(options: &Options) -> Result<BTreeMap<String, String>, GroupError<ureq::Error>> {
    let limit = Duration::from_secs(options.each);
    let agent = Agent::new_with_defaults();
    Group::builder().limit(options.at_once).run(|group| {
        let mut seen = BTreeSet::from(["/".to_owned()]);
        let mut to_fetch = vec!["/".to_owned()];
        let mut pages = BTreeMap::new();
        loop {
            for path in to_fetch.drain(..) {
                let agent = agent.clone();
                let url = format!("{}{path}", options.site);
                group.spawn(move || Ok((path, fetch(&agent, &url, limit))));
            }
            let Some((path, page)) = group.next() else {
                return Ok(pages);
            };
            for link in page.iter().flat_map(|page| links(page)) {
                if seen.insert(link.to_owned()) {
                    to_fetch.push(link.to_owned());
                }
            }
            let outcome = match page {
                Ok(page) => page.len().to_string(),
                Err(error) => format!("failed: {error}"),
            };
            pages.insert(path, outcome);
        }
    })
}

fn main() -> anyhow::Result<()> {
    // SAFETY: no code of this program keeps what belongs to a kernel thread while it waits.
    unsafe { fibre_libc::install() };
    let options = Options::parse();
    let crawled = fibre::spawn(move || crawl(&options)).join();
    let pages = crawled.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    for (path, outcome) in pages? {
        println!("{path} {outcome}");
    }
    Ok(())
}
