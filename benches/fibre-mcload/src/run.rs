//! A run from beginning to end: connect, store all keys, warm up, measure, drain.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use fibre::{Builder, Cluster};
use fibre_measure::CpuClock;
use indicatif::{ProgressBar, ProgressStyle};

use crate::client::Client;
use crate::clock::nanoseconds;
use crate::plan::Plan;
use crate::report::{Report, ServerReport};
use crate::server::{ServerProcess, Sight, Usage, distance};
use crate::shared::Shared;
use crate::storm::{Kind, Rogue};

/// The time between two looks at how far the run is.
const LOOK: Duration = Duration::from_millis(50);

/// How long the last answers may take beyond their time-out.
const GRACE: Duration = Duration::from_secs(10);

/// How long all connections and keys may take.
const PREPARATION: Duration = Duration::from_secs(300);

impl Plan {
    /// Does what is asked for. Blocks the thread.
    ///
    /// # Errors
    ///
    /// When the plan cannot be carried out: it makes no sense, nobody listens, this machine lacks
    /// something. What goes wrong between client and server is in the report.
    pub fn run(&self) -> anyhow::Result<Report> {
        if let Some(fault) = self.fault() {
            bail!("{fault}");
        }
        let shared = Arc::new(Shared::new(self.clone())?);
        shared
            .connect()
            .with_context(|| format!("connecting to {}", self.server))?;
        let server = match self.pid {
            Some(pid) => Some(ServerProcess::of(pid).context("looking at the server's process")?),
            None => ServerProcess::listening_on(self.server),
        };
        let run = Run::start(shared, server)?;
        run.prepare()?;
        run.measure()
    }
}

/// A run that goes on.
struct Run {
    /// What all connections have in common.
    shared: Arc<Shared>,
    /// The server's process.
    server: Option<ServerProcess>,
    /// One cluster for each processor, so that connections stay where their tally is.
    clusters: Vec<Cluster>,
    /// What is shown.
    bar: ProgressBar,
}

impl Run {
    /// Lets all connections loose on the preload.
    fn start(shared: Arc<Shared>, server: Option<ServerProcess>) -> anyhow::Result<Self> {
        let clusters: Result<Vec<Cluster>, _> = (0..shared.plan.processors)
            .map(|_| Cluster::builder().processors(1).build())
            .collect();
        let clusters = clusters.context("starting processors")?;
        for number in 0..shared.plan.connections {
            let processor = number as usize % clusters.len();
            let client = Client::new(Arc::clone(&shared), number, processor);
            Builder::new()
                .spawn_in(&clusters[processor], move || client.live())
                .context("starting a connection")?;
        }
        let bar = if shared.plan.progress {
            ProgressBar::new(shared.plan.connections.into())
        } else {
            ProgressBar::hidden()
        };
        Ok(Self {
            shared,
            server,
            clusters,
            bar,
        })
    }

    /// Waits until all connections are open and all keys stored.
    fn prepare(&self) -> anyhow::Result<()> {
        self.show("{msg} {bar:30} {pos}/{len}", "connecting and storing");
        let started = Instant::now();
        let connections = u64::from(self.shared.plan.connections);
        while !self.shared.preparing.wait_timeout(LOOK) {
            self.bar
                .set_position(connections - self.shared.preparing.count() as u64);
            if started.elapsed() > PREPARATION {
                bail!("not all connections were ready after {PREPARATION:?}");
            }
        }
        if let Some(failure) = self.shared.given_up() {
            self.shared.go.set();
            bail!(
                "connections could not be opened, or were lost again and again: {}",
                failure.words()
            );
        }
        Ok(())
    }

