//! The client of servers that are programs of their own: what the harness runs in place of a peer
//! in another language where the servers of the paper on Eve are measured.

use std::process::ExitCode;

use fibre_bench::peer;

fn main() -> ExitCode {
    peer::main(&peer::served::workloads())
}
