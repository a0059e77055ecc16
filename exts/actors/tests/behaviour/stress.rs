//! A random mixture, for `FIBRE_STRESS_SECONDS` (default: 2). All choices follow from the printed
//! seed, which `FIBRE_SEED` takes back. In the end each message has been handled, dropped or given
//! back, once.

use crate::support::{Random, eventually, everywhere};
use fibre_actors::{
    Actor, ActorRef, Actors, AskError, Builder, Context, Mailbox, Overflow, Reply, SendError, Timer,
};
use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::thread;
use std::time::{Duration, Instant};

/// What is counted.
#[derive(Default)]
struct Tally {
    /// Messages that were made.
    made: AtomicU64,
    /// Messages that are gone, wherever.
    gone: AtomicU64,
    /// Messages that a handler has been given.
    handled: AtomicU64,
    /// Messages that came back to their senders.
    returned: AtomicU64,
    /// Exit notices that were asked for, and that have come.
    watched: AtomicU64,
    notices: AtomicU64,
    /// Actors that were spawned, and that were dropped.
    spawned: AtomicU64,
    ended: AtomicU64,
}

/// Proof of a message.
struct Token(Arc<Tally>);

impl Token {
    fn new(tally: &Arc<Tally>) -> Self {
        tally.made.fetch_add(1, SeqCst);
        Self(Arc::clone(tally))
    }
}

impl Clone for Token {
    fn clone(&self) -> Self {
        Self::new(&self.0)
    }
}

impl Drop for Token {
    fn drop(&mut self) {
        self.0.gone.fetch_add(1, SeqCst);
    }
}

/// A message.
enum Order {
    Work(Token),
    Pass(Token, ActorRef<Order>),
    Question(Token, Reply<()>),
    Notice,
    Fail(Token),
    Stop(Token),
}

impl Order {
    fn into_token(self) -> Option<Token> {
        match self {
            Self::Work(token)
            | Self::Pass(token, _)
            | Self::Question(token, _)
            | Self::Fail(token)
            | Self::Stop(token) => Some(token),
            Self::Notice => None,
        }
    }
}

/// An actor that does random things.
struct Wild {
    tally: Arc<Tally>,
    random: Random,
    timers: Vec<Timer>,
    known: Vec<ActorRef<Order>>,
}

impl Wild {
    fn new(tally: &Arc<Tally>, random: Random) -> Self {
        tally.spawned.fetch_add(1, SeqCst);
        Self {
            tally: Arc::clone(tally),
            random,
            timers: Vec::new(),
            known: Vec::new(),
        }
    }
}

impl Drop for Wild {
    fn drop(&mut self) {
        self.tally.ended.fetch_add(1, SeqCst);
    }
}

impl Actor for Wild {
    type Message = Order;

    fn handle(&mut self, order: Order, context: &mut Context<'_, Self>) {
        if !matches!(order, Order::Notice) {
            self.tally.handled.fetch_add(1, SeqCst);
        }
        match order {
            Order::Work(token) => {
                drop(token);
                self.act(context);
            }
            Order::Pass(token, other) => {
                send(
                    &self.tally,
                    &other,
                    Order::Work(token.clone()),
                    &mut self.random,
                );
                if self.known.len() < 4 {
                    self.known.push(other);
                }
            }
            Order::Question(_token, reply) => match self.random.below(4) {
                0 => drop(reply),
                _ => reply.send(()),
            },
            Order::Notice => _ = self.tally.notices.fetch_add(1, SeqCst),
            Order::Fail(_token) => resume_unwind(Box::new(())),
            Order::Stop(_token) => context.stop(),
        }
    }
}

impl Wild {
    /// Does one random thing.
    fn act(&mut self, context: &mut Context<'_, Self>) {
        let order = || Order::Work(Token::new(&self.tally));
        match self.random.below(12) {
            0 => fibre::yield_now(),
            1 => fibre::sleep(Duration::from_micros(self.random.below(200) as u64)),
            2 => {
                let time = Duration::from_micros(self.random.below(500) as u64);
                let timer = context.after(time, order());
                match self.random.below(3) {
                    0 => drop(timer),
                    1 => timer.detach(),
                    _ => self.timers.push(timer),
                }
                self.timers.truncate(3);
            }
            3 => {
                let child = Wild::new(&self.tally, self.random.split());
                let child = context.spawn(child);
                send(&self.tally, &child, order(), &mut self.random);
                if self.random.one_in(2) {
                    self.tally.watched.fetch_add(1, SeqCst);
                    context.monitor(&child, |_| Order::Notice);
                }
            }
            4..8 => {
                if let Some(other) = self.known.pop() {
                    let pass = Order::Pass(Token::new(&self.tally), context.myself());
                    send(&self.tally, &other, pass, &mut self.random);
                }
            }
            8 => self.known.clear(),
            _ => {}
        }
    }
}

