//! Pages through libcurl, a fibre for each and within `fibre::blocking`.

use std::ffi::c_long;

use clap::Parser;
use fibre_clients::foreign::curl::Easy;

/// Fetches pages at the same time, and prints their sizes in the order of the arguments.
#[derive(Parser)]
#[command(version)]
struct Options {
    /// How long each may take, in milliseconds
    #[arg(long, default_value_t = 10_000)]
    timeout_ms: c_long,
    /// Their addresses
    urls: Vec<String>,
}

/// The size of a page. Blocks the thread.
fn size(timeout_ms: c_long, url: &str) -> std::io::Result<usize> {
    Ok(Easy::new(timeout_ms)?.get(url)?.len())
}

fn main() -> anyhow::Result<()> {
    let options = Options::parse();
    let sizes = fibre::group(|group| {
        for url in &options.urls {
            group.spawn(|| fibre::blocking(|| size(options.timeout_ms, url)));
        }
        Ok(group.results_in_order().collect::<Vec<_>>())
    })?;
    for (url, size) in options.urls.iter().zip(sizes) {
        println!("{size} {url}");
    }
    Ok(())
}
