//! Connections that have been used once and then do nothing: what each costs the server.

use std::thread;
use std::time::Duration;

use anyhow::{Context as _, bail};
use fibre_measure::kernel_memory;
use serde::{Deserialize, Serialize};

use crate::plan::Plan;
use crate::server::ServerProcess;
use crate::shared::Shared;

/// How long the server has to come to rest.
const REST: Duration = Duration::from_millis(500);

/// Connections before those that are measured, for what the first ones cost once.
const BEFORE: u32 = 16;

/// What idle connections cost.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct Idle {
    /// How many were opened.
    pub connections: u32,
    /// Resident bytes of the server for each.
    pub bytes_per_connection: f64,
    /// Bytes of the kernel for each, at both ends together, which noise of the machine is in.
    pub kernel_bytes_per_connection: f64,
    /// The server's resident bytes with all of them.
    pub resident_bytes: u64,
    /// Its threads with all of them.
    pub threads: u64,
    /// Its CPU time in one second with all of them, in microseconds.
    pub idle_cpu_us_per_second: f64,
}

impl Plan {
    /// Opens the connections, has each answered once, and looks at the server before and after.
    /// Blocks the thread.
    ///
    /// # Errors
    ///
    /// When not all can be opened, or the server's process cannot be looked at.
    pub fn idle(&self) -> anyhow::Result<Idle> {
        let server = match self.pid {
            Some(pid) => Some(ServerProcess::of(pid)?),
            None => ServerProcess::listening_on(self.server),
        };
        let Some(server) = server else {
            bail!("the server's process was not found: give its id");
        };
        let shared = Shared::new(self.clone())?;
        let open = |count| {
            (0..count)
                .map(|_| shared.connect())
                .collect::<Result<Vec<_>, _>>()
        };
        let first = open(BEFORE).context("opening the first connections")?;
        thread::sleep(REST);
        let (before, kernel_before) = (server.usage()?, kernel_memory()?);
        let others = open(self.connections).context("opening all connections")?;
        thread::sleep(REST);
        let (after, kernel_after) = (server.usage()?, kernel_memory()?);
        thread::sleep(Duration::from_secs(1));
        let later = server.usage()?;
        drop((first, others));
        let per_connection =
            |before: u64, after: u64| (after as f64 - before as f64) / f64::from(self.connections);
        Ok(Idle {
            connections: self.connections,
            bytes_per_connection: per_connection(before.resident_bytes, after.resident_bytes),
            kernel_bytes_per_connection: per_connection(kernel_before, kernel_after),
            resident_bytes: after.resident_bytes,
            threads: after.threads,
            idle_cpu_us_per_second: later.since(&after).cpu_seconds * 1e6,
        })
    }
}
