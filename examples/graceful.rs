//! A server that ends well: it accepts until it is told to stop, lets those that are being served
//! finish, for a while, and says now and then how it fares.
//!
//! ```sh
//! cargo run --release --example graceful -- --addr 127.0.0.1:7000
//! kill -TERM PID      # from another terminal; or Ctrl-C
//! ```
//!
//! All that the loop waits for stands in one `select!`. Whatever comes first is handled; the rest
//! stays where it is. `docs/SELECT.md` has the details.

use std::error::Error;
use std::io::{self, Read, Write};
use std::net::SocketAddr;
use std::time::Duration;

use fibre::net::{TcpListener, TcpStream};
use fibre::select::after;
use fibre::signal::{SIGINT, SIGTERM, Signals};
use fibre::{Group, GroupError, Interval, select};
use lexopt::prelude::*;

const HELP: &str = "\
Sends back what it receives, until SIGTERM or Ctrl-C.

  --addr ADDRESS   to listen on; with port 0 the kernel chooses one [127.0.0.1:7000]
  --every SECONDS  between two reports [10]
  --grace SECONDS  that connections have to end after the signal [5]
";

struct Options {
    addr: SocketAddr,
    every: u64,
    grace: u64,
}

impl Options {
    /// Reads the command line.
    fn read() -> Result<Self, lexopt::Error> {
        let mut options = Self {
            addr: SocketAddr::from(([127, 0, 0, 1], 7000)),
            every: 10,
            grace: 5,
        };
        let mut arguments = lexopt::Parser::from_env();
        while let Some(argument) = arguments.next()? {
            match argument {
                Long("addr") => options.addr = arguments.value()?.parse()?,
                Long("every") => options.every = arguments.value()?.parse()?,
                Long("grace") => options.grace = arguments.value()?.parse()?,
                Short('h') | Long("help") => {
                    print!("{HELP}");
                    std::process::exit(0);
                }
                other => return Err(other.unexpected()),
            }
        }
        Ok(options)
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let options = Options::read()?;
    let serve = move || serve(&options);
    match fibre::spawn(serve).join() {
        Ok(served) => Ok(served?),
        Err(payload) => std::panic::resume_unwind(payload),
    }
}

/// Accepts connections; each is a fibre of one group.
#[allow(
    clippy::cognitive_complexity,
    reason = "what `select!` expands to is counted"
)]
fn serve(options: &Options) -> Result<(), GroupError<io::Error>> {
    Group::builder().run(|group: &Group<'_, '_, (), _>| {
        let listener = TcpListener::bind(options.addr)?;
        let stop = Signals::new([SIGTERM, SIGINT])?;
        let mut report = Interval::new(Duration::from_secs(options.every.max(1)));
        println!("listening on {}", listener.local_addr()?);
        loop {
            select! {
                Some((stream, _)) = listener.connections().next_arm() => {
                    group.run(move || {
                        // What befalls one connection is no failure of the group.
                        let _ = echo(stream);
                        Ok(())
                    });
                }
                signal = stop.wait_arm() => {
                    println!("{}: {} connections are left", signal?, group.running());
                    break;
                }
                _ = report.tick_arm() => println!("{} connections", group.running()),
            }
        }
        drop(listener);
        select! {
            () = group.end_arm() => println!("all have ended"),
            _ = stop.wait_arm() => group.cancel(), // once more
            _ = after(Duration::from_secs(options.grace)) => group.cancel(),
        }
        Ok(())
    })
}

/// Sends back what comes.
fn echo(mut stream: TcpStream) -> io::Result<()> {
    let mut buffer = [0; 4096];
    loop {
        match stream.read(&mut buffer)? {
            0 => return Ok(()),
            count => stream.write_all(&buffer[..count])?,
        }
    }
}
