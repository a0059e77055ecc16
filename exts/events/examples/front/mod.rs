//! What the servers of this folder share: how clients get places, wait for their sockets, are held
//! to their limits, and are let go in order. What is asked and answered is the program's.
//!
//! A program implements [`server::Service`]: it takes the requests of a client from what has
//! arrived, and hands the connection on from event to event, until there is something to be
//! written.
//!
//! | handler | colour | goes on with |
//! |---|---|---|
//! | Epoll | 0 | Accept; ReadRequest, WriteResponse or Close, by what the client's phase is |
//! | Accept | 1 | RegisterFdInEpoll |
//! | RegisterFdInEpoll | 0 | – |
//! | ReadRequest | the client's | the handler of [`server::Service::NEXT`] |
//! | that one, and what follows | the program's | WriteResponse, or ReadRequest for the rest |
//! | WriteResponse | the client's | ReadRequest or Close |
//! | Close | the client's | DecClientAccepted |
//! | DecClientAccepted | 1 | Accept, if a client waits for a place |
//!
//! Source: F. Gaud and others, "Efficient workstealing for multicore event-driven systems" (2010),
//! section V-C; the web server there has these handlers.
//!
//! Files: `server` (what all handlers share, and what a service is), `life` (its beginning and
//! end), `accept` (colour 1), `readiness` (colour 0), `steps` (the clients' colours), `connection`
//! and `table` (a client, and where it waits), `bytes`, `limits`, `options`, [`http`] for those
//! that speak it.

mod accept;
pub(crate) mod bytes;
pub(crate) mod connection;
pub(crate) mod http;
mod life;
pub(crate) mod limits;
pub(crate) mod options;
mod readiness;
pub(crate) mod server;
mod steps;
mod table;