/// Sends in a random way.
fn send(tally: &Tally, to: &ActorRef<Order>, order: Order, random: &mut Random) {
    let sent = match random.below(3) {
        0 => to.try_send(order),
        1 => to.send_timeout(order, Duration::from_micros(random.below(300) as u64)),
        // Two that send to each other would wait for ever.
        _ if fibre::in_fibre() => to.try_send(order),
        _ => to.send_timeout(order, Duration::from_millis(20)),
    };
    if let Err(error) = sent {
        assert!(!matches!(error, SendError::Cancelled(_)) || fibre::is_cancelled());
        if error.into_message().into_token().is_some() {
            tally.returned.fetch_add(1, SeqCst);
        }
    }
}

/// A random mailbox.
fn mailbox(random: &mut Random) -> Mailbox {
    let capacity = 1 + random.below(8);
    match random.below(6) {
        0 => Mailbox::bounded(capacity, Overflow::Block),
        1 => Mailbox::bounded(capacity, Overflow::DropNewest),
        2 => Mailbox::bounded(capacity, Overflow::DropOldest),
        3 => Mailbox::bounded(capacity, Overflow::Refuse),
        _ => Mailbox::Unbounded,
    }
}

/// A thread or a fibre that does random things to some actors until it is time.
fn drive(actors: &Actors, tally: &Arc<Tally>, mut random: Random, until: Instant) {
    let spawn = |random: &mut Random| {
        let builder = Builder::new().mailbox(mailbox(random));
        let builder = if random.one_in(4) {
            builder.hub()
        } else {
            builder
        };
        builder.spawn_in(actors, Wild::new(tally, random.split()))
    };
    let mut all: Vec<_> = (0..8).map(|_| spawn(&mut random).unwrap()).collect();
    while Instant::now() < until {
        let index = random.below(all.len());
        let actor = all[index].clone();
        let token = || Token::new(tally);
        match random.below(100) {
            // Reports of panics fill the log.
            0 if random.one_in(10) => send(tally, &actor, Order::Fail(token()), &mut random),
            1 => send(tally, &actor, Order::Stop(token()), &mut random),
            2 => actor.stop(),
            3 => actor.kill(),
            4..8 => all[index] = spawn(&mut random).unwrap(),
            8..20 => {
                let time = Duration::from_micros(random.below(300) as u64);
                let question = token();
                let answer = actor.ask_timeout(time, |reply| Order::Question(question, reply));
                if matches!(answer, Err(AskError::Itself)) {
                    panic!("a driver is no actor");
                }
            }
            20..30 => {
                let other = all[random.below(8)].clone();
                send(tally, &actor, Order::Pass(token(), other), &mut random);
            }
            30 => _ = actor.wait_timeout(Duration::from_micros(50)),
            _ => send(tally, &actor, Order::Work(token()), &mut random),
        }
    }
}

#[test]
fn a_random_mixture() {
    let seed = Random::seed();
    let seconds = std::env::var("FIBRE_STRESS_SECONDS");
    let seconds: f64 = seconds.map_or(2.0, |text| text.parse().unwrap());
    // There are eight settings.
    let time = Duration::from_secs_f64(seconds / 8.0);
    everywhere(|outer| {
        let actors = Actors::within(outer.cluster().unwrap());
        let tally = Arc::new(Tally::default());
        let mut random = Random::new(seed);
        let until = Instant::now() + time;
        let fibres = [(); 2].map(|()| {
            let (actors, random) = (actors.clone(), random.split());
            let tally = Arc::clone(&tally);
            fibre::spawn(move || drive(&actors, &tally, random, until))
        });
        thread::scope(|scope| {
            for _ in 0..2 {
                let (actors, tally, random) = (&actors, &tally, random.split());
                scope.spawn(move || drive(actors, tally, random, until));
            }
        });
        fibres.into_iter().for_each(|fibre| fibre.join().unwrap());
        actors.stop();
        let count = |counter: &AtomicU64| counter.load(SeqCst);
        // What others have let go a moment ago.
        eventually(|| count(&tally.made) == count(&tally.gone));
        assert_eq!(count(&tally.spawned), count(&tally.ended));
        assert!(count(&tally.notices) <= count(&tally.watched));
        assert!(count(&tally.handled) + count(&tally.returned) <= count(&tally.made));
        println!(
            "{} messages: {} handled, {} returned; {} actors",
            count(&tally.made),
            count(&tally.handled),
            count(&tally.returned),
            count(&tally.spawned),
        );
    });
}
