//! Sockets that emit: Eve's `listen`, `data`, `close`, errors and time-outs.

use crate::support::watchdog;
use fibre::net::TcpStream;
use fibre_tasks::socket::{Close, Connection, Data, Failure, Server, Timeout};
use fibre_tasks::{Full, Shared, acquire, on};
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

/// Runs a test in a fibre of a cluster of 1, 2 and 4 processors.
fn on_processors(test: impl Fn() + Clone + Send + 'static) {
    for processors in [1, 2, 4] {
        let remark = format!(" with {processors} processors");
        watchdog::watched_for(watchdog::LIMIT, &remark, || {
            let cluster = fibre::Cluster::builder().processors(processors);
            let cluster = cluster.build().unwrap();
            cluster.spawn(test.clone()).join().unwrap();
            cluster.stop();
        });
    }
}

/// Serves until the handle is closed. Returns the address, and what waits for the end.
fn serve(server: &Arc<Server>) -> (SocketAddr, fibre::JoinHandle<()>) {
    let listener = server.bind(("127.0.0.1", 0)).unwrap();
    let address = listener.local_addr().unwrap();
    let server = Arc::clone(server);
    (address, fibre::spawn(move || server.serve(listener)))
}

/// Waits until an object is as it should be.
fn until<T: Send + Sync + 'static>(object: &Shared<T>, is: impl Fn(&T) -> bool) {
    while !is(&acquire(object.read())) {
        fibre::sleep(Duration::from_millis(1));
    }
}

/// Each socket's bytes come in order and whole, and its end after them, once.
#[test]
fn data_come_in_order_and_then_the_end() {
    on_processors(|| {
        let (server, heard) = (Arc::new(Server::new()), Shared::new(Vec::new()));
        on!(server, Connection, [=heard] |connection| {
            let (socket, bytes) = (connection.socket(), Shared::new(Vec::new()));
            on!(socket, Data, [+bytes] |data| { bytes.extend_from_slice(data) });
            on!(socket, Close, [bytes, +heard] |close| {
                heard.push((bytes.clone(), close.error().is_none()));
            });
        });
        let (address, serving) = serve(&server);
        let clients = (0..8_u8).map(|number| {
            fibre::spawn(move || {
                let mut stream = TcpStream::connect(address).unwrap();
                for part in 0..50_u8 {
                    stream.write_all(&[number, part].repeat(1000)).unwrap();
                }
            })
        });
        clients
            .collect::<Vec<_>>()
            .into_iter()
            .for_each(|client| client.join().unwrap());
        until(&heard, |heard| heard.len() == 8);
        server.close();
        serving.join().unwrap();
        let mut heard = acquire(heard.full());
        heard.sort();
        for (number, (bytes, ended)) in (0..8_u8).zip(heard.iter()) {
            let parts = (0..50_u8).flat_map(|part| [number, part].repeat(1000));
            assert!(*ended && bytes.iter().copied().eq(parts), "client {number}");
        }
    });
}

/// A server that serves at two addresses ends at both.
#[test]
fn a_server_ends_at_all_its_addresses() {
    on_processors(|| {
        let server = Arc::new(Server::new());
        let both = [serve(&server), serve(&server)];
        let addresses = both.each_ref().map(|(address, _)| *address);
        for address in addresses {
            let mut client = TcpStream::connect(address).unwrap();
            assert_eq!(client.read(&mut [0]).unwrap(), 0);
        }
        server.close();
        for (_, serving) in both {
            serving.join().unwrap();
        }
    });
}

/// The connection's callback may write, and keep the socket.
#[test]
fn a_callback_answers() {
    on_processors(|| {
        let (server, all) = (Arc::new(Server::new()), Shared::new(Vec::new()));
        on!(server, Connection, [+all] |connection| {
            let socket = connection.socket();
            (&*socket).write_all(b"welcome ").unwrap();
            all.push(Arc::clone(&socket));
            on!(socket, Data, [=socket] |data| {
                let _gone = (&*socket).write_all(data);
            });
        });
        let (address, serving) = serve(&server);
        let mut client = TcpStream::connect(address).unwrap();
        client.write_all(b"echo").unwrap();
        let mut answer = [0; 12];
        client.read_exact(&mut answer).unwrap();
        assert_eq!(&answer, b"welcome echo");
        // The server's side ends it.
        acquire(all.read())[0].close();
        assert_eq!(client.read(&mut answer).unwrap(), 0);
        server.close();
        serving.join().unwrap();
    });
}

