//! Pages through libcurl as it is.
//!
//! Each fetch has a handle and a fibre of its own, which fibre-libc lets block where a thread
//! would: the library's calls of the C library come to the names of this program.

use std::ffi::c_long;

use clap::Parser;
use fibre_clients::foreign::curl::Easy;
use fibre_libc as _;

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

/// The size of a page. Blocks the fibre.
fn size(timeout_ms: c_long, url: &str) -> std::io::Result<usize> {
    Ok(Easy::new(timeout_ms)?.get(url)?.len())
}

fn main() -> anyhow::Result<()> {
    // SAFETY: no code of this program keeps what belongs to a kernel thread while it waits.
    unsafe { fibre_libc::install() };
    let options = Options::parse();
    let sizes = fibre::group(|group| {
        for url in &options.urls {
            group.spawn(|| size(options.timeout_ms, url));
        }
        Ok(group.results_in_order().collect::<Vec<_>>())
    })?;
    for (url, size) in options.urls.iter().zip(sizes) {
        println!("{size} {url}");
    }
    Ok(())
}
