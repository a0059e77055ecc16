//! Each client as the same thing: a connection that is made, and then called again and again.
//!
//! A call has the server wait for a while and then send a token back, so that every answer can be
//! checked. Nothing here knows on what it runs.

mod curl;
mod mysql;
mod pq;
mod process;
mod redis;
mod ureq2;
mod ureq3;

use std::time::Duration;

use anyhow::Result;

pub use self::curl::Curl;
pub use self::mysql::Mysql;
pub use self::pq::Pq;
pub use self::process::Process;
pub use self::redis::Redis;
pub use self::ureq2::Ureq2;
pub use self::ureq3::Ureq3;

/// A client that has a connection of its own.
pub trait Client: Sized + Send {
    /// Connects to a server at a place, in whatever form the client takes it. Blocks as the client
    /// does.
    ///
    /// # Errors
    ///
    /// Those of the client.
    fn connect(place: &str) -> Result<Self>;

    /// Makes the server wait and then answer with the token, and returns that. Blocks as the client
    /// does.
    ///
    /// # Errors
    ///
    /// Those of the client.
    fn call(&mut self, wait: Duration, token: &str) -> Result<String>;
}
