//! Pages for people, of the server of `FIBRE_METRICS`.

use super::serving::{Served, served, thirteen};
use fibre::sync::Mutex;
use serde_json::Value;
use std::io::Write;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long what a process shows may take to become what it should be.
const LIMIT: Duration = Duration::from_secs(50);

/// The page of a path, as a browser on this machine asks for it.
fn page(served: &Served, path: &str) -> (String, String) {
    let host = served.address;
    served.ask(format!("GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n").as_bytes())
}

/// The snapshot, once it is as it should be.
fn snapshot(served: &Served, is_wanted: impl Fn(&Value) -> bool) -> Value {
    let end = Instant::now() + LIMIT;
    loop {
        let (head, body) = page(served, "/snapshot");
        // So many clients may be served at a time.
        let is_late = head.starts_with("HTTP/1.1 503 ");
        assert!(is_late || head.starts_with("HTTP/1.1 200 OK\r\n"), "{head}");
        let value: Value = serde_json::from_str(&body).unwrap_or_default();
        if is_wanted(&value) {
            return value;
        }
        assert!(Instant::now() < end, "{value:#}");
        std::thread::sleep(Duration::from_millis(100));
    }
}

/// The groups that a look has found.
fn groups(value: &Value) -> impl Iterator<Item = &Value> {
    value["look"]["groups"].as_array().into_iter().flatten()
}

/// Whether this is in the description of where a group is: a file, or a function that is not
/// inlined.
fn is_at(group: &Value, at: &str) -> bool {
    group["at"].as_str().is_some_and(|place| place.contains(at))
}

/// Whether a look has found a group in this state, of so many, at this place.
fn has_group(value: &Value, state: &str, count: u64, at: &str) -> bool {
    groups(value)
        .any(|group| group["state"] == state && group["count"] == count && is_at(group, at))
}

#[test]
fn fibres_that_wait_are_shown() {
    let served = served(&[("FIBRE_PROCESSORS", "2")], thirteen);
    let (head, body) = page(&served, "/");
    assert!(head.contains("\r\nContent-Type: text/html"), "{head}");
    assert!(
        head.contains("\r\nContent-Security-Policy: default-src 'none'"),
        "{head}"
    );
    for link in ["\"/dump\"", "\"/trace\"", "\"/metrics\"", "'/snapshot'"] {
        assert!(body.contains(link), "{link}: {body}");
    }
    // It asks nobody else for anything.
    let others = body.replace("http://www.w3.org/2000/svg", "");
    assert!(!others.contains("://"), "{others}");
    let value = snapshot(&served, |value| has_group(value, "waits", 13, "serving.rs"));
    assert_eq!(value["process"], served.child.id());
    assert_eq!(value["clusters"][0]["fibres"], 13);
    let (_, dump) = page(&served, "/dump");
    assert!(
        dump.contains("13 fibres") && dump.contains("serving.rs"),
        "{dump}"
    );
    let (head, why) = page(&served, "/trace");
    assert!(
        head.starts_with("HTTP/1.1 404 ") && why.contains("FIBRE_TRACE"),
        "{head}: {why}"
    );
}

#[test]
fn recorded_events_are_given_out() {
    let served = served(&[("FIBRE_TRACE", "ring")], thirteen);
    let mut stream = served.connect();
    stream
        .write_all(b"GET /trace HTTP/1.1\r\nHost: localhost\r\n\r\n")
        .unwrap();
    let mut bytes = Vec::new();
    std::io::Read::read_to_end(&mut stream, &mut bytes).unwrap();
    let head = String::from_utf8_lossy(&bytes[..300]);
    assert!(head.starts_with("HTTP/1.1 200 OK\r\n"), "{head}");
    assert!(
        head.contains("\r\nContent-Type: application/octet-stream\r\n"),
        "{head}"
    );
    let body = bytes
        .windows(4)
        .position(|four| four == b"\r\n\r\n")
        .unwrap()
        + 4;
    // More than what says that it is a trace.
    assert!(bytes.len() - body > 200, "{} bytes", bytes.len() - body);
}

/// Has one fibre wait for a mutex that another one holds, now and then.
pub(super) fn quarrel() {
    let mutex = Arc::new(Mutex::new(()));
    for _ in 0..2 {
        let mutex = Arc::clone(&mutex);
        drop(fibre::spawn(move || {
            loop {
                let _held = mutex.lock();
                fibre::sleep(Duration::from_millis(1));
            }
        }));
    }
}

