//! The peer program: rayon.

use std::process::ExitCode;

use fibre_bench::peer;

fn main() -> ExitCode {
    peer::main(&peer::rayon::workloads())
}
