//! Reads of files that wait for the disk: each gets its bytes, wherever it is made, and keeps no
//! processor.
//!
//! The files are opened with `O_DIRECT`, so that every read waits for the device. Each test runs in
//! a process of its own. Its environment says from how many reads on the ring is used.

use crate::support::direct::DirectBlock;
use crate::support::process::{end_after, errors, plays, spawn_child};
use crate::support::{Random, eventually, thread_exists};
use fibre::fs::{File, OpenOptions};
use fibre::{Builder, Cluster, WaitKind};
use std::io::Read;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// The blocks of a file.
const BLOCKS: usize = 64;

/// How long one process may take.
const LIMIT: Duration = Duration::from_secs(60);

/// The name of the ring's thread.
const THREAD: &str = "fibre-ring";

/// A file that is read past the cache, and has no name any more.
fn direct_file() -> File {
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let name = format!("fibre-direct-{}-{count}", std::process::id());
    let path = std::env::temp_dir().join(name);
    let bytes: Vec<u8> = (0..BLOCKS).flat_map(block).collect();
    std::fs::write(&path, bytes).unwrap();
    let mut options = OpenOptions::new();
    let file = options.read(true).custom_flags(libc::O_DIRECT).open(&path);
    std::fs::remove_file(&path).unwrap();
    file.unwrap()
}

/// What a block of it has.
fn block(number: usize) -> [u8; DirectBlock::SIZE] {
    std::array::from_fn(|i| (i / 8 * number + i) as u8)
}

/// Reads a block, and checks it.
#[track_caller]
fn read_block(file: &File, number: usize) {
    let mut read = DirectBlock::default();
    let offset = (number * DirectBlock::SIZE) as u64;
    let count = file.read_at(&mut read.0, offset).unwrap();
    if number >= BLOCKS {
        assert_eq!(count, 0, "the file ends before");
        return;
    }
    assert!(count == DirectBlock::SIZE && read.0 == block(number));
}

/// Has many fibres read blocks, and checks them all.
fn read_all(fibres: usize, reads: usize, seed: u64) {
    let file = Arc::new(direct_file());
    let mut random = Random::new(seed);
    let all: Vec<_> = (0..fibres)
        .map(|_| {
            let (file, mut random) = (Arc::clone(&file), random.split());
            fibre::spawn(move || {
                // One number more than there are: the end.
                (0..reads).for_each(|_| read_block(&file, random.below(BLOCKS + 1)));
            })
        })
        .collect();
    all.into_iter().for_each(|fibre| fibre.join().unwrap());
}

/// Runs `body` as a fibre of a cluster of a process of its own.
fn alone(
    role: &str,
    processors: usize,
    environment: &[(&str, &str)],
    body: impl FnOnce() + Send + 'static,
) {
    if !plays(role) {
        let output = spawn_child(role, environment);
        assert!(output.status.success(), "{}", errors(&output));
        return;
    }
    end_after(LIMIT);
    let cluster = Cluster::builder().processors(processors).build().unwrap();
    cluster.spawn(body).join().unwrap();
    cluster.stop();
}

/// How many calls have been handed to threads of pools.
fn calls() -> u64 {
    fibre::metrics().blocking.calls
}

/// A call that the kernel is told not to wait in waits for the device all the same, and its
/// processor would wait with it.
#[test]
fn reads_past_the_cache_keep_no_processor() {
    alone("keeps none", 1, &[("FIBRE_FILE_RING", "0")], || {
        let mut file = direct_file();
        let before = calls();
        (0..10).for_each(|number| read_block(&file, number));
        assert_eq!(calls() - before, 10);
        let mut first = DirectBlock::default();
        let count = file.read(&mut first.0).unwrap();
        assert!(count == DirectBlock::SIZE && first.0 == block(0));
        assert_eq!(calls() - before, 11);
        assert!(!thread_exists(THREAD));
    });
}

