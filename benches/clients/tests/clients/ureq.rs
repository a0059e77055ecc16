//! ureq 2 and 3, each over its own transport.

use std::time::Duration;

use anyhow::{Context, Result, ensure};

use crate::fibres::on_fibres;
use crate::http_server;

/// Clients at once.
const CLIENTS: usize = 100;

/// What both versions can do.
trait Fetch: Send + Sync + Clone + 'static {
    /// An agent with fetches that may take so long.
    fn within(limit: Duration) -> Self;

    /// Fetches a page.
    fn get(&self, url: &str) -> Result<String>;
}

/// An agent of version 2.
#[derive(Clone)]
struct Two(ureq2::Agent);

impl Fetch for Two {
    fn within(limit: Duration) -> Self {
        Self(ureq2::AgentBuilder::new().timeout(limit).build())
    }

    fn get(&self, url: &str) -> Result<String> {
        Ok(self.0.get(url).call()?.into_string()?)
    }
}

/// An agent of version 3.
#[derive(Clone)]
struct Three(ureq::Agent);

impl Fetch for Three {
    fn within(limit: Duration) -> Self {
        let limit = ureq::Agent::config_builder().timeout_global(Some(limit));
        Self(ureq::Agent::new_with_config(limit.build()))
    }

    fn get(&self, url: &str) -> Result<String> {
        Ok(self.0.get(url).call()?.body_mut().read_to_string()?)
    }
}

/// Longer than any test.
const LONG: Duration = Duration::from_secs(300);

/// An agent that all fibres share has them meet.
fn meet<F: Fetch>() {
    let site = http_server::start();
    let agent = F::within(LONG);
    on_fibres(CLIENTS, move |number| {
        for round in 0..3 {
            let token = format!("{number}-{round}");
            let got = agent.get(&format!("{site}/meet/{round}/{CLIENTS}/{token}"))?;
            ensure!(got == token, "{got} for {token}");
            let got = agent.get(&format!("{site}/{token}"))?;
            ensure!(got == token, "{got} for {token}");
        }
        Ok(())
    });
}

/// Answers that are cut off or never come fail their clients alone.
fn fail<F: Fetch>() {
    let site = http_server::start();
    let (agent, hasty) = (F::within(LONG), F::within(Duration::from_millis(100)));
    on_fibres(30, move |number| {
        match number % 3 {
            0 => drop(
                agent
                    .get(&format!("{site}/cut"))
                    .err()
                    .context("half a page")?,
            ),
            1 => drop(
                hasty
                    .get(&format!("{site}/never"))
                    .err()
                    .context("an answer")?,
            ),
            _ => {
                for turn in 0..20 {
                    let token = format!("{number}-{turn}");
                    let got = agent.get(&format!("{site}/{token}"))?;
                    ensure!(got == token, "{got} for {token}");
                }
            }
        }
        Ok(())
    });
}

#[test]
fn fetches_of_version_2_wait_at_once() {
    meet::<Two>();
}

#[test]
fn fetches_of_version_3_wait_at_once() {
    meet::<Three>();
}

#[test]
fn a_failure_in_version_2_is_one_of_its_client_alone() {
    fail::<Two>();
}

#[test]
fn a_failure_in_version_3_is_one_of_its_client_alone() {
    fail::<Three>();
}

#[test]
fn names_are_looked_up() {
    let site = http_server::start().replace("127.0.0.1", "localhost");
    on_fibres(20, move |number| {
        let token = number.to_string();
        let (two, three) = (Two::within(LONG), Three::within(LONG));
        let url = format!("{site}/{token}");
        let got = [two.get(&url)?, three.get(&url)?];
        ensure!(got == [token.clone(), token], "{got:?}");
        Ok(())
    });
}
