//! What a run has seen: as JSON, and as a table for people.

use std::collections::BTreeMap;
use std::fmt;

use comfy_table::Table;
use fibre_measure::format::{self, figure};
use serde::{Deserialize, Serialize};

use crate::plan::Plan;
use crate::server::{Sight, Usage};
use crate::tally::{Counts, Profile, Tally};

/// What a run has seen.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Report {
    /// What was asked for.
    pub plan: PlanInWords,
    /// How long it counted.
    pub seconds: f64,
    /// Requests that were answered within the measured time, per second.
    pub requests_per_second: f64,
    /// Requests and answers.
    pub counts: Counts,
    /// How long requests took, in microseconds from when they were due: `all`, `get`, `set`; in an
    /// open loop also `service`, from when they were sent, and `delay`, until they were sent. In a
    /// closed loop these are the requests that were answered within the measured time, in an open
    /// loop those that were due then, whenever the answer came. What got no answer is among them,
    /// with the time until its connection was lost.
    pub latency_us: BTreeMap<String, Profile>,
    /// Answers that no server may give, by kind.
    pub wrong: BTreeMap<String, u64>,
    /// Some of them in words.
    pub examples: Vec<String>,
    /// Connections that were lost, by reason.
    pub lost: BTreeMap<String, u64>,
    /// Connections that were opened in place of lost ones.
    pub reconnects: u64,
    /// Requests that got no answer since their connection was lost.
    pub unanswered: u64,
    /// Keys with an age that could not be checked any more.
    pub doubted_keys: u64,
    /// Harmful things that were done, by kind.
    pub storms: BTreeMap<String, u64>,
    /// The server's process.
    pub server: Option<ServerReport>,
    /// CPU time of this program for one request, in microseconds.
    pub own_cpu_us_per_request: f64,
}

/// What was asked for, in words and numbers.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the fields of a plan, as text")]
pub struct PlanInWords {
    pub server: String,
    pub protocol: String,
    pub connections: u32,
    pub pipeline: usize,
    pub update: f64,
    pub keys: u32,
    pub key_size: String,
    pub value_size: String,
    pub popularity: String,
    pub rate: Option<f64>,
    pub gap: String,
    pub warm_up_seconds: f64,
    pub processors: usize,
    pub seed: u64,
}

/// The server's process during a run.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ServerReport {
    /// Its id.
    pub pid: u32,
    /// What it used while it was measured, and held in the end.
    pub usage: Usage,
    /// CPU time for one request, in microseconds.
    pub cpu_us_per_request: f64,
    /// What it held from time to time.
    pub sights: Vec<Sight>,
}

impl From<&Plan> for PlanInWords {
    fn from(plan: &Plan) -> Self {
        Self {
            server: plan.server.to_string(),
            protocol: format!("{:?}", plan.dialect).to_lowercase(),
            connections: plan.connections,
            pipeline: plan.pipeline,
            update: plan.update,
            keys: plan.keys,
            key_size: plan.key_size.to_string(),
            value_size: plan.value_size.to_string(),
            popularity: format!("{:?}", plan.popularity).to_lowercase(),
            rate: plan.rate,
            gap: plan.gap.to_string(),
            warm_up_seconds: plan.warm_up.as_secs_f64(),
            processors: plan.processors,
            seed: plan.seed,
        }
    }
}

impl Report {
    /// Of what was counted in so many seconds, while this program used so much CPU time.
    pub(crate) fn new(
        plan: &Plan,
        tally: Tally,
        seconds: f64,
        own_cpu_seconds: f64,
        server: Option<ServerReport>,
    ) -> anyhow::Result<Self> {
        let requests = tally.counts.requests() as f64;
        // JSON has no infinity.
        let per_request = |seconds: f64| seconds * 1e6 / requests.max(1.0);
        let mut all = tally.gets.clone();
        all.merge(&tally.sets);
        let mut times = vec![("all", &all), ("get", &tally.gets), ("set", &tally.sets)];
        if plan.is_open() {
            times.extend([("service", &tally.service), ("delay", &tally.delays)]);
        }
        let profiles = times
            .into_iter()
            .filter_map(|(name, times)| Some((name.into(), times.profile()?)));
        Ok(Self {
            plan: plan.into(),
            seconds,
            requests_per_second: requests / seconds,
            counts: tally.counts,
            latency_us: profiles.collect(),
            wrong: tally
                .wrong
                .into_iter()
                .map(|(kind, count)| (kind.to_string(), count))
                .collect(),
            examples: tally.examples,
            lost: tally
                .lost
                .into_iter()
                .map(|(reason, count)| (reason.into(), count))
                .collect(),
            reconnects: tally.reconnects,
            unanswered: tally.unanswered,
            doubted_keys: tally.doubted,
            storms: BTreeMap::new(),
            server: server.map(|server| ServerReport {
                cpu_us_per_request: per_request(server.usage.cpu_seconds),
                ..server
            }),
            own_cpu_us_per_request: per_request(own_cpu_seconds),
        })
    }

