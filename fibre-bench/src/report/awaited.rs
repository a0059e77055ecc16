//! Figures that have a bar but nothing to run yet, so that none is forgotten.

use std::fmt::Write as _;

/// A figure to reach and the part of fibre it waits for.
struct Awaited {
    figure: &'static str,
    to_reach: &'static str,
    waits_for: &'static str,
}

/// All of them. A row leaves this table when its benchmark enters one.
const AWAITED: &[Awaited] = &[Awaited {
    figure: "thesis figures 4.10 to 4.18: Memcached",
    to_reach: "plots",
    waits_for: "Memcached on fibres",
}];

/// The list in Markdown.
pub(crate) fn list() -> String {
    let mut text = String::new();
    for row in AWAITED {
        // Writing to a string cannot fail.
        writeln!(
            text,
            "* {} ({}): waits for {}",
            row.figure, row.to_reach, row.waits_for
        )
        .ok();
    }
    text
}
