//! A busy program that is correct: nothing is told of it, whatever else the machine does.

use crate::support::program::program;
use crate::support::{eventually, processor_counts};
use fibre::channel::bounded;
use fibre::sync::{Mutex, RwLock, Semaphore};
use fibre::{blocking, sleep, spawn};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// How long the program runs.
const TIME: Duration = Duration::from_secs(4);

/// Fibres that compute a little, and lock, send, wait and block in turn, until the time is over.
fn works() {
    let begun = Instant::now();
    let all = Arc::new((Mutex::new(0_u64), RwLock::new(0_u64), Semaphore::new(3)));
    let (sender, receiver) = bounded(4);
    let receiver = spawn(move || receiver.iter().sum::<u64>());
    let workers = (0..32_u64).map(|number| {
        let (all, sender) = (Arc::clone(&all), sender.clone());
        spawn(move || {
            for turn in 0.. {
                if begun.elapsed() > TIME {
                    return;
                }
                *all.0.lock() += std::hint::black_box(number);
                match (turn + number) % 8 {
                    0 => *all.1.write() += 1,
                    1 => assert!(*all.1.read() < u64::MAX),
                    2 => sleep(Duration::from_millis(number % 5)),
                    3 => drop(sender.send(number)),
                    4 => blocking(|| std::thread::sleep(Duration::from_millis(2 * number))),
                    5 => all.2.acquire(),
                    6 => spawn(fibre::yield_now).join().unwrap(),
                    _ => fibre::yield_now(),
                }
                if (turn + number) % 8 == 5 {
                    all.2.release();
                }
            }
        })
    });
    let workers: Vec<_> = workers.collect();
    drop(sender);
    workers
        .into_iter()
        .for_each(|worker| worker.join().unwrap());
    let _ = receiver.join();
    // A wait of seconds, which a thread ends.
    let waits = spawn(|| {
        let (sender, receiver) = bounded(1);
        std::thread::spawn(move || {
            std::thread::sleep(Duration::from_secs(3));
            sender.send(1).unwrap();
        });
        receiver.recv().unwrap()
    });
    assert_eq!(waits.join().unwrap(), 1);
}

#[test]
fn nothing_is_told_of_a_correct_program() {
    /// The exit status of a program that has come to its end.
    const DONE: i32 = 7;
    // Threads that want all CPUs, as other programs on a busy machine do.
    static RIVALS: AtomicUsize = AtomicUsize::new(0);
    for processors in processor_counts() {
        let environment = [
            ("FIBRE_MONITOR", "10ms"),
            ("FIBRE_DEADLOCK", "report"),
            // In builds with debug assertions the first wait reads the program's symbols, which
            // keeps its processor for long.
            ("FIBRE_INITIALISERS", "0"),
        ];
        let mut program = program(processors, &environment, || {
            let rivals = 2 * std::thread::available_parallelism().unwrap().get();
            for _ in 0..rivals {
                std::thread::spawn(|| {
                    RIVALS.fetch_add(1, Ordering::Relaxed);
                    loop {
                        std::hint::spin_loop();
                    }
                });
            }
            eventually(|| RIVALS.load(Ordering::Relaxed) == rivals);
            works();
            std::process::exit(DONE);
        });
        let status = program.end();
        assert_eq!(program.errors(), "", "with {processors} processors");
        assert_eq!(status.code(), Some(DONE));
    }
}
