//! `beside`: how long a ping takes beside work that computes.
//!
//! A plain thread sends a byte to the runtime over TCP, once a millisecond, and waits until it
//! comes back: that is the ping. In the runtime, workers do jobs that compute, one after the other
//! without a pause: each takes as many units of work as fill `job_ms` on a CPU that it has to
//! itself. So all CPUs compute all the time, and the figure is how long the connection waits for
//! that. The jobs that were done are told, too: a runtime could also answer fast by not working.
//!
//! The connection is there, and has been answered once, before the workers begin.

use std::hint::black_box;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;

use crate::measure::{CpuClock, Sample, Stopwatch};
use crate::peer::protocol::{Arguments, Parameters, Refusal};
use crate::peer::work::work;

/// The time between two pings.
const PAUSE: Duration = Duration::from_millis(1);
/// The longest ping that is told from longer ones, in nanoseconds.
const MAX_NANOSECONDS: u64 = 100_000_000_000;
/// Units of work that a job is calibrated by.
const TRIAL: u64 = 20_000_000;

/// What the workload can be told.
#[derive(Clone, Copy)]
pub(crate) struct Told {
    /// Kernel threads for fibres.
    pub(crate) processors: usize,
    /// How long there are pings.
    pub(crate) seconds: f64,
    /// How many workers there are.
    pub(crate) workers: u64,
    /// How long a job takes, in milliseconds.
    pub(crate) job_ms: u64,
}

impl Parameters for Told {
    fn read(arguments: &mut Arguments) -> Result<Self, Refusal> {
        Ok(Self {
            processors: arguments.processors,
            seconds: arguments.seconds(2.0),
            workers: arguments.number("workers", 4)?,
            job_ms: arguments.count("job_ms", 150)?,
        })
    }
}

/// The work, which all workers share.
pub(crate) struct Work {
    /// Units in a job.
    units: u64,
    /// Whether the workers are to end.
    over: AtomicBool,
    /// Jobs that have been done.
    done: AtomicU64,
}

impl Work {
    /// Work in jobs of so long.
    pub(crate) fn new(told: Told) -> anyhow::Result<Arc<Self>> {
        let clock = CpuClock::own();
        let before = clock.read()?;
        black_box(work(TRIAL, 1));
        let took = (clock.read()? - before).as_secs_f64();
        let units = TRIAL as f64 * told.job_ms as f64 / 1000.0 / took;
        Ok(Arc::new(Self {
            units: units as u64,
            over: AtomicBool::new(false),
            done: AtomicU64::new(0),
        }))
    }

    /// Whether the workers go on.
    pub(crate) fn goes_on(&self) -> bool {
        !self.over.load(Ordering::Relaxed)
    }

    /// Does one job.
    pub(crate) fn job(&self) {
        black_box(work(self.units, 1));
        self.done.fetch_add(1, Ordering::Relaxed);
    }
}

/// Sends pings to `address`, where each byte is sent back, and lets `begin` have the workers begin
/// once the first one has come back. An operation is a ping. Blocks the thread.
pub(crate) fn pings(
    told: Told,
    address: SocketAddr,
    work: &Work,
    begin: impl FnOnce(),
) -> anyhow::Result<Sample> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_nodelay(true)?;
    let mut ping = || -> anyhow::Result<Duration> {
        let begun = Instant::now();
        stream.write_all(b"p")?;
        stream.read_exact(&mut [0])?;
        Ok(begun.elapsed())
    };
    ping()?;
    begin();
    thread::sleep(Duration::from_millis(told.job_ms));
    let mut latencies = Histogram::<u64>::new_with_bounds(1, MAX_NANOSECONDS, 3)?;
    let (watch, before) = (Stopwatch::start()?, work.done.load(Ordering::Relaxed));
    let begun = Instant::now();
    while begun.elapsed().as_secs_f64() < told.seconds {
        latencies.saturating_record(ping()?.as_nanos() as u64);
        thread::sleep(PAUSE);
    }
    let jobs = work.done.load(Ordering::Relaxed) - before;
    let seconds = begun.elapsed().as_secs_f64();
    let sample = watch.stop(latencies.len())?;
    work.over.store(true, Ordering::Relaxed);
    let micros = |nanoseconds: u64| nanoseconds as f64 / 1000.0;
    Ok(sample
        .with("p50_us", micros(latencies.value_at_quantile(0.5)))
        .with("p99_us", micros(latencies.value_at_quantile(0.99)))
        .with("max_us", micros(latencies.max()))
        .with("jobs_per_s", jobs as f64 / seconds))
}
