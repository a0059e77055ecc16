//! Nobody allocates or frees memory under a short lock: others would wait for the allocator. The
//! executable has an allocator of its own, which hears of the locks. That is in debug builds.
#![cfg(debug_assertions)]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use fibre::channel::{bounded, broadcast, rendezvous, unbounded, watch};
use fibre::net::{TcpListener, TcpStream};
use fibre::select::any_timeout;
use fibre::sync::{Condvar, Event, Mutex, Notify, RwLock, Semaphore, WaitGroup};
use fibre::{BufferPool, Cluster, Limit};
use std::io::{Read, Write};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

#[path = "support/holding.rs"]
#[allow(dead_code, reason = "a part is used")]
mod holding;

/// More values than one chunk of a broadcast channel has.
const MANY: u64 = 3000;

/// Values for all: some are missed, and receivers come and go with values left.
fn broadcasts() {
    let (sender, mut one) = broadcast(2 * MANY as usize);
    let (mut other, leaves) = (one.clone(), sender.subscribe());
    let waits = fibre::spawn(move || {
        let mut sum = 0;
        while let Ok(received) = other.recv() {
            sum += received.value + received.missed;
        }
        sum
    });
    for value in 0..3 * MANY {
        sender.send(value).unwrap();
    }
    drop(leaves);
    assert_eq!(one.recv().unwrap().value, MANY);
    drop(one);
    drop(sender);
    assert!(waits.join().unwrap() >= 3 * MANY - 1);
}

/// A value that changes.
fn watches() {
    let (sender, receiver) = watch(Vec::new());
    let follow = || {
        let mut receiver = receiver.clone();
        move || receiver.wait_for(|list| list.len() == 100).unwrap().len()
    };
    let (fibre, thread) = (fibre::spawn(follow()), thread::spawn(follow()));
    for number in 0..100 {
        sender.modify(|list| {
            list.push(number);
            true
        });
        fibre::yield_now();
    }
    assert_eq!((fibre.join().unwrap(), thread.join().unwrap()), (100, 100));
}

/// Channels for one receiver.
fn channels() {
    for (sender, receiver) in [bounded(3), rendezvous(), unbounded()] {
        let sends = fibre::spawn(move || {
            for number in 0..1000 {
                sender.send(Box::new(number)).unwrap();
            }
        });
        assert_eq!(receiver.iter().map(|number| *number).sum::<u32>(), 499_500);
        sends.join().unwrap();
    }
}

/// Locks and counters that fibres and threads wait for, some until a limit.
fn objects() {
    let shared = Arc::new((Mutex::new(0), RwLock::new(0), Semaphore::new(1)));
    let work = |shared: Arc<(Mutex<u32>, RwLock<u32>, Semaphore)>| {
        move || {
            for _ in 0..200 {
                *shared.0.lock() += 1;
                let before = *shared.1.read();
                *shared.1.write() = before + 1;
                let _permit = shared.2.permit();
                fibre::yield_now();
            }
        }
    };
    let fibres: Vec<_> = (0..20)
        .map(|_| fibre::spawn(work(Arc::clone(&shared))))
        .collect();
    let threads: Vec<_> = (0..2)
        .map(|_| thread::spawn(work(Arc::clone(&shared))))
        .collect();
    fibres.into_iter().for_each(|fibre| fibre.join().unwrap());
    threads
        .into_iter()
        .for_each(|thread| thread.join().unwrap());
    let short = Duration::from_millis(1);
    let (event, notify, group) = (Event::new(), Notify::new(), WaitGroup::new());
    group.add(1);
    assert!(!event.wait_timeout(short) && !notify.wait_timeout(short));
    assert!(group.wait_within(short).is_err());
    assert!(any_timeout(&mut [event.wait_arm(), event.wait_arm()], short).is_none());
    group.done();
    let told = Condvar::new();
    assert!(!told.wait_timeout(&mut shared.0.lock(), short));
}

/// Fibres, cancelled and not, and their labels.
fn fibres() {
    let fibres: Vec<_> = (0..500)
        .map(|number| {
            fibre::spawn(move || {
                fibre::label("number", number);
                fibre::sleep_within(Limit::Cancellation).is_err()
            })
        })
        .collect();
    fibres.iter().for_each(fibre::JoinHandle::cancel);
    assert!(fibres.into_iter().all(|fibre| fibre.join().unwrap()));
}

/// Connections, with pooled buffers.
fn connections() {
    static POOL: BufferPool = BufferPool::new(512, 20);
    let listener = Arc::new(TcpListener::bind("127.0.0.1:0").unwrap());
    let accepting = Arc::clone(&listener);
    let server = fibre::spawn(move || {
        for (stream, _) in accepting.connections() {
            fibre::spawn(move || {
                let mut stream = &stream;
                let (buffer, length) = stream.read_with(|| POOL.take()).unwrap();
                stream.write_all(&buffer[..length]).unwrap();
            });
        }
    });
    let address = listener.local_addr().unwrap();
    let clients: Vec<_> = (0..40)
        .map(|_| {
            fibre::spawn(move || {
                let mut stream = TcpStream::connect(address).unwrap();
                stream.write_all(b"echo").unwrap();
                let mut text = String::new();
                stream.read_to_string(&mut text).unwrap();
                text
            })
        })
        .collect();
    assert!(
        clients
            .into_iter()
            .all(|client| client.join().unwrap() == "echo")
    );
    listener.close();
    server.join().unwrap();
}

#[test]
fn memory_is_neither_allocated_nor_freed_under_short_locks() {
    holding::begin();
    for (name, run) in [
        ("broadcasts", broadcasts as fn()),
        ("watches", watches),
        ("channels", channels),
        ("objects", objects),
        ("fibres", fibres),
        ("connections", connections),
    ] {
        for processors in [1, 2] {
            let cluster = Cluster::builder().processors(processors).build().unwrap();
            cluster.spawn(run).join().unwrap();
            cluster.stop();
        }
        run();
        assert_eq!(holding::all(), 0, "{name}");
    }
}
