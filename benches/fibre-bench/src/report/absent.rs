//! Peers that were absent when a run began, and were measured all the same: somebody has installed
//! them meanwhile. A report with their rows must not say that these are missing.

/// What follows the name of a peer in a note that it is absent.
const NOT_INSTALLED: &str = ": not installed";

/// A note as it stands at the end of a run that has measured these: benchmark and subject of each.
pub(super) fn corrected<'a>(
    note: &str,
    measured: impl Iterator<Item = (&'a str, &'a str)>,
) -> String {
    let Some((name, _)) = note.split_once(NOT_INSTALLED) else {
        return note.to_owned();
    };
    // A peer with variants has its name before a comma in their names.
    let is_its = |subject: &str| subject.split(", ").next() == Some(name);
    let mut benchmarks: Vec<&str> = measured
        .filter_map(|(benchmark, subject)| is_its(subject).then_some(benchmark))
        .collect();
    benchmarks.dedup();
    if benchmarks.is_empty() {
        return note.to_owned();
    }
    let benchmarks = benchmarks.join(", ");
    format!("{name}: not installed when the run began, so it has rows in {benchmarks} only")
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOTE: &str = "asio: not installed, so its rows are missing (needs: libasio-dev)";

    /// The note after a run that has measured these.
    fn after(measured: &[(&str, &str)]) -> String {
        corrected(NOTE, measured.iter().copied())
    }

    #[test]
    fn a_peer_that_was_measured_is_not_said_to_be_missing() {
        let measured = [("yield", "fibre"), ("sws", "asio"), ("sws", "asio, strand")];
        let end = "not installed when the run began, so it has rows in sws only";
        assert_eq!(after(&measured), format!("asio: {end}"));
    }

    #[test]
    fn a_peer_that_was_not_measured_stays_missing() {
        assert_eq!(after(&[("sws", "asiolike"), ("yield", "fibre")]), NOTE);
        let other = "figure 4.8: [30000] connections are more than the limit allows";
        let measured = [("4.8", "figure 4.8")];
        assert_eq!(corrected(other, measured.into_iter()), other);
    }
}
