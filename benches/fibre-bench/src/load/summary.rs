//! What a run counted, and the line that says so.

use std::collections::BTreeMap;
use std::io;
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};

use super::failure::Failures;
use crate::measure::CpuClock;

/// Longest latency that is told from longer ones, in nanoseconds.
const MAX_NANOSECONDS: u64 = 100_000_000_000;

/// Digits that tell two latencies apart.
const DIGITS: u8 = 3;

/// What a run saw: the line of JSON that the load generator prints.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Summary {
    /// Answers that came while it counted.
    pub requests: u64,
    /// How long it counted.
    pub seconds: f64,
    /// Answers per second.
    pub requests_per_second: f64,
    /// Latency that half of the exchanges stayed under, in microseconds; an
    /// exchange is a request, or a batch of pipelined ones.
    pub p50_us: f64,
    /// Latency that 99 of 100 stayed under.
    pub p99_us: f64,
    /// Latency that 999 of 1000 stayed under.
    pub p999_us: f64,
    /// The longest latency.
    pub max_us: f64,
    /// How many connections failed, by reason; only reasons that occurred.
    pub errors: BTreeMap<String, u64>,
    /// How many connections were asked for.
    pub connections: usize,
    /// CPU time of the server for one request, if it was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_cpu_us_per_request: Option<f64>,
}

/// What is counted while it happens.
pub(super) struct Tally {
    /// Answers.
    requests: u64,
    /// Latencies of exchanges, in nanoseconds.
    latencies: Histogram<u64>,
    /// Failures, those before counting began included.
    pub(super) failures: Failures,
    /// When counting began.
    began: Instant,
    /// How long it lasted.
    pub(super) length: Duration,
    /// CPU time of the server: its clock at the beginning, then the difference.
    server: Option<Duration>,
}

impl Tally {
    /// A tally without requests.
    pub(super) fn new() -> io::Result<Self> {
        let latencies = Histogram::new_with_bounds(1, MAX_NANOSECONDS, DIGITS);
        Ok(Self {
            requests: 0,
            latencies: latencies.map_err(io::Error::other)?,
            failures: Failures::default(),
            began: Instant::now(),
            length: Duration::ZERO,
            server: None,
        })
    }

    /// Forgets all but the failures, and begins to count.
    pub(super) fn begin(&mut self, clock: Option<CpuClock>) -> io::Result<()> {
        self.requests = 0;
        self.latencies.reset();
        self.server = clock.map(CpuClock::read).transpose()?;
        self.began = Instant::now();
        Ok(())
    }

    /// Ends to count.
    pub(super) fn end(&mut self, clock: Option<CpuClock>) -> io::Result<()> {
        self.length = self.began.elapsed();
        if let (Some(clock), Some(before)) = (clock, self.server) {
            self.server = Some(clock.read()?.saturating_sub(before));
        }
        Ok(())
    }

    /// Counts an exchange of so many requests.
    #[inline]
    pub(super) fn count(&mut self, requests: u64, latency: Duration) {
        self.requests += requests;
        let nanoseconds = u64::try_from(latency.as_nanos()).unwrap_or(u64::MAX);
        self.latencies.saturating_record(nanoseconds);
    }

    /// The tally of the whole from those of its threads.
    pub(super) fn merged(tallies: Vec<Self>) -> io::Result<Self> {
        let mut whole = Self::new()?;
        for part in tallies {
            whole.requests += part.requests;
            let added = whole.latencies.add(&part.latencies);
            added.map_err(io::Error::other)?;
            whole.failures.add(&part.failures);
            whole.length = whole.length.max(part.length);
            whole.server = whole.server.or(part.server);
        }
        Ok(whole)
    }

    /// What it comes to.
    pub(super) fn summary(&self, connections: usize) -> Summary {
        let seconds = self.length.as_secs_f64();
        let requests = self.requests as f64;
        let ratio = |dividend: f64, divisor: f64| match divisor {
            0.0 => 0.0,
            _ => dividend / divisor,
        };
        let microseconds = |nanoseconds: u64| nanoseconds as f64 / 1e3;
        let quantile = |quantile| microseconds(self.latencies.value_at_quantile(quantile));
        let per_request = |cpu: Duration| ratio(cpu.as_secs_f64() * 1e6, requests);
        Summary {
            requests: self.requests,
            seconds,
            requests_per_second: ratio(requests, seconds),
            p50_us: quantile(0.5),
            p99_us: quantile(0.99),
            p999_us: quantile(0.999),
            max_us: microseconds(self.latencies.max()),
            errors: self.failures.by_name(),
            connections,
            server_cpu_us_per_request: self.server.map(per_request),
        }
    }
}
