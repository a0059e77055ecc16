//! Connections, and what threads spawn, are spread over the processors: by default, and not under
//! every policy.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test fails by panicking"
)]

use crate::support;

use fibre::net::TcpListener;
use fibre::{Builder, Cluster, JoinHandle};
use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use support::{Latch, eventually, watched};

/// Numbers of processors to spread over.
const PROCESSORS: [usize; 3] = [2, 4, 16];

/// Asserts that processors have as many each, or at most one more than another has.
fn assert_level(all: impl IntoIterator<Item = usize>, processors: usize) {
    let mut each: BTreeMap<_, usize> = (0..processors).map(|processor| (processor, 0)).collect();
    for processor in all {
        *each.get_mut(&processor).unwrap() += 1;
    }
    let (least, most) = (each.values().min().unwrap(), each.values().max().unwrap());
    assert!(most - least <= 1, "{each:?}");
}

/// Says on which processor it is, and then serves until the client has gone.
fn serve(mut connection: fibre::net::TcpStream) -> std::io::Result<()> {
    let processor = fibre::processor().unwrap() as u8;
    connection.write_all(&[processor])?;
    while connection.read(&mut [0])? > 0 {}
    Ok(())
}

/// A server in a cluster, which accepts as `accept` does.
fn server(
    processors: usize,
    accept: impl FnOnce(TcpListener) + Send + 'static,
) -> (Cluster, JoinHandle<()>, SocketAddr) {
    // On a busy machine spare processors would take part.
    let builder = Cluster::builder().max_spare_processors(0);
    let cluster = builder.processors(processors).build().unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let acceptor = cluster.spawn(move || accept(listener));
    (cluster, acceptor, address)
}

/// Connects a client, and asks where it is served.
fn connect(address: SocketAddr) -> (TcpStream, usize) {
    let mut client = TcpStream::connect(address).unwrap();
    let mut processor = [0];
    client.read_exact(&mut processor).unwrap();
    (client, processor[0].into())
}

/// Checks that clients of this server that come one after the other are spread, also where others
/// have gone.
fn clients_are_spread(processors: usize, accept: impl FnOnce(TcpListener) + Send + 'static) {
    let (cluster, acceptor, address) = server(processors, accept);
    let mut clients: Vec<_> = (0..5 * processors + 1).map(|_| connect(address)).collect();
    assert_level(clients.iter().map(|(_, processor)| *processor), processors);
    let before = cluster.live();
    // All that one processor serves go, and as many come.
    let gone = clients
        .extract_if(.., |(_, processor)| *processor == 1)
        .count();
    eventually(|| cluster.live() == before - gone);
    clients.extend((0..gone).map(|_| connect(address)));
    assert_level(clients.iter().map(|(_, processor)| *processor), processors);
    drop(clients);
    acceptor.cancel();
    let _ = acceptor.join();
    cluster.stop();
}

#[test]
fn connections_are_spread() {
    watched(|| {
        for processors in PROCESSORS {
            clients_are_spread(processors, |listener| {
                while let Ok((connection, _)) = listener.accept() {
                    fibre::spawn(move || serve(connection));
                }
            });
        }
    });
}

/// A plain thread that accepts spreads connections, too, over the processors of whatever cluster it
/// spawns in; so does a fibre of another cluster.
#[test]
fn connections_are_spread_from_outside() {
    watched(|| {
        for processors in PROCESSORS {
            let builder = Cluster::builder().max_spare_processors(0);
            let cluster = builder.processors(processors).build().unwrap();
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            let address = listener.local_addr().unwrap();
            let (there, others) = (cluster.clone(), listener.try_clone().unwrap());
            let accepts = move |listener: TcpListener| {
                for _ in 0..3 * processors {
                    let (connection, _) = listener.accept().unwrap();
                    there.spawn(move || serve(connection));
                }
            };
            let by_fibre = accepts.clone();
            let thread = std::thread::spawn(move || accepts(listener));
            let connect = |_| connect(address);
            let mut clients: Vec<_> = (0..3 * processors).map(connect).collect();
            thread.join().unwrap();
            let other = Cluster::builder().processors(1).build().unwrap();
            let fibre = other.spawn(move || by_fibre(others));
            clients.extend((0..3 * processors).map(connect));
            fibre.join().unwrap();
            assert_level(clients.iter().map(|(_, processor)| *processor), processors);
            drop(clients);
            cluster.stop();
            other.stop();
        }
    });
}

