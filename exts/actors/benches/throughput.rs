//! How fast messages go: many to many, many to one, question and answer, by timers.
//!
//! `cargo bench -p fibre-actors`; words choose programs, `FIBRE_PROCESSORS` processors, and
//! `POLICIES=1` runs them under each policy, too. The programs `big` and `bang` are those of
//! BenchErl (Aronis et al., "A scalability benchmark suite for Erlang/OTP", 2012): in the first,
//! each of 512 actors pings all and waits for all pongs; in the second, each of 512 senders sends
//! 2000 messages to one actor.

use fibre::channel::{Sender, unbounded};
use fibre_actors::{Actor, ActorRef, Actors, Context, Policy, Reply};
use std::time::{Duration, Instant};

/// Actors of `big`, and senders of `bang`.
const ACTORS: usize = 512;
/// Messages of each sender of `bang`.
const MESSAGES: usize = 2000;
/// Questions of `ask`.
const QUESTIONS: u32 = 200_000;
/// Timers of `timer`.
const TIMERS: u32 = 100_000;
/// How often each program runs.
const RUNS: usize = 11;

/// A message of `big`.
enum Ball {
    Begin(Vec<ActorRef<Ball>>),
    Ping(ActorRef<Ball>),
    Pong,
}

/// A player of `big`.
struct Player {
    awaited: usize,
    done: Sender<()>,
}

impl Actor for Player {
    type Message = Ball;

    fn handle(&mut self, ball: Ball, context: &mut Context<'_, Self>) {
        match ball {
            Ball::Begin(all) => {
                self.awaited = all.len();
                for other in &all {
                    let _ = other.send(Ball::Ping(context.myself()));
                }
            }
            Ball::Ping(other) => {
                let _ = other.send(Ball::Pong);
            }
            Ball::Pong => {
                self.awaited -= 1;
                if self.awaited == 0 {
                    let _ = self.done.send(());
                }
            }
        }
    }
}

/// Each pings all; the time until all have all pongs.
fn big(actors: &Actors) -> Duration {
    let (done, all_done) = unbounded();
    let new = || Player {
        awaited: 0,
        done: done.clone(),
    };
    let players: Vec<_> = (0..ACTORS).map(|_| actors.spawn(new())).collect();
    let begin = Instant::now();
    for player in &players {
        let _ = player.send(Ball::Begin(players.clone()));
    }
    assert_eq!(all_done.iter().take(ACTORS).count(), ACTORS);
    begin.elapsed()
}

/// The receiver of `bang`.
struct Counter {
    left: usize,
    done: Sender<()>,
}

impl Actor for Counter {
    type Message = u64;

    fn handle(&mut self, _: u64, _: &mut Context<'_, Self>) {
        self.left -= 1;
        if self.left == 0 {
            let _ = self.done.send(());
        }
    }
}

/// A sender of `bang`.
struct Gun(ActorRef<u64>);

impl Actor for Gun {
    type Message = usize;

    fn handle(&mut self, count: usize, _: &mut Context<'_, Self>) {
        for number in 0..count {
            let _ = self.0.send(number as u64);
        }
    }
}

/// All send to one; the time until it has handled all.
fn bang(actors: &Actors) -> Duration {
    let (done, all_done) = unbounded();
    let counter = actors.spawn(Counter {
        left: ACTORS * MESSAGES,
        done,
    });
    let guns: Vec<_> = (0..ACTORS)
        .map(|_| actors.spawn(Gun(counter.clone())))
        .collect();
    let begin = Instant::now();
    for gun in &guns {
        let _ = gun.send(MESSAGES);
    }
    assert!(all_done.recv().is_ok());
    begin.elapsed()
}

/// An actor that answers.
struct Echo;

impl Actor for Echo {
    type Message = (u32, Reply<u32>);

    fn handle(&mut self, (number, reply): (u32, Reply<u32>), _: &mut Context<'_, Self>) {
        reply.send(number);
    }
}

/// An actor that asks.
struct Asker(ActorRef<(u32, Reply<u32>)>);

impl Actor for Asker {
    type Message = Reply<Duration>;

    fn handle(&mut self, reply: Reply<Duration>, _: &mut Context<'_, Self>) {
        let begin = Instant::now();
        for number in 0..QUESTIONS {
            assert_eq!(self.0.ask(|reply| (number, reply)), Ok(number));
        }
        reply.send(begin.elapsed());
    }
}

/// One asks another; the time of one question.
fn ask(actors: &Actors) -> Duration {
    let asker = actors.spawn(Asker(actors.spawn(Echo)));
    asker.ask(|reply| reply).unwrap_or_default() / QUESTIONS
}

/// An actor that sets timers, and counts them.
struct Clockmaker {
    left: u32,
    done: Sender<()>,
}

impl Actor for Clockmaker {
    type Message = bool;

    fn handle(&mut self, begin: bool, context: &mut Context<'_, Self>) {
        if begin {
            for number in 0..TIMERS {
                // All are pending when the first one is due.
                let time = Duration::from_millis(300) + Duration::from_nanos(u64::from(number));
                context.after(time, false).detach();
            }
            let _ = self.done.send(());
            return;
        }
        self.left -= 1;
        if self.left == 0 {
            let _ = self.done.send(());
        }
    }
}

/// One sets many timers; the time of one to be set, to be let off and to be handled.
fn timer(actors: &Actors) -> Duration {
    let (done, is_done) = unbounded();
    let left = TIMERS;
    let maker = actors.spawn(Clockmaker { left, done });
    let begin = Instant::now();
    let _ = maker.send(true);
    let _ = is_done.recv();
    let set = begin.elapsed();
    let _ = is_done.recv();
    let wait = Duration::from_millis(300);
    (set + begin.elapsed().saturating_sub(wait.max(set))) / TIMERS
}

/// Runs a program a few times, and prints the least and the median time.
fn measure(name: &str, policy: Option<Policy>, run: fn(&Actors) -> Duration) {
    let builder = match policy {
        Some(policy) => Actors::builder().policy(policy),
        None => Actors::builder(),
    };
    let policy = policy.map_or("default".to_owned(), |policy| format!("{policy:?}"));
    let Ok(actors) = builder.build() else {
        println!("{name:<6} {policy:<16} cannot be had");
        return;
    };
    let mut times: Vec<_> = (0..RUNS).map(|_| run(&actors)).collect();
    times.sort_unstable();
    let (least, median) = (times[0], times[RUNS / 2]);
    println!("{name:<6} {policy:<16} least {least:>10.3?}  median {median:>10.3?}");
    actors.stop();
}

fn main() {
    type Program = fn(&Actors) -> Duration;
    let programs: [(&str, Program); 4] =
        [("big", big), ("bang", bang), ("ask", ask), ("timer", timer)];
    let words: Vec<_> = std::env::args().skip(1).collect();
    let chosen: Vec<_> = words.iter().filter(|word| !word.starts_with('-')).collect();
    let all_policies = std::env::var_os("POLICIES").is_some();
    for (name, run) in programs {
        if chosen.is_empty() || chosen.iter().any(|word| *word == name) {
            measure(name, None, run);
            for policy in Policy::ALL.into_iter().filter(|_| all_policies) {
                measure(name, Some(policy), run);
            }
        }
    }
}
