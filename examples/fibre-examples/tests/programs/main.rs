//! The programs of this package, and servers among all examples, as their peers see them.

#[path = "peers/mod.rs"]
mod suite_peers;
#[path = "starved.rs"]
mod suite_starved;
