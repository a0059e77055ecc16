//! The peer program: corosensei alone.

use std::process::ExitCode;

use fibre_bench::peer;

fn main() -> ExitCode {
    peer::main(&peer::corosensei::workloads())
}
