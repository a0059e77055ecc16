//! ureq 3 with its default transport.

use std::time::Duration;

use anyhow::Result;

use super::Client;

/// An agent of ureq 3's, which keeps its connection.
pub struct Ureq3 {
    agent: ureq::Agent,
    place: String,
}

impl Client for Ureq3 {
    fn connect(place: &str) -> Result<Self> {
        Ok(Self {
            agent: ureq::Agent::new_with_defaults(),
            place: place.to_owned(),
        })
    }

    fn call(&mut self, wait: Duration, token: &str) -> Result<String> {
        let url = format!("{}/{}/{token}", self.place, wait.as_millis());
        Ok(self.agent.get(url).call()?.body_mut().read_to_string()?)
    }
}
