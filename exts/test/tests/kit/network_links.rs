//! What links do to connections: latency, loss, partitions, held and short pieces, resets.

use crate::network::{pair, runs};
use fibre::net::{TcpListener, TcpStream};
use fibre_test::{Schedule, Sim};
use std::io::{self, ErrorKind, Read, Write};
use std::sync::Arc;
use std::time::{Duration, Instant};

const SECOND: Duration = Duration::from_secs(1);
const TICK: Duration = Duration::from_millis(1);

/// Where the host `server` listens.
const SERVER: &str = "server:80";

/// Makes the hosts `server` and `client`.
fn hosts(sim: &Sim) {
    sim.host("server");
    sim.host("client");
}

/// Connects once, from a client to a server that accepts; how it ends, and when.
fn connects(sim: &Sim) -> (Option<ErrorKind>, Duration) {
    let accepts = || {
        let listener = TcpListener::bind("0.0.0.0:80").unwrap();
        listener.connections().for_each(drop);
    };
    sim.host("server").run(accepts);
    sim.settle();
    let connects = || TcpStream::connect(SERVER).err().map(|error| error.kind());
    let ended = sim.host("client").run(connects).join().unwrap();
    (ended, sim.now())
}

/// Sends bytes, and says when they are there.
fn passes(sim: &Sim, from: &TcpStream, mut to: &TcpStream) -> Duration {
    let begun = sim.now();
    let mut from = from;
    from.write_all(b"x").unwrap();
    to.read_exact(&mut [0]).unwrap();
    sim.now() - begun
}

#[test]
fn each_piece_takes_its_time() {
    fibre_test::run(|sim| {
        hosts(sim);
        sim.link("client", "server").latency(3 * TICK..3 * TICK);
        assert_eq!(connects(sim), (None, 6 * TICK));
    });
    fibre_test::run(|sim| {
        let (server, client) = pair(sim);
        sim.link("client", "server").latency(3 * TICK..3 * TICK);
        assert_eq!(passes(sim, &client, &server), 3 * TICK);
        assert_eq!(passes(sim, &server, &client), 3 * TICK);
        // What is under way does not wait for what comes later, and settling passes no time.
        (&client).write_all(b"one").unwrap();
        sim.advance(TICK);
        (&client).write_all(b"two").unwrap();
        let mut bytes = [0; 6];
        assert_eq!((&server).read(&mut bytes).unwrap(), 3);
        assert_eq!((&server).read(&mut bytes).unwrap(), 3);
        assert_eq!(sim.now(), 10 * TICK);
    });
}

#[test]
fn bytes_stay_in_order() {
    let builder = Sim::builder().seeds(20).schedule(Schedule::random());
    builder.run(|sim| {
        let (server, client) = pair(sim);
        sim.link("client", "server")
            .latency(TICK..50 * TICK)
            .drop_rate(0.2)
            .short_rate(0.5);
        let sent: Vec<u8> = (0..=255).cycle().take(3000).collect();
        let bytes = sent.clone();
        let sends = fibre::spawn(move || {
            bytes
                .chunks(100)
                .for_each(|chunk| (&client).write_all(chunk).unwrap());
        });
        let mut got = Vec::new();
        (&server).read_to_end(&mut got).unwrap();
        assert_eq!(got, sent);
        sends.join().unwrap();
    });
}

#[test]
fn latencies_are_of_the_range() {
    fibre_test::run(|sim| {
        let (server, client) = pair(sim);
        sim.link("client", "server").latency(TICK..5 * TICK);
        let times: Vec<_> = (0..100).map(|_| passes(sim, &client, &server)).collect();
        assert!(times.iter().all(|time| (TICK..5 * TICK).contains(time)));
        assert!(times.iter().any(|time| *time != times[0]));
    });
}

#[test]
fn a_handshake_over_a_partition_is_given_up() {
    fibre_test::run(|sim| {
        hosts(sim);
        sim.link("client", "server").partition();
        // 1, 2, 4, 8, 16, 32 and 64 seconds.
        assert_eq!(connects(sim), (Some(ErrorKind::TimedOut), 127 * SECOND));
    });
    fibre_test::run(|sim| {
        hosts(sim);
        sim.link("client", "server").partition();
        sim.after(5 * SECOND)
            .partition("client", "server")
            .heal_after(SECOND);
        assert_eq!(connects(sim), (None, 7 * SECOND));
    });
    fibre_test::run(|sim| {
        hosts(sim);
        sim.link("client", "server").partition();
        let connects = || {
            let address = ([10, 0, 0, 1], 80).into();
            TcpStream::connect_timeout(&address, SECOND)
                .unwrap_err()
                .kind()
        };
        let client = sim.host("client").run(connects);
        assert_eq!(client.join().unwrap(), ErrorKind::TimedOut);
        assert_eq!(sim.now(), SECOND);
        sim.advance(300 * SECOND);
    });
}

