//! BIG; see [`crate::actors::big`].

use std::sync::Arc;

use super::{Behaviour, Context, Hosted, Library, Reply, conduct};
use crate::actors::big::{Big, Outcome};

impl<L: Library> Hosted<L> for Big {
    fn host() -> fn(&L::Runtime, &Self) -> anyhow::Result<Outcome> {
        |runtime, program| {
            let master = |reply| Master::<L> {
                count: program.players,
                players: Arc::new([]),
                left: 0,
                outcome: Outcome::default(),
                reply,
            };
            conduct::<L, _, _>(runtime, master, Report::Begin)
        }
    }
}

/// What players are sent.
enum Ball<L: Library> {
    Begin(Arc<[L::Ref<Player<L>>]>),
    Ping(L::Ref<Player<L>>),
    Pong,
    End,
}

/// What the master is sent.
enum Report {
    Begin,
    /// A player has all its pongs.
    Done,
    /// A player has ended, and has got so many of each.
    Left {
        pings: u64,
        pongs: u64,
    },
}

/// The actor that spawns the players.
struct Master<L: Library> {
    count: usize,
    players: Arc<[L::Ref<Player<L>>]>,
    left: usize,
    outcome: Outcome,
    reply: Reply<Outcome>,
}

impl<L: Library> Behaviour<L> for Master<L> {
    type Message = Report;

    fn handle(&mut self, report: Report, context: &mut impl Context<L, Self>) {
        match report {
            Report::Begin => {
                let player = |_| L::spawn(Player::new(context.myself()));
                self.players = (0..self.count).map(player).collect();
                for player in &*self.players {
                    L::tell(player, Ball::Begin(Arc::clone(&self.players)));
                }
            }
            Report::Done => {
                self.outcome.dones += 1;
                if self.outcome.dones == self.count as u64 {
                    for player in &*self.players {
                        L::tell(player, Ball::End);
                    }
                }
            }
            Report::Left { pings, pongs } => {
                self.outcome.pings += pings;
                self.outcome.pongs += pongs;
                self.left += 1;
                if self.left == self.count {
                    self.reply.send(self.outcome);
                    context.stop();
                }
            }
        }
    }
}

/// One of those that ping each other.
struct Player<L: Library> {
    master: L::Ref<Master<L>>,
    awaited: usize,
    pings: u64,
    pongs: u64,
}

impl<L: Library> Player<L> {
    /// A player that has not begun.
    fn new(master: L::Ref<Master<L>>) -> Self {
        Self {
            master,
            awaited: 0,
            pings: 0,
            pongs: 0,
        }
    }
}

impl<L: Library> Behaviour<L> for Player<L> {
    type Message = Ball<L>;

    fn handle(&mut self, ball: Ball<L>, context: &mut impl Context<L, Self>) {
        match ball {
            Ball::Begin(players) => {
                self.awaited += players.len();
                for player in &*players {
                    L::tell(player, Ball::Ping(context.myself()));
                }
            }
            Ball::Ping(player) => {
                self.pings += 1;
                L::tell(&player, Ball::Pong);
            }
            Ball::Pong => {
                self.pongs += 1;
                self.awaited -= 1;
                if self.awaited == 0 {
                    L::tell(&self.master, Report::Done);
                }
            }
            Ball::End => {
                let (pings, pongs) = (self.pings, self.pongs);
                L::tell(&self.master, Report::Left { pings, pongs });
                context.stop();
            }
        }
    }
}
