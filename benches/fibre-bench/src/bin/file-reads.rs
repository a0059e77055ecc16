//! What reads of files cost that wait for the disk: in place, on threads of the pool, on the ring.
//!
//! It reads blocks of a file at places in a random order, each once, from so many fibres or threads
//! at once. Each measurement is a process of its own, and they take turns. `--directory` is where
//! the file is made: on a loop device, say.
//!
//! `--look-ups` has as many fibres beside the readers look up names that no server answers for. The
//! program has a `getaddrinfo` of its own for that, which never returns.

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::ffi::{c_char, c_int};
use std::fmt::Write;
use std::fs;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::slice;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, ensure};
use clap::{Parser, ValueEnum};
use fibre::Cluster;
use fibre_measure::{Machine, Sample, Series, Stopwatch, Threads};
use hdrhistogram::Histogram;
use rustix::fs::Advice;

/// What is to be measured.
#[derive(Parser)]
#[command(version)]
struct Arguments {
    /// Where the file is made.
    #[arg(long)]
    directory: PathBuf,
    /// The size of the file, in MiB.
    #[arg(long, default_value_t = 64)]
    megabytes: usize,
    /// How often each case is measured.
    #[arg(long, default_value_t = 5)]
    repetitions: usize,
    /// How many reads wait at once.
    #[arg(long, value_delimiter = ',', default_value = "1,4,8,32,128")]
    at_once: Vec<usize>,
    /// How many look-ups of names hang beside the reads.
    #[arg(long, default_value_t = 0)]
    look_ups: usize,
    /// One measurement: the way, the kind of file, and what is read.
    #[arg(long, num_args = 2, hide = true)]
    measure: Option<Vec<String>>,
}

/// What makes the reads.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Way {
    /// A kernel thread for each.
    Threads,
    /// Fibres, by the pool of threads only.
    Pool,
    /// Fibres, by the ring only.
    Ring,
    /// Fibres as they are.
    Fibres,
}

/// How a file is read.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Kind {
    /// From the page cache.
    Cached,
    /// Into the page cache, which has none of it.
    Uncached,
    /// Past the page cache.
    Direct,
}

impl Way {
    /// What the environment says of the ring.
    fn ring(self) -> Option<&'static str> {
        match self {
            Self::Pool => Some("0"),
            Self::Ring => Some("1"),
            Self::Threads | Self::Fibres => None,
        }
    }
}

/// The bytes of one read.
const BLOCK: usize = 4096;

/// Look-ups that hang.
static HANGING: AtomicUsize = AtomicUsize::new(0);

/// Stands in for the C library's: never answers.
#[unsafe(no_mangle)]
extern "C" fn getaddrinfo(
    _: *const c_char,
    _: *const c_char,
    _: *const libc::addrinfo,
    _: *mut *mut libc::addrinfo,
) -> c_int {
    HANGING.fetch_add(1, Ordering::Relaxed);
    loop {
        thread::park();
    }
}

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    match &arguments.measure {
        Some(case) => measure(&arguments, case),
        None => compare(&arguments),
    }
}

/// Measures all cases in turns, and prints the table.
fn compare(arguments: &Arguments) -> Result<()> {
    let path = arguments.directory.join("fibre-file-reads");
    let made = fs::write(&path, vec![b'f'; arguments.megabytes << 20]);
    let done = made
        .map_err(Into::into)
        .and_then(|()| fs::File::open(&path)?.sync_all().map_err(Into::into))
        .and_then(|()| print_table(arguments));
    fs::remove_file(&path)?;
    done
}

