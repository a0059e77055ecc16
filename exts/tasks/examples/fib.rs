//! Eve's Program 1: the nth Fibonacci number by tasks. And what it is in Rust without them: borrows
//! of a scope's fibres, which the compiler checks at no cost.
//!
//! ```sh
//! cargo run --release -p fibre-tasks --example fib -- 30
//! ```

use fibre_tasks::{Full, finish, task};
use std::time::Instant;

/// Numbers up to this one are computed by calls one after the other.
const GRAIN: u64 = 16;

fn main() {
    let n = std::env::args()
        .nth(1)
        .map_or(30, |n| n.parse().unwrap_or(30));
    for (name, fib) in [("tasks", by_tasks as fn(u64) -> u64), ("scope", by_scope)] {
        let begin = Instant::now();
        let number = fibre::spawn(move || fib(n)).join();
        let took = begin.elapsed();
        match number {
            Ok(number) => println!("{name}: fib({n}) = {number} in {took:?}"),
            Err(_) => eprintln!("{name}: a fibre has panicked"),
        }
    }
}

/// Each half is a task that has its number in full.
fn by_tasks(n: u64) -> u64 {
    if n < GRAIN {
        return plain(n);
    }
    let (a, b) = finish((Full::new(0), Full::new(0)), |scope, (a, b)| {
        task!(scope, [+a, =n] { *a = by_tasks(n - 1) });
        task!(scope, [+b, =n] { *b = by_tasks(n - 2) });
    });
    *a + *b
}

/// Each half is borrowed by a fibre.
fn by_scope(n: u64) -> u64 {
    if n < GRAIN {
        return plain(n);
    }
    let (mut a, mut b) = (0, 0);
    fibre::scope(|scope| {
        scope.spawn(|| a = by_scope(n - 1));
        scope.spawn(|| b = by_scope(n - 2));
    });
    a + b
}

/// The number, by calls one after the other.
fn plain(n: u64) -> u64 {
    if n < 2 {
        n
    } else {
        plain(n - 1) + plain(n - 2)
    }
}
