//! What the fibres of the stress test wait for, all of it shared by all of them.
//!
//! Each wait is made by the call that cannot fail, so that its end unwinds the fibre, or by the
//! form that fails. What it takes is given back by a guard, or is entered in the books.

use super::books::{Books, Closure, KINDS, Parcel};
use crate::support::{Random, die};
use fibre::channel::{Receiver, Sender, WatchSender, bounded, oneshot, rendezvous, watch};
use fibre::io::{PipeReader, PipeWriter, pipe};
use fibre::select::after;
use fibre::sync::{
    BinarySemaphore, Condvar, Event, Mutex, Notify, OnceLock, RwLock, Semaphore, WaitGroup,
};
use fibre::{Interval, Limit, block_on, select};
use std::io::{Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// A time that no wait lasts.
const LONG: Duration = Duration::from_secs(3600);

/// How long the last bytes may take, which are there.
const A_MOMENT: Duration = Duration::from_secs(5);

/// How many permits the semaphore has.
const PERMITS: usize = 2;

/// A time that is over soon, and often in the middle of a call.
pub fn soon(random: &mut Random) -> Duration {
    Duration::from_nanos(random.below(60_000) as u64)
}

/// What is waited for.
pub struct World {
    pub books: Arc<Books>,
    lock: Mutex<u64>,
    shared: RwLock<u64>,
    permits: Semaphore,
    binary: BinarySemaphore,
    /// Tokens to be taken, and where takers wait.
    tokens: Mutex<u64>,
    more: Condvar,
    /// Tokens that were put, and those that were taken.
    put: AtomicUsize,
    taken: AtomicUsize,
    /// How many are in a section that only so many may be in.
    inside: [AtomicUsize; 4],
    queue: (Sender<Parcel>, Receiver<Parcel>),
    meeting: (Sender<Parcel>, Receiver<Parcel>),
    notes: Notify,
    never: Event,
    once: OnceLock<u64>,
    jobs: WaitGroup,
    news: WatchSender<u64>,
    bytes: (PipeReader, PipeWriter),
}

/// Leaves a section when it is dropped.
struct Section<'a>(&'a AtomicUsize, usize);

impl<'a> Section<'a> {
    /// Enters, with so many places taken; `most` are there.
    fn enter(inside: &'a AtomicUsize, places: usize, most: usize) -> Self {
        let before = inside.fetch_add(places, Ordering::SeqCst);
        if before + places > most {
            die(format_args!(
                "{before} and {places} are in a section for {most}"
            ));
        }
        Self(inside, places)
    }
}

impl Drop for Section<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(self.1, Ordering::SeqCst);
    }
}

/// Gives a binary semaphore back.
struct Binary<'a>(&'a BinarySemaphore);

impl Drop for Binary<'_> {
    fn drop(&mut self) {
        self.0.release();
    }
}

impl World {
    /// A new one.
    pub fn new() -> Arc<Self> {
        let bytes = pipe().unwrap();
        Arc::new(Self {
            books: Arc::default(),
            lock: Mutex::new(0),
            shared: RwLock::new(0),
            permits: Semaphore::new(PERMITS),
            binary: BinarySemaphore::new(true),
            tokens: Mutex::new(0),
            more: Condvar::new(),
            put: AtomicUsize::new(0),
            taken: AtomicUsize::new(0),
            inside: Default::default(),
            queue: bounded(1),
            meeting: rendezvous(),
            notes: Notify::new(),
            never: Event::new(),
            once: OnceLock::new(),
            jobs: WaitGroup::new(),
            news: watch(0).0,
            bytes,
        })
    }

    /// Waits for something, in one form or another. Says in the books how that has ended.
    pub fn wait(self: &Arc<Self>, random: &mut Random) {
        let kind = random.below(KINDS);
        let mut note = Note {
            world: self,
            kind,
            done: false,
        };
        note.done = match kind {
            0 => self.sleep(random),
            1 => self.sleep_for_ever(random),
            2 => self.lock(random),
            3 => self.read(random),
            4 => self.write(random),
            5 => self.take_permits(random),
            6 => self.take_binary(),
            7 => self.take_token(random),
            8 | 9 => self.send(kind == 8, random),
            10 | 11 => self.receive(kind == 10, random),
            12 => self.hear(random),
            13 => self.join(random),
            14 => self.await_one(random),
            15 => self.await_jobs(random),
            16 => self.await_news(random),
            17 => self.read_byte(),
            18 => self.select(random),
            _ => self.poll(random),
        };
    }

    fn sleep(&self, random: &mut Random) -> bool {
        match random.below(3) {
            0 => fibre::sleep(soon(random)),
            1 => return fibre::sleep_within(soon(random)).is_ok(),
            _ => drop(Interval::new(soon(random).max(Duration::from_nanos(1))).tick()),
        }
        true
    }

    fn sleep_for_ever(&self, random: &mut Random) -> bool {
        match random.below(4) {
            0 => fibre::sleep(LONG),
            1 => self.never.wait(),
            2 => drop(self.once.wait()),
            _ => return fibre::sleep_within(LONG).is_ok(),
        }
        true
    }

