//! The smallest actor: it counts, and is asked for the count.
//!
//! `cargo run -p fibre-actors --example counter`

use fibre_actors::{Actor, Context, Reply};
use std::error::Error;

/// What the counter is told.
enum Message {
    Add(u64),
    Get(Reply<u64>),
}

/// Counts.
struct Counter(u64);

impl Actor for Counter {
    type Message = Message;

    fn handle(&mut self, message: Message, _: &mut Context<'_, Self>) {
        match message {
            Message::Add(number) => self.0 += number,
            Message::Get(reply) => reply.send(self.0),
        }
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let counter = fibre_actors::spawn(Counter(0));
    let fibres: Vec<_> = (0..10)
        .map(|_| {
            let counter = counter.clone();
            fibre::spawn(move || {
                for _ in 0..1000 {
                    // It fails only if the counter has stopped.
                    let _ = counter.send(Message::Add(1));
                }
            })
        })
        .collect();
    for fibre in fibres {
        fibre.join().map_err(|_| "a fibre has panicked")?;
    }
    let count = counter.ask(Message::Get)?;
    println!("counted to {count}");
    assert_eq!(count, 10_000);
    Ok(())
}
