//! The peer program: tokio with its work-stealing scheduler, also on one
//! processor.

use std::process::ExitCode;

use fibre_bench::peer::{self, tokio};

fn main() -> ExitCode {
    peer::main(&tokio::workloads::<tokio::WorkStealing>())
}
