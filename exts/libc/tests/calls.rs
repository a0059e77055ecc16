//! std's own sockets, pipes, sleeps, processes and threads, unmodified, on fibres of one processor:
//! a call that blocked its processor would hang here. And the rule: nothing switches unless the
//! call would block.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use socket2::{Domain, Socket, Type};
use std::io::{ErrorKind, Read, Write, pipe};
use std::net::{SocketAddr, TcpListener, TcpStream, ToSocketAddrs, UdpSocket};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::net::{UnixDatagram, UnixListener, UnixStream};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;
use support::{Rider, on, on_one};

/// A moment, for calls that time out.
const SHORT: Duration = Duration::from_millis(5);

/// Bytes that no buffer of the kernel's takes at once.
const MANY: usize = 4 << 20;

#[test]
fn a_server_of_std_serves_clients_of_std_on_one_processor() {
    for processors in [1, 2, 4] {
        let answers = on(processors, || {
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            let address = listener.local_addr().unwrap();
            fibre::spawn(move || {
                for stream in listener.incoming().take(50) {
                    let mut stream = stream.unwrap();
                    fibre::spawn(move || {
                        let mut bytes = [0; 64];
                        while let Ok(count @ 1..) = stream.read(&mut bytes) {
                            stream.write_all(&bytes[..count]).unwrap();
                        }
                    });
                }
            });
            let client = move |number: u8| {
                let mut stream = TcpStream::connect(address).unwrap();
                for round in 0..10 {
                    let mut bytes = [0; 2];
                    stream.write_all(&[number, round]).unwrap();
                    stream.read_exact(&mut bytes).unwrap();
                    assert_eq!(bytes, [number, round]);
                }
                1
            };
            let clients: Vec<_> = (0..50)
                .map(|one| fibre::spawn(move || client(one)))
                .collect();
            clients
                .into_iter()
                .map(|one| one.join().unwrap())
                .sum::<i32>()
        });
        assert_eq!(answers, 50);
    }
}

#[test]
fn a_refused_socket_connects_later() {
    for processors in [1, 2] {
        on(processors, || {
            let new = || Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
            let (listener, client) = (new(), new());
            let any: SocketAddr = "127.0.0.1:0".parse().unwrap();
            listener.bind(&any.into()).unwrap();
            let address = listener.local_addr().unwrap();
            for _ in 0..3 {
                let refused = client.connect(&address).unwrap_err();
                assert_eq!(refused.kind(), ErrorKind::ConnectionRefused);
                assert!(client.take_error().unwrap().is_none());
            }
            listener.listen(1).unwrap();
            client.connect(&address).unwrap();
            let again = client.connect(&address).unwrap_err();
            assert_eq!(again.raw_os_error(), Some(libc::EISCONN));
        });
    }
}

#[test]
fn a_call_leaves_its_stack_only_if_it_would_block() {
    on_one(|| {
        let rider = Rider::begin();
        let (mut ours, mut theirs) = rider.stays(|| UnixStream::pair().unwrap());
        let mut bytes = [0; 8];
        for _ in 0..1000 {
            // Again and again, as a fibre's slice ends at some time.
            rider.stays(|| ours.write_all(b"12345678").unwrap());
            rider.stays(|| theirs.read_exact(&mut bytes[..4]).unwrap());
            rider.stays(|| theirs.read_exact(&mut bytes[4..]).unwrap());
        }
        assert_eq!(&bytes, b"12345678");
        let answer = fibre::spawn(move || {
            fibre::yield_now();
            ours.write_all(b"x").unwrap();
            ours
        });
        rider.leaves(|| theirs.read_exact(&mut bytes[..1]).unwrap());
        drop(answer.join().unwrap());
        assert_eq!(rider.stays(|| theirs.read(&mut bytes).unwrap()), 0);
        rider.stays(|| drop(theirs));

        let listener = rider.stays(|| TcpListener::bind("127.0.0.1:0").unwrap());
        let address = listener.local_addr().unwrap();
        let client = TcpStream::connect(address).unwrap();
        let (mut server, _) = rider.stays(|| listener.accept().unwrap());
        rider.stays(|| (&client).write_all(b"now").unwrap());
        rider.stays(|| server.set_nonblocking(true).unwrap());
        let read = rider.stays(|| server.read(&mut bytes));
        assert_eq!(read.unwrap(), 3);
        let read = rider.stays(|| server.read(&mut bytes));
        assert_eq!(read.unwrap_err().kind(), ErrorKind::WouldBlock);

        let (mut reader, mut writer) = rider.stays(|| pipe().unwrap());
        rider.stays(|| writer.write_all(b"pipe").unwrap());
        assert_eq!(rider.stays(|| reader.read(&mut bytes).unwrap()), 4);
        rider.stays(|| thread::sleep(Duration::ZERO));
        rider.leaves(|| thread::sleep(SHORT));
        let devices = rider.stays(|| std::fs::read("/proc/self/stat").unwrap());
        assert!(!devices.is_empty());
        rider.stays(|| println!("to the standard output"));
        let mut null = rider.stays(|| std::fs::File::open("/dev/urandom").unwrap());
        rider.stays(|| null.read_exact(&mut bytes).unwrap());
    });
}

