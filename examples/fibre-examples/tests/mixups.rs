//! Builds with debug assertions name thread-locals that fibres mix up: a value that a crate keeps
//! for "this thread" over a wait, and that another fibre of the thread has set meanwhile.
//!
//! This program has the crates of docs/THREAD_LOCALS.md that keep such values.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![allow(
    clippy::redundant_closure,
    reason = "a closure has a place, which is told"
)]

use fibre::Cluster;
use fibre::activity::{Activity, Work};
use std::cell::Cell;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Output};
use std::thread;

/// Says in the environment of a child what it plays.
const ROLE: &str = "MIXUPS_ROLE";

/// The words before a variable's name.
const SAID: &str = "set the thread-local `";

/// Sets something to the number of the fibre, calls the wait, and sets it back.
type Use = fn(number: u32, wait: &dyn Fn());

/// Runs a use in each of two fibres of one thread. The first one waits while the second one uses
/// the same, and comes back before that one is through.
fn in_two_fibres(uses: Use) {
    on_one_processor(move || {
        let both = [1, 2].map(|number| fibre::spawn(move || uses(number, &fibre::yield_now)));
        both.into_iter().for_each(|fibre| fibre.join().unwrap());
    });
}

/// Runs `body` in a fibre of a cluster of one processor.
fn on_one_processor(body: impl FnOnce() + Send + 'static) {
    let cluster = Cluster::builder().processors(1).build().unwrap();
    cluster.spawn(body).join().unwrap();
    cluster.stop();
}

/// Whether this process is a child that plays this role.
fn plays(role: &str) -> bool {
    std::env::var(ROLE).is_ok_and(|value| value == role)
}

/// Runs the calling test in a child that plays this role, with this setting.
fn run(role: &str, setting: &str) -> Output {
    let test = thread::current().name().unwrap().to_owned();
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", &test, "--nocapture", "--test-threads=1"])
        .env(ROLE, role)
        .env("FIBRE_MIXUPS", setting)
        // A spare processor would take the second fibre, while the symbols are read for the first.
        .env("FIBRE_MAX_SPARE", "0")
        .output()
        .unwrap()
}

