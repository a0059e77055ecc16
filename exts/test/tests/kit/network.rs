//! The simulated network: names, addresses, and connections over links that do nothing.

use crate::{assert_says, failure};
use fibre::io::{PollFd, Readiness, copy, poll};
use fibre::net::{AsyncStream, Shutdown, TcpListener, TcpStream, serve};
use fibre::sync::Event;
use fibre_test::{Schedule, Sim};
use std::future::poll_fn;
use std::io::{self, ErrorKind, IoSlice, IoSliceMut, Read, Write};
use std::net::{Ipv4Addr, SocketAddr};
use std::os::unix::net::UnixStream as StdStream;
use std::sync::Arc;
use std::time::Duration;

const SECOND: Duration = Duration::from_secs(1);

/// Where the host `server` listens.
const SERVER: &str = "server:80";

/// Runs these as the programs of the hosts `server`, which listens, and `client`, once the server
/// has come to rest; both end.
pub(crate) fn runs<S: Send + 'static, C: Send + 'static>(
    sim: &Sim,
    server: impl FnOnce(TcpListener) -> io::Result<S> + Send + 'static,
    client: impl FnOnce() -> io::Result<C> + Send + 'static,
) -> (S, C) {
    let listens = || server(TcpListener::bind("0.0.0.0:80").unwrap());
    let server = sim.host("server").run(listens);
    sim.settle();
    let client = sim.host("client").run(client).join().unwrap().unwrap();
    (server.join().unwrap().unwrap(), client)
}

/// The two ends of a connection, of the hosts `server` and `client`.
pub(crate) fn pair(sim: &Sim) -> (TcpStream, TcpStream) {
    let accepts = |listener: TcpListener| Ok(listener.accept()?.0);
    runs(sim, accepts, || TcpStream::connect(SERVER))
}

/// The kind of error that a client's program ends with.
fn fails<T: Send + 'static>(
    sim: &Sim,
    program: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> ErrorKind {
    let ended = sim.host("client").run(program).join().unwrap();
    ended.err().expect("an error").kind()
}

#[test]
fn names_and_addresses_are_the_runs() {
    fibre_test::run(|sim| {
        let server = |listener: TcpListener| {
            let (mut stream, peer) = listener.accept()?;
            stream.write_all(b"hello")?;
            Ok((listener.local_addr()?, stream.local_addr()?, peer))
        };
        let client = || {
            let mut stream = TcpStream::connect(SERVER)?;
            let mut text = String::new();
            stream.read_to_string(&mut text)?;
            assert_eq!(text, "hello");
            Ok((stream.local_addr()?, stream.peer_addr()?))
        };
        let ((listener, server, seen), (client, peer)) = runs(sim, server, client);
        assert_eq!(listener.to_string(), "0.0.0.0:80");
        assert_eq!(server.to_string(), "10.0.0.1:80");
        assert_eq!(client.to_string(), "10.0.0.2:49152");
        assert_eq!((seen, peer), (client, server));
        assert_eq!(sim.host("client").address(), Ipv4Addr::new(10, 0, 0, 2));
        assert_eq!(sim.host("client").name(), "client");
        assert_eq!(sim.now(), Duration::ZERO);
    });
}

#[test]
fn what_is_started_on_a_host_is_of_the_host() {
    fibre_test::run(|sim| {
        let host = sim.host("server");
        let inner = host.run(|| fibre::spawn(|| TcpListener::bind("server:80")?.local_addr()));
        let address = inner.join().unwrap().join().unwrap().unwrap();
        assert_eq!(address.to_string(), "10.0.0.1:80");
        let labels = host.run(fibre::labels).join().unwrap();
        assert_eq!(labels, "host=server");
    });
}

#[test]
fn a_loopback_address_stays_on_its_host() {
    fibre_test::run(|sim| {
        let server = sim.host("server");
        server.run(|| {
            let listener = TcpListener::bind("localhost:80")?;
            listener.accept().map(drop)
        });
        sim.settle();
        let refused = |host: &str| {
            let connects = || TcpStream::connect("127.0.0.1:80").map(drop);
            sim.host(host).run(connects).join().unwrap().is_err()
        };
        assert_eq!(
            fails(sim, || TcpStream::connect(SERVER)),
            ErrorKind::ConnectionRefused
        );
        assert!(refused("client") && !refused("server"));
    });
}

