//! A web server made of nine handlers over coloured events, after SWS of Mely (F. Gaud and others,
//! "Efficient workstealing for multicore event-driven systems", 2010, section V-C).
//!
//! It has 150 files of 1 KB, `/file/0` to `/file/149`, with answers that are built at start. SIGINT
//! lets requests that have begun be the last. Eight of the handlers are those of `front`, which
//! other programs share; the ninth, CheckInCache, is in `pages`.
//!
//! ```text
//! cargo run --release -p fibre-events --example sws -- --port 8080 --policy time-left
//! curl -i http://127.0.0.1:8080/file/7
//! ```

#[path = "../front/mod.rs"]
#[allow(dead_code, reason = "a part is used")]
mod front;
mod pages;

use clap::Parser;
use front::options::Options;
use front::server::Server;
use std::io;

/// A web server of nine handlers over coloured events
#[derive(Parser)]
#[command(version)]
struct Arguments {
    #[command(flatten)]
    options: Options,
}

fn main() -> io::Result<()> {
    let Arguments { options } = Arguments::parse();
    let pages = pages::Pages::new().with_files(150, 1024);
    Server::serve(&options, pages)
}
