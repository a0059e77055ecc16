//! A pool of connections over the library's locks: many fibres share a few connections to a server.
//!
//! ```sh
//! cargo run --release --example pool -- --fibres 1000 --connections 8
//! ```
//!
//! `pool` is the pool. Here it is used: fibres borrow a connection each for one question to a
//! server of lines, which this program also is, and which hangs up on every hundredth question.

mod pool;

use std::error::Error;
use std::io::{self, BufRead, BufReader, Write};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use fibre::net::{TcpListener, TcpStream};
use fibre::{Group, GroupError};
use lexopt::prelude::*;

use crate::pool::{Pool, PoolError};

const HELP: &str = "\
Asks a server by a pool of connections.

  --fibres COUNT       that ask, each ten times [1000]
  --connections COUNT  at a time [8]
";

struct Options {
    fibres: usize,
    connections: usize,
}

impl Options {
    /// Reads the command line.
    fn read() -> Result<Self, lexopt::Error> {
        let mut options = Self {
            fibres: 1000,
            connections: 8,
        };
        let mut arguments = lexopt::Parser::from_env();
        while let Some(argument) = arguments.next()? {
            match argument {
                Long("fibres") => options.fibres = arguments.value()?.parse()?,
                Long("connections") => options.connections = arguments.value()?.parse()?,
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

/// A connection to the server.
type Line = BufReader<TcpStream>;

/// Opens one.
fn connect(server: SocketAddr) -> io::Result<Line> {
    let stream = TcpStream::connect_timeout(&server, Duration::from_secs(5))?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(Duration::from_secs(5)))?;
    Ok(BufReader::new(stream))
}

/// Sends a question on a connection of the pool, and returns the answer. A connection that has
/// failed in any way is not used again.
fn ask(pool: &Pool<Line>, question: usize) -> Result<String, PoolError> {
    let mut line = pool.borrow(Duration::from_secs(10))?;
    let mut answer = String::new();
    let asked = writeln!(line.get_mut(), "{question}").and_then(|()| line.read_line(&mut answer));
    match asked {
        Ok(1..) => Ok(answer.trim_end().to_owned()),
        Ok(_) => Err(line.discard(io::ErrorKind::UnexpectedEof.into())),
        Err(error) => Err(line.discard(error)),
    }
}

/// Answers the lines of a client, and hangs up now and then.
fn serve(client: TcpStream, served: &AtomicUsize) -> io::Result<()> {
    let mut lines = BufReader::new(&client).lines();
    while let Some(line) = lines.next().transpose()? {
        if served.fetch_add(1, Ordering::Relaxed) % 100 == 99 {
            return Ok(());
        }
        writeln!(&client, "{line}, you say")?;
    }
    Ok(())
}

/// Asks from many fibres; a question that the server has hung up on is asked again.
fn run(options: &Options) -> Result<usize, GroupError<PoolError>> {
    static SERVED: AtomicUsize = AtomicUsize::new(0);
    let listener = TcpListener::bind("127.0.0.1:0").map_err(failed)?;
    let server = listener.local_addr().map_err(failed)?;
    let accepting = listener.try_clone().map_err(failed)?;
    fibre::spawn(move || {
        for (client, _) in accepting.connections() {
            fibre::spawn(move || serve(client, &SERVED));
        }
    });
    let pool = Pool::new(options.connections, Duration::from_secs(60), move || {
        connect(server)
    });
    let asked_again = AtomicUsize::new(0);
    fibre::group(|group: &Group<'_, '_, (), PoolError>| {
        for number in 0..options.fibres {
            let (pool, asked_again) = (&pool, &asked_again);
            group.run(move || {
                for turn in 0..10 {
                    let question = number * 10 + turn;
                    let answer = loop {
                        match ask(pool, question) {
                            Err(PoolError::Failed(_)) => {
                                asked_again.fetch_add(1, Ordering::Relaxed)
                            }
                            answer => break answer?,
                        };
                    };
                    assert_eq!(answer, format!("{question}, you say"));
                }
                Ok(())
            });
        }
        Ok(())
    })?;
    pool.close();
    listener.close();
    println!("{} connections were opened", pool.opened());
    Ok(asked_again.into_inner())
}

/// What goes wrong before anybody asks.
fn failed(error: io::Error) -> GroupError<PoolError> {
    GroupError::Failed(PoolError::Failed(error))
}

fn main() -> Result<(), Box<dyn Error>> {
    let options = Options::read()?;
    let ran = fibre::spawn(move || run(&options)).join();
    let again = ran.unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
    println!("all questions are answered; {again} were asked again");
    Ok(())
}
