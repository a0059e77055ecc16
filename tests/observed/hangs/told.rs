//! What each tool says of each way to hang.

use super::ways;
use crate::support::program::{Program, part_of, program};

/// What a program says when its fibres have been spawned.
const BEGUN: &str = "all fibres have been spawned";

/// Where the programs are.
const FILE: &str = "tests/observed/hangs/ways.rs:";

/// What is told of a program that hangs.
#[derive(Clone, Copy)]
struct Told {
    /// The guilty fibres.
    guilty: &'static [&'static str],
    /// The function in which they hang.
    function: &'static str,
    /// What the dump says of each.
    dump: &'static [&'static str],
    /// What it says besides.
    head: &'static [&'static str],
    /// What the monitor's line about each of them says; empty: there is none.
    monitor: &'static [&'static str],
    /// What the report of the deadlock says; empty: there is none.
    deadlock: &'static [&'static str],
}

impl Told {
    /// Nothing is told.
    const NOTHING: Self = Self {
        guilty: &[],
        function: "",
        dump: &[],
        head: &[],
        monitor: &[],
        deadlock: &[],
    };
}

/// How a report begins of a process in which nothing can go on.
const ALL: &str = "and no timer, descriptor, signal or thread of the program can end that";

/// Checks that this is told of a program, by all tools, and that it is all.
#[track_caller]
fn tells(processors: usize, hangs: fn(), told: &Told) {
    let environment = [
        ("FIBRE_MONITOR", "10ms"),
        ("FIBRE_DEADLOCK", "report"),
        // In builds with debug assertions the first wait reads the program's symbols, which keeps
        // its processor for long.
        ("FIBRE_INITIALISERS", "0"),
    ];
    let mut program = program(processors, &environment, || {
        hangs();
        // From here on SIGQUIT asks for a dump, and does not end the process.
        eprintln!("{BEGUN}");
    });
    program.wait_until(|errors| errors.contains(BEGUN));
    told.by_the_monitor(&program);
    told.by_the_report(&program);
    told.by_the_dump(&program);
    let all = program.errors();
    let is_of_monitor = |line: &str| line.starts_with("fibre: processor ");
    assert!(
        !told.monitor.is_empty() || !all.lines().any(is_of_monitor),
        "no processor is stuck: {all}"
    );
    assert!(
        !told.deadlock.is_empty() || !all.contains("fibre: deadlock: "),
        "it is no deadlock: {all}"
    );
    assert!(program.lives());
}

impl Told {
    /// Checks the monitor's lines.
    #[track_caller]
    fn by_the_monitor(&self, program: &Program) {
        for fibre in self.guilty.iter().filter(|_| !self.monitor.is_empty()) {
            let line = program.line_with(&["has not switched for ", &format!("{fibre:?}")]);
            assert!(line.starts_with("fibre: processor "), "{line}");
            for word in self.monitor.iter().chain([&self.function, &FILE]) {
                assert!(line.contains(word), "{word:?} is not in: {line}");
            }
            println!("monitor: {line}");
        }
    }

    /// Checks the report of the deadlock.
    #[track_caller]
    fn by_the_report(&self, program: &Program) {
        if self.deadlock.is_empty() {
            return;
        }
        let report = program.report();
        let begin = report.find("fibre: deadlock: ").unwrap();
        let report = &report[begin..];
        for word in self.deadlock.iter().chain([&self.function, &FILE]) {
            assert!(report.contains(word), "{word:?} is not in: {report}");
        }
        for fibre in self.guilty {
            assert!(report.contains(&format!("{fibre:?}")), "{fibre}: {report}");
        }
        // What others wait for has no part in a cycle.
        assert!(!report.contains("listener"), "{report}");
        println!("deadlock: {report}");
    }

    /// Checks the dump.
    fn by_the_dump(&self, program: &Program) {
        let words = [self.function, FILE, "the fibre's entry"];
        let of = |dump: &str, fibre| {
            part_of(dump, fibre).is_some_and(|part| {
                let mut all = self.dump.iter().chain(&words);
                all.all(|word| part.contains(word))
            })
        };
        let is_whole = |dump: &str| {
            let head = self.head.iter().all(|word| dump.contains(word));
            head && self.guilty.iter().all(|fibre| of(dump, fibre))
        };
        println!("{}", program.dump_with(is_whole));
    }
}