/// Measures, and prints the table.
fn print_table(arguments: &Arguments) -> Result<()> {
    println!("{}\n", Machine::observe());
    println!("| kind | at once | way | CPU, µs | wall, µs | median, µs | 99 %, µs | threads |");
    println!("|---|---|---|---|---|---|---|---|");
    for &kind in Kind::value_variants() {
        for &at_once in &arguments.at_once {
            let ways = Way::value_variants();
            let mut readings: Vec<[Series; 5]> = ways.iter().map(|_| Default::default()).collect();
            for _ in 0..arguments.repetitions {
                for (&way, readings) in ways.iter().zip(&mut readings) {
                    let sample = in_process(arguments, way, kind, at_once)?;
                    let value = |name| sample.values.get(name).copied().unwrap_or(f64::NAN);
                    readings[0].push(sample.cpu_ns / 1e3);
                    readings[1].push(sample.wall_ns / 1e3);
                    readings[2].push(value("median_ns") / 1e3);
                    readings[3].push(value("p99_ns") / 1e3);
                    readings[4].push(value("threads"));
                }
            }
            for (&way, readings) in ways.iter().zip(&readings) {
                let mut line = format!("| {} | {at_once} | {} ", name(kind), name(way));
                for (series, digits) in readings.iter().zip([1, 1, 0, 0, 0]) {
                    write!(line, "| {:.digits$} ", series.median())?;
                }
                println!("{line}|");
            }
        }
    }
    Ok(())
}

/// The name of a choice.
fn name(choice: impl ValueEnum) -> String {
    let value = choice.to_possible_value();
    value.map_or_else(String::new, |value| value.get_name().to_owned())
}

/// Measures one case in a process of its own.
fn in_process(arguments: &Arguments, way: Way, kind: Kind, at_once: usize) -> Result<Sample> {
    let mut command = Command::new(std::env::current_exe()?);
    command.arg("--directory").arg(&arguments.directory);
    command.args(["--at-once", &at_once.to_string()]);
    command.args(["--look-ups", &arguments.look_ups.to_string()]);
    command.args(["--measure", &name(way), &name(kind)]);
    command.env_remove("FIBRE_FILE_RING");
    if let Some(from) = way.ring() {
        command.env("FIBRE_FILE_RING", from);
    }
    let output = command.output()?;
    let errors = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{}: {errors}", name(way));
    Ok(serde_json::from_slice(&output.stdout)?)
}

/// What the readers share.
struct Reads {
    /// The file.
    file: fibre::fs::File,
    /// The same file, for threads.
    std: fs::File,
    /// The places that are still to be read.
    places: Vec<u64>,
    /// How many of these are taken.
    taken: AtomicU64,
    /// How long each read took, in nanoseconds.
    times: Mutex<Histogram<u64>>,
}

/// Measures one case, and prints the sample.
fn measure(arguments: &Arguments, case: &[String]) -> Result<()> {
    let [way, kind] = case else {
        return Err(anyhow!("a way and a kind"));
    };
    let way = Way::from_str(way, false).map_err(|text| anyhow!(text))?;
    let kind = Kind::from_str(kind, false).map_err(|text| anyhow!(text))?;
    let path = arguments.directory.join("fibre-file-reads");
    let reads = Arc::new(Reads::new(&path, kind)?);
    let cluster = Cluster::builder().build()?;
    for number in 0..arguments.look_ups {
        drop(cluster.spawn(move || fibre::net::lookup_host(format!("name{number}:80")).is_ok()));
    }
    // As many as there are threads for look-ups.
    while HANGING.load(Ordering::Relaxed) < arguments.look_ups.min(512) {
        thread::sleep(Duration::from_millis(1));
    }
    let before = Threads::of(std::process::id())?.count;
    let most = Arc::new((AtomicU64::new(0), AtomicBool::new(false)));
    let watcher = watch_threads(Arc::clone(&most));
    let watch = Stopwatch::start()?;
    read_all(way, arguments.at_once[0], &reads, &cluster)?;
    let sample = watch.stop(reads.places.len() as u64)?;
    most.1.store(true, Ordering::Relaxed);
    watcher
        .join()
        .map_err(|_| anyhow!("the watcher has panicked"))?;
    let times = reads
        .times
        .lock()
        .map_err(|_| anyhow!("a reader has panicked"))?;
    let sample = sample
        .with("median_ns", times.value_at_quantile(0.5) as f64)
        .with("p99_ns", times.value_at_quantile(0.99) as f64)
        .with(
            "threads",
            most.0.load(Ordering::Relaxed).saturating_sub(before) as f64,
        );
    println!("{}", serde_json::to_string(&sample)?);
    // Threads in look-ups do not end.
    std::process::exit(0);
}

