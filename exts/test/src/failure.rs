//! What is said of a run that has failed.

use crate::stage::{Stage, Verdict, words_of};
use fibre_core::{Cluster, waits};
use fibre_inspect::content_of;
use std::any::Any;
use std::fmt::Write;

/// Why a run has failed.
pub(crate) struct Failure {
    /// What has happened.
    pub(crate) words: String,
    /// The same in a form that is equal for equal failures of different runs: without numbers.
    pub(crate) kind: String,
    /// What the closure has panicked with, if that is it.
    pub(crate) panic: Option<Box<dyn Any + Send>>,
    /// Whether it is known that something was not under the kit's control.
    pub(crate) is_out_of_control: bool,
}

impl Failure {
    /// The closure has panicked.
    pub(crate) fn panicked(payload: Box<dyn Any + Send>) -> Self {
        let text = payload.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| payload.downcast_ref::<&str>().copied());
        Self {
            words: match text {
                Some(text) => format!("the test has panicked: {text}"),
                None => "the test has panicked".to_owned(),
            },
            kind: without_numbers(text.unwrap_or_default()),
            panic: Some(payload),
            is_out_of_control: false,
        }
    }

    /// The closure has returned, and left fibres behind.
    pub(crate) fn leak(count: usize, stage: &Stage, cluster: &Cluster, dumps: bool) -> Self {
        let fibres = if count == 1 { "fibre" } else { "fibres" };
        let words = format!("leak: {count} {fibres} still live at the end of the test");
        Self::seen(words, stage, cluster, dumps)
    }

    /// The run has been ended by the stage. `None`: it has come to its end.
    pub(crate) fn of(
        verdict: Verdict,
        stage: &Stage,
        cluster: &Cluster,
        dumps: bool,
    ) -> Option<Self> {
        let outside = |what: &str| format!("not under the kit's control: {what}");
        let (words, is_out_of_control) = match verdict {
            Verdict::Done => return None,
            Verdict::Deadlock => {
                let words = "deadlock: nothing can run and nothing is due";
                (words.to_owned(), false)
            }
            Verdict::Endless => {
                let switches = stage.most_switches();
                let words = format!("no end after {switches} switches (Builder::most_switches)");
                (words, false)
            }
            Verdict::Outside(fibre, awaited) => {
                let words = format!("fibre {fibre} waits for {awaited}");
                (outside(&words), true)
            }
            Verdict::Moved(fibre) => {
                let words = format!("fibre {fibre} has moved to another cluster");
                (outside(&words), true)
            }
            Verdict::Unseen(fibre) => {
                let words = format!("fibre {fibre} has failed, and nobody joins it");
                (words, false)
            }
            Verdict::Broken(place) => {
                let name = stage.invariants.name(place);
                (format!("an invariant is broken: {name}"), false)
            }
            Verdict::Woken => (outside("another thread has woken a fibre"), true),
            Verdict::Stuck => {
                let words = "a fibre does not switch: it computes, or blocks the thread";
                (outside(words), true)
            }
        };
        let kind = without_numbers(&words);
        let words = format!("{words}, at {:?}", stage.elapsed());
        let mut failure = Self::seen(words, stage, cluster, dumps);
        failure.kind = kind;
        failure.is_out_of_control = is_out_of_control;
        Some(failure)
    }

    /// A failure with these words, and with the fibres that wait now; with `dumps`, their stacks,
    /// too.
    fn seen(mut words: String, stage: &Stage, cluster: &Cluster, dumps: bool) -> Self {
        let kind = without_numbers(&words);
        let waiting = waits();
        for waiting in waiting
            .iter()
            .filter(|waiting| waiting.cluster == cluster.name())
        {
            // Writing to a string does not fail. Times are of the run's clock, which stands here.
            let _ = write!(words, "\n  fibre {}", waiting.id);
            if let Some(name) = &waiting.name {
                let _ = write!(words, " ({name:?})");
            }
            if let Some(host) = stage.host_of(waiting.id) {
                let _ = write!(words, " of host {host}");
            }
            let _ = write!(words, " waits for {}", words_of(waiting.awaited));
            if let Some(owner) = waiting.owner {
                let _ = write!(words, ", held by {owner}");
            }
        }
        if dumps {
            let _ = write!(words, "\n\n{}", content_of(cluster.name()));
        }
        Self {
            words,
            kind,
            panic: None,
            is_out_of_control: false,
        }
    }
}

/// A text without its digits, and what makes numbers of them.
fn without_numbers(text: &str) -> String {
    text.split(|at: char| at.is_ascii_digit())
        .filter(|part| !part.is_empty() && *part != ".")
        .collect()
}