#[test]
fn contended_locks_are_shown_by_their_places() {
    for (processors, on) in [("1", "1"), ("2", "1"), ("4", "1"), ("2", "0")] {
        let environment = [("FIBRE_PROCESSORS", processors), ("FIBRE_LOCK_PROFILE", on)];
        let served = served(&environment, quarrel);
        let line = include_str!("pages.rs")
            .lines()
            .position(|line| line.ends_with("mutex.lock();"));
        let place = format!("tests/observed/metrics/pages.rs:{}:", line.unwrap() + 1);
        let locks = |value: &Value| value["locks"].as_array().cloned().unwrap_or_default();
        let waits = |value: &Value| value["look"]["groups"].to_string().contains("the mutex");
        if on == "0" {
            let value = snapshot(&served, waits);
            assert_eq!(locks(&value), [] as [Value; 0]);
            continue;
        }
        let value = snapshot(&served, |value| {
            locks(value)
                .iter()
                .any(|lock| lock["contended"].as_u64() > Some(3))
        });
        let locks = locks(&value);
        let [lock] = &locks[..] else {
            panic!("{locks:?}")
        };
        let at = lock["at"].as_str().unwrap();
        assert!(at.contains(&place), "{at}, not {place}");
        assert!(lock["waited_us"].as_u64() >= lock["longest_us"].as_u64());
        assert!(lock["longest_us"].as_u64() > Some(0), "{lock}");
        let (_, body) = page(&served, "/");
        assert!(
            body.contains("Hot locks") && body.contains("now.locks"),
            "{body}"
        );
    }
}

/// Keeps its processor. It calls nothing, so that it is what a look at any moment finds.
#[inline(never)]
fn hangs() {
    loop {
        // SAFETY: does nothing.
        unsafe { std::arch::asm!("nop") };
    }
}

/// A process with two processors that fibres keep, and thirteen fibres more.
pub(super) fn hung() -> Served {
    // Spare processors would run what the fibres keep from running.
    let environment = [("FIBRE_PROCESSORS", "2"), ("FIBRE_MAX_SPARE", "0")];
    served(&environment, || {
        for _ in 0..2 {
            drop(fibre::spawn(hangs));
        }
        thirteen();
    })
}

#[test]
fn a_process_that_hangs_is_shown() {
    let served = hung();
    let value = snapshot(&served, |value| {
        let processors = value["clusters"][0]["processors"].as_array().unwrap();
        let are_kept = processors
            .iter()
            .filter(|one| one["queued"].is_null())
            .count()
            == 2;
        let running = groups(value).filter(|group| group["state"] == "runs");
        let count: u64 = running.filter_map(|group| group["count"].as_u64()).sum();
        are_kept && count == 2
    });
    assert_eq!(value["clusters"][0]["fibres"], 15);
    // Where, too. On a busy machine it is one dump of many, as a thread tells only if it gets a CPU
    // in time.
    let end = Instant::now() + LIMIT;
    while !page(&served, "/dump").1.contains("::hangs at ") {
        assert!(Instant::now() < end, "{}", page(&served, "/dump").1);
    }
    served.samples();
}

#[test]
fn other_sites_are_refused() {
    let served = served(&[], thirteen);
    for path in ["/", "/snapshot", "/dump", "/trace"] {
        let request = format!("GET {path} HTTP/1.1\r\nHost: evil.example:9464\r\n\r\n");
        let (head, body) = served.ask(request.as_bytes());
        assert!(head.starts_with("HTTP/1.1 403 "), "{head}");
        assert!(!body.contains("fibre"), "{body}");
        let request = format!("POST {path} HTTP/1.1\r\nHost: localhost\r\n\r\n");
        let (head, _) = served.ask(request.as_bytes());
        assert!(head.starts_with("HTTP/1.1 405 "), "{head}");
    }
    // Prometheus may know it by any name.
    let (head, _) = served.ask(b"GET /metrics HTTP/1.1\r\nHost: a.name\r\n\r\n");
    assert!(head.starts_with("HTTP/1.1 200 OK\r\n"), "{head}");
}

/// Clients that do not read their page keep others from pages for a while, and nobody from metrics.
#[test]
fn readers_of_metrics_wait_for_no_page() {
    let served = served(&[], thirteen);
    let slow: Vec<_> = (0..40)
        .map(|_| {
            let mut stream = served.connect();
            stream
                .write_all(b"GET /dump HTTP/1.1\r\nHost: localhost\r\n\r\n")
                .unwrap();
            stream
        })
        .collect();
    for _ in 0..20 {
        served.samples();
    }
    drop(slow);
    snapshot(&served, |value| has_group(value, "waits", 13, "serving.rs"));
}
