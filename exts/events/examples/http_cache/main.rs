//! A web server that keeps pages in ten caches, each of one colour, after the one that N. Zeldovich
//! and others describe in "Multiprocessor support for event-driven programs" (2003), section 5.1.
//!
//! It serves the files below a directory. `--make` writes those of the paper's load there first;
//! the example `http_load` asks for them. SIGINT lets requests that have begun be the last.
//!
//! ```text
//! cargo run --release -p fibre-events --example http_cache -- --root /tmp/site --make &
//! cargo run --release -p fibre-events --example http_load -- 127.0.0.1:8080
//! ```

mod files;
#[path = "../front/mod.rs"]
#[allow(dead_code, reason = "a part is used")]
mod front;
mod handles;
mod key;
mod page_cache;
mod site;
mod specweb;

use clap::Parser;
use front::options::Options;
use front::server::Server;
use site::{Cache, Sizes};
use std::io;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

/// A web server with ten page caches
#[derive(Parser)]
#[command(version)]
struct Arguments {
    #[command(flatten)]
    options: Options,

    /// The directory that has the files
    #[arg(long)]
    root: PathBuf,

    /// Write the files of SPECweb99's mix there first: 720, of 100 MB
    #[arg(long)]
    make: bool,

    /// Megabytes of all pages that are kept
    #[arg(long, default_value_t = 256)]
    pages: usize,

    /// Directories and files that are kept open
    #[arg(long, default_value = "512")]
    handles: NonZeroUsize,

    /// Megabytes of the largest file that is served
    #[arg(long, default_value_t = 16)]
    largest: u64,

    /// Seconds until a page is read again
    #[arg(long, default_value_t = 60)]
    age: u64,
}

fn main() -> io::Result<()> {
    let arguments = Arguments::parse();
    if arguments.make {
        specweb::make(&arguments.root, specweb::DIRECTORIES)?;
    }
    let sizes = Sizes {
        pages: arguments.pages << 20,
        handles: arguments.handles,
        file: arguments.largest << 20,
        age: Duration::from_secs(arguments.age),
    };
    let cache = Cache::new(&arguments.root, sizes)?;
    Server::serve(&arguments.options, cache)
}
