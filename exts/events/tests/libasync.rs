//! The façade with libasync's names. One test, as its events are those of the process.
#![cfg(not(loom))]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use fibre::process::{Command, ExitStatus};
use fibre::signal::SIGUSR2;
use fibre_events::libasync::{
    Selop, amain, chldcb, cpucb, cwrap, delaycb, events, fdcb, inetsocket, sigcb, tcpconnect,
    timecb, timecb_remove, use_events, wrap,
};
use fibre_events::{Colour, Events};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::time::{Duration, SystemTime};

#[test]
fn a_program_in_the_names_of_libasync() {
    let mine = Events::builder().processors(2).build().unwrap();
    assert!(use_events(mine).is_ok());
    let count = Arc::new(AtomicU32::new(0));
    let counter = |more: u32| {
        let count = Arc::clone(&count);
        move |()| {
            count.fetch_add(more, SeqCst);
        }
    };
    // A callback is called more than once, and keeps its colour.
    let twice = cwrap(counter(1), 7);
    assert_eq!(
        (twice.colour(), wrap(|()| ()).colour()),
        (&Colour::from(7), &Colour::from(0))
    );
    cpucb(&twice);
    cpucb(&twice.clone());
    assert_eq!(count.load(SeqCst), 0, "nothing runs before amain");
    // Timers, and one that is taken back.
    timecb(
        SystemTime::now() + Duration::from_millis(2),
        &wrap(counter(10)),
    )
    .unwrap();
    let never = delaycb(3600, 0, &wrap(|()| unreachable!())).unwrap();
    assert!(timecb_remove(&never));
    // A child, a signal that its end sends, and a connection in the end.
    let listener = Arc::new(inetsocket("127.0.0.1:0").unwrap());
    let port = listener.local_addr().unwrap().port();
    let (source, total) = (Arc::clone(&listener), Arc::clone(&count));
    let accept = wrap(move |()| {
        let _ = source.accept().unwrap();
        total.fetch_add(1000, SeqCst);
        fdcb(Arc::clone(&source), Selop::Read, None).unwrap();
        sigcb(SIGUSR2, None).unwrap();
        // The timers' events have colour 0, too, and had less to wait for.
        delaycb(0, 20_000_000, &wrap(|()| events().stop())).unwrap();
    });
    fdcb(Arc::clone(&listener), Selop::Read, Some(&accept)).unwrap();
    let connected = wrap(|stream: io::Result<fibre::net::TcpStream>| drop(stream.unwrap()));
    let usr2 = wrap(move |()| tcpconnect("127.0.0.1", port, &connected).unwrap());
    sigcb(SIGUSR2, Some(&usr2)).unwrap();
    let counted = counter(100);
    let ended = wrap(move |status: io::Result<ExitStatus>| {
        assert!(status.unwrap().success());
        counted(());
        // SAFETY: a call without memory, of a signal that has a handler.
        assert_eq!(unsafe { libc::kill(libc::getpid(), libc::SIGUSR2) }, 0);
    });
    chldcb(Command::new("true").spawn().unwrap(), &ended).unwrap();
    let report = amain();
    assert_eq!(report.panicked, 0);
    assert_eq!(count.load(SeqCst), 1112);
}
