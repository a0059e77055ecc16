//! Figures that other programs and commands measure: a reader who looks for them here finds the
//! way.

use std::fmt::Write as _;

/// Figures, and who measures them.
struct Elsewhere {
    figures: &'static str,
    by: &'static str,
}

/// All figures that other programs and commands measure.
const ELSEWHERE: &[Elsewhere] = &[
    Elsewhere {
        figures: "thesis figures 4.10 to 4.18, Memcached",
        by: "`fibre-mcload compare`, see benches/fibre-mcload/README.md",
    },
    Elsewhere {
        figures: "thesis figures 6.2 and 6.3, models of utilisation",
        by: "`fibre-bench utilisation`, see docs/UTILISATION.md",
    },
];

/// The list in Markdown.
pub(crate) fn list() -> String {
    let mut text = String::new();
    for row in ELSEWHERE {
        // Writing to a string cannot fail.
        writeln!(text, "* {}: {}", row.figures, row.by).ok();
    }
    text
}
