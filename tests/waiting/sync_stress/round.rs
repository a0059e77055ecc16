//! Actors who take turns at one object.
//!
//! The turns of a role are a pool that its actors draw from, so a slow one holds nobody up. An
//! actor is a plain thread, or a chain of fibres: each takes a few turns and spawns its successor,
//! in either cluster, so that there are always some who have not been cancelled.

use super::subject::{FIBRES, Manner, Role, Subject, THREADS};
use crate::support::Random;
use fibre::{Builder, CancelToken, Cluster, JoinHandle};
use std::any::Any;
use std::fmt::Write;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread;
use std::time::{Duration, Instant};

/// A round in which nobody has tried anything for so long has failed. Generous: the machine may
/// be very busy.
const STANDSTILL: Duration = Duration::from_secs(30);

/// An actor is patient after so many failed attempts.
const IMPATIENT: usize = 3;

/// Turns of one fibre, at most.
const TURNS_OF_A_FIBRE: usize = 6;

/// Fibres share so many tokens.
const TOKENS: usize = 3;

/// A fibre or thread that takes turns.
struct Actor {
    /// Which role it plays.
    role: usize,
    /// What it is doing, for reports.
    doing: Mutex<String>,
    /// How many attempts it has made.
    attempts: AtomicUsize,
    /// Whether it has no turns left.
    ended: AtomicBool,
}

/// See the module text.
struct Round<S> {
    subject: S,
    roles: Vec<Role>,
    /// Turns that nobody has drawn yet, of each role.
    drawable: Vec<AtomicUsize>,
    /// Turns that are not done, of each role.
    left: Vec<AtomicUsize>,
    actors: Vec<Actor>,
    clusters: [Cluster; 2],
    tokens: [CancelToken; TOKENS],
    /// All fibres that were spawned.
    fibres: Mutex<Vec<JoinHandle<()>>>,
    /// What the first actor to fail has said.
    failure: Mutex<Option<Box<dyn Any + Send>>>,
}

/// Lets actors take about so many turns in each role of a fresh `S`, and checks what comes of it.
pub fn play<S: Subject>(clusters: &[Cluster; 2], random: &mut Random, turns: usize) {
    let subject = S::new(random, turns);
    let roles = subject.roles();
    let counts = || roles.iter().map(|role| AtomicUsize::new(role.turns));
    let actors = (0..roles.len()).flat_map(|role| {
        (0..FIBRES + THREADS).map(move |_| Actor {
            role,
            doing: Mutex::default(),
            attempts: AtomicUsize::new(0),
            ended: AtomicBool::new(false),
        })
    });
    let round = Arc::new(Round {
        drawable: counts().collect(),
        left: counts().collect(),
        actors: actors.collect(),
        subject,
        roles,
        clusters: clusters.clone(),
        tokens: [(); TOKENS].map(|()| CancelToken::new()),
        fibres: Mutex::default(),
        failure: Mutex::default(),
    });
    let threads = round.start(random);
    round.attend(random, |role| !role.needs_finish);
    round.subject.finish();
    round.attend(random, |_| true);
    // Actors that have drawn nothing may be about to find that out.
    round.wait_while(|| round.actors.iter().any(|actor| !actor.has_ended()));
    while let Some(fibre) = round.next_fibre() {
        fibre.join().unwrap();
    }
    threads
        .into_iter()
        .for_each(|thread| thread.join().unwrap());
    round.subject.check();
}

impl Actor {
    /// Whether it is gone, or about to go.
    fn has_ended(&self) -> bool {
        self.ended.load(Ordering::SeqCst)
    }
}

/// The lock of what is never held while a fibre may leave its thread.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap()
}

impl<S: Subject> Round<S> {
    /// Starts all actors; returns the threads among them.
    fn start(self: &Arc<Self>, random: &mut Random) -> Vec<thread::JoinHandle<()>> {
        let mut threads = Vec::new();
        for actor in 0..self.actors.len() {
            let mut own = random.split();
            if actor % (FIBRES + THREADS) < FIBRES {
                self.start_fibre(actor, own);
            } else {
                let round = Arc::clone(self);
                let body = move || round.live(actor, &mut own, usize::MAX);
                threads.push(thread::spawn(body));
            }
        }
        let (round, mut own) = (Arc::clone(self), random.split());
        let canceller = self.clusters[0].spawn(move || round.cancel_groups(&mut own));
        lock(&self.fibres).push(canceller);
        threads
    }

    /// The next fibre of an actor.
    fn start_fibre(self: &Arc<Self>, actor: usize, mut random: Random) {
        let mut builder = Builder::new();
        if random.one_in(4) {
            builder = builder.cancel_token(&self.tokens[random.below(TOKENS)]);
        }
        let cluster = &self.clusters[random.below(2)];
        let round = Arc::clone(self);
        let body = move || {
            let turns = 1 + random.below(TURNS_OF_A_FIBRE);
            round.live(actor, &mut random, turns);
            if !round.actors[actor].has_ended() {
                round.start_fibre(actor, random);
            }
        };
        let fibre = builder.spawn_in(cluster, body).unwrap();
        lock(&self.fibres).push(fibre);
    }

