//! Actors on fibres: values that handle messages one at a time, and may block while they do.
//!
//! An actor that does not block costs a block of memory and no stack; many of them share the stacks
//! of their processors. An actor that blocks keeps its stack meanwhile, and the others go on. So a
//! handler may read a socket, take a lock, or [ask](ActorRef::ask) another actor and wait for the
//! answer, in plain blocking style.
//!
//! ```
//! use fibre_actors::{Actor, Context, Reply};
//!
//! enum Message {
//!     Deposit(u64),
//!     Balance(Reply<u64>),
//! }
//!
//! struct Account {
//!     balance: u64,
//! }
//!
//! impl Actor for Account {
//!     type Message = Message;
//!
//!     fn handle(&mut self, message: Message, _: &mut Context<'_, Self>) {
//!         match message {
//!             Message::Deposit(amount) => self.balance += amount,
//!             Message::Balance(reply) => reply.send(self.balance),
//!         }
//!     }
//! }
//!
//! let account = fibre_actors::spawn(Account { balance: 0 });
//! account.send(Message::Deposit(100))?;
//! account.send(Message::Deposit(20))?;
//! assert_eq!(account.ask(Message::Balance), Ok(120));
//! # Ok::<(), fibre_actors::SendError<Message>>(())
//! ```
//!
//! # Where to find what
//!
//! | to | use |
//! |---|---|
//! | say what an actor does, and what it handles first | [`Actor`], [`Context`] |
//! | start one | [`spawn()`]; [`Builder`] for a name, a [`Mailbox`], a stack size, [`Restarts`] |
//! | send, ask, watch and stop | [`ActorRef`], [`Reply`], [`Exit`] |
//! | send to all subscribers | [`Topic`] |
//! | send later, again and again | [`Context::after`], [`Context::every`], [`Timer`] |
//! | choose processors and a scheduler, stop all | [`Actors`], [`Policy`] |
//!
//! # What is promised
//!
//! Each accepted message is handled once, or dropped: by a mailbox that is set to drop, or with its
//! actor. A message that is not accepted comes back in the error. Messages of one sender to one
//! actor are handled in the order they were sent, unless the actor has
//! [priorities](Actor::PRIORITY). Messages of several senders have no defined order.
//!
//! An actor that panics ends, or [restarts](Builder::spawn_restarting) in place. The crate has
//! neither supervision trees nor actors on other machines. [`ActorRef::monitor`] is the base for
//! building the former.
//!
//! # What blocks what
//!
//! | call | from an actor or another fibre | from another thread |
//! |---|---|---|
//! | a `send` to a mailbox that is full and [lets senders wait](Overflow::Block) | the fibre | the thread |
//! | an `ask`, a `wait`, also of a [`PendingReply`] | the fibre | the thread |
//! | other `send`s, `try_send`; `stop`, `kill`, `monitor`; timers; `Reply::send` | nothing | nothing |
//! | `Actors::stop` | the fibre (of another cluster) | the thread |
//!
//! `ask` and a waiting `send` end when the fibre is cancelled, as happens to an actor that is
//! [killed](ActorRef::kill).
//!
//! # Modules
//!
//! Lowest first; each imports only from those above it in this list, or beside it:
//!
//! | module | what it is |
//! |---|---|
//! | `faults` | the names of faults that models plant |
//! | `mailbox`, `exit` | how many messages may wait; how an actor ends |
//! | `envelope` | a message with the scoped values of its asker |
//! | `errors` | why a message was not sent, and why there is no answer |
//! | `message_queue`, `ring` | the messages of mailboxes without and with a bound |
//! | `waiting` | the messages of an actor that handles the most urgent one first |
//! | `slots` | a table with numbered places |
//! | `watchers` | who learns about an end |
//! | `next` | what an activation does next |
//! | `inbox` | what others share with an actor: its messages, and whether it has an activation |
//! | `registry`, `clock` | the actors that are stopped together; their timers |
//! | `system` | what actors that live together share |
//! | `cell` | an actor as an activity of the runtime |
//! | `reply` | the answer to one question |
//! | `actor_ref`, `topic` | references to actors, and lists of them |
//! | `pending` | answers that are waited for later |
//! | `actor` | what an actor is, and its context |
//! | `timer` | messages that come later |
//! | `policy`, `actors` | schedulers by name; actors that live together |
//! | `spawn` | how an actor starts |

#![cfg_attr(not(any(loom, test)), deny(unreachable_pub, unnameable_types))]
// Unit tests know the threads of the system, so a build of them for models is empty.
#![cfg(not(all(test, loom)))]

#[cfg(not(loom))]
mod actor;
#[cfg(not(loom))]
mod actor_ref;
#[cfg(not(loom))]
mod actors;
#[cfg(not(loom))]
mod cell;
#[cfg(not(loom))]
mod clock;
#[cfg(not(loom))]
mod envelope;
mod errors;
mod exit;
#[doc(hidden)]
pub mod faults;
mod inbox;
mod mailbox;
mod message_queue;
mod next;
#[cfg(not(loom))]
mod pending;
#[cfg(not(loom))]
mod policy;
#[cfg(not(loom))]
mod registry;
#[cfg(not(loom))]
mod reply;
mod ring;
mod slots;
#[cfg(not(loom))]
mod spawn;
#[cfg(not(loom))]
mod system;
#[cfg(not(loom))]
mod timer;
#[cfg(not(loom))]
mod topic;
#[cfg(not(loom))]
mod waiting;
mod watchers;

/// For models. It is here in all builds, so that the compiler sees unreachable code.
#[doc(hidden)]
pub mod internal {
    pub use crate::inbox::Inbox;
    pub use crate::message_queue::Backlog;
    pub use crate::next::{Activation, Mark, Next};
    pub use crate::watchers::{End, WatchKey, Watchers};

    /// The bytes of an actor's cell, without the actor, for tests.
    #[cfg(not(loom))]
    #[must_use]
    pub const fn cell_size<M: Send + 'static>() -> usize {
        fibre_core::Activity::<crate::cell::Cell<M>>::footprint()
    }
}

#[cfg(not(loom))]
pub use self::{
    actor::{Actor, Context},
    actor_ref::ActorRef,
    actors::{Actors, ActorsBuilder, LeftActor, StopError},
    pending::PendingReply,
    policy::Policy,
    reply::Reply,
    spawn::{Builder, spawn},
    timer::Timer,
    topic::Topic,
};
pub use self::{
    errors::{AskError, SendError},
    exit::{Exit, ExitReason},
    mailbox::{Mailbox, Overflow},
};
#[cfg(not(loom))]
pub use fibre_sync::Restarts;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
