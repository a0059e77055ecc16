//! The hot paths with instructions that are counted.
//!
//! `paths` prints their names, each with a number of operations that makes one more or
//! less of anything that happens once invisible. `paths NAME OPERATIONS` goes one path so
//! often, on one processor. `cargo xtask instructions` runs that under valgrind with few
//! and with many operations and takes the difference, so that what it costs to start, to
//! warm up and to end cancels.
//!
//! A count must not depend on how fast the machine is, hence:
//!
//! 1. Time stands still. [`clock_gettime`] replaces libc's in this program and goes on by
//!    a nanosecond for each reading. So the processor is serviced after the same number of
//!    switches always, no waiter of a lock grows impatient, and no deadline passes.
//! 2. There is one processor, and the main thread sleeps while it works.
//! 3. What a path is to find there is there: the kernel may deliver late, so
//!    [`await_data`] blocks the whole processor until it has delivered.

use std::hint::black_box;
use std::io::{Read, Write};
use std::net as std_net;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail, ensure};
use fibre::activity::{Activity, Work};
use fibre::net::TcpStream;
use fibre::sync::{Condvar, Mutex, Semaphore};
use fibre::{Cluster, JoinHandle};
use rustix::event::{PollFd, PollFlags, poll};

/// Fibres spawned before the first of them is joined, in `spawn-100`.
const BATCH: u64 = 100;

/// Operations between two moments when all that is periodic has come round: a multiple of the
/// batches, the bursts, and the processor's longest service interval.
const ROUND: u64 = 12_800;

/// Bytes of a message.
const MESSAGE: usize = 64;

/// Messages that a writer sends at once for a reader that is to find them there.
const BURST: usize = 64;

/// One path.
struct Path {
    /// What it is called on the command line and in the file of counts.
    name: &'static str,
    /// Over how many rounds of operations to count.
    rounds: u64,
    /// Whether reads let other fibres run first.
    yields_before_read: bool,
    /// Goes it so often; on a fibre.
    run: fn(u64) -> Result<()>,
}

impl Path {
    /// A path under the runtime's default settings.
    const fn new(name: &'static str, rounds: u64, run: fn(u64) -> Result<()>) -> Self {
        Self {
            name,
            rounds,
            yields_before_read: true,
            run,
        }
    }
}

/// All paths; the shorter one is, the more rounds.
const PATHS: [Path; 12] = [
    Path::new("yield", 20, yields),
    Path::new("spawn", 5, spawns_singly),
    Path::new("spawn-100", 5, spawns_batches),
    Path::new("activity", 10, runs_of_activities),
    Path::new("lock", 100, locks),
    Path::new("hand-over", 5, hands_over),
    Path::new("semaphore", 5, semaphores),
    Path::new("condvar", 5, condvars),
    Path::new("deadline", 5, deadlines),
    Path {
        yields_before_read: false,
        ..Path::new("read", 10, reads)
    },
    Path::new("read-yield", 5, reads_side_by_side),
    Path::new("echo", 2, echoes),
];

/// How far the clock has gone, in nanoseconds. It begins late enough that nothing that
/// looks back gets before zero.
static CLOCK: AtomicI64 = AtomicI64::new(1_000_000_000);

/// Replaces libc's in this program, for all clocks.
///
/// # Safety
///
/// `time` may be written to.
#[unsafe(no_mangle)]
unsafe extern "C" fn clock_gettime(
    _clock: libc::clockid_t,
    time: *mut libc::timespec,
) -> libc::c_int {
    let now = CLOCK.fetch_add(1, Ordering::Relaxed);
    let now = libc::timespec {
        tv_sec: now / 1_000_000_000,
        tv_nsec: now % 1_000_000_000,
    };
    // SAFETY: the caller's promise.
    unsafe { time.write(now) };
    0
}

