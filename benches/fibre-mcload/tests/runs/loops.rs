//! Closed and open loop.

use std::time::Duration;

use anyhow::{Context as _, Result};
use fibre_mcload::Plan;
use fibre_mcload::distribution::{Distribution, ETC_GAP};

use crate::plan;
use crate::server::{Fault, Server};

/// How long the server stalls.
const STALL: Duration = Duration::from_millis(400);

#[test]
fn the_latency_of_an_open_loop_includes_the_wait_behind_a_stall() -> Result<()> {
    // 1000 requests a second: of 1500, the stall delays every one that is due within it.
    let server = Server::start(Fault::Stall(500, STALL))?;
    let report = Plan {
        pipeline: 1,
        rate: Some(1000.0),
        gap: Distribution::Fixed(1.0),
        requests: Some(1500),
        ..plan(&server)
    }
    .run()?;
    assert!(report.is_clean(), "{report}");
    let all = report.latency_us.get("all").context("no latencies")?;
    let service = report
        .latency_us
        .get("service")
        .context("no service times")?;
    let stall = STALL.as_secs_f64() * 1e6;
    assert!(all.p90 > stall / 4.0, "{report}");
    // Only four requests are under way when it happens, so the time of service hides it.
    assert!(service.p90 < all.p90, "{report}");
    assert!(
        all.max >= 0.9 * stall && service.max >= 0.9 * stall,
        "{report}"
    );
    Ok(())
}

#[test]
fn an_open_loop_keeps_its_rate() -> Result<()> {
    let server = Server::start(Fault::None)?;
    for gap in [Distribution::Exponential(1.0), ETC_GAP] {
        let report = Plan {
            rate: Some(2000.0),
            gap,
            requests: None,
            seconds: Duration::from_secs(1),
            ..plan(&server)
        }
        .run()?;
        let due = report.counts.requests() + report.counts.unsent;
        assert!(report.is_right() && (1700..2300).contains(&due), "{report}");
    }
    Ok(())
}

#[test]
fn what_could_not_be_sent_is_not_left_out() -> Result<()> {
    let server = Server::start(Fault::Stall(100, Duration::from_secs(2)))?;
    let report = Plan {
        pipeline: 1,
        rate: Some(1000.0),
        requests: None,
        seconds: Duration::from_secs(1),
        ..plan(&server)
    }
    .run()?;
    let latency = report.latency_us.get("all").context("no latencies")?;
    assert!(report.is_right() && report.counts.unsent > 0, "{report}");
    assert!(latency.p90 > 100_000.0, "{report}");
    Ok(())
}

#[test]
fn what_is_answered_after_the_measured_time_takes_time_but_is_no_throughput() -> Result<()> {
    // 50 keys are stored before; of the others, 250 at most are answered before the stall, which
    // outlasts the rest.
    let server = Server::start(Fault::Stall(300, Duration::from_millis(1500)))?;
    let report = Plan {
        pipeline: 1000,
        rate: Some(1000.0),
        gap: Distribution::Fixed(1.0),
        requests: None,
        seconds: Duration::from_secs(1),
        ..plan(&server)
    }
    .run()?;
    let all = report.latency_us.get("all").context("no latencies")?;
    assert!(
        report.is_clean() && report.counts.requests() <= 250,
        "{report}"
    );
    assert!(report.requests_per_second <= 250.0, "{report}");
    assert!(all.count >= 990 && all.p50 > 500_000.0, "{report}");
    Ok(())
}

#[test]
fn what_comes_before_the_measured_time_does_not_count() -> Result<()> {
    let measure = || {
        let server = Server::start(Fault::Stall(300, STALL))?;
        let plan = Plan {
            requests: None,
            warm_up: Duration::from_secs(1),
            seconds: Duration::from_millis(200),
            ..plan(&server)
        };
        plan.run()
    };
    let mut report = measure()?;
    for _ in 0..20 {
        // Others may have had the CPUs for all of so short a time.
        if report.counts.requests() == 0 {
            report = measure()?;
        }
    }
    let latency = report.latency_us.get("all").context("no latencies")?;
    assert!(report.is_clean() && latency.p50 < 400_000.0, "{report}");
    assert!((report.seconds - 0.2).abs() < 1e-9);
    let bytes_per_request = report.counts.bytes_sent as f64 / report.counts.requests() as f64;
    // Questions of 36 bytes and orders of 149, three of ten; some were sent just before.
    assert!(
        (30.0..150.0).contains(&bytes_per_request),
        "{bytes_per_request}"
    );
    Ok(())
}