/// From so many reads that wait, further ones go to the ring, and take no thread of the pool.
#[test]
fn many_reads_take_no_threads() {
    alone("many", 2, &[("FIBRE_FILE_RING", "1")], || {
        let before = calls();
        read_all(200, 10, 1);
        // Files are opened, and looked at, by the pool.
        assert!(calls() - before <= 3, "{}", calls() - before);
        assert!(thread_exists(THREAD));
    });
}

/// Below that, and where the user wants none, there is no ring.
#[test]
fn few_reads_use_no_ring() {
    alone("few", 2, &[("FIBRE_FILE_RING", "8")], || {
        read_all(7, 20, 2);
        assert!(!thread_exists(THREAD));
    });
}

/// A read that waits at the ring is shown as a call that blocks, and its fibre's cancellation does
/// not end it: the kernel writes to the buffer until the read has ended.
#[test]
fn cancelled_fibres_wait_for_their_bytes() {
    alone("cancelled", 2, &[("FIBRE_FILE_RING", "1")], || {
        let file = Arc::new(direct_file());
        let all: Vec<_> = (0..50)
            .map(|number| {
                let file = Arc::clone(&file);
                let reader = Builder::new().name("reader");
                let fibre = reader.spawn(move || read_block(&file, number)).unwrap();
                fibre.cancel();
                fibre
            })
            .collect();
        let waits = fibre::waits();
        let readers = waits
            .iter()
            .filter(|wait| wait.name.as_deref() == Some("reader"));
        for wait in readers.filter(|wait| wait.stuck.is_none()) {
            assert_eq!(wait.awaited.kind(), WaitKind::Blocking, "{wait:?}");
        }
        all.into_iter().for_each(|fibre| fibre.join().unwrap());
    });
}

/// The thread ends when nobody has read for a while, and comes again.
#[test]
fn the_thread_comes_and_goes() {
    let environment = [("FIBRE_FILE_RING", "1"), ("FIBRE_BLOCKING_IDLE", "20")];
    alone("comes and goes", 2, &environment, || {
        for round in 0..3 {
            let before = calls();
            read_all(20, 5, round);
            assert!(calls() - before <= 3);
            eventually(|| !thread_exists(THREAD));
        }
    });
}

/// Reads that come at any moment of a thread's end and beginning get their bytes: it stays for no
/// time at all.
#[test]
fn reads_come_while_the_thread_ends() {
    let environment = [("FIBRE_FILE_RING", "1"), ("FIBRE_BLOCKING_IDLE", "0")];
    alone("ends", 4, &environment, || {
        let seed = Random::seed();
        let mut random = Random::new(seed);
        for _ in 0..60 {
            read_all(1 + random.below(4), 1 + random.below(20), random.next());
        }
    });
}

/// Without a free descriptor there is no ring, and reads go on elsewhere. With one there is.
#[test]
fn without_descriptors_reads_go_on() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    alone("no descriptors", 2, &[("FIBRE_FILE_RING", "1")], || {
        let file = Arc::new(direct_file());
        let limits = getrlimit(Resource::Nofile);
        let none = Rlimit {
            current: Some(3),
            ..limits
        };
        setrlimit(Resource::Nofile, none).unwrap();
        (0..BLOCKS).for_each(|number| read_block(&file, number));
        setrlimit(Resource::Nofile, limits).unwrap();
        // It is tried again after a while.
        eventually(|| {
            read_block(&file, 1);
            thread_exists(THREAD)
        });
    });
}

/// A sandbox that the program enters while the ring is in use: what the kernel has taken is read,
/// and the rest elsewhere.
#[cfg(target_arch = "x86_64")]
#[test]
fn a_sandbox_that_comes_later_loses_no_read() {
    alone("sandbox", 2, &[("FIBRE_FILE_RING", "1")], || {
        let reads = || read_all(50, 20, 3);
        reads();
        let readers = Builder::new().name("readers").spawn(reads).unwrap();
        crate::support::sandbox::refuse_everywhere(libc::SYS_io_uring_enter, libc::EPERM);
        readers.join().unwrap();
        reads();
        eventually(|| !thread_exists(THREAD));
    });
}
