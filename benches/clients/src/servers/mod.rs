//! Servers of Debian's packages, for the time of a test: on 127.0.0.1, with a folder of their own
//! below the system's temporary one. What is dropped ends its server, by its process number, and
//! removes the folder.
//!
//! They are found where Debian puts them. A server that is missing is an error that names the
//! package.

mod daemon;
mod mariadb;
mod postgres;
mod redis;

pub use daemon::Server;
pub use mariadb::mariadb;
pub use postgres::postgres;
pub use redis::redis;

/// Connections that each server lets in: a thousand clients, and some that look whether it is
/// ready.
pub const CONNECTIONS: usize = 1_050;
