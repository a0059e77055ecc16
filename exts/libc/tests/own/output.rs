//! The standard output and input: a fibre that writes into a full pipe waits with std's lock, and
//! others that want the lock wait, too. Elsewhere these descriptors are the system's.

use crate::support::{Locals, on_kind};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::process::{Child, Command, Stdio};
use std::{env, process};

/// Says what a process of these tests is to do.
const ROLE: &str = "FIBRE_TEST_ROLE";

/// Bytes of a line, and lines that each of two fibres writes: more than a pipe takes.
const LINE: usize = 4096;
const LINES: usize = 64;

/// Starts this program again for one test, to play a role in it.
fn play(test: &str, role: &str) -> Child {
    Command::new(env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture", "--test-threads=1"])
        .env(ROLE, role)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

/// The kind of cluster and the number of processors that a role names.
fn cluster_of(role: &str) -> (Locals, usize) {
    let (kind, processors) = role.split_once(' ').unwrap();
    let kind = if kind == "own" {
        Locals::Own
    } else {
        Locals::Moving
    };
    (kind, processors.parse().unwrap())
}

/// All roles.
fn roles() -> impl Iterator<Item = String> {
    let kinds = ["own", "moving"].into_iter();
    kinds.flat_map(|kind| [1, 2, 4].map(|processors| format!("{kind} {processors}")))
}

/// Writes lines of one letter, two at a time while it has the lock.
fn write_lines(letter: u8) {
    let line = [&[letter; LINE - 1][..], b"\n"].concat();
    for _ in 0..LINES / 2 {
        let mut output = io::stdout().lock();
        output.write_all(&line).unwrap();
        io::stdout().lock().write_all(&line).unwrap();
        output.flush().unwrap();
    }
}

/// Two fibres write into a pipe that nobody reads until a third one has run.
fn write_into_a_full_pipe(role: &str) -> ! {
    let (kind, processors) = cluster_of(role);
    on_kind(kind, processors, || {
        // The harness has begun a line.
        println!();
        let writers = [b'a', b'b'].map(|letter| fibre::spawn(move || write_lines(letter)));
        // The processor runs this one although its other fibres wait for the pipe and the lock.
        for _ in 0..100 {
            fibre::yield_now();
        }
        eprintln!("goes on");
        writers
            .into_iter()
            .for_each(|writer| writer.join().unwrap());
    });
    process::exit(0)
}

#[test]
fn two_fibres_write_into_a_full_pipe() {
    if let Ok(role) = env::var(ROLE) {
        write_into_a_full_pipe(&role);
    }
    for role in roles() {
        let mut child = play("output::two_fibres_write_into_a_full_pipe", &role);
        let mut words = BufReader::new(child.stderr.take().unwrap());
        let mut line = String::new();
        words.read_line(&mut line).unwrap();
        assert_eq!(line, "goes on\n", "{role}");
        let mut text = String::new();
        let mut output = child.stdout.take().unwrap();
        output.read_to_string(&mut text).unwrap();
        assert!(child.wait().unwrap().success(), "{role}");
        let is_whole = |line: &&str| {
            line.len() == LINE - 1 && line.trim_matches('a').trim_matches('b').is_empty()
        };
        let lines: Vec<_> = text.lines().filter(is_whole).collect();
        assert_eq!(lines.len(), 2 * LINES, "{role}");
        // Two lines of one fibre belong together.
        assert!(lines.chunks(2).all(|pair| pair[0] == pair[1]), "{role}");
    }
}

/// A fibre waits for a line of the standard input, and another one of its processor asks for it.
#[test]
fn a_fibre_waits_for_the_standard_input() {
    if let Ok(role) = env::var(ROLE) {
        let (kind, processors) = cluster_of(&role);
        on_kind(kind, processors, || {
            let reader = fibre::spawn(|| {
                let mut line = String::new();
                io::stdin().read_line(&mut line).unwrap();
                line
            });
            for _ in 0..100 {
                fibre::yield_now();
            }
            eprintln!("asks");
            assert_eq!(reader.join().unwrap(), "answer\n");
        });
        process::exit(0)
    }
    for role in roles() {
        let mut child = play("output::a_fibre_waits_for_the_standard_input", &role);
        let mut words = BufReader::new(child.stderr.take().unwrap());
        let mut line = String::new();
        words.read_line(&mut line).unwrap();
        assert_eq!(line, "asks\n", "{role}");
        child.stdin.take().unwrap().write_all(b"answer\n").unwrap();
        assert!(child.wait_with_output().unwrap().status.success(), "{role}");
    }
}
