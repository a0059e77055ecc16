//! A random mixture of everything, for `FIBRE_STRESS_SECONDS` (default: 2). All choices follow
//! from the printed seed; `FIBRE_SEED` takes it back.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test fails by panicking"
)]

use crate::support;

use fibre::Cluster;
use fibre::net::TcpStream;
use fibre::sync::{Condvar, Mutex, Semaphore};
use std::io::{Read, Write};
use std::net::SocketAddr;
use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};
use support::{Random, sockets, watched_for};

/// Permits of the semaphore.
const PERMITS: usize = 3;

/// Steps of one actor, at most.
const STEPS: usize = 30;

/// What the actors share, and what must be true of it in the end.
struct World {
    /// Equal to `increments` in the end.
    counter: Mutex<usize>,
    increments: AtomicUsize,
    /// Tokens that were put in and not taken out.
    tokens: Mutex<usize>,
    more: Condvar,
    put: AtomicUsize,
    taken: AtomicUsize,
    /// All permits are back in the end.
    permits: Semaphore,
    /// Never more than there are permits.
    holders: AtomicUsize,
    /// Where bytes are echoed.
    echo: SocketAddr,
}

/// A short random time.
fn moment(random: &mut Random) -> Duration {
    Duration::from_micros(random.below(150) as u64)
}

impl World {
    /// Does random things, as a fibre or as a plain thread.
    fn act(self: &Arc<Self>, mut random: Random, depth: usize) {
        for _ in 0..1 + random.below(STEPS) {
            match random.below(14) {
                0 | 1 => fibre::yield_now(),
                2 => fibre::sleep(moment(&mut random)),
                3 | 4 => self.increment(&mut random),
                5 => self.put_token(),
                6 => self.take_token(&mut random),
                7 => self.hold_permit(&mut random),
                8 | 9 if depth > 0 => self.have_children(&mut random, depth),
                10 if depth > 0 => self.have_scoped_children(&mut random, depth),
                11 if random.one_in(4) => self.talk(&mut random),
                12 if depth > 0 && random.one_in(8) => self.start_thread(&mut random),
                13 if depth > 1 && random.one_in(20) => self.start_cluster(&mut random),
                _ => {}
            }
        }
    }

    /// Counts, with or without a deadline.
    fn increment(&self, random: &mut Random) {
        let guard = match random.below(3) {
            0 => self
                .counter
                .lock_within(Instant::now() + moment(random))
                .ok(),
            1 => self.counter.try_lock(),
            _ => Some(self.counter.lock()),
        };
        if let Some(mut counter) = guard {
            if random.one_in(5) {
                fibre::yield_now();
            }
            *counter += 1;
            self.increments.fetch_add(1, Ordering::SeqCst);
        }
    }

    /// Brings a token.
    fn put_token(&self) {
        *self.tokens.lock() += 1;
        self.put.fetch_add(1, Ordering::SeqCst);
        self.more.notify_one();
    }

    /// Waits a little for a token.
    fn take_token(&self, random: &mut Random) {
        let deadline = Instant::now() + moment(random);
        let mut tokens = self.tokens.lock();
        while *tokens == 0 {
            if self.more.wait_within(&mut tokens, deadline).is_err() {
                return;
            }
        }
        *tokens -= 1;
        self.taken.fetch_add(1, Ordering::SeqCst);
    }

    /// Has a permit for a while.
    fn hold_permit(&self, random: &mut Random) {
        match random.below(3) {
            0 => self.permits.acquire(),
            1 if self.permits.try_acquire() => {}
            2 if self.permits.acquire_timeout(moment(random)) => {}
            _ => return,
        }
        assert!(self.holders.fetch_add(1, Ordering::SeqCst) < PERMITS);
        if random.one_in(2) {
            fibre::sleep(moment(random));
        }
        self.holders.fetch_sub(1, Ordering::SeqCst);
        self.permits.release();
    }

    /// Spawns fibres and joins, forgets or outwaits them; some of them panic.
    fn have_children(self: &Arc<Self>, random: &mut Random, depth: usize) {
        for _ in 0..random.below(4) {
            let (world, own) = (Arc::clone(self), random.split());
            let panics = random.one_in(5);
            let child = fibre::spawn(move || {
                world.act(own, depth - 1);
                if panics {
                    resume_unwind(Box::new("planned"));
                }
            });
            match random.below(4) {
                0 => drop(child),
                1 => drop(child.join_within(Instant::now() + moment(random))),
                _ => assert_eq!(child.join().is_err(), panics),
            }
        }
    }

    /// The same in a scope.
    fn have_scoped_children(self: &Arc<Self>, random: &mut Random, depth: usize) {
        let ended = AtomicUsize::new(0);
        let count = random.below(4);
        fibre::scope(|scope| {
            for _ in 0..count {
                let own = random.split();
                let (world, ended) = (&*self, &ended);
                scope.spawn(move || {
                    world.act(own, depth - 1);
                    ended.fetch_add(1, Ordering::SeqCst);
                });
            }
        });
        assert_eq!(ended.load(Ordering::SeqCst), count);
    }