    /// A yield or a sleep within a section, now and then, which may be where the fibre ends.
    fn linger(&self, random: &mut Random) {
        match random.below(8) {
            0 => fibre::yield_now(),
            1 => fibre::sleep(soon(random) / 4),
            2 => drop(fibre::cancellation_point()),
            _ => {}
        }
    }

    fn lock(&self, random: &mut Random) -> bool {
        let mut guard = match random.below(2) {
            0 => self.lock.lock(),
            _ => match self.lock.lock_within(Limit::Cancellation) {
                Ok(guard) => guard,
                Err(_) => return false,
            },
        };
        let _section = Section::enter(&self.inside[0], 1, 1);
        self.linger(random);
        *guard += 1;
        self.books.locked.up();
        true
    }

    fn read(&self, random: &mut Random) -> bool {
        let _guard = self.shared.read();
        // A writer takes all places.
        let _section = Section::enter(&self.inside[1], 1, 1 << 20);
        self.linger(random);
        true
    }

    fn write(&self, random: &mut Random) -> bool {
        let Ok(_guard) = self.shared.write_within(Limit::Cancellation) else {
            return false;
        };
        let _section = Section::enter(&self.inside[1], 1 << 20, 1 << 20);
        self.linger(random);
        true
    }

    fn take_permits(&self, random: &mut Random) -> bool {
        let count = 1 + random.below(PERMITS);
        let _permits = match random.below(3) {
            0 => self.permits.permits(count),
            1 => match self.permits.permits_within(count, Limit::Cancellation) {
                Ok(permits) => permits,
                Err(_) => return false,
            },
            _ => {
                self.permits.acquire_many(count);
                let section = Section::enter(&self.inside[2], count, PERMITS);
                drop(section);
                self.permits.release_many(count);
                return true;
            }
        };
        let _section = Section::enter(&self.inside[2], count, PERMITS);
        self.linger(random);
        true
    }

    fn take_binary(&self) -> bool {
        self.binary.acquire();
        let _given_back = Binary(&self.binary);
        let _section = Section::enter(&self.inside[3], 1, 1);
        fibre::yield_now();
        true
    }

    /// Puts a token, or waits for one.
    fn take_token(&self, random: &mut Random) -> bool {
        if random.one_in(2) {
            *self.tokens.lock() += 1;
            self.put.fetch_add(1, Ordering::SeqCst);
            self.more.notify_one();
            return true;
        }
        let mut tokens = self.tokens.lock();
        match random.below(2) {
            0 => self.more.wait_while(&mut tokens, |tokens| *tokens == 0),
            _ => {
                let limit = Limit::Cancellation;
                let is_none = |tokens: &mut u64| *tokens == 0;
                let there = self.more.wait_while_within(&mut tokens, limit, is_none);
                if there.is_err() {
                    return false;
                }
            }
        }
        *tokens -= 1;
        self.taken.fetch_add(1, Ordering::SeqCst);
        true
    }

    fn send(&self, buffered: bool, random: &mut Random) -> bool {
        let (sender, _) = self.channel(buffered);
        let parcel = Parcel::new(&self.books);
        let number = parcel.number();
        let sent = match random.below(3) {
            0 => sender.send(parcel).map_err(|error| error.into_inner()),
            1 => {
                let sent = sender.send_within(parcel, Limit::Cancellation);
                sent.map_err(|error| error.into_inner())
            }
            _ => sender
                .send_timeout(parcel, soon(random))
                .map_err(|error| error.into_inner()),
        };
        match sent {
            Ok(()) => {
                Parcel::sent(&self.books, number);
                true
            }
            Err(parcel) => {
                parcel.take_back();
                false
            }
        }
    }

    fn receive(&self, buffered: bool, random: &mut Random) -> bool {
        let (_, receiver) = self.channel(buffered);
        let received = match random.below(3) {
            0 => receiver.recv().ok(),
            1 => receiver.recv_within(Limit::Cancellation).ok(),
            _ => receiver.recv_timeout(soon(random)).ok(),
        };
        received.map(Parcel::receive).is_some()
    }

    fn channel(&self, buffered: bool) -> &(Sender<Parcel>, Receiver<Parcel>) {
        match buffered {
            true => &self.queue,
            false => &self.meeting,
        }
    }

    fn hear(&self, random: &mut Random) -> bool {
        match random.below(4) {
            0 => self.notes.notify_waiters(),
            1 => self.notes.notify_one(),
            2 => self.notes.wait(),
            _ => return self.notes.wait_within(Limit::Cancellation).is_ok(),
        }
        true
    }

    /// A fibre, which goes on by itself if it is not joined.
    fn join(self: &Arc<Self>, random: &mut Random) -> bool {
        let (world, closure) = (Arc::clone(self), Closure::new(&self.books));
        let wait = soon(random) / 2;
        let child = fibre::spawn(move || {
            let _run = closure.run();
            fibre::sleep(wait);
            world.notes.notify_one();
        });
        match random.below(3) {
            0 => child.join().unwrap(),
            1 => match child.join_within(Limit::Cancellation) {
                Ok(ended) => ended.unwrap(),
                Err(child) => {
                    child.cancel();
                    return false;
                }
            },
            _ => fibre::scope(|scope| {
                scope.spawn(fibre::yield_now);
                drop(child);
            }),
        }
        true
    }