/// Fails if std has its time from elsewhere than from us.
fn check_clock() -> Result<()> {
    let before = Instant::now();
    let step = before.elapsed();
    ensure!(
        step == Duration::from_nanos(1),
        "the clock went on by {step:?} between two readings: it is not this program's own"
    );
    Ok(())
}

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [name, operations] = arguments.as_slice() else {
        ensure!(arguments.is_empty(), "usage: paths [NAME OPERATIONS]");
        for path in &PATHS {
            println!("{} {}", path.name, path.rounds * ROUND);
        }
        return Ok(());
    };
    let path = PATHS
        .iter()
        .find(|path| path.name == name)
        .with_context(|| format!("there is no path `{name}`"))?;
    let operations = operations.parse().context("OPERATIONS is a number")?;
    check_clock()?;
    if !path.yields_before_read {
        // SAFETY: the only thread.
        unsafe { std::env::set_var("FIBRE_YIELD_BEFORE_READ", "0") };
    }
    // The monitor's looks would be counted, which come with time and not with operations.
    let cluster = Cluster::builder()
        .processors(1)
        .max_spare_processors(0)
        .build()?;
    let run = path.run;
    let outcome = joined(cluster.spawn(move || run(operations)));
    // Else the processor would get as far as the end of the process lets it.
    cluster.stop();
    outcome?
}

/// What the fibre returned.
fn joined<T>(handle: JoinHandle<T>) -> Result<T> {
    handle.join().map_err(|_| anyhow!("a fibre panicked"))
}

/// Runs two fibres that take turns, until both have ended.
fn side_by_side(
    first: impl FnOnce() -> Result<()> + Send + 'static,
    second: impl FnOnce() -> Result<()> + Send + 'static,
) -> Result<()> {
    let first = fibre::spawn(first);
    let second = fibre::spawn(second);
    joined(first)??;
    joined(second)?
}

/// [`side_by_side`] with the same body twice, each told how often.
fn twins(operations: u64, body: impl Fn(u64) -> Result<()> + Clone + Send + 'static) -> Result<()> {
    let twin = body.clone();
    side_by_side(move || body(operations / 2), move || twin(operations / 2))
}

/// One run of an activity that schedules itself, between those of another one.
fn runs_of_activities(operations: u64) -> Result<()> {
    let ended = Arc::new(Semaphore::new(0));
    for _ in 0..2 {
        let left = AtomicI64::new(i64::try_from(operations / 2)?);
        let ended = Arc::clone(&ended);
        Activity::new(None, Countdown { left, ended })?.schedule()?;
    }
    ended.acquire_many(2);
    Ok(())
}

/// Runs until nothing is left.
struct Countdown {
    left: AtomicI64,
    ended: Arc<Semaphore>,
}

impl Work for Countdown {
    fn run(this: &Activity<Self>) {
        let left = this.left.load(Ordering::Relaxed) - 1;
        this.left.store(left, Ordering::Relaxed);
        if left == 0 || this.schedule().is_err() {
            this.ended.release();
        }
    }
}

/// One yield, between two fibres.
fn yields(operations: u64) -> Result<()> {
    twins(operations, |operations| {
        (0..operations).for_each(|_| fibre::yield_now());
        Ok(())
    })
}

/// One fibre that does nothing, from its spawn to its join.
fn spawns_singly(operations: u64) -> Result<()> {
    (0..operations).try_for_each(|_| joined(fibre::spawn(|| ())))
}

/// The same, many spawned before the first is joined.
fn spawns_batches(operations: u64) -> Result<()> {
    let mut handles = Vec::with_capacity(BATCH as usize);
    for _ in 0..operations / BATCH {
        handles.extend((0..BATCH).map(|_| fibre::spawn(|| ())));
        handles.drain(..).try_for_each(joined)?;
    }
    Ok(())
}

/// One lock and unlock of a mutex that nobody else wants.
fn locks(operations: u64) -> Result<()> {
    let mutex = Mutex::new(0_u64);
    for _ in 0..operations {
        *black_box(&mutex).lock() += 1;
    }
    Ok(())
}

/// One lock and unlock of a mutex that the other fibre holds: to block, be woken by the
/// unlock, take the mutex, and yield with it so that the other one blocks. The second
/// yield lets the woken one in.
fn hands_over(operations: u64) -> Result<()> {
    let mutex = Arc::new(Mutex::new(0_u64));
    twins(operations, move |operations| {
        for _ in 0..operations {
            let mut value = mutex.lock();
            *value += 1;
            fibre::yield_now();
            drop(value);
            fibre::yield_now();
        }
        Ok(())
    })
}

/// One round trip of two fibres over two semaphores.
fn semaphores(operations: u64) -> Result<()> {
    let acquire = |semaphore: &Semaphore| {
        semaphore.acquire();
        Ok(())
    };
    ping_pong(operations, acquire)
}

