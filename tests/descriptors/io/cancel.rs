//! Sockets of fibres that are cancelled.

use crate::support::sockets::{listener, pair, shrink_buffers};
use crate::support::{as_cancelled, for_each_cluster, let_others_block};
use fibre::io::{PollFd, Pollable, Readiness};
use fibre::net::{TcpListener, TcpStream, UdpSocket};
use fibre::os::unix::net::{SocketAddr, UnixDatagram, UnixListener, UnixStream};
use fibre::signal::{SIGUSR2, Signals};
use rustix::io::Errno;
use std::io::{self, IoSliceMut, Read, Write};
use std::os::linux::net::SocketAddrExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Whether a call failed because its fibre was cancelled.
fn is_cancelled<T>(result: &io::Result<T>) -> bool {
    let errno = result.as_ref().err().and_then(io::Error::raw_os_error);
    errno == Some(Errno::CANCELED.raw_os_error())
}

/// Spawns a fibre that makes a call, cancels it when it waits, and looks at what came of it.
fn cancelled_while<T: Send + 'static>(call: impl FnOnce() -> io::Result<T> + Send + 'static) {
    let fibre = fibre::spawn(move || is_cancelled(&call()));
    let_others_block();
    fibre.cancel();
    assert!(fibre.join().unwrap());
}

/// A name is not even looked up.
#[test]
fn connecting_fails_at_once() {
    for_each_cluster(|_| {
        assert!(as_cancelled(|| is_cancelled(&TcpStream::connect(
            "no such name:80"
        ))));
    });
}

/// Calls that wait end with `ECANCELED`; the sockets stay as they are.
#[test]
fn waits_end() {
    for_each_cluster(|_| {
        let listener = Arc::new(listener());
        let accepting = Arc::clone(&listener);
        cancelled_while(move || accepting.accept());

        let (left, right) = pair();
        let reading = left.try_clone().unwrap();
        cancelled_while(move || (&reading).read(&mut [0; 8]));
        let limited = left.try_clone().unwrap();
        let long = Some(Duration::from_secs(3600));
        limited.set_read_timeout(long).unwrap();
        cancelled_while(move || (&limited).read(&mut [0; 8]));
        let peeking = left.try_clone().unwrap();
        cancelled_while(move || peeking.peek(&mut [0; 8]));

        (&right).write_all(b"still").unwrap();
        let mut text = [0; 5];
        (&left).read_exact(&mut text).unwrap();
        assert_eq!(&text, b"still");

        shrink_buffers(&left);
        let writing = left.try_clone().unwrap();
        cancelled_while(move || (&writing).write_all(&vec![0; 1 << 22]));
        drop(left);
        let mut rest = Vec::new();
        (&right).read_to_end(&mut rest).unwrap();
        assert!(rest.len() < 1 << 22);

        let address = listener.local_addr().unwrap();
        let client = fibre::spawn(move || TcpStream::connect(address).map(drop));
        listener.accept().unwrap();
        client.join().unwrap().unwrap();
    });
}

/// A fibre that has been cancelled begins no call, and in a shield any.
#[test]
fn no_call_begins() {
    for_each_cluster(|_| {
        let listener = listener();
        let address = listener.local_addr().unwrap();
        as_cancelled(move || {
            let (left, right) = fibre::shield(pair);
            fibre::shield(|| (&right).write_all(b"x")).unwrap();
            let mut byte = [0];
            assert!(is_cancelled(&(&left).read(&mut byte)));
            assert!(is_cancelled(&(&left).write(&byte)));
            assert!(is_cancelled(&listener.accept()));
            assert!(is_cancelled(&TcpStream::connect(address)));
            assert_eq!(fibre::shield(|| (&left).read(&mut byte)).unwrap(), 1);
            assert_eq!(&byte, b"x");
        });
    });
}

