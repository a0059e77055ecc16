//! The pipeline.

use std::fmt::Write as _;
use std::io::Write;
use std::thread;

use rustix::process::Signal;

use crate::program::{Program, both};

/// The programs.
const BOTH: [&str; 2] = both!("pipeline");

/// Numbers in an order with slow ones first, and what is to be printed for them.
fn numbers() -> (String, String) {
    let (mut lines, mut expected) = (String::new(), String::new());
    for number in (1..=300_u64).map(|number| if number % 50 == 1 { 3_000_000 } else { number }) {
        let divisors = (1..=number).filter(|by| number.is_multiple_of(*by)).count();
        writeln!(lines, "{number}").unwrap();
        writeln!(expected, "{divisors}").unwrap();
    }
    (lines, expected)
}

#[test]
fn results_come_in_the_order_of_the_input() {
    let (lines, expected) = numbers();
    for path in BOTH {
        let mut program = Program::start(path, &[]);
        let mut input = program.input.take().unwrap();
        let lines = lines.clone();
        let writer = thread::spawn(move || input.write_all(lines.as_bytes()).unwrap());
        let (status, text) = program.end();
        writer.join().unwrap();
        assert!(status.success(), "{status}");
        assert!(text == expected, "{text}");
    }
}

#[test]
fn the_first_error_ends_all_of_it() {
    for path in BOTH {
        let mut program = Program::start(path, &[]);
        let mut input = program.input.take().unwrap();
        input.write_all(b"12\nseven\n").unwrap();
        // The input stays open: the error must end the program.
        let (status, text) = program.end();
        assert_eq!(status.code(), Some(1));
        assert!(text.is_empty() || text == "6\n", "{text}");
        drop(input);
    }
}

#[test]
fn a_signal_ends_the_input_and_loses_no_result() {
    for path in BOTH {
        let mut program = Program::start(path, &[]);
        let mut input = program.input.take().unwrap();
        input.write_all(b"12\n13\n").unwrap();
        assert_eq!(program.line(), "6");
        assert_eq!(program.line(), "2");
        input.write_all(b"3000000\n28").unwrap();
        // Time for the whole line to be read; the other one is not complete.
        thread::sleep(std::time::Duration::from_millis(300));
        program.signal(Signal::TERM);
        let (status, text) = program.end();
        assert!(status.success(), "{status}");
        assert_eq!(text, "98\n");
        drop(input);
    }
}
