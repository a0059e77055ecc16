//! Questions and answers.

use crate::support::{Drops, each, eventually, everywhere};
use fibre::channel::{Sender, unbounded};
use fibre_actors::{Actor, ActorRef, AskError, Context, Mailbox, Overflow, PendingReply, Reply};
use std::sync::Arc;
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

/// An actor that does so, and tells of each reply that it keeps.
fn hoarding(tell: Sender<()>) -> impl Actor<Message = Hoard> {
    let mut kept = Vec::new();
    each(move |message| match message {
        Hoard::Keep(reply) => {
            kept.push(reply);
            tell.send(()).unwrap();
        }
        Hoard::DropAll => kept.clear(),
    })
}

#[test]
fn askers_learn_why_there_is_no_answer() {
    everywhere(|actors| {
        let (tell, told) = unbounded();
        let hoard = actors.spawn(hoarding(tell));
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
            // One question keeps the actor busy, another one fills its mailbox.
            let handled = busy.request(|reply| reply).unwrap();
            told.recv().unwrap();
            let queued = busy.request(|reply| reply).unwrap();
            let error = busy.ask_timeout(Duration::from_millis(1), |reply| reply);
            assert_eq!(error, Err(expected));
            drop((handled, queued));
            // Had the refused question got in after all, the actor would speak of it.
            told.recv().unwrap();
            assert!(told.try_recv().is_err());
        }
    });
}

/// One fibre has many actors work at once, and learns of each what became of its question.
#[test]
fn requests_are_answered_while_the_asker_goes_on() {
    everywhere(|actors| {
        let meeting = Arc::new(fibre::sync::Barrier::new(5));
        let workers: Vec<_> = (0..5)
            .map(|number| {
                let meeting = Arc::clone(&meeting);
                actors.spawn(each(move |reply: Reply<u32>| {
                    meeting.wait();
                    reply.send(number);
                }))
            })
            .collect();
        // None of them answers before all have been asked.
        let pending: Vec<_> = workers
            .iter()
            .map(|worker| worker.request(|reply| reply).unwrap())
            .collect();
        let deadline = Instant::now() + Duration::from_secs(60);
        let answers = pending.into_iter().map(|it| it.wait_within(deadline));
        let answers: Result<Vec<_>, _> = answers.collect();
        assert_eq!(answers, Ok(vec![0, 1, 2, 3, 4]));
    });
}

#[test]
fn requests_learn_why_there_is_no_answer() {
    everywhere(|actors| {
        let (tell, told) = unbounded();
        let hoard = actors.spawn(hoarding(tell));
        let late = hoard.request(Hoard::Keep).unwrap();
        assert!(!late.is_settled());
        let timed_out = late.wait_timeout(Duration::from_millis(2));
        assert_eq!(timed_out, Err(AskError::TimedOut));

        let refused = hoard.request(Hoard::Keep).unwrap();
        hoard.send(Hoard::DropAll).unwrap();
        assert_eq!(refused.wait(), Err(AskError::NoReply));

        let asked = hoard.clone();
        let cancelled = fibre::spawn(move || asked.request(Hoard::Keep).unwrap().wait());
        (0..3).for_each(|_| told.recv().unwrap());
        cancelled.cancel();
        assert_eq!(cancelled.join().unwrap(), Err(AskError::Cancelled));

        let left = hoard.request(Hoard::Keep).unwrap();
        told.recv().unwrap();
        hoard.kill();
        assert_eq!(hoard.wait(), fibre_actors::ExitReason::Stopped);
        eventually(|| left.is_settled());
        assert_eq!(left.wait(), Err(AskError::Stopped));
        assert_eq!(hoard.request(Hoard::Keep).unwrap_err(), AskError::Stopped);
    });
}

/// An actor may ask itself, and take the answer later; it must not wait for itself.
#[test]
fn an_actor_does_not_wait_for_itself() {
    struct Selfish(
        fibre::channel::Sender<Result<u32, AskError>>,
        Option<PendingReply<u32>>,
    );
    enum Step {
        Begin { waits: bool },
        Answer(Reply<u32>),
        Take,
    }
    impl Actor for Selfish {
        type Message = Step;
        fn handle(&mut self, step: Step, context: &mut Context<'_, Self>) {
            match step {
                Step::Begin { waits } => {
                    let pending = context.myself().request(Step::Answer).unwrap();
                    if waits {
                        self.0.send(pending.wait()).unwrap();
                    } else {
                        self.1 = Some(pending);
                        // `Answer` is before it.
                        context.myself().send(Step::Take).unwrap();
                    }
                }
                Step::Answer(reply) => reply.send(7),
                Step::Take => self.0.send(self.1.take().unwrap().wait()).unwrap(),
            }
        }
    }
    everywhere(|actors| {
        let (tell, told) = unbounded();
        let selfish = actors.spawn(Selfish(tell, None));
        selfish.send(Step::Begin { waits: true }).unwrap();
        assert_eq!(told.recv(), Ok(Err(AskError::Itself)));
        selfish.send(Step::Begin { waits: false }).unwrap();
        assert_eq!(told.recv(), Ok(Ok(7)));
    });
}

