//! The crate `mysql`.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use mysql::prelude::Queryable;
use mysql::{Conn, Opts};

use super::Client;

/// A connection of the crate `mysql`.
pub struct Mysql(Conn);

impl Client for Mysql {
    fn connect(place: &str) -> Result<Self> {
        Ok(Self(Conn::new(Opts::from_url(place)?)?))
    }

    /// A prepared statement with `SLEEP`.
    fn call(&mut self, wait: Duration, token: &str) -> Result<String> {
        let parameters = (wait.as_secs_f64(), token);
        let row = self.0.exec_first("SELECT SLEEP(?), ?", parameters)?;
        let (interrupted, token): (u8, String) = row.context("no row")?;
        ensure!(interrupted == 0, "SLEEP was interrupted");
        Ok(token)
    }
}
