//! What the watch tells of stuck fibres, once.

use super::leave;
use crate::support::program::{END, Program, program};
use fibre::channel;
use fibre::net::TcpListener;
use std::thread;
use std::time::{Duration, Instant};

#[inline(never)]
fn waits_for_its_own_sender() {
    let (sender, receiver) = channel::bounded::<u32>(1);
    drop((receiver.recv(), sender));
}

/// How long one program has to tell. An old word may hide the fibre from the first search, and then
/// there is no other one before something runs.
const PATIENCE: Duration = Duration::from_secs(20);

/// How many programs may fail to tell. What each has said is printed, and what its fibres do.
const ATTEMPTS: usize = 4;

#[test]
fn a_report_names_the_fibre_and_the_place() {
    let environment = [("FIBRE_DEADLOCK", "report"), ("FIBRE_WIPE_STACKS", "1")];
    let start = || {
        program(2, &environment, || {
            let begin = || {
                // A descriptor could end this wait.
                let listener = TcpListener::bind("127.0.0.1:0").unwrap();
                leave("listener", move || drop(listener.accept()));
                leave("leaked", waits_for_its_own_sender);
            };
            fibre::spawn(begin).join().unwrap();
        })
    };
    let tells = |program: &Program| {
        let begun = Instant::now();
        while !program.errors().contains(END) && begun.elapsed() < PATIENCE {
            thread::sleep(Duration::from_millis(20));
        }
        let has_told = program.errors().contains(END);
        if !has_told {
            eprintln!("{}", program.errors());
            eprintln!("{}", program.dump_with(|dump| dump.contains("\"leaked\"")));
        }
        has_told
    };
    let program = (0..ATTEMPTS).map(|_| start()).find(tells);
    let program = program.unwrap_or_else(start);
    let report = program.report();
    for words in [
        "1 fibre waits, and nobody else can wake it",
        "\"leaked\"",
        "waits_for_its_own_sender",
    ] {
        assert!(report.contains(words), "{words:?} is not in: {report}");
    }
    assert!(!report.contains("\"listener\""), "{report}");
}
