//! Unix streams and listeners: bytes, addresses, descriptors that come along, full queues.

use crate::support::sockets::{read_noise, write_noise};
use crate::support::{Random, for_each_cluster, let_others_block};
use fibre::net::Shutdown;
use fibre::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};
use std::io::{ErrorKind, IoSlice, Read, Write};
use std::mem::MaybeUninit;
use std::os::fd::AsFd;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net as std_net;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// A path that nobody else uses.
pub fn fresh_path() -> PathBuf {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let name = format!("fibre-test-{}-{number}.socket", std::process::id());
    std::env::temp_dir().join(name)
}

/// An abstract address that nobody else uses.
pub fn fresh_name() -> SocketAddr {
    let path = fresh_path();
    SocketAddr::from_abstract_name(path.as_os_str().as_encoded_bytes()).unwrap()
}

/// Two ends of one connection, the second one an ordinary blocking socket.
fn pair_with_std() -> (UnixStream, std_net::UnixStream) {
    let (near, far) = UnixStream::pair().unwrap();
    (near, far.into_std().unwrap())
}

/// Makes a fibre wait for nothing: then the stream is known to its poller, and known to be empty.
fn drain(stream: &UnixStream) {
    stream
        .set_read_timeout(Some(Duration::from_millis(1)))
        .unwrap();
    let error = (&*stream).read(&mut [0; 8]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TimedOut);
    stream.set_read_timeout(None).unwrap();
}

/// Both directions at once carry megabytes in pieces of random sizes.
#[test]
fn megabytes_in_both_directions() {
    let seed = Random::seed();
    for_each_cluster(move |_| {
        const LENGTH: usize = 2 << 20;
        let mut random = Random::new(seed);
        let (left, right) = UnixStream::pair().unwrap();
        let ends = [Arc::new(left), Arc::new(right)];
        let mut fibres = Vec::new();
        for me in [0, 1] {
            let (end, sizes) = (Arc::clone(&ends[me]), random.split());
            fibres.push(fibre::spawn(move || {
                write_noise(&*end, seed + me as u64, LENGTH, sizes);
                end.shutdown(Shutdown::Write).unwrap();
            }));
            let (end, sizes) = (Arc::clone(&ends[1 - me]), random.split());
            fibres.push(fibre::spawn(move || {
                read_noise(&*end, seed + me as u64, LENGTH, sizes);
            }));
        }
        fibres.into_iter().for_each(|fibre| fibre.join().unwrap());
    });
}

/// Listeners at paths and at abstract names; all addresses are what they should be.
#[test]
fn listeners_and_addresses() {
    for_each_cluster(|_| {
        let path = fresh_path();
        let listener = UnixListener::bind(&path).unwrap();
        assert_eq!(
            UnixListener::bind(&path).unwrap_err().kind(),
            ErrorKind::AddrInUse
        );
        assert_eq!(
            listener.local_addr().unwrap().as_pathname(),
            Some(path.as_path())
        );
        let connecting = path.clone();
        let client = fibre::spawn(move || UnixStream::connect(connecting).unwrap());
        let (server, from) = listener.accept().unwrap();
        let client = client.join().unwrap();
        assert!(from.is_unnamed() && client.local_addr().unwrap().is_unnamed());
        assert_eq!(
            client.peer_addr().unwrap().as_pathname(),
            Some(path.as_path())
        );
        assert_eq!(server.peer_cred().unwrap(), client.peer_cred().unwrap());
        let me = i32::try_from(std::process::id()).unwrap();
        assert_eq!(server.peer_cred().unwrap().pid, Some(me));
        drop(listener);
        let refused = UnixStream::connect(&path).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::ConnectionRefused);
        std::fs::remove_file(&path).unwrap();
        let missing = UnixStream::connect(&path).unwrap_err();
        assert_eq!(missing.kind(), ErrorKind::NotFound);

        let name = fresh_name();
        let listener = UnixListener::bind_addr(&name).unwrap();
        let client = UnixStream::connect_addr(&name).unwrap();
        assert_eq!(
            client.peer_addr().unwrap().as_abstract_name(),
            name.as_abstract_name()
        );
        assert!(listener.incoming().next().unwrap().is_ok());
        let late = listener.accept_timeout(Duration::from_millis(1));
        assert_eq!(late.unwrap_err().kind(), ErrorKind::TimedOut);
    });
}

