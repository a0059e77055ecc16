//! What all connections of a run have in common.

use std::io::{self, Read as _, Write as _};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use fibre::BufferPool;
use fibre::net::TcpStream;
use fibre::sync::{Event, Semaphore, WaitGroup};
use fibre_measure::Turns;

use crate::clock::Clock;
use crate::failure::Failure;
use crate::keys::KeySpace;
use crate::plan::Plan;
use crate::tally::Tally;
use crate::values::Values;
use crate::versions::Versions;

/// Connections that may be on their way to be opened at a time: fewer than the shortest usual
/// backlog.
const OPENING: usize = 64;

/// What a read takes from the kernel at most.
const BUFFER: usize = 16 << 10;

/// Buffers that are kept while nobody reads.
const SPARE: usize = 64;

/// What all connections of a run have in common.
pub(crate) struct Shared {
    /// What is asked for.
    pub plan: Plan,
    /// The keys.
    pub keys: KeySpace,
    /// Their values.
    pub values: Values,
    /// Which ones of these the server may have.
    pub versions: Versions,
    /// The time, and when it counts.
    pub clock: Clock,
    /// What is counted, for each processor: a lock that nobody waits for.
    tallies: Box<[Mutex<Tally>]>,
    /// Buffers for those who read now.
    pub buffers: BufferPool,
    /// Client addresses.
    turns: Mutex<Turns>,
    /// Permits to open a connection.
    opening: Semaphore,
    /// The connections that are not yet ready.
    pub preparing: WaitGroup,
    /// The connections that are not yet done.
    pub running: WaitGroup,
    /// All are ready.
    pub go: Event,
    /// Why it can not be run.
    pub hopeless: Mutex<Option<Failure>>,
}

impl Shared {
    /// The shared part of a run by a plan without fault.
    pub(crate) fn new(plan: Plan) -> anyhow::Result<Self> {
        let tallies: Result<_, _> = (0..plan.processors)
            .map(|_| Tally::new().map(Mutex::new))
            .collect();
        let shared = Self {
            keys: KeySpace::new(plan.keys, plan.key_size, &plan.popularity, plan.seed),
            values: Values::new(plan.value_size, plan.value_limit, plan.seed),
            versions: Versions::new(plan.keys),
            clock: Clock::start(),
            tallies: tallies?,
            buffers: BufferPool::new(BUFFER, SPARE),
            turns: Mutex::new(Turns::new(plan.server)),
            opening: Semaphore::new(OPENING),
            preparing: WaitGroup::new(),
            running: WaitGroup::new(),
            go: Event::new(),
            hopeless: Mutex::new(None),
            plan,
        };
        shared.preparing.add(shared.plan.connections as usize);
        shared.running.add(shared.plan.connections as usize);
        Ok(shared)
    }

    /// The tally of a processor. Whoever has it must not wait for anything.
    #[inline]
    pub(crate) fn tally(&self, processor: usize) -> MutexGuard<'_, Tally> {
        lock(&self.tallies[processor])
    }

    /// The sum of all tallies.
    pub(crate) fn sum(&self) -> anyhow::Result<Tally> {
        let mut sum = Tally::new()?;
        for tally in &self.tallies {
            sum.merge(std::mem::replace(&mut *lock(tally), Tally::new()?));
        }
        Ok(sum)
    }

    /// Notes that there is no sense in going on.
    pub(crate) fn give_up(&self, failure: Failure) {
        lock(&self.hopeless).get_or_insert(failure);
    }

    /// Whether, and why, there is no sense in going on.
    pub(crate) fn given_up(&self) -> Option<Failure> {
        *lock(&self.hopeless)
    }

    /// Opens a connection and has the server say its version on it, so that it has been accepted.
    pub(crate) fn connect(&self) -> io::Result<TcpStream> {
        self.opening.acquire();
        let opened = self.open();
        self.opening.release();
        opened
    }

    /// As [`connect`](Self::connect), however many do so.
    fn open(&self) -> io::Result<TcpStream> {
        let socket = lock(&self.turns).socket()?;
        let stream = TcpStream::connect_with(socket, &self.plan.server)?;
        stream.set_nodelay(true)?;
        stream.set_read_deadline(Instant::now().checked_add(self.plan.timeout));
        (&stream).write_all(b"version\r\n")?;
        let mut answer = [0; 64];
        let mut length = 0_usize;
        while answer.get(length.wrapping_sub(1)) != Some(&b'\n') {
            match (&stream).read(&mut answer[length..])? {
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                count => length += count,
            }
        }
        stream.set_read_deadline(None);
        Ok(stream)
    }
}

/// How long who has lost a connection waits before the next one.
pub(crate) const PAUSE: Duration = Duration::from_millis(20);

/// A lock with an owner that has not changed what it guards halfway, even if it panicked.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
