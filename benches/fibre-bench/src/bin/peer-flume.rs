//! The peer program: Kernel threads with flume's channels.

use std::process::ExitCode;

use fibre_bench::peer;

fn main() -> ExitCode {
    peer::main(&peer::flume::workloads())
}
