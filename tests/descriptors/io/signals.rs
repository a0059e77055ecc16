//! Signals as values. Each test has signals of its own, since they are the whole process'.

use crate::support::{eventually, for_each_cluster, let_others_block, watched};
use fibre::signal::{
    SIGHUP, SIGINT, SIGKILL, SIGTERM, SIGUSR1, SIGUSR2, SIGWINCH, Signal, Signals,
};
use fibre::{CancelToken, Limit, WallTime};
use std::io::ErrorKind;
use std::mem::MaybeUninit;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Sends this process a signal.
fn send(signal: Signal) {
    // SAFETY: a plain system call.
    assert_eq!(unsafe { libc::kill(libc::getpid(), signal.as_raw()) }, 0);
}

/// A signal that only one test uses.
fn real_time(number: i32) -> Signal {
    Signal::from_raw(libc::SIGRTMIN() + number).unwrap()
}

/// What is installed for a signal.
fn action(signal: Signal) -> usize {
    let mut now = MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: room for an action, which the kernel writes.
    unsafe {
        libc::sigaction(signal.as_raw(), std::ptr::null(), now.as_mut_ptr());
        now.assume_init().sa_sigaction
    }
}

#[test]
fn they_come_one_by_one() {
    for_each_cluster(|_| {
        let signals = Signals::new([SIGUSR1, SIGUSR2]).unwrap();
        assert_eq!(signals.try_wait(), None);
        for round in 0..20 {
            let signal = if round % 3 == 0 { SIGUSR2 } else { SIGUSR1 };
            let sender = fibre::spawn(move || {
                if round % 2 == 0 {
                    fibre::sleep(Duration::from_micros(300));
                }
                send(signal);
            });
            assert_eq!(signals.wait().unwrap(), signal);
            sender.join().unwrap();
            assert_eq!(signals.try_wait(), None);
        }
        send(SIGUSR1);
        send(SIGUSR2);
        let mut both: Vec<_> = signals.forever().take(2).collect();
        both.sort();
        assert_eq!(both, [SIGUSR1, SIGUSR2]);
    });
}

/// Each object hears of a signal, once; fibres that wait in one object share.
#[test]
fn many_hear() {
    for_each_cluster(|_| {
        let signal = real_time(1);
        let heard = Arc::new(AtomicUsize::new(0));
        let shared = Arc::new(Signals::new([signal]).unwrap());
        let sharing = (0..3).map(|_| {
            let (shared, heard) = (Arc::clone(&shared), Arc::clone(&heard));
            fibre::spawn(move || {
                for one in &*shared {
                    assert_eq!(one, signal);
                    heard.fetch_add(1, Ordering::SeqCst);
                }
            })
        });
        let sharing: Vec<_> = sharing.collect();
        let others: Vec<_> = (0..3)
            .map(|_| Signals::new([SIGWINCH, signal]).unwrap())
            .collect();
        for round in 1..=10 {
            send(signal);
            for other in &others {
                assert_eq!(other.wait().unwrap(), signal);
            }
            // One of them hears of each, and only one.
            eventually(|| heard.load(Ordering::SeqCst) >= round);
        }
        let_others_block();
        shared.close();
        sharing.into_iter().for_each(|fibre| fibre.join().unwrap());
        assert_eq!(heard.load(Ordering::SeqCst), 10);
    });
}

/// Time-outs, cancellation, closing.
#[test]
fn waits_that_end_otherwise() {
    for_each_cluster(|_| {
        let signal = real_time(2);
        let signals = Arc::new(Signals::new([signal]).unwrap());
        let before = Instant::now();
        assert_eq!(
            signals.wait_timeout(Duration::from_millis(2)).unwrap(),
            None
        );
        assert!(before.elapsed() >= Duration::from_millis(2));
        assert_eq!(signals.wait_until(before).unwrap(), None);
        assert_eq!(signals.wait_within(before).unwrap(), None);
        let soon = Limit::Wall(WallTime::now());
        assert_eq!(signals.wait_within(soon).unwrap(), None);
        send(signal);
        let there = signals.wait_within(Limit::Cancellation).unwrap();
        assert_eq!(there, Some(signal));
        send(signal);
        // A fibre that has been cancelled takes one if nothing else can end its wait.
        let token = CancelToken::new();
        token.cancel();
        let takes = Arc::clone(&signals);
        let fibre = fibre::Builder::new().cancel_token(&token);
        let fibre = fibre.spawn(move || {
            let cancelled = takes.wait_within(Limit::Cancellation).is_err();
            (cancelled, takes.wait_within(Limit::None).unwrap())
        });
        assert_eq!(fibre.unwrap().join().unwrap(), (true, Some(signal)));
        send(signal);
        assert_eq!(signals.wait_timeout(Duration::MAX).unwrap(), Some(signal));

        let token = CancelToken::new();
        let waiting = Arc::clone(&signals);
        let fibre = fibre::Builder::new().cancel_token(&token);
        let fibre = fibre.spawn(move || waiting.wait().is_err()).unwrap();
        let_others_block();
        token.cancel();
        assert!(fibre.join().unwrap());

        let waiting = Arc::clone(&signals);
        let fibre = fibre::spawn(move || waiting.wait().unwrap_err().kind());
        let_others_block();
        signals.close();
        assert_eq!(fibre.join().unwrap(), ErrorKind::ConnectionAborted);
    });
}