/// A client that connects to a listener whose queue is full waits until there is room.
#[test]
fn full_queues_make_connecting_wait() {
    for_each_cluster(|_| {
        let name = fresh_name();
        let listener = UnixListener::bind_addr(&name).unwrap();
        rustix::net::listen(&listener, 1).unwrap();
        let past = Instant::now();
        let first = (0..).map_while(|me| Some((me, UnixStream::connect_until(&name, past).ok()?)));
        let first: Vec<(u8, _)> = first.collect();
        for (me, stream) in &first {
            (&*stream).write_all(&[*me]).unwrap();
        }
        // Now it is full.
        let all = first.len() as u8 + 12;
        let clients: Vec<_> = (first.len() as u8..all)
            .map(|me| {
                let name = name.clone();
                fibre::spawn(move || {
                    let mut stream = UnixStream::connect_addr(&name).unwrap();
                    stream.write_all(&[me]).unwrap();
                })
            })
            .collect();
        let name = name.clone();
        let cancelled = fibre::spawn(move || UnixStream::connect_addr(&name).is_err());
        let_others_block();
        cancelled.cancel();
        assert!(cancelled.join().unwrap());
        let mut seen: Vec<u8> = (0..all)
            .map(|_| {
                let mut byte = [0];
                let (mut stream, _) = listener.accept().unwrap();
                stream.read_exact(&mut byte).unwrap();
                byte[0]
            })
            .collect();
        seen.sort_unstable();
        assert!(seen.into_iter().eq(0..all));
        clients
            .into_iter()
            .for_each(|client| client.join().unwrap());
    });
}

/// A client that connects to a full queue with a deadline gives up; with a past one it tries once.
#[test]
fn full_queues_are_waited_for_until_a_deadline() {
    for_each_cluster(|_| {
        let name = fresh_name();
        let listener = UnixListener::bind_addr(&name).unwrap();
        rustix::net::listen(&listener, 1).unwrap();
        let past = Instant::now();
        let connected: Vec<_> = (0..100)
            .map_while(|_| UnixStream::connect_until(&name, past).ok())
            .collect();
        assert!((1..100).contains(&connected.len()));
        let soon = Instant::now() + Duration::from_millis(5);
        let error = UnixStream::connect_until(&name, soon).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::TimedOut);
        let short = Duration::from_millis(2);
        let error = UnixStream::connect_timeout(&name, short).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::TimedOut);
        let error = UnixStream::connect_timeout(&name, Duration::ZERO).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput);
        assert!(Instant::now() >= soon);
    });
}

/// A read ends behind descriptors that came along, and is short, though more is there.
#[test]
fn descriptors_hide_nothing() {
    for_each_cluster(|_| {
        let (near, mut far) = pair_with_std();
        for _ in 0..20 {
            drain(&near);
            let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
            let mut along = SendAncillaryBuffer::new(&mut space);
            let descriptors = [far.as_fd()];
            assert!(along.push(SendAncillaryMessage::ScmRights(&descriptors)));
            let bytes = [IoSlice::new(b"abc")];
            sendmsg(&far, &bytes, &mut along, SendFlags::empty()).unwrap();
            far.write_all(b"defg").unwrap();
            let mut all = Vec::new();
            while all.len() < 7 {
                let mut buffer = [0; 64];
                let count = (&near).read(&mut buffer).unwrap();
                all.extend_from_slice(&buffer[..count]);
            }
            assert_eq!(all, b"abcdefg");
        }
    });
}

/// Ending one's own directions wakes those who wait in them, also a writer without room.
#[test]
fn shutting_down_wakes() {
    for_each_cluster(|_| {
        for how in [Shutdown::Write, Shutdown::Read, Shutdown::Both] {
            let (near, _far) = UnixStream::pair().unwrap();
            let near = Arc::new(near);
            let (reading, writing) = (Arc::clone(&near), Arc::clone(&near));
            let reader = fibre::spawn(move || (&*reading).read(&mut [0; 4]));
            let writer = fibre::spawn(move || (&*writing).write_all(&vec![0; 8 << 20]));
            let_others_block();
            near.shutdown(how).unwrap();
            let kind = |result: std::io::Result<()>| result.unwrap_err().kind();
            let (mut reader, mut writer) = (Some(reader), Some(writer));
            if how != Shutdown::Write {
                let count = reader.take().map(|reader| reader.join().unwrap().unwrap());
                assert_eq!(count, Some(0));
            }
            if how != Shutdown::Read {
                let error = writer.take().map(|writer| kind(writer.join().unwrap()));
                assert_eq!(error, Some(ErrorKind::BrokenPipe));
            }
            near.close();
            if let Some(reader) = reader {
                let error = kind(reader.join().unwrap().map(drop));
                assert_eq!(error, ErrorKind::ConnectionAborted);
            }
            if let Some(writer) = writer {
                let error = kind(writer.join().unwrap());
                assert_eq!(error, ErrorKind::ConnectionAborted);
            }
        }
    });
}

