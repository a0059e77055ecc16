//! Models of the inbox: each message that is accepted is handled or dropped once, no actor that has
//! something to do is left idle, and no sender that waits is forgotten.
//!
//! Run by `cargo xtask loom`. The activity is told in loom's terms: a count of schedules, which may
//! be one at most, and a thread that runs it each time.

use fibre_actors::internal::{Activation, Backlog, End, Inbox, Next};
use fibre_actors::{ExitReason, Mailbox, Overflow, SendError, faults};
use fibre_core::Limit;
use fibre_core::model::{Shared, Watched, check, finds_planted};
use fibre_core::sync::{AtomicU32, EndOfFrame, Ordering};
use loom::sync::{Condvar, Mutex};
use loom::thread::{self, JoinHandle};
use std::time::Instant;

/// An actor that counts its messages.
struct Model {
    inbox: Inbox<u32>,
    /// Whether the actor has been scheduled, and has not begun to run.
    scheduled: Mutex<bool>,
    changed: Condvar,
    /// How many messages have been handled.
    handled: AtomicU32,
}

impl Model {
    /// An actor that has been scheduled, as its spawner does, and has one reference.
    fn new(mailbox: Mailbox) -> Shared<Self> {
        Shared::new(Self {
            inbox: Inbox::new(mailbox),
            scheduled: Mutex::new(true),
            changed: Condvar::new(),
            handled: AtomicU32::new(0),
        })
    }

    /// What a caller does that has given the actor something to do.
    fn follow(&self, activation: Activation) {
        if activation == Activation::Needed {
            let before = std::mem::replace(&mut *self.scheduled.lock().unwrap(), true);
            assert!(!before, "an actor is scheduled that has been");
            self.changed.notify_one();
        }
    }

    /// Sends, within a limit.
    fn send(&self, message: u32, limit: Option<Limit>) -> Result<(), SendError<u32>> {
        let activation = self.inbox.send(message, || limit)?;
        self.follow(activation);
        Ok(())
    }

    /// Drops a reference.
    fn drop_reference(&self) {
        if let Some(activation) = self.inbox.drop_reference() {
            self.follow(activation);
        }
    }

    /// Waits for the next run.
    fn begin(&self) {
        let mut scheduled = self.scheduled.lock().unwrap();
        while !*scheduled {
            scheduled = self.changed.wait(scheduled).unwrap();
        }
        *scheduled = false;
    }

    /// Runs the actor until it ends. Returns what it has handled, why it has ended, and how many
    /// messages were left.
    fn live(&self) -> (Vec<u32>, ExitReason, usize) {
        let (mut handled, mut backlog) = (Vec::new(), Backlog::new());
        self.begin();
        let reason = loop {
            while let Some(message) = backlog.pop() {
                handled.push(message);
                self.handled.fetch_add(1, Ordering::Relaxed);
            }
            match self.inbox.take(&mut backlog) {
                Next::Handle => {}
                Next::Rest => self.begin(),
                Next::End(reason) => break reason,
            }
        };
        self.inbox.empty(&mut backlog);
        let left = std::iter::from_fn(|| backlog.pop()).count();
        let end = End {
            reason,
            is_left_behind: false,
        };
        self.inbox.finish(end).tell(end);
        (handled, reason, left)
    }
}

/// The thread of an actor.
fn live(actor: Shared<Model>) -> JoinHandle<(Vec<u32>, ExitReason, usize)> {
    thread::spawn(move || actor.live())
}

/// Two send and drop their references; then the actor ends.
fn two_send() {
    let actor = Model::new(Mailbox::Unbounded);
    actor.inbox.add_reference();
    let runs = live(actor);
    let other = thread::spawn(move || {
        actor.send(1, None).unwrap();
        actor.drop_reference();
    });
    actor.send(2, None).unwrap();
    actor.drop_reference();
    other.join().unwrap();
    let (mut handled, reason, left) = runs.join().unwrap();
    handled.sort_unstable();
    assert_eq!((handled, left), (vec![1, 2], 0));
    assert_eq!(reason, ExitReason::Stopped);
}

/// Messages are handled once, and the drop of the last reference ends the actor.
#[test]
fn all_messages_are_handled_before_the_end() {
    check(two_send);
}

/// Planted: the actor is scheduled twice, and would run on two processors.
#[test]
fn planted_second_schedule_is_found() {
    finds_planted(faults::inbox::SCHEDULES_AN_ACTIVE_ACTOR, two_send);
}

/// Planted: a message comes in between, and is never handled.
#[test]
fn planted_rest_without_the_lock_is_found() {
    finds_planted(faults::inbox::RESTS_WITHOUT_THE_LOCK, two_send);
}

