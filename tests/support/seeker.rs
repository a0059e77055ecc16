//! Searches for stuck fibres while tests run, if `FIBRE_TEST_SEEK` asks for it: a number of
//! milliseconds between two searches, or three times as long as the last one took. No test leaves
//! fibres behind that nobody can wake, so each report is wrong, and ends the process. Children do
//! not search: in some of them fibres are stuck on purpose.
//!
//! `FIBRE_TEST_SEEK=500 cargo xtask test --package fibre-tests` does it for all suites but those in
//! `EXEMPT`.

use super::watchdog::die;
use std::io::Write;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// The variable that asks for searches.
const SEEK: &str = "FIBRE_TEST_SEEK";

/// Suites with fibres that are stuck, or with signals and memory of their own.
const EXEMPT: [&str; 1] = ["suite_stuck"];

/// Runs before `main`, when the process has one thread.
#[used]
#[unsafe(link_section = ".init_array")]
static BEGIN: extern "C" fn() = begin;

/// Starts to search, if that is asked for.
extern "C" fn begin() {
    let Some(between) = std::env::var_os(SEEK) else {
        return;
    };
    // SAFETY: there is one thread.
    unsafe { std::env::remove_var(SEEK) };
    let number = between.to_str().and_then(|number| number.parse().ok());
    let Some(between) = number.map(Duration::from_millis) else {
        die(format_args!("{SEEK} cannot be {between:?}"));
    };
    let is_exempt = |word: String| EXEMPT.iter().any(|suite| word.contains(suite));
    if std::env::args().any(is_exempt) {
        return;
    }
    let seek = move || seek(between);
    drop(thread::Builder::new().name("seeker".to_owned()).spawn(seek));
}

/// Says how much has been searched, when the process ends.
#[used]
#[unsafe(link_section = ".fini_array")]
static END: extern "C" fn() = end;

/// Searches that have found nothing, and those that could not tell.
static FOUND_NOTHING: AtomicU32 = AtomicU32::new(0);
static FAILED: AtomicU32 = AtomicU32::new(0);

/// Says it.
extern "C" fn end() {
    let [found_nothing, failed] = [&FOUND_NOTHING, &FAILED].map(|it| it.load(Ordering::Relaxed));
    if found_nothing + failed > 0 {
        let words = format!("seeker: {found_nothing} searches found nothing, {failed} failed\n");
        let _ = std::io::stderr().write_all(words.as_bytes());
    }
}

/// Searches until the process ends.
fn seek(between: Duration) {
    let mut pause = between;
    loop {
        thread::sleep(pause);
        let begun = Instant::now();
        let found = fibre::stuck();
        pause = between.max(3 * begun.elapsed());
        match found {
            Ok(sets) if sets.is_empty() => drop(FOUND_NOTHING.fetch_add(1, Ordering::Relaxed)),
            Ok(sets) => {
                let sets: Vec<_> = sets.iter().map(ToString::to_string).collect();
                let mut dump = Vec::new();
                let _ = fibre::dump(&mut dump, fibre::Format::Text);
                let dump = String::from_utf8_lossy(&dump);
                die(format_args!("seeker: found as stuck: {sets:#?}\n{dump}"));
            }
            // No memory, a handler of SIGPROF that a test has, or a thread that did not answer.
            Err(_) => drop(FAILED.fetch_add(1, Ordering::Relaxed)),
        }
    }
}
