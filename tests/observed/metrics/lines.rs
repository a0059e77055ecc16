//! `FIBRE_STATS` and `FIBRE_SCHEDTRACE`: lines on standard error, whatever that is.

use super::{LIMIT, alone};
use crate::support::process::{child, end_after, plays};
use std::os::unix::process::CommandExt;
use std::process::Stdio;
use std::time::Duration;

/// What a program does of which the totals tell.
fn seventeen_fibres() {
    for _ in 0..17 {
        fibre::spawn(fibre::yield_now).join().unwrap();
    }
}

/// Whether the totals of [`seventeen_fibres`] have been told, and once.
fn are_told(errors: &str) -> bool {
    errors.matches("after the first cluster's start").count() == 1
        && errors.contains("cluster \"fibre\" (1): ")
        && errors.contains("  fibres: 17 spawned, 17 started, ")
        && errors.contains("  processor 0: ")
}

#[test]
fn totals_are_told_at_the_end() {
    if let Some(errors) = alone(&[("FIBRE_STATS", "1")], seventeen_fibres) {
        assert!(are_told(&errors), "{errors}");
    }
}

#[test]
fn totals_are_told_after_exit_in_a_fibre() {
    let program = || {
        seventeen_fibres();
        // It is one of the default cluster, and would be counted there.
        let other = fibre::Cluster::builder().name("other").build().unwrap();
        let _ = other.spawn(|| std::process::exit(0)).join();
    };
    if let Some(errors) = alone(&[("FIBRE_STATS", "1")], program) {
        assert!(are_told(&errors), "{errors}");
        assert!(
            errors.contains("cluster \"other\" (2): 1 fibre:"),
            "{errors}"
        );
    }
}

#[test]
fn nothing_is_told_unless_asked_for() {
    for value in ["", "0"] {
        let environment = [("FIBRE_STATS", value)];
        let asked = &environment[..usize::from(!value.is_empty())];
        if let Some(errors) = alone(asked, seventeen_fibres) {
            assert!(!errors.contains("fibre:"), "{errors}");
        }
    }
}

/// A child that only forks and ends says nothing: its numbers are its parent's.
#[test]
fn forked_children_tell_nothing() {
    let program = || {
        seventeen_fibres();
        // SAFETY: the child exits, with its handlers.
        let child = unsafe { libc::fork() };
        if child == 0 {
            // SAFETY: ends the process.
            unsafe { libc::exit(0) };
        }
        // SAFETY: our child, whose status is of no interest.
        unsafe { libc::waitpid(child, std::ptr::null_mut(), 0) };
    };
    if let Some(errors) = alone(&[("FIBRE_STATS", "1")], program) {
        assert!(are_told(&errors), "{errors}");
    }
}

/// All that can be told is asked for, and nobody can be told.
const EVERYTHING: [(&str, &str); 4] = [
    ("FIBRE_STATS", "1"),
    ("FIBRE_SCHEDTRACE", "1"),
    ("FIBRE_DEBUG", "config"),
    ("FIBRE_METRICS", "127.0.0.1:0"),
];

#[test]
fn a_closed_standard_error_does_no_harm() {
    if plays("mute") {
        end_after(LIMIT);
        seventeen_fibres();
        return fibre::sleep(Duration::from_millis(20));
    }
    let mut command = child("mute", &EVERYTHING);
    // SAFETY: async-signal-safe.
    unsafe {
        command.pre_exec(|| {
            libc::close(libc::STDERR_FILENO);
            Ok(())
        })
    };
    let output = command.stdout(Stdio::piped()).output().unwrap();
    assert!(output.status.success(), "{output:?}");
}

/// A pipe that nobody reads holds up neither the lines' thread nor, for long, the end.
#[test]
fn a_full_pipe_does_no_harm() {
    if plays("unread") {
        end_after(LIMIT);
        let fill = [b'x'; 4096];
        // SAFETY: borrowed; a pipe of this process.
        let pipe = unsafe { std::os::fd::BorrowedFd::borrow_raw(libc::STDERR_FILENO) };
        rustix::fs::fcntl_setfl(pipe, rustix::fs::OFlags::NONBLOCK).unwrap();
        while rustix::io::write(pipe, &fill).is_ok() {}
        rustix::fs::fcntl_setfl(pipe, rustix::fs::OFlags::empty()).unwrap();
        seventeen_fibres();
        return fibre::sleep(Duration::from_millis(20));
    }
    let environment = &EVERYTHING[..3];
    let mut command = child("unread", environment);
    command.stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    // The read end is held, and not read.
    let unread = child.stderr.take().unwrap();
    assert!(child.wait().unwrap().success());
    drop(unread);
}

#[test]
fn a_line_comes_again_and_again() {
    if plays("traced") {
        end_after(LIMIT);
        seventeen_fibres();
        let wait = fibre::spawn(|| fibre::sleep(Duration::from_secs(3600)));
        // Ended by its reader.
        return wait.join().unwrap();
    }
    let mut command = child("traced", &[("FIBRE_SCHEDTRACE", "5")]);
    command.stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let reader = std::io::BufReader::new(child.stderr.take().unwrap());
    let mut spawned = 0;
    let mut blocked = 0;
    for line in std::io::BufRead::lines(reader).map(Result::unwrap) {
        let Some((_, line)) = line.split_once(" ms: cluster \"fibre\" (1): ") else {
            panic!("{line}");
        };
        assert_eq!(
            line.matches(", +").count() + line.matches("; +").count(),
            9,
            "{line}"
        );
        let words: Vec<_> = line.split([' ', ',', ';']).collect();
        let number = |word: &str| {
            // One of a kind is said in the singular.
            let is_it = |other: &&str| *other == word || Some(*other) == word.strip_suffix('s');
            let place = words.iter().position(is_it).unwrap();
            words[place - 1].trim_start_matches('+').to_owned()
        };
        spawned += number("spawned").parse::<u64>().unwrap();
        // Some line may find a fibre that is about to wait, or to begin.
        blocked += u32::from(number("blocked") == "1" && number("fibres") == "1");
        if spawned == 18 && blocked >= 3 {
            break;
        }
    }
    assert_eq!((spawned, blocked), (18, 3));
    child.kill().unwrap();
    child.wait().unwrap();
}

/// The settings come first, then the program's own words, then the totals.
#[test]
fn all_together() {
    if let Some(errors) = alone(&EVERYTHING, seventeen_fibres) {
        let settings = errors.find("fibre: settings of cluster \"fibre\"").unwrap();
        let served = errors
            .find("fibre: metrics are served at http://127.0.0.1:")
            .unwrap();
        let totals = errors.find("after the first cluster's start").unwrap();
        assert!(settings < served && served < totals, "{errors}");
    }
}