/// An answer that nobody waits for any more is dropped at once, or when it comes.
#[test]
fn answers_that_are_given_up_are_dropped() {
    everywhere(|actors| {
        let drops = Drops::new();
        let (send, replies) = unbounded();
        let keeper = actors.spawn(each(move |reply: Reply<_>| send.send(reply).unwrap()));
        let early = keeper.request(|reply| reply).unwrap();
        replies.recv().unwrap().send(drops.value());
        assert!(early.is_settled());
        drop(early);
        assert_eq!(drops.count(), 1);
        drop(keeper.request(|reply| reply).unwrap());
        let reply = replies.recv().unwrap();
        assert!(reply.is_unwanted());
        reply.send(drops.value());
        assert_eq!(drops.count(), 2);
    });
}

fibre::scoped_local!(static REQUEST: u64);

/// A question to an actor that tells what it sees.
enum Look {
    Ask(Reply<Option<u64>>),
    /// It asks another one, or answers if there is none.
    Pass(Reply<Vec<Option<u64>>>),
    Tell(Sender<Option<u64>>),
}

/// An actor that tells what it sees, and asks the next one.
fn looking(next: Option<ActorRef<Look>>) -> impl Actor<Message = Look> {
    each(move |message| match message {
        Look::Ask(reply) => reply.send(REQUEST.get()),
        Look::Tell(tell) => tell.send(REQUEST.get()).unwrap(),
        Look::Pass(reply) => {
            fibre::yield_now();
            let mut seen = vec![
                REQUEST.get(),
                fibre::spawn(|| REQUEST.get()).join().unwrap(),
            ];
            if let Some(next) = &next {
                seen.extend(next.ask(Look::Pass).unwrap());
                let (tell, told) = unbounded();
                next.send(Look::Tell(tell)).unwrap();
                seen.push(told.recv().unwrap());
            }
            reply.send(seen);
        }
    })
}

/// While an actor handles a question, it sees what is bound for the asker; a message that is sent
/// brings nothing, and what comes next sees nothing of it.
#[test]
fn a_question_brings_the_values_of_the_asker() {
    everywhere(|actors| {
        let last = actors.spawn(looking(None));
        let first = actors.spawn(looking(Some(last.clone())));
        let ask = |first: &ActorRef<Look>, number| {
            let seen = REQUEST.with(number, || first.ask(Look::Pass)).unwrap();
            let number = Some(number);
            assert_eq!(seen, [number, number, number, number, None]);
            assert_eq!(first.ask(Look::Ask), Ok(None));
            let pending = REQUEST.with(8, || first.request(Look::Ask)).unwrap();
            assert_eq!(pending.wait(), Ok(Some(8)));
            let (tell, told) = unbounded();
            REQUEST.with(9, || first.send(Look::Tell(tell))).unwrap();
            assert_eq!(told.recv(), Ok(None));
        };
        thread::scope(|scope| {
            let askers: Vec<_> = (0..4)
                .map(|number| {
                    let first = first.clone();
                    let asks = move || (0..20).for_each(|_| ask(&first, number));
                    match number % 2 {
                        0 => Err(scope.spawn(asks)),
                        _ => Ok(actors.cluster().unwrap().spawn(asks)),
                    }
                })
                .collect();
            for asker in askers {
                match asker {
                    Ok(fibre) => fibre.join().unwrap(),
                    Err(thread) => thread.join().unwrap(),
                }
            }
        });
    });
}

/// Questions that are not handled give the values of their askers up: they are refused, dropped
/// from a full mailbox, or left when the actor ends.
#[test]
fn questions_that_are_not_handled_hold_nothing() {
    fibre::scoped_local!(static HELD: crate::support::drops::Counted);
    everywhere(|actors| {
        let drops = Drops::new();
        let ask = |actor: &ActorRef<Hoard>| {
            HELD.with(drops.value(), || actor.request(Hoard::Keep))
                .map(drop)
        };
        let stopped = actors.spawn(hoarding(unbounded().0));
        stopped.stop();
        stopped.wait();
        assert!(ask(&stopped).is_err());
        assert_eq!(drops.count(), 1);
        let (begun, (go, goes)) = (unbounded(), unbounded::<()>());
        let begin = begun.0;
        let slow = each(move |_: Hoard| {
            begin.send(()).unwrap();
            let _ = goes.recv();
        });
        let mailbox = Mailbox::bounded(1, Overflow::DropOldest);
        let slow = crate::support::with_mailbox(actors, mailbox, slow);
        (0..3).for_each(|asked| {
            ask(&slow).unwrap();
            if asked == 0 {
                begun.1.recv().unwrap();
            }
        });
        assert_eq!(drops.count(), 2, "the second made way for the third");
        slow.kill();
        drop(go);
        slow.wait();
        assert_eq!(drops.count(), 4);
    });
}
