//! Fibres that wait, and some that do not let go of their processors: what `inside` asks for dumps.
//!
//! It announces itself as servers do, and ends as they do, but nobody is answered.

use std::hint;
use std::io;
use std::net::TcpListener;
use std::thread;
use std::time::Duration;

use clap::Parser;
use fibre::Cluster;
use fibre_bench::serving;

/// What it is to have.
#[derive(Parser)]
#[command(version)]
struct Arguments {
    /// Fibres that wait.
    #[arg(long)]
    fibres: usize,
    /// Processors, and kernel threads for them.
    #[arg(long, default_value_t = 1)]
    processors: usize,
    /// Whether a fibre keeps each processor.
    #[arg(long)]
    hang: bool,
}

/// The longest time, for what waits until it is killed.
const FOR_EVER: Duration = Duration::from_secs(1 << 30);

fn main() -> io::Result<()> {
    let arguments = Arguments::parse();
    let processors = Cluster::builder().processors(arguments.processors);
    let cluster = processors.build()?;
    for _ in 0..arguments.fibres {
        drop(cluster.spawn(waits));
    }
    while fibre::metrics().totals().started < arguments.fibres as u64 {
        thread::sleep(Duration::from_millis(1));
    }
    if arguments.hang {
        for _ in 0..arguments.processors {
            drop(cluster.spawn(hangs));
        }
        // They keep their processors, or are about to.
        thread::sleep(Duration::from_millis(100));
    }
    let listener = TcpListener::bind("127.0.0.1:0")?;
    serving::announce(listener.local_addr()?)?;
    loop {
        thread::park();
    }
}

/// Waits.
fn waits() {
    fibre::sleep(FOR_EVER);
}

/// Keeps its processor.
fn hangs() {
    loop {
        hint::spin_loop();
    }
}
