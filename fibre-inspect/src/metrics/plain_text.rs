//! The text for older readers: Prometheus's text format, version 0.0.4.
//!
//! In this format a counter's name ends with `_total` in the lines about it, too, and there are
//! neither units nor an end mark.

use std::collections::HashSet;

/// The type of what [`from`] returns, as HTTP has it.
pub(crate) const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// The beginnings of lines about a metric that both formats have.
const ABOUT: [&str; 2] = ["# HELP ", "# TYPE "];

/// This OpenMetrics text in the older format.
pub(crate) fn from(open_metrics: &str) -> String {
    let counter = |line: &'_ str| -> Option<String> {
        let name = line.strip_prefix("# TYPE ")?.strip_suffix(" counter")?;
        Some(name.to_owned())
    };
    let counters: HashSet<String> = open_metrics.lines().filter_map(counter).collect();
    let mut text = String::with_capacity(open_metrics.len() + 6 * 2 * counters.len());
    for line in open_metrics.lines() {
        let about = ABOUT.iter().find(|about| line.starts_with(**about));
        let Some(about) = about else {
            if !line.starts_with('#') {
                text += line;
                text.push('\n');
            }
            continue;
        };
        let rest = &line[about.len()..];
        let (name, words) = rest.split_once(' ').unwrap_or((rest, ""));
        let total = if counters.contains(name) {
            "_total"
        } else {
            ""
        };
        text += &format!("{about}{name}{total} {words}\n");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_end_with_total_everywhere() {
        let open = "# HELP a_seconds Times\n# TYPE a_seconds counter\n# UNIT a_seconds seconds\n\
                    a_seconds_total{b=\"c\"} 1\n# HELP d Things\n# TYPE d gauge\nd 2\n# EOF\n";
        let plain = "# HELP a_seconds_total Times\n# TYPE a_seconds_total counter\n\
                     a_seconds_total{b=\"c\"} 1\n# HELP d Things\n# TYPE d gauge\nd 2\n";
        assert_eq!(from(open), plain);
        assert_eq!(from(""), "");
    }
}
