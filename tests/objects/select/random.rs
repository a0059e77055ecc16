//! Random selections over mixed arms: whatever is chosen is had, and nothing is lost or doubled.
//!
//! Makers release permits, send values of two kinds, push onto a watched object, connect, and end
//! as fibres. Takers select among a random part of all that, in a random form: without a limit,
//! with one, within a time-out, in a fibre that is cancelled now and then. Traders do nothing but
//! meet other selections. In the end what was taken is what was made, and nothing is left.

use crate::support::{Random, any_cluster, run_in};
use fibre::channel::{Receiver, Sender, bounded, rendezvous, unbounded};
use fibre::net::{TcpListener, TcpStream};
use fibre::select::{Watchers, after};
use fibre::sync::{Mutex, Semaphore};
use fibre::{Builder, CancelToken, JoinHandle, Limit, cancellable, select, timeout};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// How many fibres make, and as many take and trade.
const FIBRES: usize = 6;

/// How often each of them does.
fn rounds() -> u64 {
    match cfg!(debug_assertions) {
        true => 60,
        false => 300,
    }
}

/// How long the test goes on with other seeds.
fn seconds() -> u64 {
    let seconds = std::env::var("FIBRE_STRESS_SECONDS");
    seconds.map_or(0, |seconds| seconds.parse().unwrap())
}

/// A time that is over soon, and often in the middle of a wait.
fn soon(random: &mut Random) -> Duration {
    Duration::from_nanos(random.below(60_000) as u64)
}

/// What is made and taken. Sums of numbers, which are all different, say whether it is the same.
struct Market {
    permits: Semaphore,
    values: (Sender<u64>, Receiver<u64>),
    meetings: (Sender<u64>, Receiver<u64>),
    pile: (Mutex<Vec<u64>>, Watchers),
    fibres: (Sender<JoinHandle<u64>>, Receiver<JoinHandle<u64>>),
    listener: TcpListener,
    number: AtomicU64,
    made: [AtomicU64; 6],
    taken: [AtomicU64; 6],
    stop: CancelToken,
}

impl Market {
    fn new() -> Self {
        Self {
            permits: Semaphore::new(0),
            values: bounded(2),
            meetings: rendezvous(),
            pile: Default::default(),
            fibres: unbounded(),
            listener: TcpListener::bind("127.0.0.1:0").unwrap(),
            number: AtomicU64::new(1),
            made: Default::default(),
            taken: Default::default(),
            stop: CancelToken::new(),
        }
    }

    /// A number that no other thing has.
    fn number(&self) -> u64 {
        self.number.fetch_add(1, Ordering::Relaxed)
    }

    fn makes(&self, kind: usize, number: u64) {
        self.made[kind].fetch_add(number, Ordering::Relaxed);
    }

    fn takes(&self, kind: usize, number: u64) {
        self.taken[kind].fetch_add(number, Ordering::Relaxed);
    }

    /// Makes something.
    fn make(&self, random: &mut Random) {
        let number = self.number();
        match random.below(12) {
            0..=2 => {
                self.makes(0, 1);
                self.permits.release();
            }
            3 | 4 => {
                self.makes(1, number);
                self.values.0.send(number).unwrap();
            }
            5 | 6 => {
                // Into whichever there is somebody for.
                let kind = select! {
                    sent = self.meetings.0.send_arm(number) => { sent.unwrap(); 2 }
                    sent = self.values.0.send_arm(number) => { sent.unwrap(); 1 }
                };
                self.makes(kind, number);
            }
            7..=9 => {
                self.makes(3, number);
                self.pile.0.lock().push(number);
                self.pile.1.notify_one();
            }
            10 => {
                self.makes(4, number);
                let fibre = fibre::spawn(move || {
                    fibre::yield_now();
                    number
                });
                self.fibres.0.send(fibre).unwrap();
            }
            _ => {
                self.makes(5, 1);
                let address = self.listener.local_addr().unwrap();
                drop(TcpStream::connect(address).unwrap());
            }
        }
    }

    /// Takes something, or gives up; `false`: it is over.
    fn take(&self, last: &mut Option<JoinHandle<u64>>, random: &mut Random) -> bool {
        if last.is_none() {
            *last = self.fibres.1.try_recv().ok();
        }
        let with: [bool; 6] = std::array::from_fn(|_| !random.one_in(3));
        let limit = match random.below(3) {
            0 => Limit::None,
            1 => Limit::after(soon(random)),
            _ => Limit::Cancellation,
        };
        let pause = Duration::from_micros(random.below(300) as u64);
        let many = 1 + random.below(2);
        let mut body = || {
            select! {
                permits = self.permits.permits_arm(many), if with[0] => {
                    permits.forget();
                    self.takes(0, many as u64);
                }
                value = self.values.1.recv_arm(), if with[1] => self.takes(1, value.unwrap()),
                value = self.meetings.1.recv_arm(), if with[2] => self.takes(2, value.unwrap()),
                value = self.pile.1.watch(|| self.pile.0.lock().pop()), if with[3] => {
                    self.takes(3, value);
                }
                value = JoinHandle::join_arm(last), if with[4] => self.takes(4, value.unwrap()),
                accepted = self.listener.accept_arm(), if with[5] => {
                    accepted.unwrap();
                    self.takes(5, 1);
                }
                () = self.stop.cancelled_arm(), if with[0] => {}
                _ = after(pause) => {}
                within(limit) => {}
            }
        };
        match random.below(3) {
            0 => drop(timeout(soon(random), body)),
            1 => drop(cancellable(body)),
            _ => body(),
        }
        !self.stop.is_cancelled()
    }