#[test]
fn what_is_not_there_is_an_error() {
    fibre_test::run(|sim| {
        sim.host("server");
        let connect = |address: &'static str| fails(sim, move || TcpStream::connect(address));
        assert_eq!(connect(SERVER), ErrorKind::ConnectionRefused);
        assert_eq!(connect("10.9.9.9:80"), ErrorKind::HostUnreachable);
        assert_eq!(connect("sever:80"), ErrorKind::NotFound);
        let words = || TcpStream::connect("sever:80").unwrap_err().to_string();
        let words = sim.host("client").run(words).join().unwrap();
        assert_says(&words, &["no host \"sever\"", "there are: server, client"]);
        let family = || TcpStream::connect("[::1]:80").unwrap_err().raw_os_error();
        let family = sim.host("client").run(family).join().unwrap();
        assert_eq!(family, Some(libc::EAFNOSUPPORT));
    });
}

#[test]
fn a_port_is_bound_once() {
    fibre_test::run(|sim| {
        let binds = || {
            let first = TcpListener::bind("0.0.0.0:80")?;
            let second = TcpListener::bind("10.0.0.1:80").unwrap_err();
            assert_eq!(second.kind(), ErrorKind::AddrInUse);
            drop(first);
            let third = TcpListener::bind("10.0.0.1:80")?;
            let free = TcpListener::bind("0.0.0.0:0")?;
            assert_eq!(free.local_addr()?.port(), 49152);
            drop(third);
            TcpListener::bind("10.0.0.2:80")
        };
        let foreign = sim.host("server").run(binds).join().unwrap();
        assert_eq!(foreign.unwrap_err().kind(), ErrorKind::AddrNotAvailable);
    });
}

#[test]
fn a_writer_waits_for_room() {
    fibre_test::run(|sim| {
        let (server, client) = pair(sim);
        sim.link("server", "client").window(10);
        let writer = fibre::spawn(move || (&client).write_all(&[7; 25]));
        let mut total = 0;
        for expected in [10, 10, 5] {
            sim.settle();
            assert_eq!(writer.is_finished(), expected == 5);
            total += (&server).read(&mut [0; 100]).unwrap();
            assert_eq!(total % 10, expected % 10);
        }
        assert_eq!(total, 25);
        writer.join().unwrap().unwrap();
    });
}

#[test]
fn time_outs_are_of_the_runs_time() {
    fibre_test::run(|sim| {
        let (server, client) = pair(sim);
        sim.link("server", "client").window(1);
        client.set_write_timeout(Some(2 * SECOND)).unwrap();
        assert_eq!((&client).write(b"ab").unwrap(), 1);
        let late = (&client).write(b"b").unwrap_err();
        assert_eq!((late.kind(), sim.now()), (ErrorKind::TimedOut, 2 * SECOND));
        client.set_read_timeout(Some(SECOND)).unwrap();
        let late = (&client).read(&mut [0]).unwrap_err();
        assert_eq!((late.kind(), sim.now()), (ErrorKind::TimedOut, 3 * SECOND));
        drop(server);
    });
}

#[test]
fn one_direction_ends_and_the_other_goes_on() {
    fibre_test::run(|sim| {
        let (server, client) = pair(sim);
        (&client).write_all(b"question").unwrap();
        client.shutdown(Shutdown::Write).unwrap();
        let mut question = String::new();
        (&server).read_to_string(&mut question).unwrap();
        assert_eq!(question, "question");
        assert_eq!(
            (&client).write(b"!").unwrap_err().kind(),
            ErrorKind::BrokenPipe
        );
        (&server).write_all(b"answer").unwrap();
        let mut answer = [0; 6];
        (&client).read_exact(&mut answer).unwrap();
        assert_eq!(&answer, b"answer");
        client.shutdown(Shutdown::Read).unwrap();
        assert_eq!((&client).read(&mut answer).unwrap(), 0);
    });
}

