//! What ours has to reach, and whether it does.
//!
//! Most bars were set on another machine. A bar in nanoseconds says little on
//! one with half the clock, so a goal also keeps what the peers measured *there*.
//! The median over the peers of "here / there" is how much slower this machine is
//! at this very thing, and the bar times that scale is what the bar demands
//! here. Both verdicts are printed; the first is the strict one.

use serde::{Deserialize, Serialize};

use fibre_measure::Series;

/// Which of two figures is the better one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Better {
    /// A cost: less is better.
    Lower,
    /// A rate or an index: more is better.
    Higher,
}

impl Better {
    /// The same in words.
    pub(crate) fn in_words(self) -> &'static str {
        match self {
            Self::Lower => "lower is better",
            Self::Higher => "higher is better",
        }
    }
}

/// A figure ours has to reach.
#[derive(Debug, Clone, Copy, Serialize)]
pub(crate) struct Goal {
    /// The bar as it was set.
    pub(crate) bar: Bar,
    /// What peers measured on the machine where the bar was set.
    pub(crate) there: &'static [(&'static str, f64)],
}

/// How a goal is stated.
#[derive(Debug, Clone, Copy, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Bar {
    /// A figure in the unit of the measurement.
    Figure(f64),
    /// A multiple of what another subject measures in the same run.
    TimesOf(&'static str, f64),
    /// So much more than what another subject measures in the same run.
    Above(&'static str, f64),
}

/// A goal beside what was measured.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Verdict {
    /// The bar in words.
    pub(crate) bar: String,
    /// Whether it is reached as stated; `None` where it could not be judged.
    pub(crate) reached: Option<bool>,
    /// The bar scaled to this machine, and whether that is reached.
    pub(crate) scaled: Option<(f64, bool)>,
}

impl Goal {
    /// A figure to reach, without peers to scale it by.
    pub(crate) const fn figure(bar: f64) -> Self {
        Self::scaled(bar, &[])
    }

    /// A figure to reach, with what peers measured where it was set.
    pub(crate) const fn scaled(bar: f64, there: &'static [(&'static str, f64)]) -> Self {
        Self {
            bar: Bar::Figure(bar),
            there,
        }
    }

    /// A multiple of another subject's figure.
    pub(crate) const fn times_of(subject: &'static str, most: f64) -> Self {
        Self {
            bar: Bar::TimesOf(subject, most),
            there: &[],
        }
    }

    /// At most so much more than another subject's figure.
    pub(crate) const fn above(subject: &'static str, most: f64) -> Self {
        Self {
            bar: Bar::Above(subject, most),
            there: &[],
        }
    }

    /// The bar, where it is stated in the unit of the measurement.
    pub(crate) fn absolute(&self) -> Option<f64> {
        match self.bar {
            Bar::Figure(bar) => Some(bar),
            Bar::TimesOf(..) | Bar::Above(..) => None,
        }
    }

    /// Judges `ours`; `figure_of` gives what a subject measured here.
    pub(crate) fn judge(
        &self,
        ours: f64,
        better: Better,
        figure_of: impl Fn(&str) -> Option<f64>,
    ) -> Verdict {
        let sign = match better {
            Better::Lower => '≤',
            Better::Higher => '≥',
        };
        let reaches = |bar: f64| match better {
            Better::Lower => ours <= bar,
            Better::Higher => ours >= bar,
        };
        match self.bar {
            Bar::Figure(bar) => Verdict {
                bar: format!("{sign} {bar}"),
                reached: ours.is_finite().then(|| reaches(bar)),
                scaled: self
                    .scale(figure_of)
                    .map(|scale| (bar * scale, reaches(bar * scale))),
            },
            Bar::TimesOf(subject, times) => Verdict {
                bar: format!("{sign} {times} × {subject}"),
                reached: figure_of(subject).map(|theirs| reaches(theirs * times)),
                scaled: None,
            },
            Bar::Above(subject, most) => Verdict {
                bar: format!("{sign} {subject} + {most}"),
                reached: figure_of(subject).map(|theirs| reaches(theirs + most)),
                scaled: None,
            },
        }
    }

    /// How much larger figures are here than where the bar was set.
    fn scale(&self, figure_of: impl Fn(&str) -> Option<f64>) -> Option<f64> {
        let ratios = self
            .there
            .iter()
            .filter_map(|&(subject, there)| Some(figure_of(subject)? / there));
        let scale = ratios.collect::<Series>().median();
        scale.is_finite().then_some(scale)
    }
}

impl Verdict {
    /// The mark of the strict verdict.
    pub(crate) fn mark(&self) -> &'static str {
        mark(self.reached)
    }

    /// The scaled bar with its mark; nothing where there is none.
    pub(crate) fn scaled_mark(&self) -> String {
        self.scaled.map_or_else(String::new, |(bar, reached)| {
            format!("{}: {}", super::format::figure(bar), mark(Some(reached)))
        })
    }
}

/// A verdict in a word that can be searched for.
fn mark(reached: Option<bool>) -> &'static str {
    match reached {
        Some(true) => "reached",
        Some(false) => "**short**",
        None => "not measured",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_is_scaled_by_the_peers_of_both_machines() {
        let goal = Goal::scaled(15.0, &[("may", 26.0), ("thread", 1000.0), ("absent", 1.0)]);
        let here = |subject: &str| match subject {
            "may" => Some(52.0),
            "thread" => Some(4000.0),
            _ => None,
        };
        let verdict = goal.judge(40.0, Better::Lower, here);
        assert_eq!(verdict.reached, Some(false));
        assert_eq!(verdict.scaled, Some((45.0, true)));
    }

    #[test]
    fn a_rate_must_be_at_least_its_bar() {
        let verdict = Goal::figure(2.0).judge(1.9, Better::Higher, |_| None);
        assert_eq!((verdict.reached, verdict.scaled), (Some(false), None));
        assert_eq!(verdict.bar, "≥ 2");
    }

    #[test]
    fn a_multiple_needs_the_other_subject() {
        let goal = Goal::times_of("epoll", 1.04);
        let judge = |epoll| goal.judge(5.0, Better::Lower, |_| epoll).reached;
        assert_eq!(judge(Some(4.9)), Some(true));
        assert_eq!(judge(Some(4.0)), Some(false));
        assert_eq!(judge(None), None);
    }
}