/// Acceptors that are cancelled leave every connection to those who are not.
#[test]
fn no_connection_is_lost() {
    for_each_cluster(|_| {
        let listener = Arc::new(listener());
        let address = listener.local_addr().unwrap();
        let accept = |listener: &Arc<TcpListener>| {
            let listener = Arc::clone(listener);
            fibre::spawn(move || {
                let mut accepted = 0;
                while let Ok((mut stream, _)) = listener.accept() {
                    fibre::shield(|| stream.write_all(b"!")).unwrap();
                    accepted += 1;
                }
                accepted
            })
        };
        let steady = accept(&listener);
        let mut accepted = 0;
        for _ in 0..30 {
            let brief: Vec<_> = (0..4).map(|_| accept(&listener)).collect();
            let clients: Vec<_> = (0..4)
                .map(|_| {
                    fibre::spawn(move || {
                        let mut stream = TcpStream::connect(address).unwrap();
                        stream.read_exact(&mut [0]).unwrap();
                    })
                })
                .collect();
            fibre::yield_now();
            brief.iter().for_each(fibre::JoinHandle::cancel);
            clients
                .into_iter()
                .for_each(|client| client.join().unwrap());
            for fibre in brief {
                accepted += fibre.join().unwrap();
            }
        }
        listener.close();
        assert_eq!(accepted + steady.join().unwrap(), 120);
    });
}

/// A call that waits until its fibre is cancelled.
type Call = Box<dyn Fn() -> io::Result<()> + Send>;