#[test]
fn a_reader_that_waits_learns_of_an_end() {
    fibre_test::run(|sim| {
        let (server, client) = pair(sim);
        let server = Arc::new(server);
        let reads = Arc::clone(&server);
        let reader = fibre::spawn(move || (&*reads).read(&mut [0; 10]));
        sim.settle();
        server.shutdown(Shutdown::Read).unwrap();
        assert_eq!(reader.join().unwrap().unwrap(), 0);
        let reader = fibre::spawn(move || (&client).read(&mut [0; 10]));
        sim.settle();
        drop(server);
        assert_eq!(reader.join().unwrap().unwrap(), 0);
    });
}

#[test]
fn what_is_thrown_away_is_a_reset() {
    fibre_test::run(|sim| {
        // Unread bytes.
        let (server, client) = pair(sim);
        (&client).write_all(b"unread").unwrap();
        drop(server);
        let error = (&client).read(&mut [0]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ConnectionReset);
        assert_eq!((&client).read(&mut [0]).unwrap(), 0);
        assert_eq!(
            (&client).write(b"x").unwrap_err().kind(),
            ErrorKind::BrokenPipe
        );
    });
    fibre_test::run(|sim| {
        // A close that does not linger.
        let (server, client) = pair(sim);
        server.set_linger(Some(Duration::ZERO)).unwrap();
        drop(server);
        let error = client.take_error().unwrap().unwrap();
        assert_eq!(error.kind(), ErrorKind::ConnectionReset);
    });
    fibre_test::run(|sim| {
        // Bytes for somebody who has gone.
        let (server, client) = pair(sim);
        drop(server);
        assert_eq!((&client).read(&mut [0]).unwrap(), 0);
        (&client).write_all(b"late").unwrap();
        // As in Linux: the end came before the reset.
        assert_eq!((&client).read(&mut [0]).unwrap(), 0);
        let error = (&client).write(b"later").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::BrokenPipe);
    });
}

#[test]
fn a_closed_listener_dismisses_its_queue() {
    fibre_test::run(|sim| {
        let server = sim.host("server").run(|| {
            let listener = Arc::new(TcpListener::bind("0.0.0.0:80")?);
            let closes = Arc::clone(&listener);
            fibre::spawn(move || {
                fibre::sleep(SECOND);
                closes.close();
            });
            listener.accept()?;
            fibre::sleep(2 * SECOND);
            io::Result::Ok(listener.accept().unwrap_err().kind())
        });
        sim.settle();
        let connects =
            || io::Result::Ok([TcpStream::connect(SERVER)?, TcpStream::connect(SERVER)?]);
        let [accepted, queued] = sim.host("client").run(connects).join().unwrap().unwrap();
        (&queued).write_all(b"first").unwrap();
        let error = (&queued).read(&mut [0]).unwrap_err();
        assert_eq!(
            (error.kind(), sim.now()),
            (ErrorKind::ConnectionReset, SECOND)
        );
        assert_eq!(
            server.join().unwrap().unwrap(),
            ErrorKind::ConnectionAborted
        );
        assert_eq!(
            fails(sim, || TcpStream::connect(SERVER)),
            ErrorKind::ConnectionRefused
        );
        drop(accepted);
    });
}

#[test]
fn all_ways_to_read_and_write_are_simulated() {
    fibre_test::run(|sim| {
        let (server, client) = pair(sim);
        let slices = [IoSlice::new(b"ab"), IoSlice::new(b""), IoSlice::new(b"cde")];
        assert_eq!((&client).write_vectored(&slices).unwrap(), 5);
        let mut peeked = [0; 2];
        assert_eq!(server.peek(&mut peeked).unwrap(), 2);
        assert_eq!(&peeked, b"ab");
        let (mut one, mut other) = ([0; 1], [0; 2]);
        let mut slices = [IoSliceMut::new(&mut one), IoSliceMut::new(&mut other)];
        assert_eq!((&server).read_vectored(&mut slices).unwrap(), 3);
        assert_eq!((&one, &other), (b"a", b"bc"));
        let (buffer, count) = server.read_with(|| [0; 9]).unwrap();
        assert_eq!(&buffer[..count], b"de");
        let clone = client.try_clone().unwrap();
        drop(client);
        (&clone).write_all(b"clone").unwrap();
        let (reader, writer) = clone.into_split();
        drop(writer);
        let mut text = String::new();
        (&server).read_to_string(&mut text).unwrap();
        assert_eq!(text, "clone");
        drop(reader);
    });
}

