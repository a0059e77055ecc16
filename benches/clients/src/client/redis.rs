//! The crate `redis`, by its blocking connection.

use std::time::Duration;

use anyhow::{Result, ensure};

use super::Client;

/// A connection of the crate `redis`.
pub struct Redis(redis::Connection);

impl Client for Redis {
    fn connect(place: &str) -> Result<Self> {
        Ok(Self(redis::Client::open(place)?.get_connection()?))
    }

    /// The server waits in `BLPOP` on a list that nobody fills, which keeps this connection alone
    /// waiting, and then echoes the token.
    fn call(&mut self, wait: Duration, token: &str) -> Result<String> {
        let (popped, echoed): (Option<(String, String)>, String) = redis::pipe()
            .cmd("BLPOP")
            .arg("nobody-fills-this")
            .arg(wait.as_secs_f64())
            .cmd("ECHO")
            .arg(token)
            .query(&mut self.0)?;
        ensure!(popped.is_none(), "a list that nobody fills has {popped:?}");
        Ok(echoed)
    }
}