/// What was installed before comes back with the end of the last one, and is called meanwhile.
#[test]
fn earlier_handlers() {
    static CALLS: AtomicUsize = AtomicUsize::new(0);
    extern "C" fn count(_: i32) {
        CALLS.fetch_add(1, Ordering::SeqCst);
    }
    watched(|| {
        let signal = real_time(3);
        let default = action(signal);
        let first = Signals::new([signal]).unwrap();
        assert_ne!(action(signal), default);
        drop(first);
        assert_eq!(action(signal), default);

        let handler = count as extern "C" fn(i32) as usize;
        // SAFETY: the handler only counts.
        unsafe { libc::signal(signal.as_raw(), handler) };
        let (first, second) = (Signals::new([signal]), Signals::new([signal, signal]));
        send(signal);
        assert_eq!(first.as_ref().unwrap().wait().unwrap(), signal);
        let twice = [(); 2].map(|()| second.as_ref().unwrap().wait().unwrap());
        assert_eq!(twice, [signal, signal]);
        eventually(|| CALLS.load(Ordering::SeqCst) == 1);
        drop(first);
        assert_ne!(action(signal), handler);
        drop(second);
        assert_eq!(action(signal), handler);
        // SAFETY: the default action.
        unsafe { libc::signal(signal.as_raw(), libc::SIG_DFL) };
    });
}

/// Somebody puts back what was there before ours: who begins to listen then hears all the same.
#[test]
fn handlers_that_were_taken_away() {
    watched(|| {
        let signal = real_time(6);
        let deaf = Signals::new([signal]).unwrap();
        // SAFETY: the default action.
        unsafe { libc::signal(signal.as_raw(), libc::SIG_DFL) };
        for _ in 0..2 {
            let signals = Signals::new([signal]).unwrap();
            send(signal);
            assert_eq!(signals.wait().unwrap(), signal);
        }
        drop(deaf);
        assert_eq!(action(signal), libc::SIG_DFL);
    });
}

/// Somebody has saved our handler, and puts it back when it is ours no more: it does not call
/// itself.
#[test]
fn handlers_that_were_kept() {
    watched(|| {
        let signal = real_time(7);
        let mut saved = MaybeUninit::<libc::sigaction>::zeroed();
        let first = Signals::new([signal]).unwrap();
        // SAFETY: room for the action, and the action that was there.
        unsafe { libc::sigaction(signal.as_raw(), std::ptr::null(), saved.as_mut_ptr()) };
        drop(first);
        assert_eq!(action(signal), libc::SIG_DFL);
        // SAFETY: written above.
        unsafe { libc::sigaction(signal.as_raw(), saved.as_ptr(), std::ptr::null_mut()) };
        let signals = Signals::new([signal]).unwrap();
        send(signal);
        assert_eq!(signals.wait().unwrap(), signal);
        drop(signals);
        assert_eq!(action(signal), libc::SIG_DFL);
    });
}

#[test]
fn signals_that_cannot_be_waited_for() {
    let segv = Signal::from_raw(libc::SIGSEGV).unwrap();
    let other = real_time(5);
    for signal in [SIGKILL, segv, Signal::from_raw(32).unwrap()] {
        let error = Signals::new([other, signal]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput, "{signal}");
    }
    assert_eq!(action(other), libc::SIG_DFL);
    assert_eq!([SIGHUP, SIGINT, SIGTERM].map(Signal::as_raw), [1, 2, 15]);
}

/// Signals that come all the time disturb nobody else, and none of them is the last one that is
/// missed.
#[test]
fn storms() {
    for_each_cluster(|_| {
        let signal = real_time(4);
        // Some may still be on their way when the last one here is gone.
        std::mem::forget(Signals::new([signal]).unwrap());
        let signals = Signals::new([signal]).unwrap();
        let storm = thread::spawn(move || {
            for _ in 0..2000 {
                send(signal);
            }
        });
        let mut heard = 0;
        loop {
            match signals.wait_timeout(Duration::from_millis(1)).unwrap() {
                Some(_) => heard += 1,
                None if storm.is_finished() => break,
                None => {}
            }
        }
        fibre::blocking(|| storm.join()).unwrap();
        send(signal);
        assert_eq!(signals.wait().unwrap(), signal);
        assert!(heard > 0);
    });
}
