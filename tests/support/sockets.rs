//! Connections to test with.

use super::Random;
use fibre::net::{TcpListener, TcpStream};
use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, socket_with};
use std::io::{Read, Write};
use std::net as std_net;
use std::os::fd::{AsFd, RawFd};

/// A listener on a free port.
pub fn listener() -> TcpListener {
    TcpListener::bind("127.0.0.1:0").unwrap()
}

/// An address at which everybody is refused for as long as the socket lives: it is bound, but does
/// not listen.
pub fn dead_end() -> (std_net::TcpListener, std_net::SocketAddr) {
    let (family, flags) = (AddressFamily::INET, SocketFlags::CLOEXEC);
    let socket = socket_with(family, SocketType::STREAM, flags, None).unwrap();
    bind(
        &socket,
        &std_net::SocketAddrV4::new(std_net::Ipv4Addr::LOCALHOST, 0),
    )
    .unwrap();
    let socket = std_net::TcpListener::from(socket);
    let address = socket.local_addr().unwrap();
    (socket, address)
}

/// Two ends of one connection, both the runtime's.
pub fn pair() -> (TcpStream, TcpStream) {
    let listener = std_net::TcpListener::bind("127.0.0.1:0").unwrap();
    let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let (server, _) = listener.accept().unwrap();
    (client, TcpStream::try_from(server).unwrap())
}

/// Two ends of one connection, the second one an ordinary blocking socket.
pub fn pair_with_std() -> (TcpStream, std_net::TcpStream) {
    let (ours, theirs) = pair();
    (ours, theirs.into_std().unwrap())
}

/// The same, the first one known to no poller: it has never waited, not even to be connected.
pub fn fresh_pair_with_std() -> (TcpStream, std_net::TcpStream) {
    let (theirs, ours) = pair();
    (ours, theirs.into_std().unwrap())
}

/// Makes a socket's buffers small: for sending, as small as the kernel allows. Windows as small
/// as that would make it wait for delayed acknowledgements.
pub fn shrink_buffers(socket: impl AsFd) {
    rustix::net::sockopt::set_socket_send_buffer_size(&socket, 2048).unwrap();
    rustix::net::sockopt::set_socket_recv_buffer_size(&socket, 64 * 1024).unwrap();
}

/// How often epoll instances of this process watch the descriptor of this number.
pub fn registrations(number: RawFd) -> usize {
    let infos = std::fs::read_dir("/proc/self/fdinfo").unwrap();
    // A descriptor may be closed between the listing and the look.
    let texts = infos.filter_map(|info| std::fs::read_to_string(info.ok()?.path()).ok());
    let is_about = |line: &&str| {
        let mut words = line.split_whitespace();
        words.next() == Some("tfd:") && words.next() == Some(&number.to_string())
    };
    texts
        .map(|text| text.lines().filter(is_about).count())
        .sum()
}

/// Makes closing this socket reset the connection.
pub fn reset_on_close(socket: impl AsFd) {
    let now = Some(std::time::Duration::ZERO);
    rustix::net::sockopt::set_socket_linger(&socket, now).unwrap();
}

/// Writes `length` bytes that follow from `seed` in pieces of random sizes.
pub fn write_noise(mut stream: impl Write, seed: u64, length: usize, mut sizes: Random) {
    let noise: Vec<u8> = noise(seed).take(length).collect();
    let mut rest = &noise[..];
    while !rest.is_empty() {
        let (piece, later) = rest.split_at((1 + sizes.below(20_000)).min(rest.len()));
        stream.write_all(piece).unwrap();
        rest = later;
    }
}

/// Reads in pieces of random sizes up to the end, and checks that it is what
/// [`write_noise`] has written.
pub fn read_noise(mut stream: impl Read, seed: u64, length: usize, mut sizes: Random) {
    let mut expected = noise(seed);
    let mut buffer = vec![0; 20_000];
    let mut total = 0;
    loop {
        let size = 1 + sizes.below(buffer.len());
        let count = stream.read(&mut buffer[..size]).unwrap();
        if count == 0 {
            break;
        }
        let same = buffer[..count]
            .iter()
            .all(|byte| expected.next() == Some(*byte));
        assert!(same, "wrong bytes after {total} of {length}");
        total += count;
    }
    assert_eq!(total, length);
}

/// Reads `length` bytes one by one, and checks that they are what [`write_noise`] has written.
pub fn read_bytes(mut stream: impl Read, seed: u64, length: usize) {
    for (place, expected) in noise(seed).take(length).enumerate() {
        let mut byte = [0];
        stream.read_exact(&mut byte).unwrap();
        assert_eq!(byte, [expected], "byte {place} of {length}");
    }
}

/// Endless bytes that follow from `seed`.
pub fn noise(seed: u64) -> impl Iterator<Item = u8> {
    let mut random = Random::new(seed);
    std::iter::repeat_with(move || random.next().to_ne_bytes()).flatten()
}
