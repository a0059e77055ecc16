//! A network in memory: hosts, the links between them, and what is under way.
//!
//! It is a machine of states. It has no clock, no lock and no fibre: each call gets the time, and
//! what it changes for others it leaves behind as [`Effects`](events::Effects), which the stage
//! passes on. All its chance follows from the run's seed and from nothing else of the run: the
//! test's draws and each link have numbers of their own. So the schedule's choices stay what they
//! are, and where the schedule changes, a link's n-th piece has the luck that it had.
//!
//! What happens later stands in a heap of *events*, by time and then by the order of their making.
//! All of one moment happen before a fibre runs. A link without latency carries at once, inside the
//! call that sends.
//!
//! * `events`: what happens later, what is noted, who is woken;
//! * `link`, `socket`, `host`: what these are;
//! * `machine`: the state of a network;
//! * `carry`: what becomes of all that is under way on a link;
//! * `descriptors`: sockets and their descriptors;
//! * `names`: hosts, addresses and ports;
//! * `connect`: from the call to the queue of a listener;
//! * `stream`: bytes under way, and both ends of a connection;
//! * `datagram`: messages under way.

mod carry;
mod connect;
mod datagram;
mod descriptors;
mod events;
mod host;
mod link;
mod machine;
mod names;
mod socket;
mod stream;

pub(crate) use events::{Change, LinkKey, SocketId};
pub(crate) use link::Settings;
pub(crate) use machine::Network;