#[test]
fn options_are_kept_and_do_nothing() {
    fibre_test::run(|sim| {
        let (server, client) = pair(sim);
        client.set_nodelay(true).unwrap();
        client.set_ttl(9).unwrap();
        assert!(client.nodelay().unwrap() && client.ttl().unwrap() == 9);
        drop(server);
    });
}

#[test]
fn tasks_and_copies_are_simulated() {
    fibre_test::run(|sim| {
        let (server, client) = pair(sim);
        let (there, back) = runs_more(sim);
        let proxy = fibre::spawn(move || copy(&server, &there));
        let mut stream = AsyncStream::new(client);
        let sent = [5; 100_000];
        let receiver = fibre::spawn(move || {
            let mut got = Vec::new();
            (&back).read_to_end(&mut got).map(|_| got)
        });
        fibre::block_on(async {
            let mut rest = &sent[..];
            while !rest.is_empty() {
                let count = poll_fn(|context| stream.poll_write(context, rest)).await;
                rest = &rest[count.unwrap()..];
            }
        });
        stream.shut_down().unwrap();
        assert_eq!(proxy.join().unwrap().unwrap(), 100_000);
        assert_eq!(receiver.join().unwrap().unwrap(), sent);
    });
}

/// A connection between two more hosts.
fn runs_more(sim: &Sim) -> (TcpStream, TcpStream) {
    let accepts = || TcpListener::bind("0.0.0.0:81")?.accept();
    let back = sim.host("back").run(accepts);
    sim.settle();
    let there = sim.host("server").run(|| TcpStream::connect("back:81"));
    let there = there.join().unwrap().unwrap();
    (there, back.join().unwrap().unwrap().0)
}

/// Waits for a connection or for what never comes; the address of the peer.
fn selects(listener: &TcpListener) -> io::Result<Option<SocketAddr>> {
    let never = Event::new();
    fibre::select! {
        accepted = listener.accept_arm() => accepted.map(|(_, peer)| Some(peer)),
        () = never.wait_arm() => Ok(None),
    }
}

/// Waits for a connection or a second; whether there is a connection.
fn selects_late(listener: &TcpListener) -> bool {
    let connections = listener.connections();
    fibre::select! {
        next = connections.next_arm() => next.is_some(),
        _ = fibre::select::after(SECOND) => false,
    }
}

#[test]
fn selections_wait_for_simulated_listeners() {
    fibre_test::run(|sim| {
        let server = |listener: TcpListener| Ok((selects(&listener)?, selects_late(&listener)));
        let client = || {
            fibre::sleep(SECOND);
            TcpStream::connect(SERVER)?.local_addr()
        };
        let ((accepted, late), client) = runs(sim, server, client);
        assert_eq!((accepted, late), (Some(client), false));
        assert_eq!(sim.now(), 2 * SECOND);
    });
}

#[test]
fn a_server_serves_until_the_test_ends() {
    let report = Sim::builder()
        .seeds(20)
        .schedule(Schedule::random())
        .run(|sim| {
            sim.host("server").run(|| {
                let listener = TcpListener::bind("0.0.0.0:80")?;
                serve(listener, &fibre::CancelToken::new(), |mut stream, _| {
                    let _ = stream.write_all(b"hello");
                })
            });
            sim.settle();
            let client = sim.host("client").run(|| {
                let mut text = String::new();
                TcpStream::connect(SERVER)?.read_to_string(&mut text)?;
                io::Result::Ok(text)
            });
            assert_eq!(client.join().unwrap().unwrap(), "hello");
        });
    assert_eq!(report.runs(), 20);
}

