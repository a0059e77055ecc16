//! Many threads of `std::thread` at once, as fibres: all of them wait, and then each returns a
//! number. Prints how long they took, and what memory a waiting thread takes.
//!
//! `cargo run --release -p fibre-libc --example many_threads [threads] [bytes of a stack]`

#![allow(clippy::unwrap_used, reason = "an example ends by panicking")]

use fibre_libc as _;
use std::env;
use std::fs;
use std::io;
use std::sync::{Arc, Condvar, Mutex};
use std::thread::Builder;
use std::time::Instant;

/// Threads, unless an argument says otherwise.
const THREADS: usize = 100_000;

/// What the threads wait for: how many have come, and whether they may go on.
#[derive(Default)]
struct Gate {
    state: Mutex<(usize, bool)>,
    changed: Condvar,
}

/// Bytes of memory that the process has.
fn resident() -> io::Result<usize> {
    let status = fs::read_to_string("/proc/self/statm")?;
    let pages = status
        .split(' ')
        .nth(1)
        .and_then(|pages| pages.parse().ok());
    Ok(pages.map_or(0, |pages: usize| pages * 4096))
}

fn main() -> io::Result<()> {
    // SAFETY: nothing in this program ties memory to a kernel thread by a system call.
    unsafe { fibre_libc::threads() }?;
    let mut numbers = env::args().skip(1).map(|word| word.parse().ok());
    let count = numbers.next().flatten().unwrap_or(THREADS);
    let stack_size: Option<usize> = numbers.next().flatten();
    let gate = Arc::new(Gate::default());
    let (begun, before) = (Instant::now(), resident()?);
    let threads: Vec<_> = (0..count)
        .map(|number| {
            let gate = Arc::clone(&gate);
            let builder = match stack_size {
                Some(bytes) => Builder::new().stack_size(bytes),
                None => Builder::new(),
            };
            builder.spawn(move || {
                let mut state = gate.state.lock().unwrap();
                state.0 += 1;
                if state.0 == count {
                    gate.changed.notify_all();
                }
                drop(gate.changed.wait_while(state, |state| !state.1));
                number
            })
        })
        .collect::<io::Result<_>>()?;
    let state = gate.state.lock().unwrap();
    let mut state = gate
        .changed
        .wait_while(state, |state| state.0 < count)
        .unwrap();
    let each = (resident()?.saturating_sub(before)) / count;
    println!(
        "{count} threads wait after {:?}, {each} bytes each",
        begun.elapsed()
    );
    state.1 = true;
    drop(state);
    gate.changed.notify_all();
    let sum: usize = threads.into_iter().map(|one| one.join().unwrap()).sum();
    assert_eq!(sum, count * (count - 1) / 2);
    println!("all have ended after {:?}", begun.elapsed());
    Ok(())
}
