//! When what is known about a socket's readiness misleads: short reads, empty calls, duplicates
//! that block, pollers that go away, descriptors of other kinds.

use crate::support::sockets::{fresh_pair_with_std, pair, pair_with_std};
use crate::support::terminal::terminal;
use crate::support::{
    any_cluster, eventually, for_each_cluster, let_others_block, run_in, watched,
};
use fibre::io::PipeReader;
use fibre::net::{TcpListener, TcpStream};
use fibre::os::unix::net::{UnixListener, UnixStream};
use fibre::{Cluster, IoChoices};
use rustix::net::{AddressFamily, SendFlags, SocketType, send};
use rustix::pipe::{PipeFlags, pipe_with};
use std::io::{ErrorKind, IoSlice, IoSliceMut, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

/// Long enough for others to block, on a machine that is not overloaded.
const SHORTLY: Duration = Duration::from_millis(30);

/// Makes a fibre wait for a stream in vain: then the stream is registered with its processor's
/// poller, and known to be empty.
fn drain(stream: &TcpStream) {
    stream
        .set_read_timeout(Some(Duration::from_millis(1)))
        .unwrap();
    let error = (&*stream).read(&mut [0; 8]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TimedOut);
    stream
        .set_read_timeout(Some(Duration::from_secs(20)))
        .unwrap();
}

/// Fills a stream until a write waits in vain.
fn fill(stream: &TcpStream) {
    stream
        .set_write_timeout(Some(Duration::from_millis(1)))
        .unwrap();
    let error = (&*stream).write_all(&vec![1; 64 << 20]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TimedOut);
}

/// A read that ends at an urgent byte is short, though more is there.
#[test]
fn urgent_data_hides_nothing() {
    for_each_cluster(|_| {
        let (near, mut far) = pair_with_std();
        drain(&near);
        far.write_all(b"abc").unwrap();
        send(&far, b"!", SendFlags::OOB).unwrap();
        far.write_all(b"efg").unwrap();
        let mut got = [0; 6];
        (&near).read_exact(&mut got).unwrap();
        assert_eq!(&got, b"abcefg");
    });
}

/// Of two who wait, one reads up to an urgent byte, and the other one what is behind it: one event
/// has told of both.
#[test]
fn urgent_data_hides_nothing_from_the_next_one() {
    watched(|| {
        let cluster = any_cluster().processors(1).build().unwrap();
        let (near, mut far) = pair_with_std();
        let near = Arc::new(near);
        let readers = [0, 1].map(|_| {
            let near = Arc::clone(&near);
            cluster.spawn(move || {
                let mut got = [0; 8];
                let count = (&*near).read(&mut got).unwrap();
                got[..count].to_vec()
            })
        });
        let sender = cluster.spawn(move || {
            let_others_block();
            far.write_all(b"abc").unwrap();
            send(&far, b"!", SendFlags::OOB).unwrap();
            far.write_all(b"efg").unwrap();
            far
        });
        let mut got = readers.map(|reader| reader.join().unwrap());
        got.sort();
        assert_eq!(got, [b"abc", b"efg"]);
        drop(sender.join().unwrap());
        cluster.stop();
    });
}

/// More slices than the kernel takes at once are written and read in part.
#[test]
fn too_many_slices_are_used_in_part() {
    for_each_cluster(|_| {
        let (near, far) = pair();
        let wrote = (&near).write_vectored(&[IoSlice::new(b"x"); 1500]).unwrap();
        assert!((1..=1500).contains(&wrote), "{wrote} bytes");
        let mut bytes = [[0_u8; 1]; 1500];
        let mut slices: Vec<_> = bytes.iter_mut().map(|one| IoSliceMut::new(one)).collect();
        let read = (&far).read_vectored(&mut slices).unwrap();
        assert!((1..=wrote).contains(&read), "{read} bytes");
        assert!(bytes[..read].iter().all(|one| one == b"x"));
    });
}

/// Reading into nothing and writing nothing never wait, not even where there is nothing to read
/// and no room to write.
#[test]
fn empty_calls_do_not_wait() {
    for_each_cluster(|_| {
        let (near, _far) = pair();
        drain(&near);
        assert_eq!((&near).read(&mut []).unwrap(), 0);
        assert_eq!((&near).read_vectored(&mut []).unwrap(), 0);
        let mut nothing = [];
        let mut slices = [IoSliceMut::new(&mut nothing)];
        assert_eq!((&near).read_vectored(&mut slices).unwrap(), 0);
        assert_eq!((&near).write(&[]).unwrap(), 0);
        fill(&near);
        assert_eq!((&near).write(&[]).unwrap(), 0);
        assert_eq!((&near).write_vectored(&[]).unwrap(), 0);
        let empty = [IoSlice::new(b"")];
        assert_eq!((&near).write_vectored(&empty).unwrap(), 0);
    });
}

/// A clone that went to std made the socket blocking; the other one still blocks its fibre only.
#[test]
fn blocking_clones_block_only_fibres() {
    watched(|| {
        let cluster = Cluster::builder().processors(1).build().unwrap();
        let (near, far) = pair_with_std();
        let mut clone = near.try_clone().unwrap();
        let plain = near.into_std().unwrap();
        let reader = cluster.spawn(move || {
            clone.read_exact(&mut [0]).unwrap();
            let error = clone.write_all(&vec![1; 64 << 20]).unwrap_err();
            assert_ne!(error.kind(), ErrorKind::WouldBlock);
        });
        // Once it waits for a byte, and once for room.
        for _ in 0..2 {
            thread::sleep(SHORTLY);
            let others = cluster.spawn(fibre::yield_now);
            let soon = Instant::now() + Duration::from_secs(20);
            assert!(others.join_within(soon).is_ok(), "the processor is blocked");
            (&far).write_all(b"x").unwrap();
        }
        drop((plain, far));
        reader.join().unwrap();
        cluster.stop();
    });
}

/// Of several who wait for a stream whose cluster ends, each one finds another poller.
#[test]
fn abandoned_waiters_are_all_woken() {
    watched(|| {
        let cluster = Cluster::builder().processors(1).build().unwrap();
        let other = Cluster::builder().processors(1).build().unwrap();
        let (near, mut far) = fresh_pair_with_std();
        let near = Arc::new(near);
        let first = Arc::clone(&near);
        cluster.spawn(move || drain(&first)).join().unwrap();
        let taken = Arc::new(AtomicUsize::new(0));
        let read = |stream: Arc<TcpStream>| {
            let taken = Arc::clone(&taken);
            move || {
                let count = (&*stream).read(&mut [0; 8]).unwrap();
                taken.fetch_add(count, Ordering::SeqCst);
                count
            }
        };
        let fibres = [(); 2].map(|()| other.spawn(read(Arc::clone(&near))));
        let threads = [(); 2].map(|()| thread::spawn(read(Arc::clone(&near))));
        thread::sleep(SHORTLY);
        // While the processor does not look at its poller, the first byte comes.
        cluster.spawn(|| thread::sleep(2 * SHORTLY));
        thread::sleep(SHORTLY);
        far.write_all(b"1").unwrap();
        cluster.stop();
        // One byte after the other, so that none of them wakes two.
        for sent in 1..4 {
            while taken.load(Ordering::SeqCst) < sent {
                thread::yield_now();
            }
            far.write_all(b"2").unwrap();
        }
        let counts = fibres.map(|fibre| fibre.join().unwrap());
        assert_eq!(counts, [1, 1]);
        assert_eq!(threads.map(|thread| thread.join().unwrap()), [1, 1]);
        other.stop();
    });
}

/// Both pieces come with one event, and each read takes one of them, though there is room for both.
fn reads_one_by_one(reader: OwnedFd, writer: impl AsFd, pieces: [&[u8]; 2]) {
    let mut reader = PipeReader::try_from(reader).unwrap();
    let mut waiting = reader.try_clone().unwrap();
    let fibre = fibre::spawn(move || {
        let mut read = Vec::new();
        for _ in 0..2 {
            let mut buffer = [0; 64];
            let count = waiting.read(&mut buffer).unwrap();
            read.push(buffer[..count].to_vec());
        }
        read
    });
    let_others_block();
    for piece in pieces {
        rustix::io::write(&writer, piece).unwrap();
    }
    assert_eq!(fibre.join().unwrap(), pieces);
    drop(writer);
    let _end = reader.read(&mut [0; 64]);
}

/// A read of a terminal ends with a line, and one of a pipe with packets with a packet: they leave
/// something.
#[test]
fn other_kinds_of_pipes() {
    for_each_cluster(|_| {
        let (user, program) = terminal();
        reads_one_by_one(program.into(), user, [b"one\n", b"two\n"]);
        let packets = PipeFlags::DIRECT | PipeFlags::CLOEXEC;
        let (reader, writer) = pipe_with(packets).unwrap();
        reads_one_by_one(reader, writer, [b"one", b"two"]);
    });
}

/// Descriptors that are not what the type stands for, and would mislead it.
#[test]
fn other_kinds_of_sockets() {
    fn kind<T>(converted: std::io::Result<T>) -> Option<ErrorKind> {
        converted.err().map(|error| error.kind())
    }
    let socket = |family, kind| rustix::net::socket(family, kind, None).unwrap();
    let refused = Some(ErrorKind::InvalidInput);
    let packets = || socket(AddressFamily::UNIX, SocketType::SEQPACKET);
    assert_eq!(kind(UnixStream::try_from(packets())), refused);
    assert_eq!(kind(UnixListener::try_from(packets())), refused);
    let unix = || socket(AddressFamily::UNIX, SocketType::STREAM);
    assert_eq!(kind(TcpStream::try_from(unix())), refused);
    assert_eq!(kind(TcpListener::try_from(unix())), refused);
    assert_eq!(kind(UnixStream::try_from(unix())), None);
    let tcp = || socket(AddressFamily::INET6, SocketType::STREAM);
    assert_eq!(kind(UnixStream::try_from(tcp())), refused);
    assert_eq!(kind(TcpStream::try_from(tcp())), None);
    let udp = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    let address = udp.local_addr().unwrap();
    assert_eq!(kind(TcpStream::connect_with(udp, &address)), refused);
    let file = OwnedFd::from(std::fs::File::open("/").unwrap());
    assert!(TcpStream::try_from(file).is_err());
}

/// Reads what is there while another fibre is ready all the time; says which of the two comes
/// first.
fn first_of_reader_and_other() -> &'static str {
    let (mut near, mut far) = pair();
    far.write_all(b"there").unwrap();
    let order = Arc::new(Mutex::new(Vec::new()));
    let turns = Arc::new(AtomicUsize::new(0));
    let begun = Arc::new(AtomicBool::new(false));
    let (log, mine, now) = (Arc::clone(&order), Arc::clone(&turns), Arc::clone(&begun));
    let other = fibre::spawn(move || {
        while !now.load(Ordering::SeqCst) {
            mine.fetch_add(1, Ordering::SeqCst);
            fibre::yield_now();
        }
        log.lock().unwrap().push("other");
    });
    eventually(|| turns.load(Ordering::SeqCst) > 1);
    begun.store(true, Ordering::SeqCst);
    assert_eq!(near.read(&mut [0; 8]).unwrap(), 5);
    order.lock().unwrap().push("reader");
    other.join().unwrap();
    let order = order.lock().unwrap();
    order[0]
}

/// Before it reads what is there, a fibre lets others of its processor run, unless it is told not
/// to: then it does so only when it has run for long.
#[test]
fn yielding_before_reading_is_chosen() {
    for yields in [true, false] {
        let builder = any_cluster().processors(1).yield_before_read(yields);
        let body = move |_: &Cluster| {
            let mut rounds = (0..100).map(|_| first_of_reader_and_other());
            if yields {
                assert!(rounds.all(|first| first == "other"));
            } else {
                assert!(rounds.any(|first| first == "reader"));
            }
        };
        run_in(builder.build().unwrap(), Arc::new(body));
    }
}