/// Reads all there is, from so many threads or fibres.
fn read_all(way: Way, at_once: usize, reads: &Arc<Reads>, cluster: &Cluster) -> Result<()> {
    let has_panicked = || anyhow!("a reader has panicked");
    let readers = (0..at_once).map(|_| Arc::clone(reads));
    if way == Way::Threads {
        let spawn = |reads: Arc<Reads>| {
            thread::spawn(move || reads.all(|buffer, at| reads.std.read_exact_at(buffer, at)))
        };
        let readers: Vec<_> = readers.map(spawn).collect();
        let mut ends = readers.into_iter().map(thread::JoinHandle::join);
        ends.try_for_each(|end| end.map_err(|_| has_panicked())?)
    } else {
        let spawn = |reads: Arc<Reads>| {
            cluster.spawn(move || reads.all(|buffer, at| reads.file.read_exact_at(buffer, at)))
        };
        let readers: Vec<_> = readers.map(spawn).collect();
        let mut ends = readers.into_iter().map(fibre::JoinHandle::join);
        ends.try_for_each(|end| end.map_err(|_| has_panicked())?)
    }
}

/// Looks now and then how many threads there are, and keeps the largest number.
fn watch_threads(most: Arc<(AtomicU64, AtomicBool)>) -> thread::JoinHandle<()> {
    thread::spawn(move || {
        while !most.1.load(Ordering::Relaxed) {
            if let Ok(threads) = Threads::of(std::process::id()) {
                // Without this one.
                most.0.fetch_max(threads.count - 1, Ordering::Relaxed);
            }
            thread::sleep(Duration::from_millis(50));
        }
    })
}

impl Reads {
    /// Opens the file, and makes it as the kind has it.
    fn new(path: &Path, kind: Kind) -> Result<Self> {
        let open = || {
            let mut options = fs::OpenOptions::new();
            options.read(true);
            if kind == Kind::Direct {
                options.custom_flags(libc::O_DIRECT);
            }
            options.open(path).context("the file")
        };
        let std = open()?;
        let size = std.metadata()?.len();
        if kind == Kind::Cached {
            fs::read(path)?;
        } else {
            rustix::fs::fadvise(std.as_fd(), 0, None, Advice::DontNeed)?;
            rustix::fs::fadvise(std.as_fd(), 0, None, Advice::Random)?;
        }
        let mut places: Vec<_> = (0..size / BLOCK as u64)
            .map(|at| at * BLOCK as u64)
            .collect();
        fastrand::Rng::with_seed(7).shuffle(&mut places);
        Ok(Self {
            file: open()?.into(),
            std,
            places,
            taken: AtomicU64::new(0),
            times: Mutex::new(Histogram::new(3)?),
        })
    }

    /// Reads at the places that nobody else has taken.
    fn all(&self, read: impl Fn(&mut [u8], u64) -> io::Result<()>) -> Result<()> {
        let layout = Layout::from_size_align(BLOCK, BLOCK)?;
        // SAFETY: the layout is not empty.
        let start = unsafe { alloc_zeroed(layout) };
        ensure!(!start.is_null(), "no memory");
        // SAFETY: just allocated, and nobody else has it.
        let buffer = unsafe { slice::from_raw_parts_mut(start, BLOCK) };
        let mut times = Histogram::<u64>::new(3)?;
        let mut done = Ok(());
        while let Some(&at) = self
            .places
            .get(self.taken.fetch_add(1, Ordering::Relaxed) as usize)
        {
            let begun = Instant::now();
            done = read(buffer, at);
            times.record(begun.elapsed().as_nanos() as u64)?;
            if done.is_err() {
                break;
            }
        }
        // SAFETY: allocated above, with this layout, and used no more.
        unsafe { dealloc(start, layout) };
        done?;
        let mut all = self
            .times
            .lock()
            .map_err(|_| anyhow!("a reader has panicked"))?;
        all.add(times)?;
        Ok(())
    }
}