    /// Lets the requests loose, and says what came of them.
    fn measure(self) -> anyhow::Result<Report> {
        let plan = &self.shared.plan;
        let clock = &self.shared.clock;
        let begin = clock.now() + nanoseconds(plan.warm_up);
        let end = begin + nanoseconds(plan.seconds);
        clock.set(begin, end);
        let storms = self.release_storms(clock.instant(end))?;
        self.shared.go.set();
        self.sleep_until(begin);
        let own = CpuClock::own();
        let own_before = own.read()?;
        let before = self.look()?;
        let sights = self.watch(begin, end, before.as_ref())?;
        let own_cpu = own.read()? - own_before;
        let after = self.look()?;
        let patience = plan.timeout + GRACE;
        if !self.shared.running.wait_timeout(patience) {
            bail!("{} connections have not ended", self.shared.running.count());
        }
        let tally = self.shared.sum()?;
        self.bar.finish_and_clear();
        let stopped = if plan.requests.is_some() {
            tally.last.min(end)
        } else {
            end
        };
        let seconds = Duration::from_nanos(stopped.saturating_sub(begin).max(1)).as_secs_f64();
        let server = self.server.zip(before).zip(after);
        let server = server.map(|((process, before), after)| ServerReport {
            pid: process.id(),
            usage: after.since(&before),
            cpu_us_per_request: 0.0,
            sights,
        });
        let mut report = Report::new(plan, tally, seconds, own_cpu.as_secs_f64(), server)?;
        for (kind, done) in storms {
            report
                .storms
                .insert(kind.to_string(), done.load(Ordering::Relaxed));
        }
        for cluster in self.clusters {
            // Rogues may still wait for a server that does not answer them.
            let _ = cluster.stop_within(Duration::from_secs(5), Duration::from_secs(1));
        }
        Ok(report)
    }

    /// Lets those loose that misbehave, and says where they count.
    fn release_storms(&self, end: Instant) -> anyhow::Result<Vec<(Kind, Arc<AtomicU64>)>> {
        let mut counts = Vec::new();
        for storm in &self.shared.plan.storms {
            let done = Arc::new(AtomicU64::new(0));
            for number in 0..storm.clients {
                let rogue = Rogue {
                    kind: storm.kind,
                    number,
                    server: self.shared.plan.server,
                    done: Arc::clone(&done),
                    end,
                };
                let cluster = &self.clusters[number as usize % self.clusters.len()];
                Builder::new()
                    .spawn_in(cluster, move || rogue.live())
                    .context("starting a storm")?;
            }
            counts.push((storm.kind, done));
        }
        Ok(counts)
    }

    /// Shows how far it is, and looks at the server from time to time, until the time is over or
    /// all is done.
    fn watch(&self, begin: u64, end: u64, before: Option<&Usage>) -> anyhow::Result<Vec<Sight>> {
        let clock = &self.shared.clock;
        let distance = nanoseconds(distance(self.shared.plan.seconds));
        self.show("{msg} {bar:30} {elapsed}/{len} ms", "measuring");
        self.bar.set_length((end - begin) / 1_000_000);
        let mut sights = Vec::new();
        let mut next = begin;
        while clock.now() < end && self.shared.running.count() > 0 {
            let now = clock.now();
            self.bar.set_position((now - begin) / 1_000_000);
            if now >= next {
                next += distance;
                let usage = self
                    .look()?
                    .zip(before)
                    .map(|(now, before)| now.since(before));
                let at = Duration::from_nanos(now - begin).as_secs_f64();
                sights.extend(usage.map(|usage| Sight { at, usage }));
            }
            thread::sleep(LOOK.min(Duration::from_nanos(end.saturating_sub(clock.now()))));
        }
        Ok(sights)
    }

    /// Looks at the server.
    fn look(&self) -> anyhow::Result<Option<Usage>> {
        let usage = self.server.map(|server| server.usage()).transpose();
        usage.context("the server's process cannot be looked at any more")
    }

    /// Sleeps until a time of the run.
    fn sleep_until(&self, time: u64) {
        let left = time.saturating_sub(self.shared.clock.now());
        thread::sleep(Duration::from_nanos(left));
    }

    /// Begins to show something else.
    fn show(&self, template: &str, message: &'static str) {
        if let Ok(style) = ProgressStyle::with_template(template) {
            self.bar.set_style(style);
        }
        self.bar.set_message(message);
    }
}