    /// Whether every answer was one that a server may give.
    #[must_use]
    pub fn is_right(&self) -> bool {
        self.wrong.is_empty()
    }

    /// Whether, moreover, no connection was lost, nothing stayed unanswered, and there was
    /// something to answer.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        self.is_right()
            && self.lost.is_empty()
            && self.unanswered == 0
            && self.counts.requests() > 0
    }

    /// Which share of the questions found a value; not a number if there was none.
    #[must_use]
    pub fn hit_ratio(&self) -> f64 {
        self.counts.hits as f64 / self.counts.gets as f64
    }

    /// What a server with room for every value has not done, in words: it stores all that it is
    /// sent, and of the questions at least this share finds a value. (To forget and to refuse is no
    /// wrong answer, but cheaper than a right one.)
    #[must_use]
    pub fn shortfall(&self, least_hits: f64) -> Option<String> {
        let counts = &self.counts;
        if counts.refused > 0 || counts.stored < counts.sets {
            let (stored, sets, refused) = (counts.stored, counts.sets, counts.refused);
            return Some(format!(
                "{stored} of {sets} values were stored, {refused} requests refused"
            ));
        }
        (self.hit_ratio() < least_hits).then(|| {
            format!(
                "{} of {} questions found no value, of which {} had been stored",
                counts.misses, counts.gets, counts.misses_of_stored
            )
        })
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let counts = &self.counts;
        let plan = &self.plan;
        writeln!(
            f,
            "{} connections, pipeline {}, {} protocol, {} keys ({}), values {}, update {}",
            plan.connections,
            plan.pipeline,
            plan.protocol,
            plan.keys,
            plan.key_size,
            plan.value_size,
            plan.update
        )?;
        writeln!(
            f,
            "{} requests/s: {} in {:.2} s; {} gets ({} misses), {} sets ({} stored), {} refused",
            figure(self.requests_per_second),
            figure(counts.requests() as f64),
            self.seconds,
            figure(counts.gets as f64),
            figure(counts.misses as f64),
            figure(counts.sets as f64),
            figure(counts.stored as f64),
            counts.refused,
        )?;
        let rate = |bytes: u64| figure(bytes as f64 / self.seconds / 1e6);
        write!(
            f,
            "{} MB/s sent, {} MB/s received; ",
            rate(counts.bytes_sent),
            rate(counts.bytes_received)
        )?;
        writeln!(
            f,
            "own CPU {} µs/request",
            figure(self.own_cpu_us_per_request)
        )?;
        if let Some(server) = &self.server {
            let usage = &server.usage;
            writeln!(
                f,
                "server {}: CPU {} µs/request ({:.2} s: {:.2} user, {:.2} system), {} MB resident, {} descriptors",
                server.pid,
                figure(server.cpu_us_per_request),
                usage.cpu_seconds,
                usage.user_seconds,
                usage.system_seconds,
                figure(usage.resident_bytes as f64 / 1e6),
                usage.descriptors,
            )?;
        }
        writeln!(f, "\n{}", self.profiles())?;
        self.troubles(f)
    }
}

impl Report {
    /// The table of latencies.
    fn profiles(&self) -> Table {
        let mut table = format::table(
            &["µs", "p10", "mean", "p50", "p90", "p99", "p99.9", "max"],
            1,
        );
        for (name, profile) in &self.latency_us {
            let Profile {
                p10,
                mean,
                p50,
                p90,
                p99,
                p999,
                max,
                ..
            } = *profile;
            let figures = [p10, mean, p50, p90, p99, p999, max].map(figure);
            table.add_row(std::iter::once(name.clone()).chain(figures));
        }
        table
    }

    /// Whatever is not as it should be.
    fn troubles(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (kind, count) in &self.wrong {
            writeln!(f, "WRONG: {count} answers are {kind}")?;
        }
        for example in &self.examples {
            writeln!(f, "  {example}")?;
        }
        for (reason, count) in &self.lost {
            writeln!(f, "lost connections, {reason}: {count}")?;
        }
        if self.unanswered + self.reconnects + self.doubted_keys > 0 {
            writeln!(
                f,
                "{} requests without answer, {} connections opened anew, {} keys of unknown age",
                self.unanswered, self.reconnects, self.doubted_keys
            )?;
        }
        if self.counts.unsent > 0 {
            writeln!(
                f,
                "{} requests were due and could not be sent",
                self.counts.unsent
            )?;
        }
        for (kind, count) in &self.storms {
            writeln!(f, "storm: {kind}, {count} times")?;
        }
        Ok(())
    }
}