/// Planted: nobody ends the actor.
#[test]
fn planted_last_reference_is_found() {
    finds_planted(faults::inbox::LAST_REFERENCE_SCHEDULES_NOBODY, two_send);
}

/// One sends while another stops the actor: the message is handled, or comes back.
fn send_and_close() {
    let actor = Model::new(Mailbox::Unbounded);
    let runs = live(actor);
    let sender = thread::spawn(move || actor.send(1, None).is_ok());
    actor.follow(actor.inbox.close(ExitReason::Stopped));
    let accepted = sender.join().unwrap();
    let (handled, _, left) = runs.join().unwrap();
    assert_eq!((handled.len(), left), (usize::from(accepted), 0));
    assert_eq!(actor.inbox.ended(), Some(ExitReason::Stopped));
}

/// What is accepted before a stop is handled.
#[test]
fn a_stop_loses_nothing() {
    check(send_and_close);
}

/// Planted: a message is accepted after the last look.
#[test]
fn planted_message_at_the_end_is_found() {
    finds_planted(faults::inbox::ACCEPTS_AT_THE_END, send_and_close);
}

/// One sends while another kills the actor: the message is handled, left, or comes back.
#[test]
fn a_kill_accounts_for_all_messages() {
    check(|| {
        let actor = Model::new(Mailbox::Unbounded);
        let runs = live(actor);
        let sender = thread::spawn(move || actor.send(1, None).is_ok());
        actor.follow(actor.inbox.kill(ExitReason::Stopped));
        let accepted = sender.join().unwrap();
        let (handled, _, left) = runs.join().unwrap();
        assert_eq!(handled.len() + left, usize::from(accepted));
    });
}

/// A timer brings its message while the last reference goes.
fn a_timer_and_no_reference() {
    let actor = Model::new(Mailbox::Unbounded);
    actor.inbox.timer_set();
    let runs = live(actor);
    let timer = thread::spawn(move || {
        let (activation, _) = actor.inbox.deliver(1);
        actor.follow(activation);
        actor.follow(actor.inbox.timer_gone());
    });
    actor.drop_reference();
    timer.join().unwrap();
    let (handled, reason, _) = runs.join().unwrap();
    assert_eq!((handled, reason), (vec![1], ExitReason::Stopped));
}

/// An actor lives as long as its timers, and ends with the last.
#[test]
fn a_timer_keeps_the_actor() {
    check(a_timer_and_no_reference);
}

/// Planted: the actor ends before its timer.
#[test]
fn planted_forgotten_timer_is_found() {
    finds_planted(faults::inbox::FORGETS_TIMERS, a_timer_and_no_reference);
}

/// A timer asks whether its message has been handled, which comes in between others.
fn a_timer_asks(mailbox: Mailbox) {
    let actor = Model::new(mailbox);
    actor.inbox.timer_set();
    let runs = live(actor);
    let timer = thread::spawn(move || {
        let (activation, mark) = actor.inbox.deliver(1);
        actor.follow(activation);
        if actor.inbox.has_handled(mark) {
            assert!(actor.handled.load(Ordering::Relaxed) > 0, "it is under way");
        }
        actor.follow(actor.inbox.timer_gone());
    });
    actor.drop_reference();
    timer.join().unwrap();
    assert_eq!(runs.join().unwrap().0, [1]);
}

/// A message counts as handled when it has been, with both kinds of mailboxes.
#[test]
fn a_message_that_is_handled_is_not_under_way() {
    check(|| a_timer_asks(Mailbox::Unbounded));
    check(|| a_timer_asks(Mailbox::bounded(2, Overflow::Refuse)));
}

/// Planted: a message that is being handled does not count as under way.
#[test]
fn planted_early_mark_is_found() {
    let fault = faults::inbox::TAKEN_COUNTS_AS_HANDLED;
    finds_planted(fault, || a_timer_asks(Mailbox::Unbounded));
    finds_planted(fault, || {
        a_timer_asks(Mailbox::bounded(2, Overflow::Refuse))
    });
}

/// Two send into room for one, and wait.
fn two_wait_for_room() {
    let actor = Model::new(Mailbox::bounded(1, Overflow::Block));
    actor.inbox.add_reference();
    let runs = live(actor);
    let send = |actor: &Model, first| {
        actor.send(first, Some(Limit::None)).unwrap();
        actor.send(first + 1, Some(Limit::None)).unwrap();
        actor.drop_reference();
    };
    let other = thread::spawn(move || send(&actor, 10));
    send(&actor, 20);
    other.join().unwrap();
    let (handled, _, _) = runs.join().unwrap();
    let of = |first: u32| {
        handled
            .iter()
            .copied()
            .filter(move |n| n / 10 == first / 10)
    };
    assert!(of(10).eq([10, 11]) && of(20).eq([20, 21]), "{handled:?}");
}

