//! A million fibres, all blocked at once, each on a guarded stack of its own.
//!
//! ```text
//! cargo run --release --example million             # a million; needs about 6 GB of memory
//! cargo run --release --example million 100000
//! cargo run --release --example million 1000 own    # one of them overflows its stack
//! cargo run --release --example million 1000 other  # one writes below the stack of another
//! ```
//!
//! Prints what it took. With `own` or `other` the process ends with a report that names the
//! fibres.

use fibre::sync::Semaphore;
use std::hint::black_box;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicPtr, AtomicU8, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// What one of the fibres does wrong.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Harm {
    /// It uses up its own stack.
    Own,
    /// It writes below the stack of the fibre before it.
    Other,
}

fn main() -> io::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let count = match arguments.next().map(|count| count.parse()) {
        None => 1_000_000,
        Some(Ok(count)) => count,
        Some(Err(error)) => return Err(io::Error::other(error)),
    };
    let harm = match arguments.next().as_deref() {
        None => None,
        Some("own") => Some(Harm::Own),
        Some("other") => Some(Harm::Other),
        Some(_) => return Err(io::Error::other("the second argument is `own` or `other`")),
    };
    run(count, harm)
}

/// What the fibres have in common.
#[derive(Default)]
struct Shared {
    /// How many are about to block.
    blocked: AtomicUsize,
    /// What they block on.
    gate: Semaphore,
    /// A variable of the fibre that blocked last.
    variable: AtomicPtr<AtomicU8>,
}

/// Has `count` fibres blocked at once, wakes them and joins them; prints what that took.
pub fn run(count: usize, harm: Option<Harm>) -> io::Result<()> {
    let shared = Arc::new(Shared::default());
    let begin = Instant::now();
    let fibres = (0..count).map(|number| {
        let shared = Arc::clone(&shared);
        let fibre = fibre::Builder::new().name(format!("fibre {number}"));
        fibre.spawn(move || {
            let variable = AtomicU8::new(0);
            let here = std::ptr::from_ref(&variable).cast_mut();
            shared.variable.store(here, Ordering::Release);
            shared.blocked.fetch_add(1, Ordering::Release);
            shared.gate.acquire();
            number
        })
    });
    let fibres = fibres.collect::<io::Result<Vec<_>>>()?;
    while shared.blocked.load(Ordering::Acquire) < count {
        fibre::sleep(Duration::from_millis(1));
    }
    println!("{count} fibres blocked after {:?}", begin.elapsed());
    print_memory(count)?;
    if let Some(harm) = harm {
        do_harm(harm, &shared)?;
    }

    let begin = Instant::now();
    (0..count).for_each(|_| shared.gate.release());
    for (number, fibre) in fibres.into_iter().enumerate() {
        let said = fibre
            .join()
            .map_err(|_| io::Error::other("a fibre was refused"))?;
        assert_eq!(said, number);
    }
    println!("woken and joined after another {:?}", begin.elapsed());
    Ok(())
}

/// Prints what the process occupies.
fn print_memory(count: usize) -> io::Result<()> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let wanted = |line: &&str| line.starts_with("VmRSS") || line.starts_with("VmPTE");
    status
        .lines()
        .filter(wanted)
        .for_each(|line| println!("{line}"));
    let mappings = std::fs::read_to_string("/proc/self/maps")?.lines().count();
    println!("mappings: {mappings}");
    for class in fibre::stack_statistics() {
        println!(
            "stacks of {} bytes: {} exist, {} in use, {} bytes in memory for each of {count} fibres",
            class.size,
            class.existing,
            class.in_use,
            class.resident / count.max(1),
        );
    }
    Ok(())
}

/// Spawns a fibre that writes where it must not.
fn do_harm(harm: Harm, shared: &Arc<Shared>) -> io::Result<()> {
    let shared = Arc::clone(shared);
    let culprit = fibre::Builder::new()
        .name("culprit")
        .spawn(move || match harm {
            Harm::Own => recurse(0),
            Harm::Other => {
                /// Bytes that a stack has beyond its size, for the runtime's frames, and more.
                const FRAMES: usize = 8192;
                let size = fibre::stack_statistics()
                    .first()
                    .map_or(0, |class| class.size);
                let below = shared
                    .variable
                    .load(Ordering::Acquire)
                    .wrapping_byte_sub(size + FRAMES);
                // SAFETY: none. It is more than a stack's size below a variable near the top of a
                // blocked fibre's stack, hence in the guard, and ends the process.
                unsafe { (*below).store(1, Ordering::Relaxed) };
                0
            }
        });
    culprit?
        .join()
        .map_err(|_| io::Error::other("no harm done"))?;
    Ok(())
}

/// Recurses without end.
#[allow(unconditional_recursion, reason = "that is what it is for")]
fn recurse(depth: usize) -> usize {
    let frame = black_box([depth; 64]);
    recurse(depth + 1) + frame[depth % 64]
}
