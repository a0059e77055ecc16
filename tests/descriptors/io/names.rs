//! Names of hosts: looked up elsewhere; and addresses, which are not.

use crate::support::sockets::listener;
use crate::support::{eventually, for_clusters, for_each_cluster, watched};
use fibre::Cluster;
use fibre::net::{
    Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream, ToSocketAddrs, lookup_host,
    lookup_host_timeout, lookup_host_until,
};
use std::io::ErrorKind;
use std::net::{IpAddr, SocketAddrV4, SocketAddrV6};
use std::time::{Duration, Instant};

/// The only address in it.
fn only(addresses: impl ToSocketAddrs) -> SocketAddr {
    let mut all = addresses.to_socket_addrs().unwrap();
    let first = all.next().unwrap();
    assert_eq!(all.next(), None);
    first
}

/// All that std takes, in whatever way it is written.
#[test]
fn addresses() {
    fn check() {
        let four = SocketAddrV4::new(Ipv4Addr::LOCALHOST, 80);
        let six = SocketAddrV6::new(Ipv6Addr::LOCALHOST, 81, 0, 0);
        let wanted = SocketAddr::V4(four);
        assert_eq!(only(four), wanted);
        assert_eq!(only(wanted), wanted);
        let by_reference = &wanted;
        assert_eq!(only(by_reference), wanted);
        assert_eq!(only((Ipv4Addr::LOCALHOST, 80)), wanted);
        assert_eq!(only((IpAddr::V4(Ipv4Addr::LOCALHOST), 80)), wanted);
        assert_eq!(only("127.0.0.1:80"), wanted);
        assert_eq!(only("127.0.0.1:80".to_owned()), wanted);
        assert_eq!(only(("127.0.0.1", 80)), wanted);
        assert_eq!(only(("127.0.0.1".to_owned(), 80)), wanted);
        assert_eq!(only(six), SocketAddr::V6(six));
        assert_eq!(only((Ipv6Addr::LOCALHOST, 81)), SocketAddr::V6(six));
        assert_eq!(only("[::1]:81"), SocketAddr::V6(six));
        assert_eq!(only(("::1", 81)), SocketAddr::V6(six));
        let several = [wanted, six.into()];
        let seen: Vec<_> = (&several[..]).to_socket_addrs().unwrap().collect();
        assert_eq!(seen, several);
        for nonsense in [
            "",
            "127.0.0.1",
            "localhost",
            "localhost:",
            "localhost:http",
            "::1:x",
        ] {
            let error = nonsense.to_socket_addrs().unwrap_err();
            assert_eq!(
                error.kind(),
                ErrorKind::InvalidInput,
                "{nonsense:?}: {error}"
            );
        }
    }
    for_each_cluster(|_| check());
    watched(check);
}

/// Names are looked up, by fibres and by threads, and the wait blocks the fibre only.
#[test]
fn names() {
    fn check() {
        for mut found in [
            lookup_host("localhost:80").unwrap(),
            ("localhost", 80).to_socket_addrs().unwrap(),
            lookup_host_timeout("localhost:80", Duration::MAX).unwrap(),
            lookup_host_timeout("localhost:80", Duration::from_secs(60)).unwrap(),
            lookup_host_timeout("127.0.0.1:80", Duration::ZERO).unwrap(),
        ] {
            assert!(found.all(|address| address.ip().is_loopback() && address.port() == 80));
        }
        assert!(lookup_host(("no such name", 80)).is_err());
        let listener = TcpListener::bind("localhost:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        TcpStream::connect(("localhost", port)).unwrap();
    }
    for_each_cluster(|_| check());
    watched(check);
}

/// A lookup gives up at its deadline, and for a cancelled fibre, though the resolver goes on.
#[test]
fn lookups_give_up() {
    // The thread that looks up may be quicker than the one that gives up, but not always.
    for_clusters(&[1], |_| {
        let past = Instant::now();
        let mut lookups = (0..1000).map(|_| lookup_host_until("localhost:80", past));
        let error = lookups.find_map(Result::err).unwrap();
        assert_eq!(error.kind(), ErrorKind::TimedOut);
        let fibre = fibre::spawn(|| {
            while fibre::cancellation_point().is_ok() {
                fibre::yield_now();
            }
            let minute = Duration::from_secs(60);
            assert!(lookup_host_timeout("127.0.0.1:80", minute).is_ok());
            (0..1000).any(|_| lookup_host_timeout("localhost:80", minute).is_err())
        });
        fibre.cancel();
        assert!(fibre.join().unwrap());
    });
}

/// An address given as text costs no excursion: connecting to one works where there are no threads
/// for names.
#[test]
fn connecting_by_text() {
    for_each_cluster(|_| {
        let listener = listener();
        let text = listener.local_addr().unwrap().to_string();
        let stream = TcpStream::connect(&text).unwrap();
        assert_eq!(stream.peer_addr().unwrap().to_string(), text);
    });
}

/// A time-out that never ends is none, but a cancelled fibre does not look up anything.
#[test]
fn cancelled_fibres_look_up_nothing() {
    for_each_cluster(|_| {
        for timeout in [Duration::from_secs(60), Duration::MAX] {
            let fibre = fibre::spawn(move || {
                eventually(fibre::is_cancelled);
                lookup_host_timeout("localhost:80", timeout).map(|_| ())
            });
            fibre.cancel();
            let error = fibre.join().unwrap().unwrap_err();
            let expected = rustix::io::Errno::CANCELED.raw_os_error();
            assert_eq!(error.raw_os_error(), Some(expected));
        }
    });
}

/// A cluster that has no room for the fibre that would wait in one's place says so.
#[test]
fn lookups_without_room_fail() {
    watched(|| {
        let cluster = Cluster::builder()
            .processors(1)
            .max_fibres(1)
            .build()
            .unwrap();
        let alone = cluster.spawn(|| {
            let soon = Instant::now() + Duration::from_secs(60);
            lookup_host_until("localhost:80", soon).map(|_| ())
        });
        let error = alone.join().unwrap().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::WouldBlock);
        cluster.stop();
    });
}
