//! ureq 2: its transport cannot be replaced.

use std::time::Duration;

use anyhow::Result;

use super::Client;

/// An agent of ureq 2's, which keeps its connection.
pub struct Ureq2 {
    agent: ureq2::Agent,
    place: String,
}

impl Client for Ureq2 {
    fn connect(place: &str) -> Result<Self> {
        let agent = ureq2::AgentBuilder::new().build();
        Ok(Self {
            agent,
            place: place.to_owned(),
        })
    }

    fn call(&mut self, wait: Duration, token: &str) -> Result<String> {
        let url = format!("{}/{}/{token}", self.place, wait.as_millis());
        Ok(self.agent.get(&url).call()?.into_string()?)
    }
}
