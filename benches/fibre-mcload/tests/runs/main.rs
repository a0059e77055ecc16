//! Whole runs against a server in this process that can be told to do what no server may.

mod command_line;
mod compare;
mod loops;
mod server;
mod trouble;
mod verification;

use std::time::Duration;

use fibre_mcload::distribution::Distribution;
use fibre_mcload::{Plan, Report};
use server::{Fault, Server};

/// A short run of a thousand requests with values of 100 bytes.
fn plan(server: &Server) -> Plan {
    Plan {
        connections: 4,
        pipeline: 4,
        update: 0.3,
        keys: 50,
        value_size: Distribution::Fixed(100.0),
        value_limit: 1000,
        requests: Some(1000),
        seconds: Duration::from_secs(60),
        timeout: Duration::from_secs(30),
        ..Plan::new(server.address)
    }
}

/// What a short run sees of a server with a fault.
fn report(fault: Fault) -> anyhow::Result<Report> {
    plan(&Server::start(fault)?).run()
}
