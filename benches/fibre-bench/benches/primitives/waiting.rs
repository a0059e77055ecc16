//! Waking each other: round trips over `Condvar` and `Semaphore`.
//!
//! Two workers take turns, by a mutex with a condition variable and a flag, or by two
//! semaphores. A round trip is two waits and two wakes.
//!
//! | member | who takes turns |
//! |---|---|
//! | `fibre` | two fibres |
//! | `fibre with thread` | a fibre and a thread: the same objects serve both |
//! | `fibre by threads` | two threads over our objects |
//! | `std::sync` | two threads over the standard library's; a semaphore is made of its mutex and condition variable, since it has none |
//! | `parking_lot` | two threads over that crate's |
//!
//! "On 1" the two share a core, so that each wait is a switch; "on 2" each has a kernel
//! thread of its own, so that each wake is one of another processor, and what is measured
//! is mostly how processors sleep.

use crate::support::{Group, Players, Workers, member, rally};
use criterion::Criterion;
use std::io;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

/// How two take turns.
trait Turns: Default + Send + Sync + 'static {
    /// Waits until it is the turn of `player`, and passes it on.
    fn take(&self, player: bool);
}

/// A flag that says who has the turn, and how its changes are heard of.
#[derive(Default)]
struct Flag<M, C> {
    /// Whose turn it is.
    turn: M,
    /// It has changed.
    changed: C,
}

impl Turns for Flag<fibre::sync::Mutex<bool>, fibre::sync::Condvar> {
    fn take(&self, player: bool) {
        let mut turn = self.turn.lock();
        self.changed.wait_while(&mut turn, |turn| *turn != player);
        *turn = !player;
        self.changed.notify_one();
    }
}

impl Turns for Flag<std::sync::Mutex<bool>, std::sync::Condvar> {
    fn take(&self, player: bool) {
        let turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        let turn = self.changed.wait_while(turn, |turn| *turn != player);
        *turn.unwrap_or_else(PoisonError::into_inner) = !player;
        self.changed.notify_one();
    }
}

impl Turns for Flag<parking_lot::Mutex<bool>, parking_lot::Condvar> {
    fn take(&self, player: bool) {
        let mut turn = self.turn.lock();
        self.changed.wait_while(&mut turn, |turn| *turn != player);
        *turn = !player;
        self.changed.notify_one();
    }
}

/// A counting semaphore.
trait Permits: Default + Send + Sync + 'static {
    /// Waits for a permit.
    fn acquire(&self);
    /// Brings one.
    fn release(&self);
}

impl Permits for fibre::sync::Semaphore {
    fn acquire(&self) {
        self.acquire();
    }

    fn release(&self) {
        self.release();
    }
}

/// A semaphore made of a mutex and a condition variable.
#[derive(Default)]
struct Count<M, C> {
    /// How many permits there are.
    permits: M,
    /// Signalled when there is a permit more.
    brought: C,
}

impl Permits for Count<std::sync::Mutex<usize>, std::sync::Condvar> {
    fn acquire(&self) {
        let permits = self.permits.lock().unwrap_or_else(PoisonError::into_inner);
        let permits = self.brought.wait_while(permits, |permits| *permits == 0);
        *permits.unwrap_or_else(PoisonError::into_inner) -= 1;
    }

    fn release(&self) {
        *self.permits.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        self.brought.notify_one();
    }
}

impl Permits for Count<parking_lot::Mutex<usize>, parking_lot::Condvar> {
    fn acquire(&self) {
        let mut permits = self.permits.lock();
        self.brought
            .wait_while(&mut permits, |permits| *permits == 0);
        *permits -= 1;
    }

    fn release(&self) {
        *self.permits.lock() += 1;
        self.brought.notify_one();
    }
}

/// Round trips by a flag.
fn take_turns<T: Turns>(players: Players<'_>, rounds: u64) -> Duration {
    let turns = Arc::new(T::default());
    let same_turns = Arc::clone(&turns);
    rally(
        players,
        rounds,
        move || turns.take(false),
        move || same_turns.take(true),
    )
}

/// Round trips over two semaphores.
fn pass_permits<P: Permits>(players: Players<'_>, rounds: u64) -> Duration {
    let there_and_back = Arc::new((P::default(), P::default()));
    let same = Arc::clone(&there_and_back);
    let serve = move || {
        there_and_back.0.release();
        there_and_back.1.acquire();
    };
    let answer = move || {
        same.0.acquire();
        same.1.release();
    };
    rally(players, rounds, serve, answer)
}

/// Round trips between these players, so many.
type Rounds = fn(Players<'_>, u64) -> Duration;

/// The round trips of one primitive, of ours and of the others.
struct Subject {
    /// The primitive.
    name: &'static str,
    /// Over our objects.
    ours: Rounds,
    /// Over those of the standard library.
    std: Rounds,
    /// Over those of `parking_lot`.
    parking_lot: Rounds,
}

/// Both primitives.
const SUBJECTS: [Subject; 2] = [
    Subject {
        name: "Condvar",
        ours: take_turns::<Flag<fibre::sync::Mutex<bool>, fibre::sync::Condvar>>,
        std: take_turns::<Flag<std::sync::Mutex<bool>, std::sync::Condvar>>,
        parking_lot: take_turns::<Flag<parking_lot::Mutex<bool>, parking_lot::Condvar>>,
    },
    Subject {
        name: "Semaphore",
        ours: pass_permits::<fibre::sync::Semaphore>,
        std: pass_permits::<Count<std::sync::Mutex<usize>, std::sync::Condvar>>,
        parking_lot: pass_permits::<Count<parking_lot::Mutex<usize>, parking_lot::Condvar>>,
    },
];

impl Subject {
    /// Measures it between all kinds of workers.
    fn measure(&self, criterion: &mut Criterion) -> io::Result<()> {
        let mut group = criterion.benchmark_group(self.name);
        for processors in [1, 2] {
            let fibres = Workers::fibres(processors)?;
            let threads = Workers::Threads(processors);
            let pair = (&threads, &threads);
            add(&mut group, "fibre", (&fibres, &fibres), self.ours);
            add(&mut group, "fibre by threads", pair, self.ours);
            add(&mut group, "std::sync", pair, self.std);
            add(&mut group, "parking_lot", pair, self.parking_lot);
            fibres.stop();
        }
        let fibres = Workers::fibres(1)?;
        let threads = Workers::Threads(2);
        add(
            &mut group,
            "fibre with thread",
            (&fibres, &threads),
            self.ours,
        );
        group.finish();
        fibres.stop();
        Ok(())
    }
}

/// Adds a member.
fn add(group: &mut Group<'_>, name: &str, players: Players<'_>, rounds: Rounds) {
    let parameter = match players {
        (Workers::Fibres(_), Workers::Threads(_)) => String::new(),
        (one, _) => format!("on {}", one.processors()),
    };
    group.bench_function(member(name, &parameter), |bencher| {
        bencher.iter_custom(|count| rounds(players, count));
    });
}

/// Measures all of them.
pub(crate) fn measure_all(criterion: &mut Criterion) -> io::Result<()> {
    for subject in SUBJECTS {
        subject.measure(criterion)?;
    }
    Ok(())
}