#[test]
fn a_blocking_write_writes_all() {
    on_one(|| {
        let (mut ours, mut theirs) = UnixStream::pair().unwrap();
        let (mut reader, mut writer) = pipe().unwrap();
        let writers = fibre::spawn(move || {
            ours.write_all(&vec![7; MANY]).unwrap();
            writer.write_all(&vec![9; MANY]).unwrap();
        });
        let mut all = vec![0; MANY];
        theirs.read_exact(&mut all).unwrap();
        assert!(all.iter().all(|byte| *byte == 7));
        all.clear();
        assert_eq!(reader.read_to_end(&mut all).unwrap(), MANY);
        assert!(all.iter().all(|byte| *byte == 9));
        writers.join().unwrap();
    });
}

#[test]
fn time_outs_of_sockets_end_calls() {
    on_one(|| {
        let (mut ours, _theirs) = UnixStream::pair().unwrap();
        ours.set_read_timeout(Some(SHORT)).unwrap();
        ours.set_write_timeout(Some(SHORT)).unwrap();
        let read = ours.read(&mut [0]).unwrap_err();
        assert_eq!(read.kind(), ErrorKind::WouldBlock);
        let written = ours.write_all(&vec![0; MANY]).unwrap_err();
        assert_eq!(written.kind(), ErrorKind::WouldBlock);
        let nobody = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = nobody.local_addr().unwrap();
        TcpStream::connect_timeout(&address, Duration::from_secs(60)).unwrap();
    });
}

#[test]
fn datagrams_and_listeners_of_all_kinds() {
    on_one(|| {
        let receiver = UdpSocket::bind("127.0.0.1:0").unwrap();
        let address = receiver.local_addr().unwrap();
        let (ours, theirs) = UnixDatagram::pair().unwrap();
        let waits = fibre::spawn(move || {
            let mut bytes = [0; 16];
            let (count, _) = receiver.recv_from(&mut bytes).unwrap();
            theirs.send(&bytes[..count]).unwrap();
        });
        fibre::yield_now();
        let sender = UdpSocket::bind("127.0.0.1:0").unwrap();
        sender.send_to(b"datagram", address).unwrap();
        let mut bytes = [0; 16];
        assert_eq!(ours.recv(&mut bytes).unwrap(), 8);
        waits.join().unwrap();

        let path = std::env::temp_dir().join(format!("fibre-libc-{}", std::process::id()));
        let listener = UnixListener::bind(&path).unwrap();
        let accepts = fibre::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let again = listener.try_clone().unwrap();
            stream.write_all(b"u").unwrap();
            again.accept().unwrap().0
        });
        fibre::yield_now();
        let mut first = UnixStream::connect(&path).unwrap();
        first.read_exact(&mut bytes[..1]).unwrap();
        let second = UnixStream::connect(&path).unwrap();
        let accepted = accepts.join().unwrap();
        std::fs::remove_file(&path).unwrap();
        drop((second, accepted));
    });
}

/// A plain thread still waits on a listener that a fibre has made non-blocking, which its program
/// does not see.
#[test]
fn a_plain_thread_sees_a_listener_as_it_was() {
    let (listener, address) = on(1, || {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let client = fibre::spawn(move || TcpStream::connect(address).unwrap());
        listener.accept().unwrap();
        client.join().unwrap();
        (listener, address)
    });
    // SAFETY: a number, and a call without a third argument.
    let flags = unsafe { libc::fcntl(listener.as_raw_fd(), libc::F_GETFL) };
    assert_eq!(flags & libc::O_NONBLOCK, 0);
    let accepts = thread::spawn(move || listener.accept().map(drop));
    TcpStream::connect(address).unwrap();
    accepts.join().unwrap().unwrap();
}

#[test]
fn processes_and_threads_are_waited_for() {
    on_one(|| {
        let rider = Rider::begin();
        let mut child = Command::new("cat")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut input = child.stdin.take().unwrap();
        fibre::spawn(move || {
            fibre::sleep(SHORT);
            input.write_all(b"meow").unwrap();
        });
        let output = rider.leaves(|| child.wait_with_output().unwrap());
        assert_eq!(output.stdout, b"meow");
        assert!(output.status.success());
        let sleeps = thread::spawn(|| thread::sleep(SHORT));
        rider.leaves(|| sleeps.join().unwrap());
        let mut sleeps = Command::new("sleep").arg("0.01").spawn().unwrap();
        assert!(rider.leaves(|| sleeps.wait().unwrap()).success());
    });
}

