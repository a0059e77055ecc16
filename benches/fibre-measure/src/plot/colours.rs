//! The colour of each runtime, the same in every plot.

use plotters::style::{RGBColor, WHITE};

/// Background of every plot, so that it can be read on a dark page too.
pub(super) const PAPER: RGBColor = WHITE;

/// Colours that stay apart for most colour-blind eyes as well; ours is the
/// strongest.
const NAMED: &[(&str, RGBColor)] = &[
    ("fibre", RGBColor(200, 30, 30)),
    ("epoll", RGBColor(0, 0, 0)),
    ("uring", RGBColor(90, 110, 130)),
    ("corosensei", RGBColor(150, 150, 150)),
    ("tokio", RGBColor(0, 114, 178)),
    ("tokio-worker", RGBColor(86, 180, 233)),
    ("may", RGBColor(0, 158, 115)),
    ("thread", RGBColor(120, 80, 40)),
    ("threads", RGBColor(120, 80, 40)),
    ("vanilla", RGBColor(0, 0, 0)),
    ("go", RGBColor(230, 159, 0)),
    ("boost", RGBColor(204, 121, 167)),
    ("crossbeam", RGBColor(90, 60, 160)),
    ("flume", RGBColor(160, 140, 0)),
];

/// Colours of subjects without one of their own, in turn.
const OTHERS: &[RGBColor] = &[
    RGBColor(0, 150, 150),
    RGBColor(150, 0, 150),
    RGBColor(100, 110, 0),
    RGBColor(213, 94, 0),
    RGBColor(0, 90, 200),
    RGBColor(230, 170, 0),
    RGBColor(90, 90, 90),
    RGBColor(0, 120, 40),
];

/// A colour for each subject of a plot: its own, or the next that no other has.
pub(super) fn of(subjects: &[String]) -> Vec<RGBColor> {
    let own = |subject: &String| NAMED.iter().find(|(name, _)| name == subject);
    let mut others = OTHERS.iter().cycle().copied();
    let colours = subjects.iter().map(|subject| match own(subject) {
        Some((_, colour)) => *colour,
        None => others.next().unwrap_or(RGBColor(0, 0, 0)),
    });
    colours.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn subjects_have_colours_of_their_own() {
        let names =
            "fibre,fibre a,fibre b,fibre c,tokio,tokio-worker,actix,ractor,kameo,caf,erlang";
        let subjects: Vec<String> = names.split(',').map(String::from).collect();
        let mut colours: Vec<_> = of(&subjects).iter().map(|it| (it.0, it.1, it.2)).collect();
        colours.sort_unstable();
        colours.dedup();
        assert_eq!(colours.len(), subjects.len());
    }
}
