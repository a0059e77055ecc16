//! The peer program: Kernel threads.

use std::process::ExitCode;

use fibre_bench::peer;

fn main() -> ExitCode {
    peer::main(&peer::thread::workloads())
}
