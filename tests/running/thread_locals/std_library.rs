//! What std keeps for a thread.

use super::{for_crowds, for_each_kind};
use std::collections::{HashMap, HashSet};
use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use std::time::Duration;

#[test]
fn a_fibre_is_one_thread_to_std() {
    for_crowds(50, |_| {
        let (own, number) = (thread::current(), thread::current().id());
        for _ in 0..20 {
            fibre::yield_now();
            assert_eq!(thread::current().id(), number);
        }
        own.unpark();
        fibre::yield_now();
        // Its token is there: this returns at once.
        thread::park_timeout(Duration::from_secs(3600));
        assert_eq!(thread::current().name(), None);
    });
}

#[test]
fn no_two_fibres_are_the_same_thread() {
    for_each_kind(|_| {
        let numbers = Arc::new(Mutex::new(HashSet::new()));
        let seen = Arc::clone(&numbers);
        let body = Arc::new(move |_| {
            fibre::yield_now();
            assert!(seen.lock().unwrap().insert(thread::current().id()));
        });
        super::crowd(100, &body);
        assert_eq!(numbers.lock().unwrap().len(), 100);
    });
}

/// Waits in destructors while a fibre unwinds, with panics inside of these that are caught; others
/// do not notice.
#[test]
fn panics_are_the_fibres() {
    struct Waits(usize);
    impl Drop for Waits {
        fn drop(&mut self) {
            for _ in 0..5 {
                fibre::yield_now();
                assert!(thread::panicking());
            }
            if self.0 > 0 {
                let nested = catch_unwind(|| {
                    let _inner = Waits(self.0 - 1);
                    resume_unwind(Box::new("nested"));
                });
                assert!(nested.is_err() && thread::panicking());
            }
        }
    }
    for_crowds(50, |number| {
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            let (_one, _two) = (Waits(2), Waits(0));
            fibre::yield_now();
            if number % 2 == 0 {
                resume_unwind(Box::new("outer"));
            }
            // Its neighbours unwind.
            for _ in 0..20 {
                fibre::yield_now();
                assert!(!thread::panicking());
            }
            resume_unwind(Box::new("late"));
        }));
        assert!(outcome.is_err() && !thread::panicking());
    });
}

/// A backtrace ends at the fibre's first function, before and after a move.
#[test]
fn backtraces_have_an_end() {
    for_crowds(4, |_| {
        for _ in 0..2 {
            let trace = std::backtrace::Backtrace::force_capture().to_string();
            // The functions of the thread that the stack was made with lie above it.
            let ends = trace.contains("::root") && !trace.contains("start_thread");
            assert!(ends, "{trace}");
            fibre::yield_now();
        }
    });
}

#[test]
fn memory_is_allocated_here_and_freed_there() {
    for_crowds(50, |number| {
        let mut kept: Vec<Vec<u8>> = Vec::new();
        for step in 0..200 {
            kept.push(vec![number as u8; 16 + step * 37 % 3000]);
            if step % 7 == 0 {
                kept.remove(0);
            }
            if step % 5 == 0 {
                fibre::yield_now();
            }
        }
        let is_own = |bytes: &Vec<u8>| bytes.iter().all(|byte| *byte == number as u8);
        assert!(kept.iter().all(is_own));
        let mut words = HashMap::new();
        for step in 0..50 {
            words.insert(step, format!("{number}-{step}"));
            fibre::yield_now();
        }
        assert_eq!(words[&7], format!("{number}-7"));
    });
}

#[test]
fn channels_of_std_work_between_fibres() {
    for_crowds(20, |_| {
        let (send, receive) = mpsc::channel::<Box<[u8]>>();
        let sender = fibre::spawn(move || {
            for number in 0..100 {
                send.send(vec![number; 200].into()).unwrap();
                fibre::yield_now();
            }
        });
        let mut received = 0;
        loop {
            match receive.try_recv() {
                Ok(_) => received += 1,
                Err(mpsc::TryRecvError::Empty) => fibre::yield_now(),
                Err(mpsc::TryRecvError::Disconnected) => break,
            }
        }
        assert_eq!(received, 100);
        sender.join().unwrap();
    });
}

/// std's re-entrant lock knows its owner by the thread.
#[test]
fn standard_output_may_be_locked_over_waits() {
    for_each_kind(|_| {
        let outer = std::io::stdout().lock();
        for _ in 0..5 {
            fibre::yield_now();
        }
        let mut inner = std::io::stdout().lock();
        fibre::yield_now();
        inner.flush().unwrap();
        drop((inner, outer));
    });
}

#[test]
fn guards_of_std_may_be_held_over_waits() {
    for_each_kind(|_| {
        let count = Arc::new(Mutex::new(0));
        let shared = Arc::clone(&count);
        let body = Arc::new(move |_| {
            let mut guard = loop {
                match shared.try_lock() {
                    Ok(guard) => break guard,
                    Err(_) => fibre::yield_now(),
                }
            };
            *guard += 1;
            for _ in 0..3 {
                fibre::yield_now();
            }
        });
        super::crowd(50, &body);
        assert_eq!(*count.lock().unwrap(), 50);
    });
}

#[test]
fn fibres_start_threads_and_join_them() {
    for_crowds(10, |number| {
        let doubled = thread::spawn(move || number * 2).join().unwrap();
        assert_eq!(doubled, number * 2);
        fibre::yield_now();
        let told = AtomicUsize::new(0);
        thread::scope(|scope| {
            scope.spawn(|| told.store(number, Ordering::Relaxed));
        });
        assert_eq!(told.into_inner(), number);
    });
}

#[test]
fn names_are_looked_up() {
    use std::net::ToSocketAddrs;
    for_crowds(5, |_| {
        assert!("127.0.0.1:80".to_socket_addrs().unwrap().next().is_some());
        fibre::yield_now();
        let words = std::io::Error::from_raw_os_error(libc::ENOENT).to_string();
        assert!(words.contains("No such file"), "{words}");
    });
}
