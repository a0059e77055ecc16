//! Questions and answers.

use crate::support::{each, eventually, everywhere};
use fibre::channel::unbounded;
use fibre_actors::{Actor, ActorRef, AskError, Context, Mailbox, Overflow, Reply};
use std::thread;
use std::time::{Duration, Instant};

/// Asks another actor for each question.
struct Middle(ActorRef<(u64, Reply<u64>)>);

impl Actor for Middle {
    type Message = (u64, Reply<u64>);

    fn handle(&mut self, (number, reply): Self::Message, context: &mut Context<'_, Self>) {
        let answer = context.ask(&self.0, |reply| (number + 1, reply));
        reply.send(answer.unwrap());
    }
}

/// A chain of actors that each ask the next one, from fibres and threads.
#[test]
fn answers_come_through_a_chain() {
    everywhere(|actors| {
        let last = actors.spawn(each(|(number, reply): (u64, Reply<u64>)| {
            reply.send(number)
        }));
        let first = (0..20).fold(last, |next, _| actors.spawn(Middle(next)));
        thread::scope(|scope| {
            for _ in 0..2 {
                let first = first.clone();
                scope.spawn(move || {
                    for number in 0..50 {
                        assert_eq!(first.ask(|reply| (number, reply)), Ok(number + 20));
                    }
                });
            }
            let first = first.clone();
            let fibre = actors.cluster().unwrap().spawn(move || {
                (0..50).all(|number| first.ask(|reply| (number, reply)) == Ok(number + 20))
            });
            assert!(fibre.join().unwrap());
        });
    });
}

/// Keeps all replies until it is told to drop them.
enum Hoard {
    Keep(Reply<u32>),
    DropAll,
}

#[test]
fn askers_learn_why_there_is_no_answer() {
    everywhere(|actors| {
        let (tell, told) = unbounded();
        let mut kept = Vec::new();
        let hoard = actors.spawn(each(move |message| match message {
            Hoard::Keep(reply) => {
                kept.push(reply);
                tell.send(()).unwrap();
            }
            Hoard::DropAll => kept.clear(),
        }));
        let begin = Instant::now();
        let timed_out = hoard.ask_timeout(Duration::from_millis(5), Hoard::Keep);
        assert_eq!(timed_out, Err(AskError::TimedOut));
        let timed_out = hoard.ask_within(Instant::now(), Hoard::Keep);
        assert_eq!(timed_out, Err(AskError::TimedOut));
        told.recv().unwrap();
        assert!(begin.elapsed() >= Duration::from_millis(5));
        told.recv().unwrap();

        let asker = hoard.clone();
        let cancelled = fibre::spawn(move || asker.ask(Hoard::Keep));
        told.recv().unwrap();
        cancelled.cancel();
        assert_eq!(cancelled.join().unwrap(), Err(AskError::Cancelled));

        let asker = hoard.clone();
        let unanswered = fibre::spawn(move || asker.ask(Hoard::Keep));
        told.recv().unwrap();
        hoard.send(Hoard::DropAll).unwrap();
        assert_eq!(unanswered.join().unwrap(), Err(AskError::NoReply));

        hoard.stop();
        assert_eq!(hoard.ask(Hoard::Keep), Err(AskError::Stopped));
    });
}

/// Asks itself.
struct Narcissus(fibre::channel::Sender<AskError>);

impl Actor for Narcissus {
    type Message = Option<Reply<()>>;

    fn handle(&mut self, _: Self::Message, context: &mut Context<'_, Self>) {
        let myself = context.myself();
        let error = context.ask(&myself, Some).unwrap_err();
        self.0.send(error).unwrap();
        let error = myself
            .ask_timeout(Duration::from_secs(60), Some)
            .unwrap_err();
        self.0.send(error).unwrap();
    }
}

#[test]
fn who_asks_itself_is_told_so() {
    everywhere(|actors| {
        let (tell, told) = unbounded();
        let actor = actors.spawn(Narcissus(tell));
        actor.send(None).unwrap();
        assert_eq!(told.recv(), Ok(AskError::Itself));
        assert_eq!(told.recv(), Ok(AskError::Itself));
    });
}

/// A reply outlives the message, and may be used by others; it knows of an asker that has gone.
#[test]
fn replies_are_passed_on() {
    everywhere(|actors| {
        let clerk = actors.spawn(each(|reply: Reply<&str>| {
            fibre::sleep(Duration::from_millis(2));
            if !reply.is_unwanted() {
                reply.send("later");
            }
        }));
        let desk = {
            let clerk = clerk.clone();
            actors.spawn(each(move |reply: Reply<&str>| clerk.send(reply).unwrap()))
        };
        assert_eq!(desk.ask(|reply| reply), Ok("later"));
        let gone = desk.ask_timeout(Duration::ZERO, |reply| reply);
        assert_eq!(gone, Err(AskError::TimedOut));
    });
}

/// A question may wait for room, within its time.
#[test]
fn questions_find_full_mailboxes() {
    everywhere(|actors| {
        for (when_full, expected) in [
            (Overflow::Block, AskError::TimedOut),
            (Overflow::Refuse, AskError::Full),
        ] {
            let (tell, told) = unbounded();
            let mailbox = Mailbox::bounded(1, when_full);
            let busy = each(move |reply: Reply<()>| {
                tell.send(()).unwrap();
                while !reply.is_unwanted() {
                    fibre::sleep(Duration::from_millis(1));
                }
            });
            let busy = crate::support::with_mailbox(actors, mailbox, busy);
            let askers: Vec<_> = (0..2)
                .map(|number| {
                    let busy = busy.clone();
                    let time = Duration::from_millis(40);
                    let asker = fibre::spawn(move || busy.ask_timeout(time, |reply| reply));
                    match number {
                        0 => told.recv().unwrap(),
                        _ => eventually(|| busy_is_full(&told)),
                    }
                    asker
                })
                .collect();
            let error = busy.ask_timeout(Duration::from_millis(1), |reply| reply);
            assert_eq!(error, Err(expected));
            for asker in askers {
                assert_eq!(asker.join().unwrap(), Err(AskError::TimedOut));
            }
        }
    });
}

/// Whether the second question has had time to be in the mailbox.
fn busy_is_full(told: &fibre::channel::Receiver<()>) -> bool {
    fibre::sleep(Duration::from_millis(2));
    told.try_recv().is_err()
}
