//! The load generator `wrk`, and what it prints.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context as _, bail};

use super::command;
use fibre_measure::Pinned as _;

/// What makes wrk print the quantiles that are read.
const SCRIPT: &str = "src/process/wrk.lua";

/// What one run of wrk saw.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Load {
    /// Answers received.
    pub(crate) requests: f64,
    /// Answers received per second.
    pub(crate) requests_per_second: f64,
    /// Latencies that 50 and 99 of 100 and 999 of 1000 requests stayed under, in milliseconds.
    pub(crate) quantiles_ms: [f64; 3],
    /// What wrk calls errors, as it prints them.
    pub(crate) errors: Vec<String>,
}

/// Whether wrk is installed.
pub(crate) fn installed() -> bool {
    command::installed("wrk")
}

/// Runs wrk with one thread to its end. It counts whole seconds.
pub(crate) fn run(
    address: &str,
    connections: usize,
    seconds: f64,
    cores: &[usize],
) -> anyhow::Result<Load> {
    let output = Command::new("wrk")
        .args(["-t1", "-s"])
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join(SCRIPT))
        .arg(format!("-c{connections}"))
        .arg(format!("-d{}s", seconds.ceil().max(1.0)))
        .arg(format!("http://{address}/plaintext"))
        .stdin(Stdio::null())
        .pinned(cores)
        .output()
        .context("starting wrk")?;
    let text = String::from_utf8_lossy(&output.stdout);
    if !output.status.success() {
        let error = String::from_utf8_lossy(&output.stderr);
        bail!("wrk failed: {text}{error}");
    }
    parse(&text)
}

/// Reads wrk's summary.
pub(crate) fn parse(text: &str) -> anyhow::Result<Load> {
    let mut load = Load::default();
    for line in text.lines().map(str::trim) {
        if let Some(rate) = line.strip_prefix("Requests/sec:") {
            load.requests_per_second = rate.trim().parse()?;
        } else if let Some(quantile) = line.strip_prefix("quantile ") {
            let (place, latency_ms) =
                parse_quantile(quantile).with_context(|| format!("wrk printed {line:?}"))?;
            load.quantiles_ms[place] = latency_ms;
        } else if let Some((requests, _)) = line.split_once(" requests in ") {
            load.requests = requests.parse()?;
        } else if line.starts_with("Socket errors:") || line.starts_with("Non-2xx") {
            load.errors.push(line.into());
        }
    }
    if load.requests == 0.0 {
        bail!("wrk saw no answer");
    }
    Ok(load)
}

/// Reads a line of the script: which quantile, and the latency in milliseconds.
fn parse_quantile(text: &str) -> Option<(usize, f64)> {
    let (quantile, latency) = text.strip_suffix(" us")?.split_once(' ')?;
    let place = ["50", "99", "99.9"]
        .iter()
        .position(|one| *one == quantile)?;
    Some((place, latency.parse::<f64>().ok()? / 1e3))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SUMMARY: &str = "\
Running 2s test @ http://127.0.0.1:1/
  1 threads and 100 connections
  Thread Stats   Avg      Stdev     Max   +/- Stdev
    Latency   820.51us  210.00us   6.62ms   92.60%
    Req/Sec   119.99k     3.65k  124.29k    85.00%
  239026 requests in 2.00s, 14.59MB read
  Socket errors: connect 0, read 3, write 0, timeout 0
Requests/sec: 119447.96
Transfer/sec:      7.29MB
quantile 50 783 us
quantile 99 1500 us
quantile 99.9 2250 us
";

    #[test]
    fn a_summary_is_read() -> anyhow::Result<()> {
        let expected = Load {
            requests: 239_026.0,
            requests_per_second: 119_447.96,
            quantiles_ms: [0.783, 1.5, 2.25],
            errors: vec!["Socket errors: connect 0, read 3, write 0, timeout 0".into()],
        };
        assert_eq!(parse(SUMMARY)?, expected);
        Ok(())
    }

    #[test]
    fn nothing_is_not_a_summary() {
        assert!(parse("unable to connect").is_err());
        assert!(parse("quantile 98 1 us").is_err());
    }
}