/// A call of each kind of I/O that cancellation ends, each of which would wait for ever.
fn endless_calls() -> Vec<(&'static str, Call)> {
    let mut calls: Vec<(&'static str, Call)> = Vec::new();
    let mut add = |name, call: Call| calls.push((name, call));
    let tcp = listener();
    add(
        "TcpListener::accept",
        Box::new(move || tcp.accept().map(drop)),
    );
    let name = format!("fibre-cancel-{}", std::process::id());
    let name = SocketAddr::from_abstract_name(name).unwrap();
    let unix = UnixListener::bind_addr(&name).unwrap();
    add(
        "UnixListener::accept",
        Box::new(move || unix.accept().map(drop)),
    );
    let (tcp, far) = pair();
    add(
        "TcpStream::read",
        Box::new(move || (&tcp).read(&mut [0]).map(drop)),
    );
    let reading = far.try_clone().unwrap();
    let vectored = move || {
        (&reading)
            .read_vectored(&mut [IoSliceMut::new(&mut [0])])
            .map(drop)
    };
    add("TcpStream::read_vectored", Box::new(vectored));
    add(
        "TcpStream::peek",
        Box::new(move || far.peek(&mut [0]).map(drop)),
    );
    let (from, to) = (pair(), pair());
    let ends = (from.0, to.0);
    add(
        "copy",
        Box::new(move || fibre::io::copy(&ends.0, &ends.1).map(drop)),
    );
    let ends = (from.1, to.1);
    let both = move || fibre::io::copy_bidirectional(&ends.0, &ends.1).map(drop);
    add("copy_bidirectional", Box::new(both));
    let (unix, far) = UnixStream::pair().unwrap();
    add(
        "UnixStream::read",
        Box::new(move || (&unix).read(&mut [0]).map(drop)),
    );
    let much = vec![0; 1 << 24];
    add(
        "UnixStream::write_all",
        Box::new(move || (&far).write_all(&much)),
    );
    calls
}

/// The same for calls on what is no stream socket.
fn other_endless_calls() -> Vec<(&'static str, Call)> {
    let mut calls: Vec<(&'static str, Call)> = Vec::new();
    let mut add = |name, call: Call| calls.push((name, call));
    let udp = UdpSocket::bind("127.0.0.1:0").unwrap();
    add(
        "UdpSocket::recv_from",
        Box::new(move || udp.recv_from(&mut [0]).map(drop)),
    );
    let (datagrams, far) = UnixDatagram::pair().unwrap();
    add(
        "UnixDatagram::recv",
        Box::new(move || datagrams.recv(&mut [0]).map(drop)),
    );
    let send = move || -> io::Result<()> {
        loop {
            far.send(b"more than is taken")?;
        }
    };
    add("UnixDatagram::send", Box::new(send));
    let (reader, writer) = fibre::io::pipe().unwrap();
    let (other_reader, other_writer) = fibre::io::pipe().unwrap();
    let read = move || {
        let _writer = &writer;
        (&reader).read(&mut [0]).map(drop)
    };
    add("PipeReader::read", Box::new(read));
    let write = move || {
        let _reader = &other_reader;
        (&other_writer).write_all(&vec![0; 1 << 22])
    };
    add("PipeWriter::write_all", Box::new(write));
    let silent = udp_of_std();
    let asked = silent.try_clone().unwrap();
    let wait = move || {
        let mut fds = [PollFd::new(&asked, Readiness::READ)];
        fibre::io::poll(&mut fds).map(drop)
    };
    add("poll", Box::new(wait));
    let pollable = Pollable::new(silent).unwrap();
    add("Pollable::readable", Box::new(move || pollable.readable()));
    calls
}

/// A socket of std to which nobody sends.
fn udp_of_std() -> std::net::UdpSocket {
    let socket = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.set_nonblocking(true).unwrap();
    socket
}

/// Each call of I/O that cancellation ends says so in the same manner, whether it waits or only
/// begins.
#[test]
fn errors_of_cancelled_calls_are_known() {
    for_each_cluster(|_| {
        // The other ends stay open.
        let mut done = Vec::new();
        for (name, call) in endless_calls().into_iter().chain(other_endless_calls()) {
            let fibre = fibre::spawn(move || (call().unwrap_err(), call));
            let_others_block();
            fibre.cancel();
            let (error, call) = fibre.join().unwrap();
            assert!(
                fibre::is_cancelled_error(&error),
                "{name}, waiting: {error}"
            );
            let (error, call) = as_cancelled(move || (call().unwrap_err(), call));
            assert!(
                fibre::is_cancelled_error(&error),
                "{name}, beginning: {error}"
            );
            done.push(call);
        }
        let mut child = fibre::process::Command::new("sleep")
            .arg("1000")
            .spawn()
            .unwrap();
        let mut waiting = fibre::spawn(move || (child.wait().unwrap_err(), child));
        let_others_block();
        waiting.cancel();
        let (error, mut killed) = waiting.join().unwrap();
        assert!(fibre::is_cancelled_error(&error), "Child::wait: {error}");
        killed.kill().unwrap();
        killed.wait().unwrap();
        waiting =
            fibre::spawn(move || (Signals::new([SIGUSR2]).unwrap().wait().unwrap_err(), killed));
        let_others_block();
        waiting.cancel();
        let error = waiting.join().unwrap().0;
        assert!(fibre::is_cancelled_error(&error), "Signals::wait: {error}");
    });
    let other = io::Error::from(io::ErrorKind::Interrupted);
    assert!(!fibre::is_cancelled_error(&other));
    assert!(fibre::is_cancelled_error(&io::Error::other(
        fibre::Cancelled
    )));
}

/// On one processor the order is certain: a request that is made before the event comes, or before
/// the descriptor is closed, is what the waiting fibre is told of.
#[test]
fn a_request_wins_over_what_comes_later() {
    let cluster = fibre::Cluster::builder().processors(1).build().unwrap();
    let told = |waits: bool, call: fn(&TcpStream) -> io::Result<()>| {
        let test = cluster.spawn(move || {
            let (left, mut right) = pair();
            let fibre = fibre::spawn(move || is_cancelled(&call(&left)));
            if waits {
                let_others_block();
            }
            fibre.cancel();
            right.write_all(b"late").unwrap();
            // The event is seen before the fibre runs.
            std::thread::sleep(Duration::from_millis(1));
            fibre.join().unwrap()
        });
        test.join().unwrap()
    };
    for waits in [false, true] {
        assert!(told(waits, |stream| (&mut { stream })
            .read(&mut [0; 8])
            .map(drop)));
        assert!(told(waits, |stream| {
            let mut fds = [PollFd::new(&stream, Readiness::READ)];
            fibre::io::poll(&mut fds).map(drop)
        }));
    }
    cluster.stop();
}

/// A fibre that lets others run at a cancellation point notices there what they ask of it.
#[test]
fn a_request_is_noticed_after_a_yield() {
    // One thread runs both fibres, so what one does between two yields the other sees whole.
    let builder = fibre::Cluster::builder().processors(1);
    let cluster = builder.max_spare_processors(0).build().unwrap();
    let test = cluster.spawn(|| {
        let (begun, cancelled) = (Arc::new(AtomicBool::new(false)), AtomicBool::new(false));
        let cancelled = Arc::new(cancelled);
        let others = (Arc::clone(&begun), Arc::clone(&cancelled));
        let fibre = fibre::spawn(move || {
            let (begun, cancelled) = others;
            begun.store(true, Ordering::Relaxed);
            while fibre_core::internal::yield_cancellable().is_ok() {
                if cancelled.load(Ordering::Relaxed) {
                    return false;
                }
            }
            true
        });
        while !begun.load(Ordering::Relaxed) {
            fibre::yield_now();
        }
        fibre.cancel();
        cancelled.store(true, Ordering::Relaxed);
        fibre.join().unwrap()
    });
    assert!(test.join().unwrap());
    cluster.stop();
}