#[test]
fn a_lost_reply() {
    let told = Told {
        guilty: &["asker"],
        function: "asks_for_a_reply",
        dump: &["waits for the channel at 0x"],
        deadlock: &["the only fibre waits, ", ALL],
        ..Told::NOTHING
    };
    tells(2, ways::a_lost_reply, &told);
}

#[test]
fn two_mutexes_in_two_orders() {
    let told = Told {
        guilty: &["ab", "ba"],
        function: "takes_both",
        dump: &["the mutex at 0x"],
        ..Told::NOTHING
    };
    // Other builds do not know who has a mutex; the dump shows both all the same.
    let known = Told {
        head: &["they wait for each other: fibre ", ", held by fibre "],
        deadlock: &["they wait for each other: fibre ", ", held by fibre "],
        ..told
    };
    let told = if cfg!(debug_assertions) { known } else { told };
    tells(2, ways::two_mutexes_in_two_orders, &told);
}

#[test]
fn a_reader_that_wants_to_write() {
    let told = Told {
        guilty: &["upgrader"],
        function: "upgrades",
        dump: &["waits for the read-write lock at 0x", "write"],
        deadlock: &["waits for the read-write lock at 0x", ALL],
        ..Told::NOTHING
    };
    tells(1, ways::a_reader_that_wants_to_write, &told);
}

#[test]
fn fibres_that_join_each_other() {
    let told = Told {
        guilty: &["one", "two"],
        function: "joins",
        dump: &["the end of the fibre at 0x"],
        head: &["they wait for each other: ", ", which is fibre "],
        deadlock: &["they wait for each other: ", ", which is fibre "],
        ..Told::NOTHING
    };
    tells(2, ways::fibres_that_join_each_other, &told);
}

#[test]
fn a_channel_that_nobody_sends_on() {
    let told = Told {
        guilty: &["receiver"],
        function: "receives",
        dump: &["waits for the channel"],
        deadlock: &["waits for the channel", ALL],
        ..Told::NOTHING
    };
    tells(1, ways::a_channel_that_nobody_sends_on, &told);
}

#[test]
fn a_fibre_that_spins() {
    let told = Told {
        guilty: &["hog"],
        function: "spins",
        dump: &["runs, and does not let go of processor"],
        head: &["has not switched for 20 ms or more: on a CPU"],
        monitor: &["\"hog\" computes at "],
        ..Told::NOTHING
    };
    tells(2, ways::a_fibre_that_spins, &told);
}

#[test]
fn a_fibre_in_a_system_call() {
    let told = Told {
        guilty: &["reader"],
        function: "reads",
        dump: &["runs, and does not let go"],
        head: &["in the system call read"],
        monitor: &["\"reader\" is blocked in read at "],
        ..Told::NOTHING
    };
    tells(2, ways::a_fibre_in_a_system_call, &told);
}

#[test]
fn a_fibre_in_a_lock_of_the_c_library() {
    let told = Told {
        guilty: &["locker"],
        function: "locks_the_output",
        dump: &["runs, and does not let go", "lock"],
        head: &["in the system call futex"],
        monitor: &["\"locker\" is blocked in futex at "],
        ..Told::NOTHING
    };
    tells(2, ways::a_fibre_in_a_lock_of_the_c_library, &told);
}

#[test]
fn all_processors_are_stuck() {
    let told = Told {
        guilty: &["hog", "other hog"],
        function: "spins",
        dump: &["does not let go of processor"],
        head: &["\"waiting\" waits for time to pass"],
        monitor: &["computes at "],
        ..Told::NOTHING
    };
    tells(2, ways::all_processors_are_stuck, &told);
}

#[test]
fn a_semaphore_without_permits() {
    let told = Told {
        guilty: &["client"],
        function: "acquires",
        dump: &["waits for the semaphore at 0x"],
        deadlock: &["the only fibre waits, ", "waits for the semaphore", ALL],
        ..Told::NOTHING
    };
    tells(1, ways::a_semaphore_without_permits, &told);
}
