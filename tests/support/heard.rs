//! Whether the peer of a connection has read what was sent to it, as the kernel's table tells.

use std::net::{SocketAddr, TcpStream};

/// Whether nothing that was sent is under way or unread.
pub fn is_heard(stream: &TcpStream) -> bool {
    let (own, peer) = (stream.local_addr().unwrap(), stream.peer_addr().unwrap());
    let table = std::fs::read_to_string("/proc/self/net/tcp").unwrap();
    let queues = |from: SocketAddr, to: SocketAddr| {
        let ends = [from, to].map(in_the_table);
        let mut lines = table.lines().map(|line| line.split_whitespace().skip(1));
        let mut line = lines.find(|line| line.clone().take(2).eq(&ends))?;
        line.nth(3)?.split_once(':')
    };
    let is_empty = |queue: &str| queue.bytes().all(|digit| digit == b'0');
    queues(own, peer).is_some_and(|(under_way, _)| is_empty(under_way))
        && queues(peer, own).is_some_and(|(_, unread)| is_empty(unread))
}

/// How the table names an address.
fn in_the_table(address: SocketAddr) -> String {
    let SocketAddr::V4(address) = address else {
        panic!("{address} is in another table");
    };
    let ip = u32::from_ne_bytes(address.ip().octets());
    format!("{ip:08X}:{:04X}", address.port())
}
