//! A reader of OpenMetrics text that knows nothing of what writes it, after the standard
//! (OpenMetrics 1.0, as far as it concerns counters and gauges), and `promtool`, if it is there.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::process::{Command, Stdio};

/// A sample: the name of its metric with the labels in order, and its value.
pub type Samples = BTreeMap<String, f64>;

/// Reads a text; panics where it is not as the standard says.
#[track_caller]
pub fn read(text: &str) -> Samples {
    let body = text.strip_suffix("# EOF\n").expect("the end is missing");
    let mut samples = Samples::new();
    let mut families: BTreeMap<&str, &str> = BTreeMap::new();
    let mut units: BTreeMap<&str, &str> = BTreeMap::new();
    let mut seen = BTreeSet::new();
    let mut current = "";
    for line in body.lines() {
        if let Some(about) = line.strip_prefix("# ") {
            let mut words = about.splitn(3, ' ');
            let [kind, name, rest] = [(); 3].map(|()| words.next().unwrap_or_default());
            assert!(is_name(name), "{line}");
            if current != name {
                assert!(seen.insert(name), "{name} comes twice");
                current = name;
            }
            match kind {
                "TYPE" => {
                    assert!(["counter", "gauge"].contains(&rest), "{line}");
                    assert!(families.insert(name, rest).is_none(), "{line}");
                }
                "UNIT" => {
                    assert!(name.ends_with(&format!("_{rest}")), "{line}");
                    units.insert(name, rest);
                }
                "HELP" => assert!(rest.len() > 3 && !rest.contains('"'), "{line}"),
                _ => panic!("{line}"),
            }
            continue;
        }
        let (series, value) = line.rsplit_once(' ').expect(line);
        let value: f64 = value.parse().expect(line);
        let (name, labels) = match series.split_once('{') {
            Some((name, labels)) => (name, labels.strip_suffix('}').expect(line)),
            None => (series, ""),
        };
        assert!(is_name(name), "{line}");
        let family = name.strip_suffix("_total").unwrap_or(name);
        assert_eq!(family, current, "a sample outside of its family: {line}");
        let kind = families.get(family).expect(line);
        assert_eq!(*kind == "counter", name.ends_with("_total"), "{line}");
        assert!(*kind == "gauge" || value >= 0.0, "{line}");
        read_labels(labels);
        assert!(value.is_finite(), "{line}");
        assert!(
            samples.insert(series.to_owned(), value).is_none(),
            "twice: {line}"
        );
    }
    samples
}

/// Whether this is the name of a metric or label.
fn is_name(name: &str) -> bool {
    let is_letter = |c: char| c.is_ascii_alphabetic() || c == '_' || c == ':';
    name.starts_with(is_letter) && name.chars().all(|c| is_letter(c) || c.is_ascii_digit())
}

/// Checks a list of labels, whose values may have escapes.
#[track_caller]
fn read_labels(mut rest: &str) {
    let mut names = BTreeSet::new();
    while !rest.is_empty() {
        let (name, value) = rest.split_once("=\"").expect(rest);
        assert!(is_name(name) && names.insert(name), "{rest}");
        let mut end = None;
        let mut escaped = false;
        for (place, c) in value.char_indices() {
            match c {
                _ if escaped => {
                    assert!(['\\', '"', 'n'].contains(&c), "{rest}");
                    escaped = false;
                }
                '\\' => escaped = true,
                '"' => {
                    end = Some(place);
                    break;
                }
                _ => {}
            }
        }
        rest = &value[end.expect(rest) + 1..];
        rest = rest.strip_prefix(',').unwrap_or(rest);
    }
}

/// The sum of all samples of a metric.
pub fn sum(samples: &Samples, name: &str) -> f64 {
    let is_its = |series: &str| series == name || series.starts_with(&format!("{name}{{"));
    let its = samples.iter().filter(|(series, _)| is_its(series));
    its.map(|(_, value)| value).sum()
}

/// Has `promtool` check a text, if it is installed.
pub fn check_by_promtool(text: &str) {
    let mut command = Command::new("promtool");
    command.args(["check", "metrics"]).stdin(Stdio::piped());
    let Ok(mut child) = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
    else {
        eprintln!(
            "promtool (Debian: prometheus) is not installed: only our own reader has checked"
        );
        return;
    };
    child
        .stdin
        .take()
        .unwrap()
        .write_all(text.as_bytes())
        .unwrap();
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    // Its other failures are opinions on names, by the rules of another format.
    assert_ne!(output.status.code(), Some(1), "{said}");
    eprintln!("promtool has checked the text: {} {said}", output.status);
}

#[test]
fn what_is_wrong_is_seen() {
    let right =
        "# HELP a_b A thing.\n# TYPE a_b counter\na_b_total{x=\"q\\\"y\",z=\"\"} 1\n# EOF\n";
    assert_eq!(sum(&read(right), "a_b_total"), 1.0);
    for (from, to) in [
        ("# EOF\n", ""),
        ("_total", ""),
        ("counter", "gauge"),
        ("} 1", "} -1"),
        ("} 1", "} one"),
        ("} 1", "} 1\na_b_total{x=\"q\\\"y\",z=\"\"} 2"),
        ("\\\"", "\""),
        ("z=", "x="),
        ("a_b_total{", "a_c_total{"),
        ("# TYPE a_b", "# TYPE a_c"),
        ("# HELP a_b", "# HELP 1_b"),
    ] {
        let wrong = right.replacen(from, to, 1);
        assert!(
            std::panic::catch_unwind(|| read(&wrong)).is_err(),
            "{wrong}"
        );
    }
}
