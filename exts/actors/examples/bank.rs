//! Accounts that ask each other for money: the sum of all stays the same.
//!
//! A transfer is one handler in plain blocking style. The account that gives asks the one that
//! gets, waits, and takes its own money back if that refuses. Two accounts that ask each other at
//! the same time would wait for ever, so an account passes transfers only to those with a higher
//! number; the others go by a clerk.
//!
//! `cargo run -p fibre-actors --example bank`

use fibre_actors::{Actor, ActorRef, Actors, Context, Reply};
use std::error::Error;

/// How many accounts there are.
const ACCOUNTS: u64 = 100;
/// What each has at first.
const DEPOSIT: u64 = 1000;
/// Above this an account takes no money.
const LIMIT: u64 = 1500;

/// What an account is told.
enum Order {
    /// Take this much, if the limit allows it.
    Deposit(u64, Reply<bool>),
    /// Give this much away.
    Withdraw(u64, Reply<bool>),
    /// Give this much to another account.
    Transfer(u64, ActorRef<Order>, Reply<bool>),
    Balance(Reply<u64>),
}

/// One account.
struct Account {
    balance: u64,
}

impl Account {
    /// Takes money out, if there is enough.
    fn withdraw(&mut self, amount: u64) -> bool {
        let rest = self.balance.checked_sub(amount);
        self.balance = rest.unwrap_or(self.balance);
        rest.is_some()
    }
}

impl Actor for Account {
    type Message = Order;

    fn handle(&mut self, order: Order, context: &mut Context<'_, Self>) {
        match order {
            Order::Deposit(amount, reply) => {
                let fits = self.balance + amount <= LIMIT;
                self.balance += if fits { amount } else { 0 };
                reply.send(fits);
            }
            Order::Withdraw(amount, reply) => reply.send(self.withdraw(amount)),
            Order::Transfer(amount, to, reply) => {
                let done = self.withdraw(amount) && {
                    let taken = context.ask(&to, |reply| Order::Deposit(amount, reply));
                    let taken = taken.unwrap_or(false);
                    self.balance += if taken { 0 } else { amount };
                    taken
                };
                reply.send(done);
            }
            Order::Balance(reply) => reply.send(self.balance),
        }
    }
}

/// Transfers that may go either way.
struct Clerk;

impl Actor for Clerk {
    type Message = (u64, ActorRef<Order>, ActorRef<Order>, Reply<bool>);

    fn handle(
        &mut self,
        (amount, from, to, reply): Self::Message,
        context: &mut Context<'_, Self>,
    ) {
        let deposit =
            |account: &ActorRef<Order>| context.ask(account, |reply| Order::Deposit(amount, reply));
        let taken = context.ask(&from, |reply| Order::Withdraw(amount, reply));
        let done = taken == Ok(true) && {
            let given = deposit(&to) == Ok(true);
            // What is not taken goes back, as soon as there is room for it.
            while !given && deposit(&from) == Ok(false) {
                fibre::yield_now();
            }
            given
        };
        reply.send(done);
    }
}

/// Numbers that look random.
fn next(state: &mut u64) -> u64 {
    *state = state
        .wrapping_mul(6_364_136_223_846_793_005)
        .wrapping_add(1);
    *state >> 33
}

fn main() -> Result<(), Box<dyn Error>> {
    let actors = Actors::builder().build()?;
    let accounts: Vec<_> = (0..ACCOUNTS)
        .map(|_| actors.spawn(Account { balance: DEPOSIT }))
        .collect();
    let customers: Vec<_> = (1..=20)
        .map(|customer| {
            let accounts = accounts.clone();
            let clerk = actors.spawn(Clerk);
            fibre::spawn(move || {
                let (mut random, mut done) = (customer, 0);
                for _ in 0..500 {
                    let from = next(&mut random) as usize % accounts.len();
                    let to = next(&mut random) as usize % accounts.len();
                    let amount = 1 + next(&mut random) % 300;
                    let (giver, taker) = (&accounts[from], accounts[to].clone());
                    let transfer = match from.cmp(&to) {
                        std::cmp::Ordering::Less => {
                            giver.ask(|reply| Order::Transfer(amount, taker, reply))
                        }
                        std::cmp::Ordering::Greater => {
                            clerk.ask(|reply| (amount, giver.clone(), taker, reply))
                        }
                        std::cmp::Ordering::Equal => Ok(false),
                    };
                    done += u32::from(transfer == Ok(true));
                }
                done
            })
        })
        .collect();
    let mut done = 0;
    for customer in customers {
        done += customer.join().map_err(|_| "a customer has panicked")?;
    }
    let mut sum = 0;
    for account in &accounts {
        sum += account.ask(Order::Balance)?;
    }
    println!("{done} transfers; {sum} in all accounts");
    assert_eq!(sum, ACCOUNTS * DEPOSIT);
    actors.stop();
    Ok(())
}