#[test]
fn names_are_looked_up_elsewhere() {
    on_one(|| {
        let rider = Rider::begin();
        let mut found = rider.leaves(|| ("localhost", 80).to_socket_addrs().unwrap());
        assert!(found.any(|address| address.ip().is_loopback()));
    });
}

#[test]
fn plain_calls_block_the_processor() {
    on_one(|| {
        let rider = Rider::begin();
        rider.leaves(|| thread::sleep(SHORT));
        let plain = || fibre_libc::plainly(|| thread::sleep(SHORT));
        rider.stays(|| fibre_libc::plainly(plain));
        rider.leaves(|| thread::sleep(SHORT));
    });
}

/// A cancelled fibre gets the error that fibre's own calls have; what need not wait succeeds.
#[test]
fn cancellation_ends_a_wait() {
    on_one(|| {
        let (mut ours, mut theirs) = UnixStream::pair().unwrap();
        let waits = fibre::spawn(move || {
            let failed = ours.read(&mut [0]).unwrap_err();
            assert!(fibre::is_cancelled_error(&failed), "{failed}");
            thread::sleep(SHORT);
            ours.write_all(b"late").unwrap();
        });
        fibre::yield_now();
        waits.cancel();
        theirs.read_exact(&mut [0; 4]).unwrap();
        waits.join().unwrap();
        let (mut ours, _theirs) = UnixStream::pair().unwrap();
        let late = fibre::timeout(SHORT, || ours.read(&mut [0])).unwrap_err();
        let failed = late.into_value().unwrap().unwrap_err();
        assert!(fibre::is_cancelled_error(&failed), "{failed}");
    });
}

/// Where started fibres move, calls are plain.
#[test]
fn clusters_that_move_fibres_have_plain_calls() {
    on(1, || ());
    let builder = fibre::Cluster::builder()
        .processors(1)
        .max_spare_processors(0);
    // SAFETY: the fibres keep nothing of a thread's.
    let cluster = unsafe { builder.move_started_fibres() }.build().unwrap();
    let runs = cluster.spawn(|| {
        let rider = Rider::begin();
        rider.stays(|| thread::sleep(SHORT));
    });
    runs.join().unwrap();
    cluster.stop();
}

/// The calls of shared libraries come here, too.
#[test]
fn names_reach_shared_libraries() {
    assert!(fibre_libc::reaches_shared_libraries());
}

/// A connection that a call has begun, and given up at its time-out, is what the next call waits
/// for.
#[test]
fn a_connection_that_has_been_given_up_is_waited_for_by_the_next_call() {
    on_one(|| {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        // There is room for one connection that nobody has accepted.
        // SAFETY: a socket that listens.
        assert_eq!(unsafe { libc::listen(listener.as_raw_fd(), 0) }, 0);
        let port = listener.local_addr().unwrap().port();
        let first = TcpStream::connect(("127.0.0.1", port)).unwrap();
        let second = Half::new();
        assert_eq!(second.connect(port), Err(libc::EINPROGRESS));
        assert_eq!(second.connect(port), Err(libc::EALREADY));
        // Once there is room, the kernel tries again, a second after the first time.
        let (_accepted, _) = listener.accept().unwrap();
        second.wait_for(Duration::from_secs(10));
        assert_eq!(second.connect(port), Ok(()));
        drop(first);
    });
}

/// A socket of its own, for calls of `connect` one by one.
struct Half(OwnedFd);

impl Half {
    /// A socket with calls that wait for a moment.
    fn new() -> Self {
        // SAFETY: a new descriptor is the caller's.
        let half = Self(unsafe {
            OwnedFd::from_raw_fd(libc::socket(libc::AF_INET, libc::SOCK_STREAM, 0))
        });
        half.wait_for(SHORT);
        half
    }

    /// How long its calls wait.
    fn wait_for(&self, time: Duration) {
        let time = libc::timeval {
            tv_sec: time.as_secs().cast_signed(),
            tv_usec: time.subsec_micros().into(),
        };
        // SAFETY: a value of this option's kind.
        let set = unsafe {
            libc::setsockopt(
                self.0.as_raw_fd(),
                libc::SOL_SOCKET,
                libc::SO_SNDTIMEO,
                (&raw const time).cast(),
                size_of_val(&time) as u32,
            )
        };
        assert_eq!(set, 0);
    }

    /// Connects to a port here, or fails with this error.
    fn connect(&self, port: u16) -> Result<(), i32> {
        let address = libc::sockaddr_in {
            sin_family: libc::AF_INET as u16,
            sin_port: port.to_be(),
            sin_addr: libc::in_addr {
                s_addr: u32::from_ne_bytes([127, 0, 0, 1]),
            },
            sin_zero: [0; 8],
        };
        let (place, size) = ((&raw const address).cast(), size_of_val(&address) as u32);
        // SAFETY: an address of this size.
        match unsafe { libc::connect(self.0.as_raw_fd(), place, size) } {
            0 => Ok(()),
            _ => Err(std::io::Error::last_os_error().raw_os_error().unwrap()),
        }
    }
}
