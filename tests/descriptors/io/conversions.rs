//! From and to std, options, plain threads, several clusters.

use crate::support::sockets::{listener, pair};
use crate::support::{for_each_cluster, let_others_block, watched};
use fibre::Cluster;
use fibre::net::{TcpListener, TcpStream};
use std::io::{ErrorKind, Read, Write};
use std::net as std_net;
use std::os::fd::{AsRawFd, FromRawFd, IntoRawFd, OwnedFd};
use std::sync::Arc;
use std::thread;

/// A connection goes to std, where it blocks, and comes back, also after it has waited.
#[test]
fn streams_to_std_and_back() {
    for_each_cluster(|_| {
        let (near, mut far) = pair();
        let number = near.as_raw_fd();
        far.write_all(b"1").unwrap();
        let mut byte = [0];
        (&near).read_exact(&mut byte).unwrap();
        let waits = std::time::Duration::from_millis(1);
        near.set_read_timeout(Some(waits)).unwrap();
        assert_eq!(
            (&near).read(&mut byte).unwrap_err().kind(),
            ErrorKind::TimedOut
        );
        let mut plain = near.into_std().unwrap();
        assert_eq!(plain.as_raw_fd(), number);
        let reader = thread::spawn(move || {
            let mut byte = [0];
            plain.read_exact(&mut byte).unwrap();
            (plain, byte)
        });
        far.write_all(b"2").unwrap();
        let (plain, byte) = fibre::blocking(|| reader.join()).unwrap();
        assert_eq!(byte, [b'2']);
        let mut again = TcpStream::try_from(plain).unwrap();
        far.write_all(b"3").unwrap();
        let mut byte = [0];
        again.read_exact(&mut byte).unwrap();
        assert_eq!(byte, [b'3']);
        let fd = OwnedFd::from(again.into_std().unwrap());
        let again = TcpStream::try_from(fd).unwrap();
        assert_eq!(again.as_raw_fd(), number);
        let fd = OwnedFd::from(again);
        assert!(rustix::io::ioctl_fionread(&fd).is_ok());
        assert_eq!(TcpStream::try_from(fd).unwrap().into_raw_fd(), number);
        // SAFETY: just given up.
        drop(unsafe { OwnedFd::from_raw_fd(number) });
        assert_eq!(far.read(&mut [0]).unwrap(), 0, "the last one was dropped");
    });
}

/// The same for a listener.
#[test]
fn listeners_to_std_and_back() {
    for_each_cluster(|_| {
        let plain = std_net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = plain.local_addr().unwrap();
        let ours = TcpListener::try_from(plain).unwrap();
        let acceptor = fibre::spawn(move || {
            ours.accept().unwrap();
            ours
        });
        let_others_block();
        let client = TcpStream::connect(address).unwrap();
        let plain = acceptor.join().unwrap().into_std().unwrap();
        let second = TcpStream::connect(address).unwrap();
        plain.accept().unwrap();
        let again = TcpListener::try_from(OwnedFd::from(plain)).unwrap();
        let clone = again.try_clone().unwrap();
        drop(again);
        let third = TcpStream::connect(address).unwrap();
        assert_eq!(clone.accept().unwrap().1, third.local_addr().unwrap());
        drop((client, second));
    });
}

/// Addresses and options are those of the socket.
#[test]
fn addresses_and_options() {
    for_each_cluster(|_| {
        let listener = TcpListener::bind("[::1]:0").or_else(|_| TcpListener::bind("127.0.0.1:0"));
        let listener = listener.unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (server, peer) = listener.accept().unwrap();
        assert_eq!(peer, client.local_addr().unwrap());
        assert_eq!(client.peer_addr().unwrap(), server.local_addr().unwrap());
        for wanted in [true, false, true] {
            client.set_nodelay(wanted).unwrap();
            assert_eq!(client.nodelay().unwrap(), wanted);
        }
        assert!(client.take_error().unwrap().is_none());
        assert!(listener.take_error().unwrap().is_none());
        client.set_ttl(33).unwrap();
        assert_eq!(client.ttl().unwrap(), 33);
        let second = Some(std::time::Duration::from_secs(1));
        client.set_linger(second).unwrap();
        assert_eq!(client.linger().unwrap(), second);
        client.set_linger(None).unwrap();
        client.set_quickack(true).unwrap();
        assert!(client.quickack().unwrap());
    });
}

/// Plain threads use the same calls, and block.
#[test]
fn plain_threads() {
    watched(|| {
        let listener = listener();
        let address = listener.local_addr().unwrap();
        let server = thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut text = String::new();
            stream.read_to_string(&mut text).unwrap();
            text
        });
        let mut client = TcpStream::connect(address).unwrap();
        thread::sleep(std::time::Duration::from_millis(2));
        client.write_all(&vec![b'a'; 8 << 20]).unwrap();
        drop(client);
        assert_eq!(server.join().unwrap().len(), 8 << 20);
    });
}

/// A socket that was waited for in one cluster works in another one, also after the first one
/// has ended.
#[test]
fn sockets_outlive_clusters() {
    watched(|| {
        let listener = Arc::new(listener());
        let address = listener.local_addr().unwrap();
        for processors in [2, 1, 3] {
            let cluster = Cluster::builder().processors(processors).build().unwrap();
            let shared = Arc::clone(&listener);
            let acceptor = cluster.spawn(move || shared.accept().unwrap().0);
            thread::sleep(std::time::Duration::from_millis(2));
            let client = TcpStream::connect(address).unwrap();
            drop((acceptor.join().unwrap(), client));
            cluster.stop();
        }
        let shared = Arc::clone(&listener);
        let thread = thread::spawn(move || drop(shared.accept().unwrap()));
        thread::sleep(std::time::Duration::from_millis(2));
        drop(TcpStream::connect(address).unwrap());
        thread.join().unwrap();
    });
}

/// Two clusters use one connection at the same time, one to read and one to write.
#[test]
fn two_clusters_on_one_connection() {
    watched(|| {
        let (near, far) = pair();
        let near = Arc::new(near);
        let [left, right] = [1, 2].map(|n| Cluster::builder().processors(n).build().unwrap());
        let reading = Arc::clone(&near);
        let reader = left.spawn(move || {
            let mut total = 0;
            let mut buffer = [0; 5000];
            while let Ok(count @ 1..) = (&*reading).read(&mut buffer) {
                total += count;
            }
            total
        });
        let echo = right.spawn(move || {
            let mut buffer = [0; 3000];
            while let Ok(count @ 1..) = (&far).read(&mut buffer) {
                (&far).write_all(&buffer[..count]).unwrap();
            }
        });
        let writer = right.spawn(move || {
            (0..500).for_each(|_| (&*near).write_all(&[5; 4000]).unwrap());
            near.shutdown(fibre::net::Shutdown::Write).unwrap();
        });
        writer.join().unwrap();
        echo.join().unwrap();
        assert_eq!(reader.join().unwrap(), 2_000_000);
        left.stop();
        right.stop();
    });
}
