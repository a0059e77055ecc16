//! Servers until standard input ends, for the programs beside this one.

use std::io::{self, Read, Write};

use anyhow::Result;
use clap::{Parser, ValueEnum};
use fibre_clients::servers::{Server, mariadb, postgres, redis};
use fibre_clients::waiting;

/// Starts servers on 127.0.0.1, prints where they are, and ends them when standard input ends.
#[derive(Parser)]
#[command(version)]
struct Options {
    /// Which ones; all, if none is named
    servers: Vec<Kind>,
}

/// A server.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum Kind {
    /// Of Debian's package redis-server
    Redis,
    /// Of Debian's package mariadb-server-core
    Mariadb,
    /// Of Debian's package postgresql
    Postgres,
    /// One of this package's, which answers `GET /50/abc` by `abc` after 50 ms
    Http,
}

fn main() -> Result<()> {
    let mut kinds = Options::parse().servers;
    if kinds.is_empty() {
        kinds.extend(Kind::value_variants());
    }
    fibre_measure::raise_file_limit()?;
    let mut running: Vec<Server> = Vec::new();
    for kind in kinds {
        match kind {
            Kind::Redis => running.push(say(redis()?)?),
            Kind::Mariadb => running.push(say(mariadb()?)?),
            Kind::Postgres => running.push(say(postgres()?)?),
            Kind::Http => println!("http://{}", waiting::start()?),
        }
    }
    io::stdout().flush()?;
    io::stdin().read_to_end(&mut Vec::new())?;
    Ok(())
}

/// Prints where a server is.
fn say(server: Server) -> io::Result<Server> {
    println!("{}", server.place());
    io::stdout().flush()?;
    Ok(server)
}
