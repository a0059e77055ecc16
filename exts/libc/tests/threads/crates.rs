//! Pools and executors of others, which start threads: these are fibres.

use rayon::prelude::*;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Builder;

/// How many threads a pool has.
const THREADS: usize = 3;

pub(crate) fn pool_of_rayon() {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(THREADS);
    let pool = pool.build().unwrap();
    for _ in 0..5 {
        let (sum, are_fibres) = pool.install(|| {
            let sum: usize = (0..10_000_usize).into_par_iter().sum();
            (sum, fibre::in_fibre())
        });
        assert_eq!((sum, are_fibres), (49_995_000, true));
    }
    let told = AtomicUsize::new(0);
    pool.scope(|scope| {
        for _ in 0..20 {
            scope.spawn(|_| {
                thread::sleep(Duration::from_micros(50));
                told.fetch_add(1, Ordering::Relaxed);
            });
        }
    });
    assert_eq!(told.into_inner(), 20);
}

pub(crate) fn runtime_of_tokio_with_threads() {
    let runtime = Builder::new_multi_thread()
        .worker_threads(THREADS)
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let server = tokio::spawn(async move {
            for _ in 0..10 {
                let (mut stream, _) = listener.accept().await.unwrap();
                tokio::spawn(async move {
                    let mut bytes = [0; 4];
                    stream.read_exact(&mut bytes).await.unwrap();
                    tokio::time::sleep(Duration::from_millis(1)).await;
                    stream.write_all(&bytes).await.unwrap();
                });
            }
            fibre::in_fibre()
        });
        for number in 0..10_u32 {
            let mut stream = TcpStream::connect(address).await.unwrap();
            let (question, mut answer) = (number.to_le_bytes(), [0; 4]);
            stream.write_all(&question).await.unwrap();
            stream.read_exact(&mut answer).await.unwrap();
            assert_eq!(question, answer);
        }
        assert!(server.await.unwrap());
        let elsewhere = tokio::task::spawn_blocking(fibre::in_fibre);
        assert!(elsewhere.await.unwrap());
    });
}

pub(crate) fn scope_of_crossbeam_channels() {
    let (send, receive) = crossbeam_channel::bounded(0);
    let lock = Arc::new(parking_lot::Mutex::new(0));
    let threads: Vec<_> = (0..THREADS)
        .map(|_| {
            let (receive, lock) = (receive.clone(), Arc::clone(&lock));
            thread::spawn(move || {
                for number in receive {
                    let mut sum = lock.lock();
                    // Others want the lock meanwhile.
                    thread::yield_now();
                    *sum += number;
                }
            })
        })
        .collect();
    drop(receive);
    for number in 0..100 {
        send.send(number).unwrap();
    }
    drop(send);
    threads.into_iter().for_each(|one| one.join().unwrap());
    assert_eq!(*lock.lock(), 4950);
}