    /// One of the fibres. If there is none, and all that were have been joined, none will come.
    fn next_fibre(&self) -> Option<JoinHandle<()>> {
        lock(&self.fibres).pop()
    }

    /// Takes so many turns, if they are there. Notes a panic, and that the actor has ended.
    fn live(&self, actor: usize, random: &mut Random, turns: usize) {
        let turns = || (0..turns).all(|_| self.draw_and_take(actor, random));
        match catch_unwind(AssertUnwindSafe(turns)) {
            Ok(true) => {}
            Ok(false) => self.actors[actor].ended.store(true, Ordering::SeqCst),
            Err(payload) => {
                lock(&self.failure).get_or_insert(payload);
                self.actors[actor].ended.store(true, Ordering::SeqCst);
            }
        }
    }

    /// Takes a turn to its end. `false`: there is none.
    fn draw_and_take(&self, actor: usize, random: &mut Random) -> bool {
        let role = self.actors[actor].role;
        let one_less = |turns: usize| turns.checked_sub(1);
        let drawable = &self.drawable[role];
        let drawn = drawable.fetch_update(Ordering::SeqCst, Ordering::SeqCst, one_less);
        if drawn.is_ok() {
            self.take_turn(&self.actors[actor], random);
            self.left[role].fetch_sub(1, Ordering::SeqCst);
        }
        drawn.is_ok()
    }

    /// Tries until it is done.
    fn take_turn(&self, actor: &Actor, random: &mut Random) {
        for attempt in 0.. {
            let manner = match attempt < IMPATIENT {
                true => Manner::any(random),
                false => Manner::patient(random),
            };
            let who = fibre::id().map_or("a thread".into(), |id| format!("fibre {id}"));
            *lock(&actor.doing) = format!("{who} in attempt {attempt}: {manner:?}");
            let since = Instant::now();
            let done = self.subject.turn(actor.role, manner, random);
            actor.attempts.fetch_add(1, Ordering::Relaxed);
            if done {
                break;
            }
            assert!(
                manner.may_give_up(since),
                "`{}` was in vain without a reason: {manner:?} since {:?}",
                self.roles[actor.role].name,
                since.elapsed(),
            );
        }
        *lock(&actor.doing) = "between two turns".into();
    }

    /// Whether somebody still has a turn in one of these roles.
    fn goes_on(&self, roles: impl Fn(&Role) -> bool) -> bool {
        let mut left = self.roles.iter().zip(&self.left);
        left.any(|(role, left)| roles(role) && left.load(Ordering::SeqCst) > 0)
    }

    /// Waits until these roles have ended, and cancels fibres meanwhile: one moment at least.
    fn attend(&self, random: &mut Random, roles: impl Fn(&Role) -> bool + Copy) {
        let mut watch = Watch::new();
        loop {
            thread::sleep(Duration::from_micros(20 + random.below(300) as u64));
            let fibres = lock(&self.fibres);
            fibres[random.below(fibres.len())].cancel();
            drop(fibres);
            if !self.goes_on(roles) {
                return;
            }
            watch.look(self);
        }
    }

    /// Waits for what comes without being waited for.
    fn wait_while(&self, condition: impl Fn() -> bool) {
        let mut watch = Watch::new();
        while condition() {
            thread::sleep(Duration::from_micros(50));
            watch.look(self);
        }
    }

    /// Cancels whole groups of fibres, as one of them.
    fn cancel_groups(&self, random: &mut Random) {
        for token in &self.tokens {
            fibre::sleep(Duration::from_micros(random.below(2000) as u64));
            token.cancel();
        }
    }

    /// How many attempts there have been.
    fn attempts(&self) -> usize {
        let attempts = |actor: &Actor| actor.attempts.load(Ordering::Relaxed);
        self.actors.iter().map(attempts).sum()
    }

    /// The actors that have not come to an end.
    fn report(&self) -> String {
        let mut report = format!("nobody has done anything for {STANDSTILL:?}");
        for (role, left) in self.roles.iter().zip(&self.left) {
            let left = left.load(Ordering::SeqCst);
            write!(
                report,
                "\n  `{}`: {left} of {} turns left",
                role.name, role.turns
            )
            .unwrap();
        }
        for actor in self.actors.iter().filter(|actor| !actor.has_ended()) {
            let role = self.roles[actor.role].name;
            write!(report, "\n  `{role}`: {}", lock(&actor.doing)).unwrap();
        }
        report
    }
}

/// Sees to it that a round goes on.
struct Watch {
    /// When somebody has tried something for the last time, as far as is known.
    since: Instant,
    /// How many attempts there had been.
    attempts: usize,
}

impl Watch {
    /// Watches from now on.
    fn new() -> Self {
        Self {
            since: Instant::now(),
            attempts: 0,
        }
    }

    /// Fails if an actor has, or if the round stands still.
    fn look<S: Subject>(&mut self, round: &Round<S>) {
        if let Some(payload) = lock(&round.failure).take() {
            resume_unwind(payload);
        }
        let attempts = round.attempts();
        if attempts != self.attempts {
            self.attempts = attempts;
            self.since = Instant::now();
        }
        assert!(self.since.elapsed() < STANDSTILL, "{}", round.report());
    }
}