/// Senders that wait get room, in their order.
#[test]
fn room_is_given_to_those_that_wait() {
    check(two_wait_for_room);
}

/// Planted: a sender sleeps for ever beside an empty mailbox.
#[test]
fn planted_room_for_nobody_is_found() {
    finds_planted(faults::inbox::LEAVES_ROOM_TO_NOBODY, two_wait_for_room);
}

/// A sender gives up while room is made: the message is handled, or comes back.
fn waits_and_gives_up() {
    let actor = Model::new(Mailbox::bounded(1, Overflow::Block));
    actor.send(1, None).unwrap();
    let runs = live(actor);
    let sent = actor.send(2, Some(Limit::Deadline(Instant::now())));
    let returned = usize::from(sent == Err(SendError::TimedOut(2)));
    actor.drop_reference();
    let (handled, _, _) = runs.join().unwrap();
    assert_eq!(handled.len() + returned, 2);
}

/// A limit loses no message, and doubles none.
#[test]
fn giving_up_keeps_the_message_or_not() {
    check(waits_and_gives_up);
}

/// Planted: a sender that gives up thinks that its message was taken.
#[test]
fn planted_lost_message_is_found() {
    finds_planted(
        faults::inbox::GIVING_UP_LOSES_THE_MESSAGE,
        waits_and_gives_up,
    );
}

/// A sender waits for room in a mailbox that is closed.
fn waits_while_it_closes() {
    let actor = Model::new(Mailbox::bounded(1, Overflow::Block));
    actor.send(1, None).unwrap();
    let sender = thread::spawn(move || actor.send(2, Some(Limit::None)));
    actor.follow(actor.inbox.close(ExitReason::Stopped));
    let sent = sender.join().unwrap();
    assert_eq!(sent, Err(SendError::Stopped(2)));
    let (handled, _, left) = actor.live();
    assert_eq!((handled, left), (vec![1], 0));
}

/// Closing sends those away that wait.
#[test]
fn closing_wakes_senders() {
    check(waits_while_it_closes);
}

/// Planted: a sender sleeps for ever at a closed mailbox.
#[test]
fn planted_forgotten_sender_is_found() {
    finds_planted(
        faults::inbox::CLOSING_FORGETS_SENDERS,
        waits_while_it_closes,
    );
}

/// An inbox with memory that goes with the last handle, and what its owners have seen.
struct Counted {
    model: Shared<Model>,
    /// The handle of the references, and that of the run.
    handles: AtomicU32,
    /// Written by the users of references, and by the actor in the end.
    seen: [Watched; 2],
}

impl Counted {
    /// Uses a reference and drops it.
    fn use_and_drop(&self, user: usize) {
        self.seen[user].set(1);
        if let Some(activation) = self.model.inbox.drop_reference() {
            self.model.follow(activation);
            self.drop_handle();
        }
    }

    /// Drops a handle; the last one frees the inbox.
    fn drop_handle(&self) {
        if self.handles.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.model.free();
        }
    }
}

impl EndOfFrame for Model {
    fn end_of_frame(&mut self) {
        self.inbox.end_of_frame();
    }
}

/// The actor's end comes after all that was done by references, and so does the end of its memory.
#[test]
fn the_end_comes_after_all_uses() {
    check(|| {
        let counted = Shared::new(Counted {
            model: Model::new(Mailbox::Unbounded),
            handles: AtomicU32::new(2),
            seen: [Watched::new(0), Watched::new(0)],
        });
        counted.model.inbox.add_reference();
        let other = thread::spawn(move || counted.use_and_drop(1));
        let runs = thread::spawn(move || {
            let (_, reason, _) = counted.model.live();
            assert_eq!(reason, ExitReason::Stopped);
            assert_eq!(counted.seen.each_ref().map(Watched::get), [1, 1]);
            counted.drop_handle();
        });
        counted.use_and_drop(0);
        other.join().unwrap();
        runs.join().unwrap();
    });
}

/// References outlive an actor that was stopped: its memory goes with the last of them.
#[test]
fn the_memory_of_an_ended_actor_goes_with_the_last_reference() {
    check(|| {
        let counted = Shared::new(Counted {
            model: Model::new(Mailbox::Unbounded),
            handles: AtomicU32::new(1),
            seen: [Watched::new(0), Watched::new(0)],
        });
        counted.model.inbox.add_reference();
        let _ = counted.model.inbox.close(ExitReason::Stopped);
        let _ = counted.model.live();
        let other = thread::spawn(move || counted.use_and_drop(1));
        counted.use_and_drop(0);
        other.join().unwrap();
    });
}
