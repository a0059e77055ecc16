//! A fibre for each connection, until a token is cancelled.

use crate::support::{Latch, eventually, for_clusters, text_of, watched};
use fibre::net::{Listener, Server, TcpListener, TcpStream, serve};
use fibre::os::unix::net::{UnixListener, UnixStream};
use fibre::{CancelToken, JoinHandle};
use std::io::{self, ErrorKind, Read, Write};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

/// A time that no test waits for.
const LONG: Duration = Duration::from_secs(3600);

/// A server in a fibre.
struct Serving {
    address: SocketAddr,
    stop: CancelToken,
    fibre: JoinHandle<io::Result<()>>,
}

impl Serving {
    /// Starts one.
    fn start(
        server: Server,
        handler: impl Fn(TcpStream, SocketAddr) + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let stop = CancelToken::new();
        let token = stop.clone();
        let fibre = fibre::spawn(move || server.serve(listener, &token, handler));
        Self {
            address,
            stop,
            fibre,
        }
    }

    /// A client.
    fn client(&self) -> TcpStream {
        TcpStream::connect(self.address).unwrap()
    }

    /// Waits for the end of the server.
    fn end(self) {
        self.fibre.join().unwrap().unwrap();
    }
}

/// Sends back what comes, each answer within a stretch.
fn echo(mut stream: TcpStream, _: SocketAddr) {
    let mut buffer = [0; 64];
    while let Ok(count @ 1..) = stream.read(&mut buffer) {
        let answer = || stream.write_all(&buffer[..count]);
        if !matches!(fibre::graceful(answer), Ok(Ok(()))) {
            break;
        }
    }
}

/// One question and its answer.
fn ask(client: &mut TcpStream) {
    client.write_all(b"hello").unwrap();
    let mut answer = [0; 5];
    client.read_exact(&mut answer).unwrap();
    assert_eq!(&answer, b"hello");
}

/// Whether a server has closed a connection.
fn is_closed(client: &mut TcpStream) -> bool {
    match client.read(&mut [0]) {
        Ok(count) => count == 0,
        Err(error) => error.kind() == ErrorKind::ConnectionReset,
    }
}

#[test]
fn all_are_served_until_the_token_is_cancelled() {
    for_clusters(&[1, 2, 4], |_| {
        let server = Serving::start(Server::new(), echo);
        let mut clients: Vec<_> = (0..50).map(|_| server.client()).collect();
        for _ in 0..3 {
            clients.iter_mut().for_each(ask);
        }
        let address = server.address;
        server.stop.cancel();
        server.end();
        assert!(clients.iter_mut().all(is_closed));
        let refused = TcpStream::connect(address).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::ConnectionRefused);
    });
}

#[test]
fn a_token_that_is_cancelled_already_serves_nobody() {
    for_clusters(&[1, 2, 4], |_| {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let _client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let stop = CancelToken::new();
        stop.cancel();
        serve(listener, &stop, |_: TcpStream, _| {
            panic!("somebody is served")
        })
        .unwrap();
    });
}

#[test]
fn an_answer_that_has_been_begun_is_sent() {
    for_clusters(&[1, 2, 4], |_| {
        let (begun, door) = (Arc::new(AtomicBool::new(false)), Latch::new());
        let (tell, waits) = (Arc::clone(&begun), Arc::clone(&door));
        let server = Serving::start(Server::new(), move |mut stream, _| {
            if stream.read_exact(&mut [0]).is_err() {
                return; // cancelled
            }
            let answers = || {
                tell.store(true, Ordering::SeqCst);
                waits.wait();
                stream.write_all(b"late").unwrap();
            };
            fibre::graceful(answers).unwrap();
        });
        let (mut client, mut idle) = (server.client(), server.client());
        client.write_all(b"?").unwrap();
        eventually(|| begun.load(Ordering::SeqCst));
        server.stop.cancel_within(LONG).unwrap();
        // Its handler has nothing to do.
        assert!(is_closed(&mut idle));
        assert!(!server.fibre.is_finished());
        door.open();
        let mut answer = String::new();
        client.read_to_string(&mut answer).unwrap();
        assert_eq!(answer, "late");
        server.end();
    });
}