/// A peer that goes away wakes readers with the end, writers with an error, and neither twice.
#[test]
fn peers_that_go_away() {
    for_each_cluster(|_| {
        for unread in [false, true] {
            let (near, far) = UnixStream::pair().unwrap();
            let near = Arc::new(near);
            let (reading, writing) = (Arc::clone(&near), Arc::clone(&near));
            let reader = fibre::spawn(move || (&*reading).read(&mut [0; 4]));
            let writer = fibre::spawn(move || (&*writing).write_all(&vec![0; 8 << 20]));
            let_others_block();
            if !unread {
                let mut all = vec![0; 8 << 20];
                (&far).read_exact(&mut all).unwrap();
                writer.join().unwrap().unwrap();
                drop(far);
                assert_eq!(reader.join().unwrap().unwrap(), 0);
                continue;
            }
            drop(far);
            let error = writer.join().unwrap().unwrap_err();
            assert!(matches!(
                error.kind(),
                ErrorKind::BrokenPipe | ErrorKind::ConnectionReset
            ));
            assert!(matches!(reader.join().unwrap(), Ok(0) | Err(_)));
            assert_eq!((&*near).read(&mut [0; 4]).unwrap(), 0);
        }
    });
}

/// To std, where they block, and back; clones share the connection.
#[test]
fn to_std_and_back() {
    for_each_cluster(|_| {
        let name = fresh_name();
        let listener = UnixListener::bind_addr(&name).unwrap();
        let plain = listener.into_std().unwrap();
        let near = UnixStream::connect_addr(&name).unwrap();
        let (mut far, _) = plain.accept().unwrap();
        let listener = UnixListener::try_from(plain).unwrap();
        let acceptor = fibre::spawn(move || (&listener).into_iter().next().unwrap().unwrap());
        let_others_block();
        drop(std_net::UnixStream::connect_addr(&name).unwrap());
        acceptor.join().unwrap();

        let mut clone = near.try_clone().unwrap();
        let reader = thread::spawn(move || {
            let mut plain = near.into_std().unwrap();
            plain.read_exact(&mut [0; 3]).unwrap();
            plain
        });
        far.write_all(b"one").unwrap();
        let plain = fibre::blocking(|| reader.join()).unwrap();
        let mut near = UnixStream::try_from(plain).unwrap();
        far.write_all(b"two3").unwrap();
        clone.read_exact(&mut [0; 3]).unwrap();
        near.read_exact(&mut [0]).unwrap();
    });
}

/// Descriptors that are sent arrive in their order, with the bytes that they were sent with, and no
/// other program inherits them.
#[test]
fn descriptors_are_passed_on() {
    for_each_cluster(|_| {
        let (left, right) = UnixStream::pair().unwrap();
        let receiver = fibre::spawn(move || {
            let mut all = Vec::new();
            let mut fds = Vec::new();
            let mut buffer = [0; 64];
            for _ in 0..3 {
                let received = right.recv_fds(&mut buffer, &mut fds).unwrap();
                assert!(!received.descriptors_lost);
                all.push((buffer[..received.bytes].to_vec(), fds.len()));
            }
            (all, fds)
        });
        let_others_block();
        let pipes = [(); 3].map(|()| std::io::pipe().unwrap());
        let readers = pipes.iter().map(|(reader, _)| reader.as_fd());
        let readers: Vec<_> = readers.cycle().take(253).collect();
        // All come with one event.
        assert_eq!(left.send_fds(b"one", &readers[..1]).unwrap(), 3);
        assert_eq!(left.send_fds(b"more", &readers).unwrap(), 4);
        assert_eq!(left.send_fds(b"none", &[]).unwrap(), 4);
        let too_many: Vec<_> = readers.iter().chain(&readers[..1]).copied().collect();
        let refused = left.send_fds(b"x", &too_many).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::InvalidInput);
        let refused = left.send_fds(b"", &readers).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::InvalidInput);
        let (all, fds) = receiver.join().unwrap();
        let counts: Vec<_> = all
            .iter()
            .map(|(bytes, count)| (&bytes[..], *count))
            .collect();
        assert_eq!(counts, [(&b"one"[..], 1), (b"more", 254), (b"none", 254)]);
        for (fd, (_, mut writer)) in fds[1..].iter().zip(pipes) {
            let flags = rustix::io::fcntl_getfd(fd).unwrap();
            assert!(flags.contains(rustix::io::FdFlags::CLOEXEC));
            writer.write_all(b"x").unwrap();
            assert_eq!(rustix::io::read(fd, &mut [0; 2]).unwrap(), 1);
        }
    });
}

/// Where the kernel says who has sent bytes, it hands out those of one sender at a time.
#[test]
fn senders_are_told_apart() {
    for_each_cluster(|_| {
        let (near, far) = UnixStream::pair().unwrap();
        rustix::net::sockopt::set_socket_passcred(&near, true).unwrap();
        let reader = fibre::spawn(move || {
            let mut text = Vec::new();
            while text.len() < 2 {
                let mut buffer = [0; 8];
                let received = near.recv_fds(&mut buffer, &mut Vec::new()).unwrap();
                text.extend_from_slice(&buffer[..received.bytes]);
            }
            text
        });
        let_others_block();
        rustix::io::write(&far, b"a").unwrap();
        let mut other = std::process::Command::new("printf");
        let other = other
            .arg("b")
            .stdout(far.as_fd().try_clone_to_owned().unwrap());
        assert!(other.status().unwrap().success());
        assert_eq!(reader.join().unwrap(), b"ab");
    });
}
