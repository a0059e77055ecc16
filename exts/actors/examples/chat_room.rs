//! A chat room: members come, talk and leave, or are thrown out when they are silent for too long.
//!
//! The room watches its members, so it learns of those that end without a word. Each member has a
//! timer, which every message sets anew.
//!
//! `cargo run -p fibre-actors --example chat_room`

use fibre::channel::{Sender, unbounded};
use fibre_actors::{Actor, ActorRef, Actors, Context, Exit, Timer};
use std::collections::HashMap;
use std::error::Error;
use std::time::Duration;

/// What the room is told.
enum Event {
    Join(&'static str, ActorRef<Line>),
    Say(&'static str, &'static str),
    Gone(Exit),
}

/// What a member is told.
#[derive(Clone)]
enum Line {
    Text(String),
    Say(&'static str),
    Silence,
}

/// The room.
#[derive(Default)]
struct Room {
    /// By number, as notices tell who has gone.
    members: HashMap<u64, (&'static str, ActorRef<Line>)>,
}

impl Room {
    /// Tells all.
    fn tell(&self, text: &str) {
        println!("{text}");
        for (_, member) in self.members.values() {
            // A member that has stopped is about to be told of.
            let _ = member.send(Line::Text(text.to_owned()));
        }
    }
}

impl Actor for Room {
    type Message = Event;

    fn handle(&mut self, event: Event, context: &mut Context<'_, Self>) {
        match event {
            Event::Join(name, member) => {
                context.monitor(&member, Event::Gone);
                self.members.insert(member.id(), (name, member));
                self.tell(&format!("* {name} comes"));
            }
            Event::Say(name, text) => self.tell(&format!("{name}: {text}")),
            Event::Gone(exit) => {
                if let Some((name, _)) = self.members.remove(&exit.id) {
                    self.tell(&format!("* {name} has gone: {}", exit.reason));
                }
                if self.members.is_empty() {
                    context.stop();
                }
            }
        }
    }
}

/// A member.
struct Member {
    name: &'static str,
    room: ActorRef<Event>,
    heard: Sender<usize>,
    lines: usize,
    patience: Option<Timer>,
}

impl Actor for Member {
    type Message = Line;

    fn started(&mut self, context: &mut Context<'_, Self>) {
        let patience = Duration::from_millis(50);
        self.patience = Some(context.after(patience, Line::Silence));
        let _ = self.room.send(Event::Join(self.name, context.myself()));
    }

    fn handle(&mut self, line: Line, context: &mut Context<'_, Self>) {
        match line {
            Line::Text(text) => {
                self.lines += 1;
                assert!(!text.is_empty());
            }
            Line::Say("(fails)") => panic!("{} has had enough", self.name),
            Line::Say(text) => {
                let patience = Duration::from_millis(50);
                self.patience = Some(context.after(patience, Line::Silence));
                let _ = self.room.send(Event::Say(self.name, text));
            }
            Line::Silence => context.stop(),
        }
    }

    fn stopped(&mut self) {
        let _ = self.heard.send(self.lines);
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let actors = Actors::builder().build()?;
    let room = actors.spawn_hub(Room::default());
    let (heard, lines) = unbounded();
    let members = ["Ada", "Grace", "Edsger"].map(|name| {
        actors.spawn(Member {
            name,
            room: room.clone(),
            heard: heard.clone(),
            lines: 0,
            patience: None,
        })
    });
    drop(heard);
    for round in 0..3 {
        for member in &members[..2] {
            member.send(Line::Say(["hello", "how are you?", "bye"][round]))?;
        }
        fibre::sleep(Duration::from_millis(30));
    }
    members[1].send(Line::Say("(fails)"))?;
    room.wait();
    let lines: usize = lines.iter().sum();
    println!("{lines} lines were heard by those that left in peace");
    assert!(lines > 0);
    actors.stop();
    Ok(())
}
