//! A chat server: users write to their friends and to their groups. Source: thesis, section 5.4.3.
//!
//! Each user is a *session*, an actor. Now and then its timer stands for a message from the user,
//! which the session decrypts. It asks its local *cache* for the session of the receiver, unless it
//! knows it; the cache asks the *database*, unless it knows it. The message goes to that session,
//! or to the actor of a *group*, which publishes it to all members; and to the logs of cache and
//! database. The session that gets a message drops it if its user has blocked the sender, and else
//! encrypts it for its user. There is no network: messages begin and end in the program.
//!
//! All lists are as in the thesis: up to 100 friends, 10 groups and 5 blocked users, and one
//! message of up to 1024 bytes each second; one in twenty goes to a group. There it has a million
//! users and 10,000 groups; the default here is a hundredth of both, which keeps 500 members in a
//! group.
//!
//! The *conductor* runs all of it for a time, has the sessions fall silent, and counts until all
//! messages have come: each copy that was sent is delivered or blocked, and each message is in both
//! logs.
//!
//! Modules, lowest first: `plan` (parameters and outcome), `users` (lists and random numbers),
//! `cipher`, `messages` (what actors are sent), `storage`, `group`, `session`, `conductor`.

mod cipher;
mod conductor;
mod group;
mod messages;
mod plan;
mod session;
mod storage;
mod users;

pub use self::plan::{Chat, Outcome};
