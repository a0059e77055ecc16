//! BIG: many to many. Each of N players pings all players, itself among them, answers pings, and
//! reports when it has all pongs. Source: BenchErl, `big.erl`.
//!
//! A ping carries a reference to its sender, as Erlang's does.

use std::sync::Arc;

use anyhow::ensure;
use fibre_actors::{Actor, ActorRef, Actors, Context, Reply};

use super::{Program, conduct, tell};

/// The program and its parameters.
#[derive(Debug, Clone)]
pub struct Big {
    /// How many players there are.
    pub players: usize,
}

impl Default for Big {
    fn default() -> Self {
        Self { players: 512 }
    }
}

/// What has been counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Outcome {
    /// Pings that players have got.
    pub pings: u64,
    /// Pongs that players have got.
    pub pongs: u64,
    /// Players that have reported.
    pub dones: u64,
}

impl Program for Big {
    type Outcome = Outcome;

    fn small() -> Self {
        Self { players: 24 }
    }

    fn messages(&self) -> u64 {
        2 * (self.players as u64).pow(2)
    }

    fn run(&self, actors: &Actors) -> anyhow::Result<Outcome> {
        conduct(actors, Master::new(self.players), Report::Begin)
    }

    fn check(&self, outcome: &Outcome) -> anyhow::Result<()> {
        let players = self.players as u64;
        let right = Outcome {
            pings: players.pow(2),
            pongs: players.pow(2),
            dones: players,
        };
        ensure!(*outcome == right, "{outcome:?} instead of {right:?}");
        Ok(())
    }
}

/// What players are sent.
enum Ball {
    /// Everybody is there.
    Begin(Arc<[ActorRef<Ball>]>),
    Ping(ActorRef<Ball>),
    Pong,
}

/// What the master is sent.
enum Report {
    Begin(Reply<Outcome>),
    /// A player has all its pongs.
    Done,
    /// A player has ended, and has got so many of each.
    Left {
        pings: u64,
        pongs: u64,
    },
}

/// The actor that spawns the players, and stops them when all have reported.
struct Master {
    count: usize,
    players: Arc<[ActorRef<Ball>]>,
    left: usize,
    outcome: Outcome,
    reply: Option<Reply<Outcome>>,
}

impl Master {
    /// A master that will have so many players.
    fn new(count: usize) -> Self {
        Self {
            count,
            players: Arc::new([]),
            left: 0,
            outcome: Outcome::default(),
            reply: None,
        }
    }

    /// Spawns the players and has them begin.
    fn begin(&mut self, context: &Context<'_, Self>) {
        let player = |_| context.spawn(Player::new(context.myself()));
        self.players = (0..self.count).map(player).collect();
        for player in &*self.players {
            tell(player, Ball::Begin(Arc::clone(&self.players)));
        }
    }
}

impl Actor for Master {
    type Message = Report;

    fn handle(&mut self, report: Report, context: &mut Context<'_, Self>) {
        match report {
            Report::Begin(reply) => {
                self.reply = Some(reply);
                self.begin(context);
            }
            Report::Done => {
                self.outcome.dones += 1;
                if self.outcome.dones == self.count as u64 {
                    self.players.iter().for_each(ActorRef::stop);
                }
            }
            Report::Left { pings, pongs } => {
                self.outcome.pings += pings;
                self.outcome.pongs += pongs;
                self.left += 1;
                if self.left == self.count
                    && let Some(reply) = self.reply.take()
                {
                    reply.send(self.outcome);
                }
            }
        }
    }
}

/// One of those that ping each other.
struct Player {
    master: ActorRef<Report>,
    awaited: usize,
    pings: u64,
    pongs: u64,
}

impl Player {
    /// A player that has not begun.
    fn new(master: ActorRef<Report>) -> Self {
        Self {
            master,
            awaited: 0,
            pings: 0,
            pongs: 0,
        }
    }
}

impl Actor for Player {
    type Message = Ball;

    fn handle(&mut self, ball: Ball, context: &mut Context<'_, Self>) {
        match ball {
            Ball::Begin(players) => {
                self.awaited += players.len();
                for player in &*players {
                    tell(player, Ball::Ping(context.myself()));
                }
            }
            Ball::Ping(player) => {
                self.pings += 1;
                tell(&player, Ball::Pong);
            }
            Ball::Pong => {
                self.pongs += 1;
                self.awaited -= 1;
                if self.awaited == 0 {
                    tell(&self.master, Report::Done);
                }
            }
        }
    }

    fn stopped(&mut self) {
        let (pings, pongs) = (self.pings, self.pongs);
        tell(&self.master, Report::Left { pings, pongs });
    }
}