/// A connection that nobody takes is closed, and a callback that panics holds up nobody.
#[test]
fn a_connection_that_nobody_takes_is_closed() {
    on_processors(|| {
        let server = Arc::new(Server::new());
        on!(server, Connection, [] | _ | { panic!("not this one") });
        let (address, serving) = serve(&server);
        for _ in 0..3 {
            let mut client = TcpStream::connect(address).unwrap();
            assert_eq!(client.read(&mut [0]).unwrap(), 0);
        }
        server.close();
        serving.join().unwrap();
        assert!(TcpStream::connect(address).is_err(), "it listens no more");
    });
}

/// A callback that panics ends itself: the bytes behind it come, and the end.
#[test]
fn a_panic_ends_one_callback() {
    on_processors(|| {
        let (server, heard) = (Arc::new(Server::new()), Shared::new(String::new()));
        on!(server, Connection, [=heard] |connection| {
            let socket = connection.socket();
            on!(socket, Data, [] |data| { assert!(data[0] != b'1', "the first") });
            on!(socket, Data, [+heard] |data| { heard.push_str(std::str::from_utf8(data).unwrap()) });
            on!(socket, Close, [+heard] |_| { heard.push_str("end") });
        });
        let (address, serving) = serve(&server);
        let mut client = TcpStream::connect(address).unwrap();
        client.write_all(b"1").unwrap();
        until(&heard, |heard| heard == "1");
        client.write_all(b"2").unwrap();
        until(&heard, |heard| heard == "12");
        drop(client);
        until(&heard, |heard| heard == "12end");
        server.close();
        serving.join().unwrap();
    });
}

#[test]
fn silence_is_told() {
    on_processors(|| {
        let (server, told) = (Arc::new(Server::new()), Shared::new((0, 0)));
        on!(server, Connection, [=told] |connection| {
            let socket = connection.socket();
            socket.set_timeout(Some(Duration::from_millis(5))).unwrap();
            on!(socket, Timeout, [+told] |_| { told.0 += 1 });
            on!(socket, Data, [+told] |_| { told.1 += 1 });
        });
        let (address, serving) = serve(&server);
        let mut client = TcpStream::connect(address).unwrap();
        until(&told, |told| told.0 >= 3);
        client.write_all(b"!").unwrap();
        until(&told, |told| told.1 == 1);
        client.shutdown(Shutdown::Both).unwrap();
        server.close();
        serving.join().unwrap();
    });
}

/// A server that cannot listen says so to its callbacks and to its caller; one that was closed
/// before does not begin.
#[test]
fn a_failure_is_emitted() {
    on_processors(|| {
        let (server, failures) = (Arc::new(Server::new()), Shared::new(Vec::new()));
        on!(server, Failure, [+failures] |failure| { failures.push(failure.error().kind()) });
        let taken = server.bind(("127.0.0.1", 0)).unwrap();
        let error = server.listen(taken.local_addr().unwrap()).unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::AddrInUse);
        assert_eq!(*acquire(failures.read()), [error.kind()]);
        server.close();
        server.serve(taken);
    });
}

/// What a client's callbacks refer to ends with the connection, though they refer to the socket.
#[test]
fn callbacks_end_with_their_socket() {
    on_processors(|| {
        let (server, kept) = (Arc::new(Server::new()), Arc::new(()));
        let for_callbacks = Shared::new(Arc::clone(&kept));
        on!(server, Connection, [+for_callbacks] |connection| {
            let value = Arc::clone(&for_callbacks);
            let all = Full::shared(&for_callbacks);
            let socket = connection.socket();
            on!(socket, Close, [all, =value, =socket] |_| {
                assert!(Arc::ptr_eq(&all, &value) && socket.peer_addr().is_ok());
            });
        });
        let (address, serving) = serve(&server);
        for _ in 0..4 {
            drop(TcpStream::connect(address).unwrap());
        }
        while Arc::strong_count(&kept) > 2 {
            fibre::sleep(Duration::from_millis(1));
        }
        server.close();
        serving.join().unwrap();
    });
}
