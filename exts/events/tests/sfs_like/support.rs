//! A server of a few files, and what clients of it do often.

use crate::client::{Connection, Reply};
use crate::front::limits::Limits;
use crate::front::server::Server;
use crate::seal::Secret;
use crate::service::Sfs;
use crate::serving;
use crate::store::Store;
use crate::wire::{MOST, Status, Wish, pattern};
use fibre_events::{Policy, Report};
use std::sync::Arc;
use std::time::Duration;

/// The size of `pattern`: some blocks, and a part of one.
pub const SIZE: u64 = 3 * MOST as u64 + 1234;

/// What both sides know.
pub const SECRET: Secret = [7; 32];

/// Runs a test on a server with leases of a millisecond.
pub fn with_server(limits: Limits, test: impl FnOnce(&Arc<Server<Sfs>>)) -> Report {
    serving(Policy::TimeLeft, 2, limits, Duration::from_millis(1), test)
}

/// The same under some policy, with so many processors and such leases.
pub fn serving(
    policy: Policy,
    processors: usize,
    limits: Limits,
    lease: Duration,
    test: impl FnOnce(&Arc<Server<Sfs>>),
) -> Report {
    let mut store = Store::new(lease);
    let bytes: Vec<u8> = (0..SIZE).map(pattern).collect();
    store.add(b"pattern", &bytes);
    store.add(b"empty", b"");
    store.add(b"small", b"hello");
    let service = Sfs::new(SECRET, store);
    serving::serving(policy, processors, limits, service, test)
}

/// A client that has said hello.
pub fn client(server: &Server<Sfs>) -> Connection {
    Connection::open(server.address(), &SECRET).unwrap()
}

/// A read.
pub fn read(file: u64, offset: u64, count: usize) -> Wish {
    Wish::Read {
        file,
        offset,
        count,
    }
}

/// The whole of a file, by reads of so many bytes.
pub fn read_all(client: &mut Connection, name: &str, count: usize) -> Vec<u8> {
    let (file, size) = client.look_up(name).unwrap();
    let mut bytes = Vec::new();
    while (bytes.len() as u64) < size {
        let reply = client.call(read(file, bytes.len() as u64, count)).unwrap();
        assert_eq!(reply.status, Status::Done);
        assert!(!reply.result.is_empty());
        bytes.extend(reply.result);
    }
    bytes
}

/// What `pattern` has from an offset on.
pub fn bytes_at(offset: u64, count: usize) -> Vec<u8> {
    (offset..SIZE).take(count).map(pattern).collect()
}

/// Asserts that a reply has this status and an empty result.
#[track_caller]
pub fn refused(reply: &Reply, status: Status) {
    assert_eq!((reply.status, reply.result.len()), (status, 0));
}
