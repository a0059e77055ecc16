//! A service on fibres takes no more lines than 1.1 times those of its twin.

use std::fs;
use std::path::Path;

/// The lines that are neither blank nor a comment.
fn lines(service: &str, runtime: &str) -> usize {
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let text = fs::read_to_string(sources.join(service).join(format!("{runtime}.rs"))).unwrap();
    let lines = text.lines().map(str::trim);
    lines
        .filter(|line| !line.is_empty() && !line.starts_with("//"))
        .count()
}

#[test]
fn fibres_take_no_more_lines() {
    for (service, twin) in [
        ("proxy", "tokio"),
        ("crawler", "tokio"),
        ("pipeline", "tokio"),
        ("udp", "tokio"),
        ("orders", "axum"),
    ] {
        let [fibre, tokio] = ["fibre", twin].map(|runtime| lines(service, runtime));
        println!("{service}: {fibre} lines on fibres, {tokio} on {twin}");
        assert!(fibre > 30 && tokio > 30, "{service}: nothing was counted");
        assert!(
            fibre * 10 <= tokio * 11,
            "{service}: {fibre} lines, {tokio} on tokio"
        );
    }
}

/// HTTP, Redis, spans, metrics, limits and an end in order: with all of these.
#[test]
fn orders_take_130_lines() {
    let lines = lines("orders", "fibre");
    assert!((60..=130).contains(&lines), "{lines}");
}
