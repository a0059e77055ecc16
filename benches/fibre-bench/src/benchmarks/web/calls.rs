//! The system calls of a server under load, counted by strace.
//!
//! A traced server is several times slower, so its batches are larger than in
//! earnest; the calls a request cannot do without stay. What connections that stay
//! open take to be opened, to have a first answer, and to be closed is counted in a
//! run of its own and taken off.

use super::serve::{Load, Setting};
use crate::plan::Run;
use crate::process::strace::{Calls, Tracer};
use crate::process::{LoadCommand, Server};
use crate::report::format::figure;
use crate::servers::ServerProgram;

/// Kinds of calls to name for each server.
const KINDS: usize = 6;

/// Messages of each connection where their number is given.
const TRACED_MESSAGES: u64 = 100;

/// The calls of a server, and the requests that it made them for.
pub(super) struct Counts {
    calls: Vec<Calls>,
    requests: f64,
}

impl Counts {
    /// Traces one server under a load for so long; `None` where it cannot do this duty.
    pub(super) fn of(
        run: &Run,
        program: &ServerProgram,
        setting: &Setting,
    ) -> anyhow::Result<Option<Self>> {
        let Some(server) = run.start(program, setting.duty())? else {
            return Ok(None);
        };
        let command = |load: Load| {
            let command = load.by_ours(setting.connections, setting.seconds);
            command.pinned_to(&run.cores.load(setting.processors))
        };
        let counts = match setting.load {
            Load::Short => Self::during(&command(Load::Short), &server)?,
            Load::Messages { bytes, each } => {
                let each = each.map(|each| each.min(TRACED_MESSAGES));
                let opening = command(Load::Messages { bytes, each: None }).exchanges(0);
                let opening = Self::during(&opening, &server)?;
                Self::during(&command(Load::Messages { bytes, each }), &server)?.without(&opening)
            }
            load => {
                let opening = Self::during(&command(load).exchanges(0), &server)?;
                Self::during(&command(load), &server)?.without(&opening)
            }
        };
        Ok(Some(counts))
    }

    /// The calls of a server while a load runs.
    fn during(load: &LoadCommand, server: &Server) -> anyhow::Result<Self> {
        let tracer = Tracer::attach(server.id())?;
        let load = load.run(&server.address)?;
        let calls = tracer.finish()?;
        anyhow::ensure!(load.errors.is_empty(), "{}", load.errors.join("; "));
        Ok(Self {
            calls,
            requests: load.requests,
        })
    }

    /// What is left when the calls of another run are taken off.
    fn without(mut self, other: &Self) -> Self {
        for kind in &mut self.calls {
            if let Some(less) = other.calls.iter().find(|less| less.name == kind.name) {
                kind.calls = kind.calls.saturating_sub(less.calls);
                kind.failed = kind.failed.saturating_sub(less.failed);
            }
        }
        self.calls.sort_by_key(|kind| std::cmp::Reverse(kind.calls));
        self
    }

    /// Calls per request, failed ones included.
    pub(super) fn per_request(&self) -> f64 {
        self.calls.iter().map(|kind| kind.calls as f64).sum::<f64>() / self.requests
    }

    /// Failed calls per request.
    pub(super) fn failed_per_request(&self) -> f64 {
        let failed = self.calls.iter().map(|kind| kind.failed as f64);
        failed.sum::<f64>() / self.requests
    }

    /// The most frequent kinds with their counts per request.
    pub(super) fn kinds(&self) -> String {
        let kind = |kind: &Calls| {
            let count = figure(kind.calls as f64 / self.requests);
            format!("{} {count}", kind.name)
        };
        let kinds: Vec<_> = self.calls.iter().take(KINDS).map(kind).collect();
        kinds.join(", ")
    }
}
