//! What a few lines with groups replace: six programs, each with fibres, by hand with threads and
//! channels, and with tokio. The table in `src/supervisors.md` has their lengths, which the last
//! test counts.
//!
//! All three of a kind do the same: nobody goes on after the call, losers are ended and waited for.
//! Threads cannot be ended, so by hand the requests look at a [`Stop`], which is not counted.

mod backoff;
mod grace;
mod hedged;
mod partial;
mod quorum;
mod start;

use std::sync::{Condvar, Mutex};
use std::time::Duration;

/// What ends the waits of threads that look at it.
#[derive(Default)]
struct Stop(Mutex<bool>, Condvar);

impl Stop {
    /// Ends them.
    fn set(&self) {
        *self.0.lock().unwrap() = true;
        self.1.notify_all();
    }

    /// Sleeps. `false`: it was ended.
    fn sleep(&self, duration: Duration) -> bool {
        let stopped = self.0.lock().unwrap();
        let wait = self
            .1
            .wait_timeout_while(stopped, duration, |stopped| !*stopped);
        !*wait.unwrap().0
    }

    /// Whether it has been set.
    fn is_set(&self) -> bool {
        *self.0.lock().unwrap()
    }
}

/// A time that no test waits for.
const LONG: Duration = Duration::from_secs(3600);

/// A request on a fibre: an answer after a while.
fn ask(wait: Duration, answer: Result<u32, &'static str>) -> Result<u32, &'static str> {
    fibre::sleep_within(wait).map_err(|_| "ended")?;
    answer
}

/// A request on a thread.
fn ask_by_hand(
    stop: &Stop,
    wait: Duration,
    answer: Result<u32, &'static str>,
) -> Result<u32, &'static str> {
    match stop.sleep(wait) {
        true => answer,
        false => Err("ended"),
    }
}

/// A request as a future.
async fn ask_tokio(wait: Duration, answer: Result<u32, &'static str>) -> Result<u32, &'static str> {
    tokio::time::sleep(wait).await;
    answer
}

/// Runs a future on a runtime of its own.
fn on_tokio<T>(future: impl Future<Output = T>) -> T {
    let builder = &mut tokio::runtime::Builder::new_multi_thread();
    let runtime = builder.worker_threads(2).enable_time().build().unwrap();
    runtime.block_on(future)
}

/// The names of the three modules of each program.
const KINDS: [&str; 3] = ["fibres", "threads", "tasks"];

/// How many lines a module has that are neither blank nor a comment, without its own two.
fn lines(source: &str, module: &str) -> usize {
    let begin = format!("mod {module} {{");
    let body = source.lines().skip_while(|line| *line != begin).skip(1);
    let body = body.take_while(|line| *line != "}").map(str::trim);
    body.filter(|line| !line.is_empty() && !line.starts_with("//"))
        .count()
}

#[test]
fn the_page_has_the_lengths_of_these_programs() {
    let page = include_str!("../src/supervisors.md");
    let programs = [
        ("a hedged request", include_str!("hedged.rs")),
        ("a quorum", include_str!("quorum.rs")),
        ("what comes in time", include_str!("partial.rs")),
        ("restarts with pauses", include_str!("backoff.rs")),
        ("a start that says when", include_str!("start.rs")),
        ("an end with grace", include_str!("grace.rs")),
    ];
    for (name, source) in programs {
        let [fibres, threads, tasks] = KINDS.map(|module| lines(source, module));
        assert!(
            fibres > 3 && threads > 3 && tasks > 3,
            "{name}: nothing was counted"
        );
        let row = format!("| {name} | {fibres} | {threads} | {tasks} |");
        assert!(page.contains(&row), "the page has another row than {row}");
    }
}
