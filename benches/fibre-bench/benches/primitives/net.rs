//! `TcpStream` and `TcpListener` over loopback.
//!
//! | group | what a round is |
//! |---|---|
//! | `TcpStream` | 16 bytes there and back over one connection |
//! | `TcpListener` | connect, accept, close by the server, close by the client |
//!
//! Member `fibre` has two fibres with our sockets, `std::net` two threads with those of the
//! standard library; "on 1" both share a core, "on 2" each has a kernel thread of its own.
//! The system calls that move the bytes are the same and are most of a round. The threads
//! are those of a server with one thread per connection; what fibres add or save is how
//! a waiting one is woken.
//!
//! In a short connection the server closes first, so that the address of the client is
//! free at once and any number of rounds can follow each other.

use crate::support::{Players, Workers, must, rally};
use criterion::{BenchmarkId, Criterion};
use std::io::{self, Read, Write};
use std::net;
use std::time::Duration;

/// Bytes of a message.
const MESSAGE: usize = 16;

/// A connection within this process.
fn connection() -> io::Result<(net::TcpStream, net::TcpStream)> {
    let listener = net::TcpListener::bind("127.0.0.1:0")?;
    let near = net::TcpStream::connect(listener.local_addr()?)?;
    let (far, _) = listener.accept()?;
    Ok((near, far))
}

/// Messages there and back over these two ends.
fn echo<S>(players: Players<'_>, rounds: u64, (mut near, mut far): (S, S)) -> Duration
where
    S: Read + Write + Send + 'static,
{
    let mut sent = [1; MESSAGE];
    let mut received = [0; MESSAGE];
    let serve = move || {
        must(near.write_all(&sent));
        must(near.read_exact(&mut sent));
    };
    let answer = move || {
        must(far.read_exact(&mut received));
        must(far.write_all(&received));
    };
    rally(players, rounds, serve, answer)
}

/// [`echo`] with our sockets.
fn echo_fibre(players: Players<'_>, rounds: u64) -> io::Result<Duration> {
    let (near, far) = connection()?;
    let ends = (
        fibre::net::TcpStream::try_from(near)?,
        fibre::net::TcpStream::try_from(far)?,
    );
    Ok(echo(players, rounds, ends))
}

/// [`echo`] with those of the standard library.
fn echo_std(players: Players<'_>, rounds: u64) -> io::Result<Duration> {
    Ok(echo(players, rounds, connection()?))
}

/// Short connections with our sockets.
fn short_fibre(players: Players<'_>, rounds: u64) -> io::Result<Duration> {
    let listener = fibre::net::TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?;
    let connect = move || wait_for_end(must(fibre::net::TcpStream::connect(address)));
    let accept = move || drop(must(listener.accept()));
    Ok(rally(players, rounds, connect, accept))
}

/// Short connections with those of the standard library.
fn short_std(players: Players<'_>, rounds: u64) -> io::Result<Duration> {
    let listener = net::TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?;
    let connect = move || wait_for_end(must(net::TcpStream::connect(address)));
    let accept = move || drop(must(listener.accept()));
    Ok(rally(players, rounds, connect, accept))
}

/// Waits until the other side has closed, and closes.
fn wait_for_end(mut stream: impl Read) {
    assert_eq!(must(stream.read(&mut [0])), 0, "nobody has sent anything");
}

/// Rounds between these players, so many.
type Rounds = fn(Players<'_>, u64) -> io::Result<Duration>;

/// A group: the rounds of fibres and those of threads.
fn measure(
    criterion: &mut Criterion,
    name: &str,
    (ours, others): (Rounds, Rounds),
) -> io::Result<()> {
    let mut group = criterion.benchmark_group(name);
    for processors in [1, 2] {
        let parameter = format!("on {processors}");
        let fibres = Workers::fibres(processors)?;
        group.bench_function(BenchmarkId::new("fibre", &parameter), |bencher| {
            bencher.iter_custom(|rounds| must(ours((&fibres, &fibres), rounds)));
        });
        fibres.stop();
        let threads = Workers::Threads(processors);
        group.bench_function(BenchmarkId::new("std::net", &parameter), |bencher| {
            bencher.iter_custom(|rounds| must(others((&threads, &threads), rounds)));
        });
    }
    group.finish();
    Ok(())
}

/// Measures all of them.
pub(crate) fn measure_all(criterion: &mut Criterion) -> io::Result<()> {
    measure(criterion, "TcpStream", (echo_fibre, echo_std))?;
    measure(criterion, "TcpListener", (short_fibre, short_std))?;
    Ok(())
}
