//! A service that keeps words in MySQL, by std's own sockets and the crate `mysql` as it is.
//!
//! A client sends lines: `set 7 word` stores a word, `get 7` asks for it. Each connection has a
//! fibre of its own, which fibre-libc lets block where a thread would. They share the crate's pool:
//! a fibre that finds all of its connections taken waits for one, by std's condition variable.

use std::io::{self, BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};

use clap::Parser;
use fibre_libc as _;
use mysql::prelude::Queryable;
use mysql::{Opts, OptsBuilder, Pool, PoolConstraints, PoolOpts};

/// Keeps words in MySQL.
#[derive(Parser)]
#[command(version)]
struct Options {
    /// Address to listen on; with port 0 the kernel chooses one
    #[arg(long, default_value = "127.0.0.1:0")]
    listen: SocketAddr,
    /// Where MySQL is, with the name of a database
    #[arg(long, default_value = "mysql://root@127.0.0.1/test")]
    mysql: String,
    /// Connections to it
    #[arg(long, default_value_t = 10)]
    connections: usize,
}

/// What a line asks for.
enum Request<'a> {
    /// The word of a number.
    Get(u64),
    /// A word for a number.
    Set(u64, &'a str),
}

impl<'a> Request<'a> {
    /// Reads a line.
    fn parse(line: &'a str) -> Option<Self> {
        let mut words = line.split_whitespace();
        match (words.next()?, words.next()?.parse().ok()?, words.next()) {
            ("get", number, None) => Some(Self::Get(number)),
            ("set", number, Some(word)) => Some(Self::Set(number, word)),
            _ => None,
        }
    }

    /// Does it. Blocks the fibre.
    fn carry_out(self, pool: &Pool) -> mysql::Result<String> {
        let mut connection = pool.get_conn()?;
        match self {
            Self::Get(number) => {
                let query = "SELECT word FROM words WHERE number = ?";
                let word: Option<String> = connection.exec_first(query, (number,))?;
                Ok(word.unwrap_or_else(|| "none".to_owned()))
            }
            Self::Set(number, word) => {
                connection.exec_drop("REPLACE INTO words VALUES (?, ?)", (number, word))?;
                Ok("stored".to_owned())
            }
        }
    }
}

/// Answers the lines of a connection until its end. Blocks the fibre.
fn serve(connection: &TcpStream, pool: &Pool) -> io::Result<()> {
    for line in BufReader::new(connection).lines() {
        let answer = match Request::parse(&line?) {
            Some(request) => request
                .carry_out(pool)
                .unwrap_or_else(|error| format!("failed: {error}")),
            None => "what?".to_owned(),
        };
        (&*connection).write_all((answer + "\n").as_bytes())?;
    }
    Ok(())
}

/// A pool of at most so many connections, and the table. Blocks the fibre.
fn prepare(options: &Options) -> anyhow::Result<Pool> {
    let constraints = PoolConstraints::new(1, options.connections.max(1));
    let constraints = constraints.unwrap_or_default();
    let limits = PoolOpts::default().with_constraints(constraints);
    let place = Opts::from_url(&options.mysql)?;
    let pool = Pool::new(OptsBuilder::from_opts(place).pool_opts(limits))?;
    let table = "CREATE TABLE IF NOT EXISTS words (number BIGINT PRIMARY KEY, word TEXT NOT NULL)";
    pool.get_conn()?.query_drop(table)?;
    Ok(pool)
}

fn main() -> anyhow::Result<()> {
    // SAFETY: no code of this program keeps what belongs to a kernel thread while it waits.
    unsafe { fibre_libc::install() };
    let options = Options::parse();
    let service = fibre::spawn(move || {
        let pool = prepare(&options)?;
        let listener = TcpListener::bind(options.listen)?;
        println!("listening on {}", listener.local_addr()?);
        loop {
            let (connection, _) = listener.accept()?;
            let pool = pool.clone();
            // A client that goes away has its own error.
            fibre::spawn(move || serve(&connection, &pool));
        }
    });
    let ended = service.join();
    ended.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}
