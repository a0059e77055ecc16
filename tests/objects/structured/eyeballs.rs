//! Happy eyeballs (RFC 8305), Trio's example of what nurseries are for: connects to
//! the addresses of a server one after the other, each when the one before has failed or has taken
//! too long, and takes the first connection. The other attempts end, and leave no socket behind.

use super::{LONG, SHORT};
use crate::support::for_each_cluster;
use fibre::net::{TcpListener, TcpStream};
use fibre::{Group, GroupError, select, select::after};
use std::io::{self, Read, Write};
use std::net::SocketAddr;
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// What a fibre of the race has come to.
type Attempt = Result<TcpStream, fibre::FibreError<io::Error>>;

/// The first connection to one of the addresses. `begun` counts the attempts.
fn happy_eyeballs(
    addresses: &[SocketAddr],
    delay: Duration,
    begun: &AtomicUsize,
) -> Result<TcpStream, GroupError<io::Error>> {
    Group::builder().keep_going().run(|race| {
        let mut refused = io::Error::from(io::ErrorKind::AddrNotAvailable);
        let mut won = |attempt: Attempt| match attempt {
            Ok(stream) => {
                race.end_rest();
                Some(stream)
            }
            Err(error) => {
                refused = error
                    .into_error()
                    .unwrap_or_else(|| io::Error::other("a panic"));
                None
            }
        };
        for address in addresses {
            race.spawn(|| {
                begun.fetch_add(1, Ordering::Relaxed);
                TcpStream::connect(*address)
            });
            let ended = select! {
                attempt = race.next_arm() => attempt,
                _ = after(delay) => None,
            };
            if let Some(stream) = ended.and_then(&mut won) {
                return Ok(stream);
            }
        }
        race.results().find_map(won).ok_or(refused)
    })
}

/// An address that refuses: a port that was free a moment ago.
fn refusing() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap()
}

/// An address that does not answer: a listener with a full queue, and what fills it.
fn silent() -> (SocketAddr, Vec<std::net::TcpStream>, std::net::TcpListener) {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    // SAFETY: it changes the length of the queue.
    assert_eq!(unsafe { libc::listen(listener.as_raw_fd(), 0) }, 0);
    let address = listener.local_addr().unwrap();
    let connect = || std::net::TcpStream::connect_timeout(&address, Duration::from_millis(50));
    let filled = std::iter::from_fn(|| connect().ok()).take(64).collect();
    (address, filled, listener)
}

/// A server that greets each of its clients, and then waits until they have left.
fn greet(listener: &TcpListener, clients: usize) {
    for _ in 0..clients {
        let (mut stream, _) = listener.accept().unwrap();
        stream.write_all(b"hello").unwrap();
        assert_eq!(stream.read(&mut [0]).unwrap(), 0, "the client has left");
    }
}

/// Reads a greeting.
fn greeting(mut stream: TcpStream) -> String {
    let mut text = [0; 5];
    stream.read_exact(&mut text).unwrap();
    String::from_utf8_lossy(&text).into_owned()
}

/// The first address that answers is taken, however the earlier ones fail; the attempts that have
/// not come to an end are given up.
#[test]
fn the_first_connection_wins() {
    for_each_cluster(|_| {
        let good = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = good.local_addr().unwrap();
        let server = fibre::spawn(move || greet(&good, 3));
        let (silent, ..) = &silent();
        let races = [
            (vec![address, refusing()], LONG, 1),
            (vec![refusing(), refusing(), address], LONG, 3),
            (vec![*silent, refusing(), *silent, address], SHORT, 4),
        ];
        for (addresses, delay, attempts) in races {
            let begun = AtomicUsize::new(0);
            let stream = happy_eyeballs(&addresses, delay, &begun).unwrap();
            assert_eq!(stream.peer_addr().unwrap(), address);
            assert_eq!(begun.into_inner(), attempts);
            assert_eq!(greeting(stream), "hello");
        }
        server.join().unwrap();
    });
}

/// If no address answers, the error is one of theirs; without addresses, it says so.
#[test]
fn nobody_answers() {
    for_each_cluster(|_| {
        let begun = AtomicUsize::new(0);
        let failed = happy_eyeballs(&[refusing(), refusing()], LONG, &begun).unwrap_err();
        let kind = failed.into_error().map(|error| error.kind());
        assert_eq!(kind, Some(io::ErrorKind::ConnectionRefused));
        assert_eq!(begun.load(Ordering::Relaxed), 2);
        let none = happy_eyeballs(&[], LONG, &begun).unwrap_err();
        let kind = none.into_error().map(|error| error.kind());
        assert_eq!(kind, Some(io::ErrorKind::AddrNotAvailable));
    });
}

/// A time-out around the race ends all attempts.
#[test]
fn a_race_has_a_time() {
    for_each_cluster(|_| {
        let ((silent, ..), begun) = (&silent(), AtomicUsize::new(0));
        let race = || happy_eyeballs(&[*silent, *silent], Duration::ZERO, &begun);
        let late = fibre::timeout(10 * SHORT, race).unwrap_err();
        let ended = late.into_value();
        assert!(matches!(ended, None | Some(Err(GroupError::TimedOut))));
        assert_eq!(begun.into_inner(), 2);
    });
}
