//! libpq; without the feature every connection fails.

use std::time::Duration;

use anyhow::Result;

use super::Client;

/// A connection of libpq's.
#[cfg(feature = "libpq")]
pub struct Pq(crate::foreign::pq::Connection);

/// Stands for a connection of libpq's, which this build lacks.
#[cfg(not(feature = "libpq"))]
pub enum Pq {}

#[cfg(feature = "libpq")]
impl Client for Pq {
    fn connect(place: &str) -> Result<Self> {
        Ok(Self(crate::foreign::pq::Connection::open(place)?))
    }

    /// A query with `pg_sleep`.
    fn call(&mut self, wait: Duration, token: &str) -> Result<String> {
        let wait = wait.as_secs_f64().to_string();
        let query = "SELECT $2::text FROM pg_sleep($1::float8)";
        let rows = self.0.query(query, &[&wait, token])?;
        let value = rows.into_iter().flatten().next();
        anyhow::Context::context(value, "no row")
    }
}

#[cfg(not(feature = "libpq"))]
impl Client for Pq {
    fn connect(_: &str) -> Result<Self> {
        anyhow::bail!("built without the feature libpq")
    }

    fn call(&mut self, _: Duration, _: &str) -> Result<String> {
        match *self {}
    }
}