/// What a child has written to its error output.
fn errors(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Runs `body` in a child, and returns the lines that it has written about thread-locals.
fn lines_of(role: &str, setting: &str, body: impl FnOnce()) -> Option<Vec<String>> {
    if plays(role) {
        body();
        return None;
    }
    let output = run(role, setting);
    let errors = errors(&output);
    assert!(output.status.success(), "{errors}");
    let lines = errors.lines().filter(|line| line.contains(SAID));
    Some(lines.map(str::to_owned).collect())
}

/// Checks that the use of a variable by two fibres is told of once, with its name and the places
/// where they have waited; never in builds without debug assertions.
#[track_caller]
fn is_named(variable: &str, uses: Use) {
    if let Some(line) = line_about(variable, uses) {
        assert_eq!(line.matches("waited at ").count(), 2, "{line}");
        assert_eq!(line.matches("mixups.rs:").count(), 2, "{line}");
    }
}

/// The line about a variable that two fibres use; `None` in a child, and in builds without debug
/// assertions, where there is none.
#[track_caller]
fn line_about(variable: &str, uses: Use) -> Option<String> {
    let lines = lines_of("mixes up", "report", || in_two_fibres(uses))?;
    if !cfg!(debug_assertions) {
        assert_eq!(lines, [""; 0]);
        return None;
    }
    let [line] = &lines[..] else {
        panic!("one line was expected: {lines:#?}");
    };
    assert!(line.contains(&format!("{SAID}{variable}")), "{line}");
    Some(line.clone())
}

#[test]
fn of_std_thread_local() {
    thread_local!(static REQUEST: Cell<u32> = const { Cell::new(0) });
    is_named("mixups::of_std_thread_local::REQUEST`", |number, wait| {
        REQUEST.set(number);
        wait();
    });
}

/// A value that is made when it is first asked for.
#[test]
fn of_std_lazily() {
    thread_local!(static USERS: std::cell::RefCell<Vec<u32>> = std::cell::RefCell::default());
    is_named("mixups::of_std_lazily::USERS`", |number, wait| {
        USERS.with(|users| users.borrow_mut().push(number));
        wait();
    });
}

#[test]
fn of_tracing() {
    is_named("tracing_core::dispatcher::CURRENT_STATE`", |_, wait| {
        let _guard = tracing::subscriber::set_default(tracing_subscriber::registry());
        wait();
    });
}

#[test]
fn of_log_mdc() {
    is_named("log_mdc::", |number, wait| {
        log_mdc::insert(format!("request {number}"), "some");
        wait();
    });
}

#[test]
fn of_slog_scope() {
    is_named("slog_scope::TL_SCOPES`", |_, wait| {
        slog_scope::scope(&slog::Logger::root(slog::Discard, slog::o!()), || wait());
    });
}

#[test]
fn of_opentelemetry() {
    #[derive(Debug)]
    struct Request(#[allow(dead_code, reason = "a context has a value")] u32);
    is_named(
        "opentelemetry::context::CURRENT_CONTEXT`",
        |number, wait| {
            let _guard = opentelemetry::Context::current_with_value(Request(number)).attach();
            wait();
        },
    );
}

#[test]
fn of_sentry() {
    is_named("sentry_core::hub", |_, wait| {
        let hub = sentry_core::Hub::new_from_top(sentry_core::Hub::main());
        sentry_core::Hub::run(hub.into(), || wait());
    });
}

#[test]
fn of_metrics() {
    is_named("metrics::recorder::LOCAL_RECORDER`", |number, wait| {
        // Of a size, as two that have none may lie in one place.
        let recorder = (metrics::NoopRecorder, number);
        metrics::with_local_recorder(&recorder.0, || wait());
    });
}

#[test]
fn of_tokio() {
    is_named("tokio::runtime::context::CONTEXT`", |_, wait| {
        let runtime = tokio::runtime::Builder::new_current_thread().build();
        let runtime = runtime.unwrap();
        // They would be dropped in the wrong order, which tokio notices, too.
        std::mem::forget(runtime.enter());
        wait();
    });
}

#[test]
fn of_scoped_tls() {
    scoped_tls::scoped_thread_local!(static REQUEST: u32);
    is_named("mixups::of_scoped_tls::REQUEST::", |number, wait| {
        REQUEST.set(&number, || wait());
    });
}

/// The fibres wait on stacks that the runtime does not know, so it says nothing of their places.
#[test]
fn of_stacker() {
    line_about("stacker::STACK_LIMIT`", |_, wait| {
        stacker::grow(256 << 10, wait);
    });
}

/// Of fibres that are all through before another one comes back, too.
#[test]
fn of_one_that_has_ended() {
    thread_local!(static REQUEST: Cell<u32> = const { Cell::new(0) });
    let uses = || {
        let first = fibre::spawn(|| {
            REQUEST.set(1);
            fibre::yield_now();
        });
        let second = fibre::spawn(|| REQUEST.set(2));
        first.join().unwrap();
        second.join().unwrap();
    };
    if let Some(lines) = lines_of("is left behind", "report", || on_one_processor(uses)) {
        assert_eq!(
            lines.len(),
            usize::from(cfg!(debug_assertions)),
            "{lines:#?}"
        );
    }
}

/// An activity that has set a variable is named, and no fibre in its place.
#[test]
fn of_an_activity() {
    thread_local!(static REQUEST: Cell<u32> = const { Cell::new(0) });
    struct Sets;
    impl Work for Sets {
        fn run(_: &Activity<Self>) {
            REQUEST.set(2);
        }
    }
    let uses = || {
        let sets = Activity::new(None, Sets).unwrap();
        let first = fibre::spawn(|| {
            REQUEST.set(1);
            fibre::yield_now();
            fibre::yield_now();
        });
        sets.schedule().unwrap();
        let innocent = fibre::spawn(fibre::yield_now);
        first.join().unwrap();
        innocent.join().unwrap();
    };
    if let Some(lines) = lines_of("is an activity", "report", || on_one_processor(uses)) {
        assert_eq!(
            lines.len(),
            usize::from(cfg!(debug_assertions)),
            "{lines:#?}"
        );
        assert!(
            lines
                .iter()
                .all(|line| line.contains("before it waited or ended")),
            "{lines:#?}"
        );
    }
}

/// A program names variables of its own that may change.
#[test]
fn a_program_may_name_more() {
    thread_local!(static COUNT: Cell<u32> = const { Cell::new(0) });
    let uses: Use = |number, wait| {
        COUNT.set(number);
        wait();
    };
    let named = "report,mixups::a_program_may_name_more::COUNT";
    if let Some(lines) = lines_of("names more", named, || in_two_fibres(uses)) {
        assert_eq!(lines, [""; 0]);
    }
}

/// What a fibre puts back before it waits, what it does not find changed, and what only others set,
/// is right.
#[test]
fn right_uses_are_not_told_of() {
    thread_local! {
        static WITHIN: Cell<u32> = const { Cell::new(0) };
        static SAME: Cell<u32> = const { Cell::new(0) };
        static OTHERS: Cell<u32> = const { Cell::new(0) };
    }
    let uses: Use = |number, wait| {
        let before = WITHIN.replace(number);
        WITHIN.set(before);
        SAME.set(7);
        if number == 2 {
            OTHERS.set(number);
        }
        wait();
        assert_eq!((WITHIN.get(), SAME.get(), OTHERS.get()), (0, 7, 2));
    };
    if let Some(lines) = lines_of("is right", "report", || in_two_fibres(uses)) {
        assert_eq!(lines, [""; 0]);
    }
}

/// Random numbers, caches of crates, lists of destructors.
#[test]
fn what_belongs_to_the_thread_may_change() {
    struct Ends;
    impl Drop for Ends {
        fn drop(&mut self) {}
    }
    let uses: Use = |number, wait| {
        thread_local!(static FIRST: Ends = const { Ends });
        thread_local!(static SECOND: Ends = const { Ends });
        match number {
            1 => FIRST.with(|_| ()),
            _ => SECOND.with(|_| ()),
        }
        let map = std::collections::HashMap::from([(number, number)]);
        wait();
        assert_eq!(map[&number], number);
    };
    if let Some(lines) = lines_of("may change", "report", || in_two_fibres(uses)) {
        assert_eq!(lines, [""; 0]);
    }
}

#[test]
fn it_can_be_switched_off() {
    thread_local!(static REQUEST: Cell<u32> = const { Cell::new(0) });
    let uses: Use = |number, wait| {
        REQUEST.set(number);
        wait();
    };
    if let Some(lines) = lines_of("is off", "off", || in_two_fibres(uses)) {
        assert_eq!(lines, [""; 0]);
    }
}

#[test]
fn it_can_end_the_process() {
    thread_local!(static REQUEST: Cell<u32> = const { Cell::new(0) });
    if plays("is ended") {
        return in_two_fibres(|number, wait| {
            REQUEST.set(number);
            wait();
        });
    }
    let output = run("is ended", "abort");
    let ended = output.status.signal() == Some(libc::SIGABRT);
    assert_eq!(ended, cfg!(debug_assertions), "{}", errors(&output));
}
