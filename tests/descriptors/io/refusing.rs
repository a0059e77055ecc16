//! Listeners that are closed: the kernel refuses clients at once, whoever else has a handle, and
//! none of those that it has queued hangs.

use super::unix::{fresh_name, fresh_path};
use crate::support::{for_each_cluster, let_others_block};
use fibre::net::{TcpListener, TcpStream};
use fibre::os::unix::net::{UnixListener, UnixStream};
use rustix::net::Shutdown;
use std::io::{ErrorKind, Read};
use std::net as std_net;
use std::os::fd::AsFd;
use std::os::unix::net as unix_net;
use std::sync::Arc;
use std::time::Duration;

/// Longer than it takes to be told of an end; a client that hangs is seen by it.
const LONG: Duration = Duration::from_secs(20);

/// The client is told of the end.
fn expect_end(mut client: impl Read) {
    match client.read(&mut [0]) {
        Ok(count) => assert_eq!(count, 0),
        Err(error) => assert_eq!(error.kind(), ErrorKind::ConnectionReset, "{error}"),
    }
}

/// A client whose connection nobody has accepted yet.
fn queued(address: std_net::SocketAddr) -> TcpStream {
    let client = TcpStream::connect(address).unwrap();
    client.set_read_timeout(Some(LONG)).unwrap();
    client
}

/// The same on a Unix socket.
fn queued_at(address: &unix_net::SocketAddr) -> UnixStream {
    let client = UnixStream::connect_addr(address).unwrap();
    client.set_read_timeout(Some(LONG)).unwrap();
    client
}

/// Nobody listens at this address.
fn expect_refusal(address: std_net::SocketAddr) {
    let refused = TcpStream::connect_timeout(&address, LONG).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::ConnectionRefused);
}

/// The same on a Unix socket.
fn expect_refusal_at(address: &unix_net::SocketAddr) {
    let refused = UnixStream::connect_addr(address).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::ConnectionRefused);
}

/// A closed listener is there no more, though there are handles and other numbers.
#[test]
fn tcp_clients_are_refused_at_once() {
    for_each_cluster(|_| {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let clone = listener.try_clone().unwrap();
        let number = listener.as_fd().try_clone_to_owned().unwrap();
        let waiting = [queued(address), queued(address), queued(address)];
        listener.close();
        expect_refusal(address);
        waiting.into_iter().for_each(expect_end);
        listener.close();
        drop((listener, clone, number));
    });
}

/// The same for Unix sockets, with a path and without.
#[test]
fn unix_clients_are_refused_at_once() {
    for_each_cluster(|_| {
        let path = fresh_path();
        let named = UnixListener::bind(&path).unwrap();
        for listener in [named, UnixListener::bind_addr(&fresh_name()).unwrap()] {
            let address = listener.local_addr().unwrap();
            let clone = listener.try_clone().unwrap();
            let number = listener.as_fd().try_clone_to_owned().unwrap();
            let waiting = [(); 3].map(|()| queued_at(&address));
            listener.close();
            expect_refusal_at(&address);
            waiting.into_iter().for_each(expect_end);
            listener.close();
            drop((listener, clone, number));
        }
        std::fs::remove_file(path).unwrap();
    });
}

/// So do all listeners of a group.
#[test]
fn groups_refuse_clients_at_once() {
    for_each_cluster(|_| {
        let group = TcpListener::group("127.0.0.1:0", 3).unwrap();
        let address = group.local_addr().unwrap();
        let waiting = [(); 8].map(|()| queued(address));
        group.close();
        expect_refusal(address);
        waiting.into_iter().for_each(expect_end);
    });
}

/// Those who accept by a clone are told, too, whether they wait or come later.
#[test]
fn clones_of_a_closed_listener_accept_no_more() {
    for_each_cluster(|_| {
        for waits in [false, true] {
            let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
            let unix = UnixListener::bind_addr(&fresh_name()).unwrap();
            let (other_tcp, other_unix) = (tcp.try_clone().unwrap(), unix.try_clone().unwrap());
            let by_tcp = move || other_tcp.accept_timeout(LONG).unwrap_err().kind();
            let by_unix = move || other_unix.accept_timeout(LONG).unwrap_err().kind();
            let close = move || {
                tcp.close();
                unix.close();
                (tcp, unix)
            };
            let kinds = if waits {
                let (by_tcp, by_unix) = (fibre::spawn(by_tcp), fibre::spawn(by_unix));
                let_others_block();
                let _closed = close();
                [by_tcp.join().unwrap(), by_unix.join().unwrap()]
            } else {
                let _closed = close();
                [by_tcp(), by_unix()]
            };
            assert_eq!(kinds, [ErrorKind::ConnectionAborted; 2]);
        }
    });
}

/// One who leaves a listener ends his own calls, and nobody else's.
#[test]
fn a_listener_that_is_left_goes_on() {
    for_each_cluster(|_| {
        let listener = Arc::new(TcpListener::bind("127.0.0.1:0").unwrap());
        let other = listener.try_clone().unwrap();
        let accepting = Arc::clone(&listener);
        let acceptor = fibre::spawn(move || accepting.accept().unwrap_err().kind());
        let_others_block();
        listener.leave();
        assert_eq!(acceptor.join().unwrap(), ErrorKind::ConnectionAborted);
        let client = queued(listener.local_addr().unwrap());
        let (_, peer) = other.accept().unwrap();
        assert_eq!(peer, client.local_addr().unwrap());

        let listener = UnixListener::bind_addr(&fresh_name()).unwrap();
        let other = listener.try_clone().unwrap();
        listener.leave();
        let aborted = listener.accept().unwrap_err().kind();
        assert_eq!(aborted, ErrorKind::ConnectionAborted);
        let _client = queued_at(&listener.local_addr().unwrap());
        other.accept().unwrap();
    });
}

/// A socket that somebody shuts down by another number keeps nobody waiting.
#[test]
fn a_listener_shut_down_by_others_says_so() {
    for_each_cluster(|_| {
        for how in [Shutdown::Read, Shutdown::Both] {
            let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
            let unix = UnixListener::bind_addr(&fresh_name()).unwrap();
            let numbers = [tcp.as_fd(), unix.as_fd()].map(|fd| fd.try_clone_to_owned().unwrap());
            let unix = Arc::new(unix);
            let late = Arc::clone(&unix);
            let by_tcp = fibre::spawn(move || tcp.accept_timeout(LONG).unwrap_err().kind());
            let by_unix = fibre::spawn(move || unix.accept_timeout(LONG).unwrap_err().kind());
            let_others_block();
            for number in numbers {
                rustix::net::shutdown(number, how).unwrap();
            }
            let kinds = [by_tcp.join().unwrap(), by_unix.join().unwrap()];
            assert_eq!(kinds, [ErrorKind::InvalidInput; 2]);
            let kind = late.accept_timeout(LONG).unwrap_err().kind();
            assert_eq!(kind, ErrorKind::InvalidInput);
        }
    });
}