    /// Whether all that was made has been taken.
    fn is_even(&self) -> bool {
        let read = |counts: &[AtomicU64; 6]| counts.each_ref().map(|it| it.load(Ordering::Relaxed));
        read(&self.taken) == read(&self.made)
    }
}

/// Makers and takers, until all has been taken.
fn trade_with(market: &Arc<Market>, random: &mut Random) {
    let takers: Vec<_> = (0..FIBRES)
        .map(|_| spawn_taker(market, random.split()))
        .collect();
    let makers: Vec<_> = (0..FIBRES)
        .map(|_| {
            let (market, mut random) = (Arc::clone(market), random.split());
            fibre::spawn(move || {
                for _ in 0..rounds() {
                    market.make(&mut random);
                }
            })
        })
        .collect();
    makers.into_iter().for_each(|fibre| fibre.join().unwrap());
    // An odd permit is taken by those that ask for one.
    while !market.is_even() {
        fibre::sleep(Duration::from_millis(1));
    }
    market.stop.cancel();
    for taker in takers {
        assert!(taker.join().unwrap(), "a fibre that nobody has joined");
    }
    assert_eq!(market.permits.available(), 0);
    assert!(market.values.1.try_recv().is_err() && market.meetings.1.try_recv().is_err());
    assert!(market.pile.0.lock().is_empty() && market.fibres.1.try_recv().is_err());
    assert!(market.listener.accept_timeout(Duration::ZERO).is_err());
}

/// A fibre that takes, and is cancelled now and then: then another one goes on.
fn spawn_taker(market: &Arc<Market>, mut random: Random) -> JoinHandle<bool> {
    let market = Arc::clone(market);
    fibre::spawn(move || {
        let mut last = None;
        let mut goes_on = true;
        while goes_on {
            let token = CancelToken::new();
            let (market, mut own, mut had) = (Arc::clone(&market), random.split(), last.take());
            let turns = random.below(30);
            let builder = Builder::new().cancel_token(&token);
            let taker = builder.spawn(move || {
                let goes_on = (0..turns).all(|_| market.take(&mut had, &mut own));
                (goes_on, had)
            });
            fibre::sleep(soon(&mut random) / 4);
            token.cancel();
            (goes_on, last) = taker.unwrap().join().unwrap();
        }
        last.is_none()
    })
}

/// Selections that can serve only each other: as many receive as send.
fn meet(random: &mut Random) {
    let lines = [rendezvous::<u64>(), rendezvous(), bounded(1)];
    let traders: Vec<_> = (0..FIBRES)
        .map(|me| {
            let lines = lines.clone();
            let mut random = random.split();
            fibre::spawn(move || {
                let (mut sent, mut received) = (0, 0);
                for i in 0..rounds() {
                    let value = 1 + i * FIBRES as u64 + me as u64;
                    let [one, other, third] = [0, 1, 2].map(|k| &lines[(k + me) % 3]);
                    let pause = soon(&mut random);
                    let body = || {
                        select! {
                            done = one.0.send_arm(value) => { done.unwrap(); (value, 0) }
                            done = third.0.send_arm(value) => { done.unwrap(); (value, 0) }
                            got = other.1.recv_arm() => (0, got.unwrap()),
                            got = third.1.recv_arm(), if i % 2 == 0 => (0, got.unwrap()),
                            _ = after(pause) => (0, 0),
                        }
                    };
                    let (gave, got) = match random.one_in(2) {
                        true => timeout(soon(&mut random), body).unwrap_or((0, 0)),
                        false => body(),
                    };
                    sent += gave;
                    received += got;
                }
                (sent, received)
            })
        })
        .collect();
    let (mut sent, mut received) = (0, 0);
    for trader in traders {
        let (gave, got) = trader.join().unwrap();
        sent += gave;
        received += got;
    }
    received += lines[2].1.try_iter().sum::<u64>();
    assert_eq!(sent, received);
}

/// All of it, with different numbers of processors.
#[test]
fn nothing_is_lost_or_doubled() {
    let begun = Instant::now();
    loop {
        for processors in [1, 2, 4, 16] {
            let cluster = any_cluster().processors(processors).build().unwrap();
            let seed = Random::seed();
            let body = move |_: &fibre::Cluster| {
                let mut random = Random::new(seed);
                trade_with(&Arc::new(Market::new()), &mut random);
                meet(&mut random);
            };
            run_in(cluster, Arc::new(body));
        }
        if begun.elapsed() >= Duration::from_secs(seconds()) {
            break;
        }
    }
}