#[test]
fn no_more_are_served_at_a_time_than_allowed() {
    for_clusters(&[1, 2, 4], |_| {
        let now = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&now);
        let server = Server::new().max_connections(3);
        let server = Serving::start(server, move |stream, peer| {
            assert!(count.fetch_add(1, Ordering::SeqCst) < 3);
            echo(stream, peer);
            count.fetch_sub(1, Ordering::SeqCst);
        });
        let mut clients: Vec<_> = (0..3).map(|_| server.client()).collect();
        clients.iter_mut().for_each(ask);
        let mut others: Vec<_> = (0..6).map(|_| server.client()).collect();
        for other in &mut others {
            other.write_all(b"hello").unwrap();
        }
        let mut waits = others[0].try_clone().unwrap();
        waits
            .set_read_timeout(Some(Duration::from_millis(20)))
            .unwrap();
        assert_eq!(
            waits.read(&mut [0]).unwrap_err().kind(),
            ErrorKind::TimedOut
        );
        drop(clients);
        waits.set_read_timeout(None).unwrap();
        for mut other in others {
            other.read_exact(&mut [0; 5]).unwrap();
        }
        drop(waits);
        server.stop.cancel();
        server.end();
        assert_eq!(now.load(Ordering::SeqCst), 0);
    });
}

#[test]
fn a_panic_ends_one_connection() {
    for_clusters(&[1, 2, 4], |_| {
        let server = Server::new().max_connections(1);
        let server = Serving::start(server, |mut stream, peer| {
            let mut byte = [0];
            stream.read_exact(&mut byte).unwrap();
            if byte == *b"!" {
                std::panic::resume_unwind(Box::new("on purpose"));
            }
            echo(stream, peer);
        });
        let mut bad = server.client();
        bad.write_all(b"!").unwrap();
        assert!(is_closed(&mut bad));
        // Its permit has come back.
        let mut good = server.client();
        good.write_all(b"?").unwrap();
        ask(&mut good);
        server.stop.cancel();
        server.end();
    });
}

#[test]
fn a_clone_that_is_closed_ends_accepting() {
    for_clusters(&[1, 2, 4], |_| {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let clone = listener.try_clone().unwrap();
        let mut client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let drained = Arc::new(AtomicUsize::new(0));
        let counts = [Arc::clone(&drained), Arc::clone(&drained)];
        let server = fibre::spawn(move || {
            let [first, second] = counts.map(|count| {
                move || {
                    count.fetch_add(1, Ordering::SeqCst);
                }
            });
            let server = Server::new().on_drain(first).on_drain(second);
            server.serve(listener, &CancelToken::new(), echo)
        });
        ask(&mut client);
        clone.close();
        eventually(|| drained.load(Ordering::SeqCst) == 2);
        // It goes on to its own end.
        ask(&mut client);
        assert!(!server.is_finished());
        drop(client);
        server.join().unwrap().unwrap();
    });
}

/// A listener that fails after its first connection, which has been served.
struct Failing {
    listener: TcpListener,
    accepted: AtomicUsize,
    served: Arc<AtomicBool>,
}

impl Listener for Failing {
    type Stream = TcpStream;
    type Address = SocketAddr;

    fn accept(&self) -> io::Result<(TcpStream, SocketAddr)> {
        if self.accepted.fetch_add(1, Ordering::SeqCst) == 0 {
            return self.listener.accept();
        }
        eventually(|| self.served.load(Ordering::SeqCst));
        Err(io::Error::other("the network is gone"))
    }
}

