//! The workloads of the peer protocol: parameters, and the form for runtimes in
//! blocking style.

pub(crate) mod beside;
pub(crate) mod blocked;
pub(crate) mod contend;
pub(crate) mod fanout;
pub(crate) mod lock;
pub(crate) mod migrate;
pub(crate) mod mutexes;
pub(crate) mod objects;
pub(crate) mod pingpong;
pub(crate) mod shared;
pub(crate) mod skynet;
pub(crate) mod sleep;
pub(crate) mod spawning;
pub(crate) mod stream;
pub(crate) mod unit;
pub(crate) mod wait;
pub(crate) mod yielding;
