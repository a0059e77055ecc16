//! The system calls of a server under load, counted by strace.
//!
//! A traced server is several times slower, so its batches are larger than in
//! earnest; the calls a request cannot do without stay. The counts include opening
//! the connections, a few hundredths of a call per keep-alive request.

use super::serve::{Load, Setting};
use crate::plan::Run;
use crate::process::LoadCommand;
use crate::process::strace::{Calls, Tracer};
use crate::report::format::figure;
use crate::servers::ServerProgram;

/// Kinds of calls to name for each server.
const KINDS: usize = 6;

/// Messages of each connection where their number is given.
const TRACED_MESSAGES: u64 = 100;

/// The calls of a server, and the requests for which it made them.
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
        let load = match setting.load {
            Load::Messages { bytes, each } => Load::Messages {
                bytes,
                each: each.map(|each| each.min(TRACED_MESSAGES)),
            },
            other => other,
        };
        let tracer = Tracer::attach(server.id())?;
        let load = LoadCommand::new(load.mode(), setting.connections, setting.seconds)
            .pinned_to(&run.cores.load(setting.processors))
            .run(&server.address)?;
        let calls = tracer.finish()?;
        anyhow::ensure!(load.errors.is_empty(), "{}", load.errors.join("; "));
        Ok(Some(Self {
            calls,
            requests: load.requests,
        }))
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