/// The same whatever spawns the fibre that serves, and if the acceptor waits in between.
#[test]
fn connections_are_spread_by_all_that_spawns() {
    watched(|| {
        for processors in PROCESSORS {
            clients_are_spread(processors, |listener| {
                for connection in listener.incoming() {
                    let Ok(connection) = connection else { return };
                    fibre::yield_now();
                    let builder = Builder::new().name("server");
                    drop(builder.spawn(move || serve(connection)).unwrap());
                }
            });
            clients_are_spread(processors, |listener| {
                let _ = fibre::group(|group| {
                    while let Ok((connection, _)) = listener.accept() {
                        group.spawn(move || serve(connection));
                    }
                    Ok::<(), std::io::Error>(())
                });
            });
        }
    });
}

/// A burst of clients, which are all there before the first one is accepted, ends up on all
/// processors.
#[test]
fn a_burst_of_connections_is_spread() {
    watched(|| {
        for processors in [2, 4] {
            let latch = Latch::new();
            let opened = Arc::clone(&latch);
            let (cluster, acceptor, address) = server(processors, move |listener| {
                opened.wait();
                while let Ok((connection, _)) = listener.accept() {
                    fibre::spawn(move || serve(connection));
                }
            });
            let clients = (0..64).map(|_| TcpStream::connect(address).unwrap());
            let mut clients: Vec<_> = clients.collect();
            latch.open();
            let mut each = vec![0; processors];
            for client in &mut clients {
                let mut processor = [0];
                client.read_exact(&mut processor).unwrap();
                each[usize::from(processor[0])] += 1;
            }
            // A processor that had nothing to do while the others were kept may have more.
            assert!(each.iter().all(|count| *count >= 4), "{each:?}");
            drop(clients);
            acceptor.cancel();
            let _ = acceptor.join();
            cluster.stop();
        }
    });
}

/// Whether the cluster with this name has nothing to run, and all its processors have begun.
fn is_at_rest(name: &str) -> bool {
    let clusters = fibre::metrics().clusters;
    let cluster = clusters.iter().find(|it| it.name == name);
    cluster.is_some_and(|it| {
        it.processors
            .iter()
            .all(|it| !it.busy && it.counters.parks > 0)
    })
}

/// What a thread spawns, one after the other, is spread as well.
#[test]
fn what_threads_spawn_is_spread() {
    watched(|| {
        for processors in PROCESSORS {
            let name = format!("from-outside-{processors}");
            let builder = Cluster::builder().name(&name).processors(processors);
            let cluster = builder.build().unwrap();
            let end = Latch::new();
            let (tell, told) = std::sync::mpsc::channel();
            let mut all = Vec::new();
            for _ in 0..8 * processors {
                let (end, tell) = (Arc::clone(&end), tell.clone());
                let fibre = cluster.spawn(move || {
                    tell.send(fibre::processor().unwrap()).unwrap();
                    end.wait();
                });
                all.push((fibre, told.recv().unwrap()));
                // Looking does not wake it, as `fibre::waits` would.
                eventually(|| is_at_rest(&name));
            }
            let mut each = vec![0; processors];
            all.iter().for_each(|(_, processor)| each[*processor] += 1);
            // A processor that is about to sleep when the next one comes is passed over.
            assert!(each.iter().all(|count| *count >= 2), "{each:?}");
            end.open();
            all.into_iter().for_each(|(fibre, _)| fibre.join().unwrap());
            cluster.stop();
        }
    });
}
