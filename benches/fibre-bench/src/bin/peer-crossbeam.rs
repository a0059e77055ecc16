//! The peer program: Kernel threads with crossbeam.

use std::process::ExitCode;

use fibre_bench::peer;

fn main() -> ExitCode {
    peer::main(&peer::crossbeam::workloads())
}
