//! Actors allocate and free nothing under short locks. In a process of its own, for its allocator.
#![cfg(all(debug_assertions, not(loom)))]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use fibre_actors::{Actor, Actors, Builder, Context, Mailbox, Overflow, Reply};
use std::time::Duration;

#[path = "../../../tests/support/holding.rs"]
#[allow(dead_code, reason = "a part is used")]
mod holding;

/// Counts what it is sent, and has a timer.
struct Counter(u32);

enum Message {
    Add(Box<u32>),
    Tick,
    Get(Reply<u32>),
}

impl Actor for Counter {
    type Message = Message;

    fn started(&mut self, context: &mut Context<'_, Self>) {
        let tick = || Message::Tick;
        context.every_with(Duration::from_millis(1), tick).detach();
    }

    fn handle(&mut self, message: Message, _: &mut Context<'_, Self>) {
        match message {
            Message::Add(number) => self.0 += *number,
            Message::Tick => {}
            Message::Get(reply) => reply.send(self.0),
        }
    }
}

#[test]
fn memory_is_neither_allocated_nor_freed_under_short_locks() {
    holding::begin();
    for processors in [1, 2] {
        for within_limits in [false, true] {
            let actors = Actors::builder().processors(processors).build().unwrap();
            let all: Vec<_> = (0..300)
                .map(|number| {
                    let mailbox = match number % 3 {
                        0 => Mailbox::Unbounded,
                        1 => Mailbox::bounded(5, Overflow::Block),
                        _ => Mailbox::bounded(50, Overflow::DropOldest),
                    };
                    let builder = Builder::new().mailbox(mailbox);
                    builder.spawn_in(&actors, Counter(0)).unwrap()
                })
                .collect();
            for actor in &all {
                (0..40).for_each(|_| actor.send(Message::Add(Box::new(1))).unwrap());
            }
            for actor in &all {
                assert_eq!(actor.ask(Message::Get), Ok(40));
                assert!(actor.wait_timeout(Duration::ZERO).is_none());
            }
            let minute = Duration::from_secs(60);
            match within_limits {
                true => actors.stop_within(minute, minute).unwrap(),
                false => actors.stop(),
            }
        }
    }
    assert_eq!(holding::all(), 0);
}