    /// A value of a channel for one receiver, which may leave.
    fn await_one(self: &Arc<Self>, random: &mut Random) -> bool {
        let (sender, receiver) = oneshot();
        let (world, closure) = (Arc::clone(self), Closure::new(&self.books));
        let wait = soon(random) / 2;
        drop(fibre::spawn(move || {
            let _run = closure.run();
            fibre::sleep(wait);
            let parcel = Parcel::new(&world.books).for_one();
            if let Err(back) = sender.send(parcel) {
                back.into_inner().take_back();
            }
        }));
        match random.below(2) {
            0 => drop(receiver.recv()),
            _ => drop(receiver.recv_within(Limit::Cancellation)),
        }
        true
    }

    fn await_jobs(&self, random: &mut Random) -> bool {
        if random.one_in(2) {
            let _job = self.jobs.guard();
            self.linger(random);
            return true;
        }
        match random.below(2) {
            0 => self.jobs.wait(),
            _ => return self.jobs.wait_within(Limit::Cancellation).is_ok(),
        }
        true
    }

    fn await_news(&self, random: &mut Random) -> bool {
        let mut news = self.news.subscribe();
        match random.below(3) {
            0 => drop(self.news.send(random.next())),
            1 => drop(news.changed()),
            _ => return news.changed_within(Limit::Cancellation).is_ok(),
        }
        true
    }

    /// Writes a byte, if there are few, and reads one.
    fn read_byte(&self) -> bool {
        let (mut reader, mut writer) = (&self.bytes.0, &self.bytes.1);
        if self.books.written.get() < self.books.read.get() + 8 {
            let written = writer.write(&[0]).unwrap_or(0);
            self.books.written.add(written as u64);
        }
        let read = reader.read(&mut [0]).unwrap_or(0);
        self.books.read.add(read as u64);
        read == 1
    }

    #[allow(clippy::cognitive_complexity, reason = "the arms of one selection")]
    fn select(&self, random: &mut Random) -> bool {
        let (queue, meeting) = (&self.queue, &self.meeting);
        let parcel = Parcel::new(&self.books);
        let number = parcel.number();
        let (sends, wait) = (random.one_in(2), soon(random));
        select! {
            sent = queue.0.send_arm(parcel), if sends => {
                sent.unwrap();
                Parcel::sent(&self.books, number);
            }
            received = meeting.1.recv_arm(), if !sends => received.unwrap().receive(),
            received = queue.1.recv_arm() => received.unwrap().receive(),
            permits = self.permits.permits_arm(1) => {
                let _section = Section::enter(&self.inside[2], permits.count(), PERMITS);
            }
            () = self.notes.wait_arm() => {}
            () = self.never.wait_arm() => die(format_args!("nobody sets it")),
            _ = after(wait) => return false,
        }
        true
    }

    /// A future that stands in line, and is dropped if its time is over.
    fn poll(&self, random: &mut Random) -> bool {
        let (_, receiver) = self.channel(random.one_in(2));
        let received = block_on(receiver.recv_async());
        received.map(Parcel::receive).is_ok()
    }

    /// Checks that all is back, and closes the books.
    pub fn close(&self) {
        for (_, receiver) in [&self.queue, &self.meeting] {
            std::iter::from_fn(|| receiver.try_recv().ok()).for_each(Parcel::receive);
        }
        let locked = self.lock.try_lock().map(|locked| *locked);
        assert_eq!(locked, Some(self.books.locked.get()), "the mutex is free");
        assert!(
            self.shared.try_write().is_some(),
            "the lock for readers is free"
        );
        assert_eq!(self.permits.available(), PERMITS, "all permits are back");
        assert!(
            self.permits.try_acquire_many(PERMITS),
            "none is saved for who has left"
        );
        assert!(self.binary.try_acquire(), "the binary semaphore is back");
        assert_eq!(self.jobs.count(), 0, "no job is left");
        let taken = self.taken.load(Ordering::SeqCst) as u64 + *self.tokens.lock();
        assert_eq!(
            self.put.load(Ordering::SeqCst) as u64,
            taken,
            "no token is lost"
        );
        let inside = self
            .inside
            .each_ref()
            .map(|inside| inside.load(Ordering::SeqCst));
        assert_eq!(inside, [0; 4], "nobody is in a section");
        let left = self.books.written.get() - self.books.read.get();
        let mut left = vec![0; left as usize];
        let read = fibre::timeout(A_MOMENT, || (&self.bytes.0).read_exact(&mut left));
        assert!(matches!(read, Ok(Ok(()))), "no byte is lost");
        self.books.close();
    }
}

/// Notes how a wait has ended, also if it is unwound.
struct Note<'a> {
    world: &'a World,
    kind: usize,
    done: bool,
}

impl Drop for Note<'_> {
    fn drop(&mut self) {
        let waits = &self.world.books.waits[self.kind];
        match self.done {
            true => waits.done.up(),
            false => waits.ended.up(),
        }
    }
}