/// The same with a deadline, which each wait arms and disarms.
fn deadlines(operations: u64) -> Result<()> {
    let deadline = Instant::now() + Duration::from_secs(3600);
    let acquire = move |semaphore: &Semaphore| {
        let acquired = semaphore.acquire_within(deadline);
        acquired.context("a deadline passed")
    };
    ping_pong(operations, acquire)
}

/// Round trips over two semaphores, with permits that are acquired in this way.
fn ping_pong(
    operations: u64,
    acquire: impl Fn(&Semaphore) -> Result<()> + Copy + Send + 'static,
) -> Result<()> {
    let ping = Arc::new(Semaphore::new(0));
    let pong = Arc::new(Semaphore::new(0));
    let there = (Arc::clone(&ping), Arc::clone(&pong));
    side_by_side(
        move || {
            (0..operations).try_for_each(|_| {
                ping.release();
                acquire(&pong)
            })
        },
        move || {
            (0..operations).try_for_each(|_| {
                acquire(&there.0)?;
                there.1.release();
                Ok(())
            })
        },
    )
}

/// One round trip of two fibres over a flag in a mutex and a condition variable.
fn condvars(operations: u64) -> Result<()> {
    let turn = Arc::new((Mutex::new(false), Condvar::new()));
    let other = Arc::clone(&turn);
    let play = |turn: &(Mutex<bool>, Condvar), player: bool, rounds: u64| {
        for _ in 0..rounds {
            let mut whose = turn.0.lock();
            while *whose != player {
                turn.1.wait(&mut whose);
            }
            *whose = !player;
            turn.1.notify_one();
        }
        Ok(())
    };
    side_by_side(
        move || play(&turn, false, operations),
        move || play(&other, true, operations),
    )
}

/// One read that finds its message there.
fn reads(operations: u64) -> Result<()> {
    let (writer, mut reader) = connection()?;
    read_bursts(operations, writer, &mut reader)
}

/// The same by two fibres that each let the other run before they read.
fn reads_side_by_side(operations: u64) -> Result<()> {
    twins(operations, |operations| {
        let (writer, mut reader) = connection()?;
        read_bursts(operations, writer, &mut reader)
    })
}

/// Reads messages that have been written many at once.
fn read_bursts(
    operations: u64,
    mut writer: std_net::TcpStream,
    reader: &mut TcpStream,
) -> Result<()> {
    let mut message = [0; MESSAGE];
    for _ in 0..operations / BURST as u64 {
        writer.write_all(&[1; BURST * MESSAGE])?;
        await_data(reader)?;
        for _ in 0..BURST {
            let count = reader.read(&mut message)?;
            ensure!(count == MESSAGE, "a message came in pieces");
        }
    }
    Ok(())
}

/// One message there and back, each end on a fibre that blocks until it comes.
fn echoes(operations: u64) -> Result<()> {
    let (client, mut server) = connection()?;
    let mut client = TcpStream::try_from(client)?;
    side_by_side(
        move || {
            (0..operations).try_for_each(|_| {
                client.write_all(&[1; MESSAGE])?;
                receive(&mut client)
            })
        },
        move || {
            (0..operations).try_for_each(|_| {
                receive(&mut server)?;
                Ok(server.write_all(&[1; MESSAGE])?)
            })
        },
    )
}

/// Reads a message, as servers do, into a buffer that could take more.
fn receive(stream: &mut TcpStream) -> Result<()> {
    let mut buffer = [0; 2 * MESSAGE];
    match stream.read(&mut buffer)? {
        MESSAGE => Ok(()),
        count => bail!("{count} bytes came at once, not {MESSAGE}"),
    }
}

/// Both ends of a connection: one for blocking threads, one for fibres.
fn connection() -> Result<(std_net::TcpStream, TcpStream)> {
    let listener = std_net::TcpListener::bind("127.0.0.1:0")?;
    let near = std_net::TcpStream::connect(listener.local_addr()?)?;
    let (far, _) = listener.accept()?;
    near.set_nodelay(true)?;
    far.set_nodelay(true)?;
    Ok((near, TcpStream::try_from(far)?))
}

/// Waits for data. Blocks the thread.
fn await_data(stream: &TcpStream) -> Result<()> {
    poll(&mut [PollFd::new(stream, PollFlags::IN)], None)?;
    Ok(())
}
