//! One line for every figure ours has to reach, with the best peer of the same
//! run beside it.

use comfy_table::Table;

use super::format::{self, figure, ratio};
use super::goal::{Bar, Better, Verdict};
use super::measurement::{Measurement, is_ours};

/// How the table is read.
pub(super) const LEGEND: &str = "\
Each row is a figure that ours has to reach. The bars were set on a 2-core AMD EPYC (Zen 5); *scaled* is the bar times the
median of \"here / there\" over the peers that were measured on both machines, which is what the bar demands of this one.
*Better by* compares with the best peer of the same run: above 1 ours is better. `corosensei` is the bare context switch,
`epoll` and `uring` event loops without a runtime: floors and no peers.";

/// Subjects that do less than a runtime must, and so are no peers.
const FLOORS: &[&str] = &["corosensei", "epoll", "uring"];

/// The verdict on one of our measurements; `None` where it has no goal.
pub(super) fn verdict(ours: &Measurement, all: &[Measurement]) -> Option<Verdict> {
    let goal = ours.goal?;
    let other = |subject: &str| {
        all.iter()
            .find(|one| one.subject == subject && one.compares_with(ours))
    };
    let figure_of = |subject: &str| {
        let theirs = other(subject)?;
        match goal.bar {
            Bar::Figure(_) | Bar::Above(..) => Some(theirs.figure()),
            Bar::TimesOf(..) => Some(ours.figure() / strict_ratio(ours, theirs)),
        }
    };
    let figure_of = |subject: &str| figure_of(subject).filter(|figure| figure.is_finite());
    Some(goal.judge(ours.figure(), ours.better, figure_of))
}

/// Ours over theirs: of the figures, and as the median within the repetitions,
/// whichever is worse for us.
fn strict_ratio(ours: &Measurement, theirs: &Measurement) -> f64 {
    let ratio = ours.figure() / theirs.figure();
    let paired = ours.readings.paired(&theirs.readings).median();
    match ours.better {
        Better::Lower => ratio.max(paired),
        Better::Higher => ratio.min(paired),
    }
}

/// The table of all goals.
pub(super) fn table(all: &[Measurement]) -> Table {
    let header = [
        "figure",
        "what",
        "ours",
        "to reach",
        "mark",
        "scaled",
        "best peer",
        "its figure",
        "better by",
    ];
    let mut table = format::table(&header, 2);
    for ours in all.iter().filter(|one| is_ours(&one.subject)) {
        let Some(verdict) = verdict(ours, all) else {
            continue;
        };
        let peer = best_peer(ours, all);
        table.add_row([
            format!("{}: {}", ours.benchmark, ours.case),
            format!("{}, {}", ours.metric, ours.unit),
            figure(ours.figure()),
            verdict.bar.clone(),
            verdict.mark().into(),
            verdict.scaled_mark(),
            peer.map_or_else(String::new, |peer| peer.subject.clone()),
            peer.map_or_else(String::new, |peer| figure(peer.figure())),
            peer.map_or_else(String::new, |peer| ratio(advantage(ours, peer))),
        ]);
    }
    table
}

/// The peer with the best figure in the same row.
pub(super) fn best_peer<'a>(ours: &Measurement, all: &'a [Measurement]) -> Option<&'a Measurement> {
    all.iter()
        .filter(|one| !is_ours(&one.subject) && !FLOORS.contains(&one.subject.as_str()))
        .filter(|one| one.compares_with(ours) && one.figure().is_finite())
        .min_by(|a, b| advantage(ours, a).total_cmp(&advantage(ours, b)))
}

/// How many times better ours is than theirs.
pub(super) fn advantage(ours: &Measurement, theirs: &Measurement) -> f64 {
    match ours.better {
        Better::Lower => theirs.figure() / ours.figure(),
        Better::Higher => ours.figure() / theirs.figure(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::goal::Goal;
    use super::super::measurement::OURS;
    use super::super::measurement::Read;
    use super::*;

    fn measured(subject: &str, better: Better, readings: &[f64]) -> Measurement {
        Measurement {
            benchmark: "b",
            case: "c".into(),
            subject: subject.into(),
            metric: "m",
            unit: "ns",
            better,
            read: Read::Best,
            goal: None,
            readings: readings.iter().copied().collect(),
        }
    }

    #[test]
    fn the_best_peer_is_the_hardest_to_beat_and_no_floor() {
        let ours = measured(OURS, Better::Lower, &[10.0]);
        let all = [
            ours.clone(),
            measured("may", Better::Lower, &[20.0]),
            measured("tokio", Better::Lower, &[15.0]),
            measured("corosensei", Better::Lower, &[1.0]),
            measured("fibre, spinning", Better::Lower, &[2.0]),
        ];
        let best = best_peer(&ours, &all).map(|peer| peer.subject.as_str());
        assert_eq!(best, Some("tokio"));
        let ours = measured(OURS, Better::Higher, &[10.0]);
        let all = all.map(|one| Measurement {
            better: Better::Higher,
            ..one
        });
        let best = best_peer(&ours, &all).map(|peer| peer.subject.as_str());
        assert_eq!(best, Some("may"));
    }

    #[test]
    fn a_multiple_is_judged_by_minima_and_within_repetitions() {
        let mut ours = measured(OURS, Better::Lower, &[10.0, 30.0, 30.0]);
        ours.goal = Some(Goal::times_of("epoll", 1.5));
        let epoll = measured("epoll", Better::Lower, &[9.0, 10.0, 10.0]);
        let verdict = verdict(&ours, &[ours.clone(), epoll]);
        let reached = verdict.and_then(|verdict| verdict.reached);
        assert_eq!(reached, Some(false), "the minima alone would reach it");
    }
}
