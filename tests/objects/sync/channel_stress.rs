//! Random use of channels by fibres and threads: every value is received once, or handed back,
//! or left in the channel. Choices follow from the printed seed.

use crate::support::{Random, for_each_cluster};
use fibre::channel::{Receiver, Select, Sender, bounded};
use fibre::{CancelToken, Limit, select};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

/// Actors of each kind.
const ACTORS: usize = 6;
/// Steps of an actor.
const STEPS: usize = 300;

/// What is shared, and what must be true of it in the end.
struct World {
    channels: Vec<(Sender<u64>, Receiver<u64>)>,
    /// Numbers of values, so that each is another one.
    next: AtomicU64,
    /// Sums over all values that went in, and that came out.
    put: AtomicU64,
    taken: AtomicU64,
}

impl World {
    /// Another value.
    fn value(&self) -> u64 {
        self.next.fetch_add(1, Ordering::Relaxed)
    }

    /// A value has been sent, unless it came back.
    fn sent(&self, value: u64, back: Option<u64>) {
        match back {
            None => drop(self.put.fetch_add(value, Ordering::Relaxed)),
            Some(back) => assert_eq!(back, value, "another one came back"),
        }
    }

    /// A value has been received, or none.
    fn received<E>(&self, value: Result<u64, E>) {
        if let Ok(value) = value {
            self.taken.fetch_add(value, Ordering::Relaxed);
        }
    }

    /// Does random things.
    fn act(&self, mut random: Random) {
        for _ in 0..STEPS {
            let (sender, receiver) = &self.channels[random.below(self.channels.len())];
            let (other, from_other) = &self.channels[random.below(self.channels.len())];
            let moment = Duration::from_micros(random.below(100) as u64);
            let (value, second) = (self.value(), self.value());
            match random.below(11) {
                0 => self.sent(value, sender.try_send(value).err().map(|e| e.into_inner())),
                1 | 2 => self.sent(
                    value,
                    sender
                        .send_timeout(value, moment)
                        .err()
                        .map(|e| e.into_inner()),
                ),
                3 => self.received(receiver.try_recv()),
                4 | 5 => self.received(receiver.recv_timeout(moment)),
                6 => select! {
                    recv(receiver) -> got => self.received(got),
                    recv(from_other) -> got => self.received(got),
                    timeout(moment) => {}
                },
                7 => select! {
                    send(sender, value) -> sent => self.sent(value, sent.err().map(|e| e.0)),
                    send(other, second) -> sent => self.sent(second, sent.err().map(|e| e.0)),
                    timeout(moment) => {}
                },
                8 => select! {
                    recv(receiver) -> got => self.received(got),
                    send(other, value) -> sent => self.sent(value, sent.err().map(|e| e.0)),
                    within(Limit::Cancellation) => {}
                    // So that it need not wait for ever: it is cancelled in the end.
                },
                9 => self.select(&mut random, moment),
                _ => fibre::yield_now(),
            }
        }
    }

    /// A selection of all channels.
    fn select(&self, random: &mut Random, moment: Duration) {
        let values: Vec<_> = self.channels.iter().map(|_| self.value()).collect();
        let mut select = Select::new();
        let ways: Vec<_> = self.channels.iter().map(|_| random.one_in(2)).collect();
        for (i, (sender, receiver)) in self.channels.iter().enumerate() {
            match ways[i] {
                true => select.send(sender, values[i]),
                false => select.recv(receiver),
            };
        }
        if let Ok(chosen) = select.select_timeout(moment) {
            let i = chosen.index();
            let (sender, receiver) = &self.channels[i];
            match ways[i] {
                true => self.sent(values[i], chosen.send(sender).err().map(|e| e.0)),
                false => self.received(chosen.recv(receiver)),
            }
        }
    }
}

/// See the module text.
#[test]
fn every_value_is_received_once_or_comes_back() {
    let seed = Random::seed();
    for_each_cluster(move |_| {
        let mut random = Random::new(seed);
        let world = Arc::new(World {
            channels: [0, 0, 1, 3, usize::MAX].map(bounded).into(),
            next: AtomicU64::new(1),
            put: AtomicU64::new(0),
            taken: AtomicU64::new(0),
        });
        let all = CancelToken::new();
        let fibres: Vec<_> = (0..ACTORS)
            .map(|_| {
                let (world, random) = (Arc::clone(&world), random.split());
                let builder = fibre::Builder::new().cancel_token(&all);
                builder.spawn(move || world.act(random)).unwrap()
            })
            .collect();
        let threads: Vec<_> = (0..2)
            .map(|_| {
                let (world, random) = (Arc::clone(&world), random.split());
                thread::spawn(move || world.act(random))
            })
            .collect();
        // Threads cannot be cancelled: those that wait for ever are ended by closing.
        fibre::sleep(Duration::from_millis(20));
        all.cancel();
        fibre::sleep(Duration::from_millis(20));
        for (sender, _) in &world.channels {
            sender.close();
        }
        fibres.into_iter().for_each(|fibre| fibre.join().unwrap());
        for thread in threads {
            fibre::blocking(|| thread.join()).unwrap();
        }
        for (_, receiver) in &world.channels {
            receiver
                .try_iter()
                .for_each(|value| world.received(Ok::<_, ()>(value)));
        }
        let (put, taken) = (
            world.put.load(Ordering::Relaxed),
            world.taken.load(Ordering::Relaxed),
        );
        assert_eq!(put, taken);
    });
}
