//! A file server with encrypted calls and answers, each client's under a colour of its own, after
//! SFS over libasync-smp (N. Zeldovich and others, "Multiprocessor support for event-driven
//! programs", 2003, section 5.2) and over Mely (2010, section V-C).
//!
//! The files lie in memory, and so do changes. `pattern` is a file that the server makes by itself.
//! The secret is 32 bytes, those of a file, or zeros to try it out. The example `sfs_load` reads
//! from it. SIGINT lets calls that have begun be the last.
//!
//! ```text
//! cargo run --release -p fibre-events --example sfs_like -- --pattern 209715200 &
//! cargo run --release -p fibre-events --example sfs_load -- 127.0.0.1:8080
//! ```

#[path = "../front/mod.rs"]
#[allow(dead_code, reason = "a part is used")]
mod front;
#[allow(dead_code, reason = "a part is for clients")]
mod seal;
mod service;
mod store;
mod wire;

use clap::Parser;
use front::options::Options;
use front::server::Server;
use std::io;
use std::path::PathBuf;
use std::time::Duration;
use store::Store;

/// A file server that encrypts under a colour for each client
#[derive(Parser)]
#[command(version)]
struct Arguments {
    #[command(flatten)]
    options: Options,

    /// A file with the secret, of 32 bytes [default: zeros]
    #[arg(long)]
    key_file: Option<PathBuf>,

    /// Bytes of the file `pattern`
    #[arg(long, default_value_t = 1 << 20)]
    pattern: u64,

    /// Milliseconds that a client may rely on a file it has looked up
    #[arg(long, default_value_t = 1000)]
    lease: u64,

    /// Files to serve, by the last parts of their names
    files: Vec<PathBuf>,
}

fn main() -> io::Result<()> {
    let arguments = Arguments::parse();
    let mut store = Store::new(Duration::from_millis(arguments.lease));
    let pattern: Vec<u8> = (0..arguments.pattern).map(wire::pattern).collect();
    store.add(b"pattern", &pattern);
    drop(pattern);
    for path in &arguments.files {
        let name = path.file_name().unwrap_or_default();
        store.add(name.as_encoded_bytes(), &std::fs::read(path)?);
    }
    let secret = match arguments.key_file {
        None => [0; 32],
        Some(path) => {
            let bytes = std::fs::read(path)?;
            let exact = seal::Secret::try_from(bytes);
            exact.map_err(|_| io::Error::other("the secret does not have 32 bytes"))?
        }
    };
    Server::serve(&arguments.options, service::Sfs::new(secret, store))
}
