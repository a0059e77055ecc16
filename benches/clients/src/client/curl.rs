//! libcurl; without the feature every connection fails.

use std::time::Duration;

use anyhow::Result;

use super::Client;

/// A handle of libcurl's, which keeps its connection.
#[cfg(feature = "libcurl")]
pub struct Curl {
    easy: crate::foreign::curl::Easy,
    place: String,
}

/// Stands for a handle of libcurl's, which this build lacks.
#[cfg(not(feature = "libcurl"))]
pub enum Curl {}

#[cfg(feature = "libcurl")]
impl Client for Curl {
    fn connect(place: &str) -> Result<Self> {
        Ok(Self {
            easy: crate::foreign::curl::Easy::new(60_000)?,
            place: place.to_owned(),
        })
    }

    fn call(&mut self, wait: Duration, token: &str) -> Result<String> {
        let url = format!("{}/{}/{token}", self.place, wait.as_millis());
        Ok(String::from_utf8(self.easy.get(&url)?)?)
    }
}

#[cfg(not(feature = "libcurl"))]
impl Client for Curl {
    fn connect(_: &str) -> Result<Self> {
        anyhow::bail!("built without the feature libcurl")
    }

    fn call(&mut self, _: Duration, _: &str) -> Result<String> {
        match *self {}
    }
}
