//! How many cores a program uses if its threads share locks: models, simulations, and the program.
//!
//! The program is algorithm 1 of the thesis: each of T threads runs *outside* all locks for some
//! time, takes one of L locks at random, runs in the *critical* section for some time, and begins
//! again. Every thread has a core of its own, and nothing else takes time. Its *utilisation* U is
//! the number of cores that do the loops' work on average, which is the throughput in iterations
//! over that of one thread alone.
//!
//! [`Program`] has the parameters. [`probabilistic`] and [`mva`] are the two models of chapter 6;
//! [`simulation`] plays the program in simulated time, and [`virtual_cores`] runs it with fibres
//! that sleep instead of computing. Source: S. Barghi, *Improving the Performance of User-level
//! Runtime Systems for Concurrent Applications*, University of Waterloo, 2018, chapter 6.
//! `docs/UTILISATION.md` explains what each of them says, and where they differ.
//!
//! ```
//! use std::time::Duration;
//!
//! use fibre_bench::queueing::{Program, mva, probabilistic};
//!
//! let loops = Duration::from_micros(10);
//! let program = Program::new(16, loops, loops)?;
//! assert_eq!(program.limit(), 32.0);
//! assert!((probabilistic::utilisation(&program, 16) - 12.962).abs() < 1e-3);
//! assert!((mva::utilisation(&program, 16) - 12.472).abs() < 1e-3);
//! # Ok::<(), fibre_bench::queueing::Refused>(())
//! ```

pub mod mva;
pub mod probabilistic;
mod program;
pub mod simulation;
pub mod virtual_cores;

pub use program::{Program, Refused};
