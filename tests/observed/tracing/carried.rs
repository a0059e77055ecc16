//! Spans that are carried to what is started within them.

use super::support::Latch;
use super::{Lines, for_each, lines, subscriber};

use std::sync::Arc;
use tracing::{Dispatch, Span, info, info_span};
use tracing_subscriber::fmt::format::FmtSpan;
use tracing_subscriber::{fmt, prelude::*, registry};

/// A carried span is that of all that is started within: fibres, and theirs, and calls elsewhere.
/// Other subscribers are carried along. What is started outside is in no span.
#[test]
fn carried_spans_are_those_of_descendants() {
    for_each(|at| {
        let serve = |request: u32| {
            let at = at.to_owned();
            move || {
                let own = Lines::default();
                let subscriber = subscriber(&own);
                let _request = info_span!("carried", at, request).entered();
                fibre::tracing::carry(|| start_descendants("all"));
                fibre::spawn(|| {
                    assert!(Span::current().is_none());
                    info!("in no span");
                });
                fibre::tracing::with_default(&subscriber, || {
                    let _own = info_span!("own", request).entered();
                    fibre::tracing::carry(|| start_descendants("one"));
                });
                let expected = all_of(&format!(" INFO own{{request={request}}}: one "));
                assert_eq!(own.with(""), expected);
                info!("served");
            }
        };
        let fibres: Vec<_> = (0..10)
            .map(|request| fibre::spawn(serve(request)))
            .collect();
        fibres.into_iter().for_each(|fibre| fibre.join().unwrap());
        for request in 0..10 {
            let span = format!("carried{{at=\"{at}\" request={request}}}:");
            let mut expected = all_of(&format!(" INFO {span} all "));
            expected.push(format!(" INFO {span} served"));
            assert_eq!(lines().with(&span), expected);
        }
    });
}

/// Starts all kinds of work, one after the other. Each logs a line.
fn start_descendants(words: &'static str) {
    let say = move |who: &str| {
        fibre::yield_now();
        info!("{words} {who}");
    };
    let child = fibre::spawn(move || {
        say("child");
        fibre::spawn(move || say("grandchild")).join().unwrap();
        fibre::blocking(|| say("blocking of the child"));
        fibre::compute(|| say("compute of the child"));
        let inner = move || {
            // Further in, another span takes its place, and ends with the call.
            let span = Span::none();
            span.in_scope(|| fibre::tracing::carry(|| say("child again")));
        };
        inner();
    });
    child.join().unwrap();
    fibre::blocking(|| {
        say("blocking");
        fibre::spawn(move || say("fibre of blocking"))
            .join()
            .unwrap();
    });
    let panics = fibre::spawn(move || {
        say("who panics");
        std::panic::resume_unwind(Box::new(()));
    });
    assert!(panics.join().is_err());
}

/// The lines of [`start_descendants`].
fn all_of(before: &str) -> Vec<String> {
    let who = [
        "child",
        "grandchild",
        "blocking of the child",
        "compute of the child",
        "child again",
        "blocking",
        "fibre of blocking",
        "who panics",
    ];
    who.map(|who| format!("{before}{who}")).into()
}

/// The span is closed when the last one that has inherited it has ended, and not before.
#[test]
fn a_carried_span_is_closed_by_its_last_holder() {
    for_each(|_| {
        let written = Lines::default();
        let format = fmt::layer().with_ansi(false).without_time();
        let format = format.with_span_events(FmtSpan::CLOSE).with_target(false);
        let format = format.with_writer(written.clone());
        let layer = fibre::tracing::layer().unwrap();
        let subscriber = Dispatch::new(registry().with(layer).with(format));
        let latch = Latch::new();
        let waits = Arc::clone(&latch);
        let grandchild = fibre::tracing::with_default(&subscriber, || {
            let span = info_span!("request", number = 7).entered();
            let child = fibre::tracing::carry(|| {
                fibre::spawn(move || {
                    fibre::spawn(move || {
                        waits.wait();
                        fibre::blocking(|| info!("late"));
                    })
                })
            });
            drop(span);
            child.join().unwrap()
        });
        assert_eq!(written.with(""), [""; 0], "it is open");
        latch.open();
        grandchild.join().unwrap();
        let lines = written.with("");
        assert_eq!(lines.len(), 2, "{lines:?}");
        assert_eq!(lines[0], " INFO request{number=7}: late");
        assert!(
            lines[1].starts_with(" INFO request{number=7}: close"),
            "{lines:?}"
        );
    });
}
