//! The peer program: tokio, with the scheduler that fits the number of
//! processors.

use std::process::ExitCode;

use fibre_bench::peer::{self, tokio};

fn main() -> ExitCode {
    peer::main(&tokio::workloads::<tokio::Fitting>())
}