    /// Exchanges messages with the echo server.
    fn talk(&self, random: &mut Random) {
        let mut stream = TcpStream::connect(self.echo).unwrap();
        stream.set_nodelay(true).unwrap();
        for _ in 0..random.below(3) {
            let message: Vec<u8> = (0..1 + random.below(3000)).map(|_| 7).collect();
            stream.write_all(&message).unwrap();
            let mut answer = vec![0; message.len()];
            stream.read_exact(&mut answer).unwrap();
            assert_eq!(answer, message);
        }
        if random.one_in(3) {
            let time = moment(random) + Duration::from_micros(1);
            stream.set_read_timeout(Some(time)).unwrap();
            assert!(stream.read(&mut [0]).is_err());
        }
        if random.one_in(3) {
            sockets::reset_on_close(&stream);
        }
    }

    /// Lets a plain thread act, too.
    fn start_thread(self: &Arc<Self>, random: &mut Random) {
        let (world, own) = (Arc::clone(self), random.split());
        let thread = thread::spawn(move || world.act(own, 0));
        fibre::blocking(|| thread.join()).unwrap();
    }

    /// Starts another cluster, and stops it while its fibres are busy.
    fn start_cluster(self: &Arc<Self>, random: &mut Random) {
        let processors = 1 + random.below(3);
        let cluster = Cluster::builder().processors(processors).build().unwrap();
        let actors: Vec<_> = (0..random.below(10))
            .map(|_| {
                let (world, own) = (Arc::clone(self), random.split());
                cluster.spawn(move || world.act(own, 1))
            })
            .collect();
        if random.one_in(2) {
            actors.into_iter().for_each(|actor| actor.join().unwrap());
        }
        fibre::blocking(move || cluster.stop());
    }
}

/// One cluster, some actors, and the balance in the end.
fn round(random: &mut Random, migrate: bool) {
    let builder = Cluster::builder().processors(1 + random.below(4));
    let builder = if migrate {
        // SAFETY: nothing in this file belongs to a kernel thread and is kept across a wait.
        unsafe { builder.force_migration() }
    } else {
        builder
    };
    let cluster = builder.build().unwrap();
    let listener = Arc::new(sockets::listener());
    let world = Arc::new(World {
        counter: Mutex::new(0),
        increments: AtomicUsize::new(0),
        tokens: Mutex::new(0),
        more: Condvar::new(),
        put: AtomicUsize::new(0),
        taken: AtomicUsize::new(0),
        permits: Semaphore::new(PERMITS),
        holders: AtomicUsize::new(0),
        echo: listener.local_addr().unwrap(),
    });
    let accepting = Arc::clone(&listener);
    cluster.spawn(move || serve(&accepting));
    let actors: Vec<_> = (0..20)
        .map(|_| {
            let (world, own) = (Arc::clone(&world), random.split());
            cluster.spawn(move || world.act(own, 3))
        })
        .collect();
    actors.into_iter().for_each(|actor| actor.join().unwrap());
    // Those that nobody waited for are the last to have the world.
    while Arc::strong_count(&world) > 1 {
        thread::sleep(Duration::from_micros(100));
    }
    listener.close();
    cluster.stop();
    let increments = world.increments.load(Ordering::SeqCst);
    assert_eq!(*world.counter.lock(), increments);
    let left = world.put.load(Ordering::SeqCst) - world.taken.load(Ordering::SeqCst);
    assert_eq!(*world.tokens.lock(), left);
    assert_eq!(world.permits.available(), PERMITS);
}

/// The echo server.
fn serve(listener: &fibre::net::TcpListener) {
    while let Ok((mut stream, _)) = listener.accept() {
        fibre::spawn(move || {
            stream.set_nodelay(true).unwrap();
            let mut buffer = [0; 1000];
            while let Ok(count @ 1..) = stream.read(&mut buffer) {
                if stream.write_all(&buffer[..count]).is_err() {
                    break;
                }
            }
        });
    }
}

/// Rounds until the time is up.
fn rounds(migrate: bool) {
    let seconds = std::env::var("FIBRE_STRESS_SECONDS").map_or(2, |text| text.parse().unwrap());
    let end = Instant::now() + Duration::from_secs(seconds);
    let seed = Random::seed();
    let mut random = Random::new(seed);
    let mut count = 0;
    while Instant::now() < end {
        let remark = format!(" (round {count} of FIBRE_SEED={seed})");
        watched_for(Duration::from_secs(120), &remark, || {
            round(&mut random, migrate);
        });
        count += 1;
    }
    println!("{count} rounds");
}

/// Started fibres stay where they are.
#[test]
fn mixture() {
    rounds(false);
}

/// Started fibres move with every wake-up.
#[test]
fn mixture_with_migration() {
    rounds(true);
}
