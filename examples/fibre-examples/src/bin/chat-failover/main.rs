//! What a chat on several processes loses when one of them is killed under load.
//!
//! ```sh
//! cargo build --release -p fibre-examples && target/release/chat-failover
//! ```
//!
//! It starts a Redis server, `chat` servers that have their rooms in common by it, and a `balancer`
//! before them; the programs lie beside this one, `redis-server` in the path. Clients in rooms send
//! numbered messages. In the middle one server is killed, and started again a second later. Clients
//! that were there come back by the balancer.
//!
//! By streams, a client says from where it has missed what was said, and sends again what it has
//! not heard itself say by then. So nothing is lost, and a message comes twice only where a server
//! died between taking it and telling. By channels it does neither: what is said while it is away,
//! and what was on its way through the dead server, is lost.
//!
//! | file | its one idea |
//! |---|---|
//! | `service` | the processes |
//! | `client` | one client: a fibre |
//! | `tally` | what came of all messages |

mod client;
mod service;
mod tally;

use std::io;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::thread;
use std::time::Duration;

use clap::Parser;
use fibre::sync::{Barrier, Mutex};
use fibre_examples::exit_code;
use fibre_examples::options::{at_least_one, seconds};
use fibre_examples::server::announce;

use crate::client::{Client, Load};
use crate::service::Service;
use crate::tally::Tally;

/// Counts what a chat on several processes loses when one of them is killed.
#[derive(Parser)]
#[command(version, name = "chat-failover")]
struct Options {
    /// Chat servers
    #[arg(long, default_value_t = 3, value_parser = at_least_one)]
    servers: usize,

    /// Clients
    #[arg(long, default_value_t = 60, value_parser = at_least_one)]
    clients: usize,

    /// Rooms, which clients are in by turns
    #[arg(long, default_value_t = 6, value_parser = at_least_one)]
    rooms: usize,

    /// Messages that each client sends in a second
    #[arg(long, default_value_t = 50, value_parser = at_least_one)]
    rate: usize,

    /// Seconds that they send for
    #[arg(long, default_value = "6", value_parser = seconds)]
    time: Duration,

    /// How messages travel [default: both ways, one after the other]
    #[arg(long)]
    by: Option<String>,
}

fn main() -> ExitCode {
    exit_code("chat-failover", run(&Options::parse()))
}

/// Measures, and returns how many messages were lost that should not have been.
fn run(options: &Options) -> io::Result<usize> {
    announce("| by | sent | again | due | came | lost | twice | out of order | back after, ms |")?;
    announce("|---|---|---|---|---|---|---|---|---|")?;
    let both = ["streams", "channels"].map(str::to_owned);
    let ways = options.by.as_ref().map_or(&both[..], std::slice::from_ref);
    let mut lost = 0;
    for way in ways {
        let tally = measure(options, way)?;
        announce(&tally.row(way))?;
        if way == "streams" {
            lost += tally.lost + tally.out_of_order;
        }
    }
    Ok(lost)
}

/// Runs the service under load, kills a server in the middle, and counts.
fn measure(options: &Options, by: &str) -> io::Result<Tally> {
    let mut service = Service::start(options.servers, by)?;
    let load = Load {
        address: service.address(),
        keeps: by == "streams",
        interval: Duration::from_secs(1) / options.rate as u32,
        time: options.time,
        rooms: options.rooms,
        begin: Arc::new(Barrier::new(options.clients + 1)),
        newest: Arc::new(Mutex::new(vec![None; options.rooms])),
        unfinished: Arc::new(AtomicUsize::new(options.clients)),
    };
    let clients: Vec<_> = (0..options.clients)
        .map(|number| {
            let load = load.clone();
            fibre::spawn(move || Client::new(number, load).run())
        })
        .collect();
    load.begin.wait();
    thread::sleep(options.time / 2);
    service.kill_one()?;
    thread::sleep(Duration::from_secs(1));
    service.start_again()?;
    let ends = clients.into_iter().map(|client| match client.join() {
        Ok(heard) => heard,
        Err(_) => Err(io::Error::other("a client has panicked")),
    });
    let heard = ends.collect::<io::Result<Vec<_>>>()?;
    service.stop()?;
    Ok(Tally::of(&heard, options.rooms))
}
