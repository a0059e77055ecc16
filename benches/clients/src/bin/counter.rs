//! A service that counts in Redis, by std's own sockets and the crate `redis` as it is.
//!
//! `GET /NAME` adds one to the counter of that name, and answers by its value. Each connection has
//! a fibre of its own, which fibre-libc lets block where a thread would. All share the connections
//! to Redis.

use std::io::{self, BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};

use clap::Parser;
use fibre_libc as _;
use redis::{Client, Commands, Connection, RedisResult};

/// Counts in Redis, over HTTP.
#[derive(Parser)]
#[command(version)]
struct Options {
    /// Address to listen on; with port 0 the kernel chooses one
    #[arg(long, default_value = "127.0.0.1:0")]
    listen: SocketAddr,
    /// Where Redis is
    #[arg(long, default_value = "redis://127.0.0.1/")]
    redis: String,
}

/// Connections to Redis that nobody uses at the moment.
struct Pool {
    client: Client,
    free: Mutex<Vec<Connection>>,
}

impl Pool {
    /// Adds one to a counter, and returns its value. Blocks the fibre. The connection goes back
    /// into the pool unless it has failed.
    fn count(&self, name: &str) -> RedisResult<u64> {
        let taken = self.with_free(Vec::pop);
        let mut connection = taken.map_or_else(|| self.client.get_connection(), Ok)?;
        let count = connection.incr(name, 1)?;
        self.with_free(|free| free.push(connection));
        Ok(count)
    }

    /// Does something with the free connections.
    fn with_free<R>(&self, f: impl FnOnce(&mut Vec<Connection>) -> R) -> R {
        f(&mut self.free.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Answers the requests of a connection until its end. Blocks the fibre.
fn serve(connection: &TcpStream, pool: &Pool) -> io::Result<()> {
    let mut lines = BufReader::new(connection).lines();
    while let Some(request) = lines.next().transpose()? {
        // The rest of the head, which ends with an empty line.
        for line in lines.by_ref() {
            if line?.is_empty() {
                break;
            }
        }
        let name = request.split(' ').nth(1).unwrap_or_default();
        let (status, body) = match pool.count(name) {
            Ok(count) => ("200 OK", count.to_string()),
            Err(error) => ("502 Bad Gateway", error.to_string()),
        };
        let length = body.len();
        let answer = format!("HTTP/1.1 {status}\r\nContent-Length: {length}\r\n\r\n{body}");
        (&*connection).write_all(answer.as_bytes())?;
    }
    Ok(())
}

fn main() -> anyhow::Result<()> {
    // SAFETY: no code of this program keeps what belongs to a kernel thread while it waits.
    unsafe { fibre_libc::install() };
    let options = Options::parse();
    let pool = Arc::new(Pool {
        client: Client::open(options.redis)?,
        free: Mutex::default(),
    });
    let listener = TcpListener::bind(options.listen)?;
    println!("listening on {}", listener.local_addr()?);
    let service = fibre::spawn(move || {
        loop {
            let (connection, _) = listener.accept()?;
            let pool = Arc::clone(&pool);
            // A client that goes away has its own error.
            fibre::spawn(move || serve(&connection, &pool));
        }
    });
    let ended = service.join();
    ended.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}
