//! Connections that break, answers that do not come, and clients that misbehave.

use std::time::Duration;

use anyhow::{Context as _, Result};
use fibre_mcload::Plan;
use fibre_mcload::storm::Storm;

use crate::server::{Fault, Server};
use crate::{plan, report};

#[test]
fn a_lost_connection_is_opened_anew_and_counted() -> Result<()> {
    let report = report(Fault::Hangup(100))?;
    assert!(report.is_right() && !report.is_clean(), "{report}");
    let lost: u64 = report.lost.values().sum();
    assert!(lost >= 5 && report.reconnects >= 5, "{report}");
    assert!(report.unanswered > 0 && report.doubted_keys > 0, "{report}");
    assert!(
        report.counts.requests() + report.unanswered >= 1000,
        "{report}"
    );
    Ok(())
}

#[test]
fn an_answer_that_does_not_come_is_given_up() -> Result<()> {
    let server = Server::start(Fault::Silent(300))?;
    let plan = Plan {
        pipeline: 1,
        timeout: Duration::from_millis(300),
        ..plan(&server)
    };
    let report = plan.run()?;
    assert!(report.is_right(), "{report}");
    assert!(
        report.lost["timed out"] >= 1 && report.unanswered >= 1,
        "{report}"
    );
    Ok(())
}

#[test]
fn how_long_a_lost_request_was_waited_for_is_not_left_out() -> Result<()> {
    let timeout = Duration::from_millis(400);
    for rate in [None, Some(2000.0)] {
        let server = Server::start(Fault::Silent(300))?;
        let plan = Plan {
            pipeline: 1,
            rate,
            timeout,
            ..plan(&server)
        };
        let report = plan.run()?;
        let times = |name: &str| report.latency_us.get(name).context("no latencies");
        let all = times("all")?;
        let least = 0.999 * timeout.as_secs_f64() * 1e6;
        assert!(report.lost["timed out"] >= 1, "{report}");
        let lost = if rate.is_some() {
            times("service")?
        } else {
            all
        };
        assert!(lost.max >= least && all.max >= least, "{report}");
        assert_eq!(all.count, report.counts.requests() + report.unanswered);
    }
    Ok(())
}

#[test]
fn a_request_that_is_lost_after_the_measured_time_is_not_left_out() -> Result<()> {
    let server = Server::start(Fault::Stall(100, Duration::from_secs(5)))?;
    let report = Plan {
        requests: None,
        seconds: Duration::from_millis(300),
        timeout: Duration::from_millis(800),
        ..plan(&server)
    }
    .run()?;
    let all = report.latency_us.get("all").context("no latencies")?;
    assert!(report.unanswered > 0 && all.max >= 799_000.0, "{report}");
    Ok(())
}

#[test]
fn a_server_that_never_keeps_a_connection_is_hopeless() -> Result<()> {
    assert!(report(Fault::Hangup(1)).is_err());
    Ok(())
}

#[test]
fn those_who_behave_are_served_in_a_storm() -> Result<()> {
    let server = Server::start(Fault::None)?;
    let storms = [
        "trickle=3",
        "slow-reader=3",
        "kill=3",
        "flood=20",
        "short=3",
    ]
    .map(str::parse::<Storm>);
    let storms: Result<Vec<Storm>, String> = storms.into_iter().collect();
    let plan = Plan {
        requests: None,
        seconds: Duration::from_secs(1),
        storms: storms.map_err(anyhow::Error::msg)?,
        ..plan(&server)
    };
    // On a busy machine one kind of client or another may have no turn within a second.
    let mut missing = vec!["kill", "short", "trickle", "flood"];
    for _ in 0..20 {
        let report = plan.run()?;
        assert!(report.is_clean(), "{report}");
        assert_eq!(report.storms.len(), 5);
        missing.retain(|kind| report.storms[*kind] == 0);
        if missing.is_empty() {
            return Ok(());
        }
    }
    anyhow::bail!("they have had no turn: {missing:?}")
}

#[test]
fn idle_connections_are_measured() -> Result<()> {
    let server = Server::start(Fault::None)?;
    let idle = plan(&server).idle()?;
    assert_eq!(idle.connections, 4);
    assert!(idle.threads > 0 && idle.resident_bytes > 0 && idle.bytes_per_connection.is_finite());
    Ok(())
}
