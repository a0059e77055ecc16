//! `fibre-mcload`: puts load on Memcached servers, checks every answer, and compares servers.

#![deny(unreachable_pub, unnameable_types)]

mod cli;
mod compare;

use std::process::ExitCode;

use clap::Parser as _;

fn main() -> ExitCode {
    match cli::Cli::parse().command.execute() {
        Ok(code) => code,
        Err(error) => {
            eprintln!("fibre-mcload: {error:#}");
            ExitCode::FAILURE
        }
    }
}