#[test]
fn bytes_come_after_a_partition() {
    fibre_test::run(|sim| {
        let (server, client) = pair(sim);
        let link = sim.link("client", "server").partition();
        server.set_read_timeout(Some(SECOND)).unwrap();
        (&client).write_all(b"late").unwrap();
        assert_eq!(
            (&server).read(&mut [0]).unwrap_err().kind(),
            ErrorKind::TimedOut
        );
        let _ = link.heal();
        // It was sent at 0, 0.2 and 0.6 s.
        assert_eq!((&server).read(&mut [0; 9]).unwrap(), 4);
        assert_eq!(sim.now(), 1400 * TICK);
    });
}

#[test]
fn a_sender_gives_up_and_a_receiver_learns_nothing() {
    fibre_test::run(|sim| {
        let (server, client) = pair(sim);
        let link = sim.link("client", "server").partition();
        (&client).write_all(b"never").unwrap();
        let error = (&client).read(&mut [0]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::TimedOut);
        assert_eq!(sim.now(), Duration::from_millis(924_600));
        let _ = link.heal();
        // Half of the connection is open: only a send would tell.
        server.set_read_timeout(Some(3600 * SECOND)).unwrap();
        assert_eq!(
            (&server).read(&mut [0]).unwrap_err().kind(),
            ErrorKind::TimedOut
        );
        drop(client);
        (&server).write_all(b"?").unwrap();
        let error = (&server).read(&mut [0]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ConnectionReset);
    });
}

#[test]
fn what_is_held_comes_in_order_when_it_is_released() {
    fibre_test::run(|sim| {
        let (server, client) = pair(sim);
        let link = sim.link("client", "server").hold();
        (&client).write_all(b"one").unwrap();
        sim.advance(3600 * SECOND);
        (&client).write_all(b"two").unwrap();
        drop(client);
        server.set_read_timeout(Some(SECOND)).unwrap();
        assert_eq!(
            (&server).read(&mut [0]).unwrap_err().kind(),
            ErrorKind::TimedOut
        );
        let _ = link.release();
        let mut text = String::new();
        (&server).read_to_string(&mut text).unwrap();
        assert_eq!((text.as_str(), sim.now()), ("onetwo", 3601 * SECOND));
    });
    fibre_test::run(|sim| {
        hosts(sim);
        sim.link("client", "server").hold();
        sim.after(SECOND)
            .hold("client", "server")
            .release_after(SECOND);
        assert_eq!(connects(sim), (None, 2 * SECOND));
    });
}

#[test]
fn a_reset_ends_both_sides() {
    fibre_test::run(|sim| {
        let (server, client) = pair(sim);
        let server = Arc::new(server);
        let reads = Arc::clone(&server);
        let reader = fibre::spawn(move || (&*reads).read(&mut [0]));
        sim.after(SECOND).reset("server", "client");
        let error = reader.join().unwrap().unwrap_err();
        assert_eq!(
            (error.kind(), sim.now()),
            (ErrorKind::ConnectionReset, SECOND)
        );
        assert_eq!(
            (&client).write(b"x").unwrap_err().kind(),
            ErrorKind::ConnectionReset
        );
        assert_eq!(
            (&client).write(b"x").unwrap_err().kind(),
            ErrorKind::BrokenPipe
        );
        assert_eq!(
            client.peer_addr().unwrap_err().kind(),
            ErrorKind::NotConnected
        );
        // The hosts can connect again.
        let accepts = |listener: TcpListener| listener.accept().map(drop);
        runs(sim, accepts, || TcpStream::connect(SERVER).map(drop));
    });
}

#[test]
fn short_calls_move_less_and_lose_nothing() {
    fibre_test::run(|sim| {
        let (server, client) = pair(sim);
        sim.link("client", "server").short_rate(1.0);
        let mut counts = Vec::new();
        for _ in 0..50 {
            counts.push((&client).write(&[1; 100]).unwrap());
        }
        assert!(counts.iter().all(|count| (1..=100).contains(count)));
        assert!(counts.iter().any(|&count| count < 100));
        drop(client);
        let mut total = 0;
        loop {
            match (&server).read(&mut [0; 100]).unwrap() {
                0 => break,
                count => total += count,
            }
        }
        assert_eq!(total, counts.iter().sum::<usize>());
    });
}

#[test]
fn a_full_queue_lets_callers_wait() {
    fibre_test::run(|sim| {
        let server = sim.host("server").run(|| {
            let listener = TcpListener::builder().backlog(1).bind("0.0.0.0:80")?;
            fibre::sleep(2 * SECOND);
            io::Result::Ok([listener.accept()?.0, listener.accept()?.0])
        });
        sim.settle();
        let clients = sim.host("client").run(|| {
            let one = TcpStream::connect(SERVER)?;
            let begun = Instant::now();
            // Tried again after one second and after three.
            let other = TcpStream::connect(SERVER)?;
            io::Result::Ok((begun.elapsed(), [one, other]))
        });
        let (waited, _clients) = clients.join().unwrap().unwrap();
        assert_eq!(waited, 3 * SECOND);
        server.join().unwrap().unwrap();
    });
}

#[test]
fn other_links_are_left_alone() {
    fibre_test::run(|sim| {
        hosts(sim);
        sim.host("third");
        sim.link("client", "third").partition();
        sim.link("server", "third").latency(SECOND..SECOND);
        assert_eq!(connects(sim), (None, Duration::ZERO));
    });
}