#[test]
fn a_listener_that_fails_ends_all() {
    for_clusters(&[1, 2, 4], |_| {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let served = Arc::new(AtomicBool::new(false));
        let failing = Failing {
            listener,
            accepted: AtomicUsize::new(0),
            served: Arc::clone(&served),
        };
        let server = fibre::spawn(move || serve(failing, &CancelToken::new(), echo));
        ask(&mut client);
        served.store(true, Ordering::SeqCst);
        assert!(is_closed(&mut client));
        let error = server.join().unwrap().unwrap_err();
        assert_eq!(error.to_string(), "the network is gone");
    });
}

/// A listener that is out of descriptors before each connection.
struct Starving(TcpListener, AtomicUsize);

impl Listener for Starving {
    type Stream = TcpStream;
    type Address = SocketAddr;

    fn accept(&self) -> io::Result<(TcpStream, SocketAddr)> {
        match self.1.fetch_add(1, Ordering::SeqCst) % 2 {
            0 => Err(io::Error::from_raw_os_error(libc::EMFILE)),
            _ => self.0.accept(),
        }
    }
}

#[test]
fn errors_that_pass_are_told_and_passed_over() {
    for_clusters(&[1, 2, 4], |_| {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let told = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&told);
        let stop = CancelToken::new();
        let token = stop.clone();
        let server = fibre::spawn(move || {
            let tell = move |error: &io::Error| {
                assert_eq!(error.raw_os_error(), Some(libc::EMFILE));
                count.fetch_add(1, Ordering::SeqCst);
            };
            let starving = Starving(listener, AtomicUsize::new(0));
            Server::new().on_error(tell).serve(starving, &token, echo)
        });
        for _ in 0..3 {
            ask(&mut TcpStream::connect(address).unwrap());
        }
        stop.cancel();
        server.join().unwrap().unwrap();
        assert!(told.load(Ordering::SeqCst) >= 3);
    });
}

#[test]
fn a_server_for_no_connections_is_refused() {
    for_clusters(&[1], |_| {
        let none = Server::new().max_connections(0);
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let error = none.serve(listener, &CancelToken::new(), echo).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput);
    });
}

#[test]
fn a_panic_at_the_drain_comes_after_all_have_ended() {
    for_clusters(&[1, 2, 4], |_| {
        let served = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&served);
        let server = Server::new().on_drain(|| std::panic::resume_unwind(Box::new("drained")));
        let server = Serving::start(server, move |stream, peer| {
            echo(stream, peer);
            fibre::shield(|| fibre::sleep(Duration::from_millis(5)));
            count.fetch_add(1, Ordering::SeqCst);
        });
        ask(&mut server.client());
        let mut client = server.client();
        ask(&mut client);
        server.stop.cancel_within(LONG).unwrap();
        let payload = server.fibre.join().unwrap_err();
        assert_eq!(text_of(&*payload), "drained");
        assert_eq!(served.load(Ordering::SeqCst), 2);
    });
}

#[test]
fn a_thread_serves_on_the_default_cluster() {
    watched(|| {
        let stop = CancelToken::new();
        let listener = UnixListener::bind_addr(&unix_address()).unwrap();
        let address = listener.local_addr().unwrap();
        let token = stop.clone();
        let served = std::thread::spawn(move || {
            serve(listener, &token, |mut stream: UnixStream, _| {
                assert!(fibre::in_fibre());
                stream.write_all(b"hello").unwrap();
            })
        });
        let mut text = String::new();
        let mut client = UnixStream::connect_addr(&address).unwrap();
        client.read_to_string(&mut text).unwrap();
        assert_eq!(text, "hello");
        stop.cancel();
        served.join().unwrap().unwrap();
    });
}

/// An address that no file has.
fn unix_address() -> std::os::unix::net::SocketAddr {
    use std::os::linux::net::SocketAddrExt;
    let name = format!("fibre-server-{}", std::process::id());
    std::os::unix::net::SocketAddr::from_abstract_name(name).unwrap()
}
