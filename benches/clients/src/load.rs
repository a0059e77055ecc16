//! Many clients at once, all answers checked, and what they cost.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use clap::{Args, ValueEnum};
use fibre_measure::Stopwatch;
use serde::{Deserialize, Serialize};

use crate::client::{Client, Curl, Mysql, Pq, Process, Redis, Ureq2, Ureq3};
use crate::way::Way;

/// What clients there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// The crate `redis`
    Redis,
    /// The crate `mysql`
    Mysql,
    /// libpq
    Pq,
    /// ureq 2
    Ureq2,
    /// ureq 3, with its default transport
    Ureq3,
    /// libcurl
    Curl,
    /// `std::process`
    Process,
}

/// How many clients call how often.
#[derive(Args, Debug, Clone)]
pub struct Plan {
    /// On what they run
    #[arg(long)]
    pub way: Way,
    /// Processors of the fibres' cluster
    #[arg(long, default_value_t = 1)]
    pub processors: usize,
    /// Clients at once
    #[arg(long, default_value_t = 100)]
    pub clients: usize,
    /// Calls of each, one after the other
    #[arg(long, default_value_t = 4)]
    pub calls: usize,
    /// How long the server waits before each answer, in milliseconds
    #[arg(long, default_value_t = 50)]
    pub wait_ms: u64,
    /// Where the server is, as the client takes it
    #[arg(long, default_value = "")]
    pub place: String,
}

/// What a load has cost the process that ran it.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct Reading {
    /// From before the first client to after the last, in seconds.
    pub wall_s: f64,
    /// CPU time of the process between these, in seconds.
    pub cpu_s: f64,
    /// Answers; each was right.
    pub answers: usize,
}

impl Kind {
    /// Runs clients of this kind, and checks each answer. Blocks the calling thread until all have
    /// ended.
    ///
    /// # Errors
    ///
    /// A client has failed, or an answer is wrong.
    pub fn run(self, plan: &Plan) -> Result<Reading> {
        match self {
            Self::Redis => run::<Redis>(plan),
            Self::Mysql => run::<Mysql>(plan),
            Self::Pq => run::<Pq>(plan),
            Self::Ureq2 => run::<Ureq2>(plan),
            Self::Ureq3 => run::<Ureq3>(plan),
            Self::Curl => run::<Curl>(plan),
            Self::Process => run::<Process>(plan),
        }
    }
}

/// Runs the clients of a plan.
fn run<C: Client>(plan: &Plan) -> Result<Reading> {
    let stopwatch = Stopwatch::start()?;
    let shared = plan.clone();
    plan.way
        .run_all(plan.processors, plan.clients, move |number| {
            converse::<C>(&shared, number).with_context(|| format!("client {number}"))
        })?;
    let sample = stopwatch.stop(1)?;
    Ok(Reading {
        wall_s: sample.wall_ns / 1e9,
        cpu_s: sample.cpu_ns / 1e9,
        answers: plan.clients * plan.calls,
    })
}

/// What one client does.
fn converse<C: Client>(plan: &Plan, number: usize) -> Result<()> {
    let wait = Duration::from_millis(plan.wait_ms);
    let mut client = plan.way.run(|| C::connect(&plan.place))?;
    for call in 0..plan.calls {
        let token = format!("{number}-{call}");
        let answer = plan.way.run(|| client.call(wait, &token))?;
        ensure!(answer == token, "asked for {token}, and got {answer}");
    }
    // What ends a connection may block, too.
    plan.way.run(move || drop(client));
    Ok(())
}
