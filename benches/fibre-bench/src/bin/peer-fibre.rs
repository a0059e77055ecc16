//! The peer program: fibre, ours.

use std::process::ExitCode;

use fibre_bench::peer;

fn main() -> ExitCode {
    peer::main(&peer::fibre::workloads())
}