#[test]
fn a_fibre_that_is_of_no_host_is_a_leak_still() {
    let text = failure(Sim::builder(), |sim| {
        sim.host("server")
            .run(|| TcpListener::bind("0.0.0.0:80")?.accept());
        drop(fibre::spawn(|| fibre::sleep(SECOND)));
    });
    assert_says(&text, &["leak: 1 fibre still live"]);
}

#[test]
fn a_deadlock_names_hosts_and_sockets() {
    let text = failure(Sim::builder(), |sim| {
        let client = || io::Read::read(&mut TcpStream::connect(SERVER)?, &mut [0]);
        runs(
            sim,
            |listener| {
                [listener.accept()?.0, listener.accept()?.0]
                    .into_iter()
                    .map(Ok)
                    .collect::<io::Result<Vec<_>>>()
            },
            client,
        );
    });
    let parts = [
        "deadlock",
        "(\"server\") of host server waits for the listener 0.0.0.0:80 of server",
        "of host client waits for the connection 10.0.0.2:49152 of client to 10.0.0.1:80 of server",
        "host=client",
    ];
    assert_says(&text, &parts);
}

#[test]
fn a_program_that_fails_unseen_fails_the_run() {
    let text = failure(Sim::builder(), |sim| {
        sim.host("client")
            .run(|| TcpStream::connect("client:1").unwrap());
        sim.advance(SECOND);
    });
    assert_says(&text, &["has failed, and nobody joins it"]);
}

#[test]
fn what_is_not_simulated_says_so() {
    let text = failure(Sim::builder(), |sim| {
        let reads = || {
            let (one, _other) = StdStream::pair()?;
            fibre::os::unix::net::UnixStream::try_from(one)?.read(&mut [0])
        };
        let _ = sim.host("client").run(reads).join();
    });
    assert_says(
        &text,
        &["not under the kit's control", "waits for input or output"],
    );
    fibre_test::run(|sim| {
        let (server, _client) = pair(sim);
        let polled = poll(&mut [PollFd::new(&server, Readiness::READ)]);
        assert_eq!(polled.unwrap_err().kind(), ErrorKind::Unsupported);
    });
}

#[test]
fn bad_use_gets_words() {
    type Use = fn(&Sim);
    let uses: [(Use, &str); 6] = [
        (|sim| drop(sim.link("app", "bank")), "no host \"app\" yet"),
        (
            |sim| {
                sim.host("app");
                drop(sim.link("app", "app"));
            },
            "between two hosts, and not within \"app\"",
        ),
        (
            |sim| drop(sim.host("localhost")),
            "cannot be the name of a host",
        ),
        (
            |sim| drop(sim.host("10.0.0.1")),
            "cannot be the name of a host",
        ),
        (
            |sim| {
                sim.host("app");
                sim.host("bank");
                drop(sim.link("app", "bank").drop_rate(1.5));
            },
            "a rate is a number from 0 to 1, and not 1.5",
        ),
        (
            |sim| {
                sim.host("app");
                drop(sim.after(SECOND).partition("app", "bank"));
            },
            "no host \"bank\" yet (Sim::host makes one); there are: app",
        ),
    ];
    for (bad, words) in uses {
        assert_says(&failure(Sim::builder(), bad), &[words]);
    }
}

#[test]
fn a_host_runs_out_of_descriptors() {
    fibre_test::run(|sim| {
        let server = sim.host("server").descriptors(2);
        let served = server.run(|| {
            let listener = TcpListener::bind("0.0.0.0:80")?;
            let (first, _) = listener.accept()?;
            let error = listener.accept().unwrap_err();
            assert_eq!(error.raw_os_error(), Some(libc::EMFILE));
            fibre::spawn(move || {
                fibre::sleep(SECOND);
                drop(first);
            });
            // It does not end, but waits for a descriptor.
            io::Result::Ok(listener.connections().next().is_some())
        });
        sim.settle();
        let connects =
            || io::Result::Ok([TcpStream::connect(SERVER)?, TcpStream::connect(SERVER)?]);
        let _clients = sim.host("client").run(connects).join().unwrap().unwrap();
        assert!(served.join().unwrap().unwrap());
        assert!(sim.now() >= SECOND && sim.now() < 2 * SECOND);
    });
}
