//! A web proxy made of callbacks, after the outline in N. Zeldovich and others, "Multiprocessor
//! support for event-driven programs" (2003), figures 1 and 4.
//!
//! Clients ask for absolute URIs, `GET http://host/path`, one on each connection; servers' answers
//! come back byte for byte. SIGINT lets requests that have begun be answered.
//!
//! ```text
//! cargo run --release -p fibre-events --example proxy -- --port 8081
//! curl -i --proxy http://127.0.0.1:8081 http://127.0.0.1:8080/
//! ```

mod exchange;
#[path = "../front/mod.rs"]
#[allow(dead_code, reason = "a part is used")]
mod front;
mod service;
mod target;

use clap::Parser;
use fibre::signal::SIGINT;
use front::options::Options;
use std::io;
use std::net::TcpListener;
use std::sync::Arc;

/// A web proxy made of callbacks
#[derive(Parser)]
#[command(version)]
struct Arguments {
    #[command(flatten)]
    options: Options,
}

fn main() -> io::Result<()> {
    let Arguments { options } = Arguments::parse();
    let events = options.events()?;
    let listener = TcpListener::bind(options.address())?;
    let proxy = service::Proxy::start(&events, listener, options.limits())?;
    println!("listening on {}", proxy.address());
    let stopped = Arc::clone(&proxy);
    events.on_signal(SIGINT, 0, move || stopped.stop())?;
    println!("{:?}", events.run());
    Ok(())
}
