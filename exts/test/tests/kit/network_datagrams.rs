//! The simulated network: datagrams.

use fibre::net::UdpSocket;
use fibre_test::Sim;
use std::io::ErrorKind;
use std::time::Duration;

const SECOND: Duration = Duration::from_secs(1);
const TICK: Duration = Duration::from_millis(1);

/// A socket of each of the hosts `server`, at port 53, and `client`.
fn sockets(sim: &Sim) -> (UdpSocket, UdpSocket) {
    let server = sim.host("server").run(|| UdpSocket::bind("0.0.0.0:53"));
    let server = server.join().unwrap().unwrap();
    let client = sim.host("client").run(|| {
        let client = UdpSocket::bind("0.0.0.0:0")?;
        client.connect("server:53")?;
        std::io::Result::Ok(client)
    });
    (server, client.join().unwrap().unwrap())
}

/// The first bytes of all datagrams that have come, or come within a second.
fn all(socket: &UdpSocket) -> Vec<u8> {
    socket.set_read_timeout(Some(SECOND)).unwrap();
    std::iter::from_fn(|| {
        let mut buffer = [0];
        socket.recv_from(&mut buffer).ok().map(|_| buffer[0])
    })
    .collect()
}

#[test]
fn datagrams_are_kept_apart_and_say_where_they_come_from() {
    fibre_test::run(|sim| {
        let (server, client) = sockets(sim);
        client.send(b"one").unwrap();
        client.send(b"three").unwrap();
        let mut buffer = [0; 4];
        let (length, from) = server.peek_from(&mut buffer).unwrap();
        assert_eq!(
            (&buffer[..length], from.to_string().as_str()),
            (&b"one"[..], "10.0.0.2:49152")
        );
        assert_eq!(server.recv_from(&mut buffer).unwrap(), (3, from));
        // The rest of a long one is lost.
        assert_eq!(server.recv(&mut buffer).unwrap(), 4);
        assert_eq!(&buffer, b"thre");
        server.send_to(b"answer", from).unwrap();
        assert_eq!(client.recv(&mut [0; 9]).unwrap(), 6);
        assert_eq!(client.peer_addr().unwrap().to_string(), "10.0.0.1:53");
        assert_eq!(
            client.send(&[0; 65508]).unwrap_err().raw_os_error(),
            Some(libc::EMSGSIZE)
        );
    });
}

#[test]
fn a_connected_socket_hears_its_peer_only() {
    fibre_test::run(|sim| {
        let (server, client) = sockets(sim);
        let to = client.local_addr().unwrap().port();
        let stranger = sim
            .host("third")
            .run(move || UdpSocket::bind("0.0.0.0:0")?.send_to(b"x", ("client", to)));
        stranger.join().unwrap().unwrap();
        assert_eq!(all(&client), []);
        server
            .send_to(
                b"y",
                ("10.0.0.2".parse::<std::net::Ipv4Addr>().unwrap(), to),
            )
            .unwrap();
        assert_eq!(all(&client), [b'y']);
    });
}

#[test]
fn a_connected_socket_learns_that_nobody_is_there() {
    fibre_test::run(|sim| {
        let (server, client) = sockets(sim);
        drop(server);
        client.send(b"x").unwrap();
        assert_eq!(
            client.recv(&mut [0]).unwrap_err().kind(),
            ErrorKind::ConnectionRefused
        );
    });
}

#[test]
fn datagrams_are_lost_doubled_and_overtake_each_other() {
    let received = |change: fn(&Sim)| {
        let (sender, receiver) = std::sync::mpsc::channel();
        Sim::builder().seed(1).run(move |sim| {
            let (server, client) = sockets(sim);
            change(sim);
            for number in 0..100 {
                client.send(&[number]).unwrap();
            }
            sender.send(all(&server)).unwrap();
        });
        receiver.recv().unwrap()
    };
    let sent: Vec<u8> = (0..100).collect();
    assert_eq!(received(|_| ()), sent);

    let some = received(|sim| drop(sim.link("client", "server").drop_rate(0.3)));
    assert!(
        (40..95).contains(&some.len()) && some.is_sorted(),
        "{some:?}"
    );

    let more = received(|sim| drop(sim.link("client", "server").duplicate_rate(0.3)));
    assert!((105..160).contains(&more.len()), "{more:?}");

    let mixed = received(|sim| drop(sim.link("client", "server").latency(TICK..9 * TICK)));
    assert!(!mixed.is_sorted());
    let mut sorted = mixed;
    sorted.sort_unstable();
    assert_eq!(sorted, sent);

    let none = received(|sim| drop(sim.link("client", "server").partition()));
    assert_eq!(none, []);
}

#[test]
fn held_datagrams_come_when_they_are_released() {
    fibre_test::run(|sim| {
        let (server, client) = sockets(sim);
        let link = sim.link("client", "server").hold();
        client.send(b"1").unwrap();
        client.send(b"2").unwrap();
        assert_eq!(all(&server), []);
        let _ = link.release();
        assert_eq!(all(&server), *b"12");
    });
}

#[test]
fn a_full_mailbox_loses_what_comes() {
    fibre_test::run(|sim| {
        let (server, client) = sockets(sim);
        for number in 0..10 {
            client.send(&[number; 60_000]).unwrap();
        }
        assert_eq!(all(&server), [0, 1, 2]);
    });
}
