//! Spans of the crate `tracing`, which stay with the fibres that have entered them.
//!
//! All tests log to one subscriber. A test's lines are those in the spans that it has made, whose
//! outermost one says which test it is.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test fails by panicking"
)]

mod carried;

use crate::support;

use fibre::sync::{Barrier, Mutex};
use fibre::{Cluster, ClusterBuilder, JoinHandle};
use std::io::Write;
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use support::drops::OnDrop;
use support::process::{end_after, errors, plays, spawn_child};
use support::{Random, processor_counts, run_in};
use tracing::{Dispatch, Span, info, info_span};
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::fmt::format::FmtSpan;
use tracing_subscriber::{fmt, prelude::*, registry};

/// A writer that keeps lines.
#[derive(Clone, Default)]
struct Lines(Arc<std::sync::Mutex<Vec<String>>>);

/// One line, until it is whole.
struct Line<'a>(&'a Lines, String);

impl Write for Line<'_> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.1.push_str(std::str::from_utf8(bytes).unwrap());
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl Drop for Line<'_> {
    fn drop(&mut self) {
        let lines = self.1.lines().map(str::to_owned);
        self.0.0.lock().unwrap().extend(lines);
    }
}

impl<'a> MakeWriter<'a> for Lines {
    type Writer = Line<'a>;

    fn make_writer(&'a self) -> Line<'a> {
        Line(self, String::new())
    }
}

impl Lines {
    /// The lines with these words, in order.
    fn with(&self, words: &str) -> Vec<String> {
        let lines = self.0.lock().unwrap();
        let with = lines.iter().filter(|line| line.contains(words));
        with.cloned().collect()
    }
}

/// A subscriber that writes to these lines.
fn subscriber(lines: &Lines) -> Dispatch {
    let format = fmt::layer().with_ansi(false).without_time();
    let format = format.with_target(false).with_writer(lines.clone());
    Dispatch::new(
        registry()
            .with(fibre::tracing::layer().unwrap())
            .with(format),
    )
}

/// The lines of the process' subscriber.
fn lines() -> &'static Lines {
    static LINES: OnceLock<Lines> = OnceLock::new();
    LINES.get_or_init(|| {
        let lines = Lines::default();
        tracing::dispatcher::set_global_default(subscriber(&lines)).unwrap();
        lines
    })
}

/// Runs `body` in clusters with 1, 2 and 4 processors, where each wake-up of a fibre lands on
/// another one, and where fibres have thread-locals of their own. `body` gets words that tell the
/// cluster from others.
fn for_each(body: impl Fn(&str) + Send + Sync + 'static) {
    for_kinds(&["stay", "move", "own"], body);
}

/// [`for_each`], of these kinds of clusters.
fn for_kinds(kinds: &[&str], body: impl Fn(&str) + Send + Sync + 'static) {
    lines();
    let body = Arc::new(body);
    for processors in processor_counts() {
        for &moves in kinds {
            let builder = Cluster::builder().processors(processors);
            let builder = match moves {
                // SAFETY: these fibres keep nothing that belongs to a kernel thread but spans.
                "move" => unsafe { builder.force_migration() },
                "own" => own_thread_locals(builder),
                _ => builder,
            };
            let (body, words) = (Arc::clone(&body), format!("{moves}{processors}"));
            run_in(
                builder.build().unwrap(),
                Arc::new(move |_: &Cluster| body(&words)),
            );
        }
    }
}

/// Fibres of this cluster have thread-locals of their own.
fn own_thread_locals(builder: ClusterBuilder) -> ClusterBuilder {
    // SAFETY: these fibres tie no memory to a kernel thread by a system call.
    unsafe { builder.own_thread_locals() }
}

/// The registry of `tracing-subscriber` has room for 4096 threads that log at a time, and a fibre
/// with thread-locals of its own is one. There may be any number of them one after the other. What
/// is too much panics in the fibre that logs, and nowhere else.
#[test]
fn the_registry_counts_fibres_with_thread_locals_of_their_own() {
    const ROLE: &str = "logs from many fibres";
    if plays(ROLE) {
        end_after(Duration::from_secs(60));
        return log_from_many_fibres();
    }
    // A process of its own, as the registry counts the fibres of all tests.
    let ended = spawn_child(ROLE, &[]);
    let said = errors(&ended);
    assert!(ended.status.success(), "{said}");
    assert!(said.contains("Thread count overflowed"), "{said}");
}

/// What the child does. It succeeds if what the test says holds.
fn log_from_many_fibres() {
    lines();
    let builder = own_thread_locals(Cluster::builder().processors(2));
    let cluster = builder.build().unwrap();
    let failures = |count: usize| {
        let all_live = Arc::new(Barrier::new(count));
        let log = |all_live: Arc<Barrier>| {
            let logged = std::panic::catch_unwind(|| info_span!("one of many").in_scope(|| ()));
            all_live.wait();
            logged.is_err()
        };
        let spawn = |_| {
            let all_live = Arc::clone(&all_live);
            cluster.spawn(move || log(all_live))
        };
        let fibres: Vec<_> = (0..count).map(spawn).collect();
        let failed = |fibre: JoinHandle<bool>| fibre.join().unwrap();
        fibres
            .into_iter()
            .map(failed)
            .filter(|failed| *failed)
            .count()
    };
    for _ in 0..100 {
        assert_eq!(failures(1000), 0);
    }
    let too_many = failures(4200);
    assert!((100..4200).contains(&too_many), "{too_many} failed");
    cluster.stop();
}

/// The log of a hundred requests at the same time, each in spans of its own, line by line.
#[test]
fn the_lines_of_a_hundred_requests_are_in_their_spans() {
    let seed = Random::seed();
    for_each(move |at| {
        let mut random = Random::new(seed);
        let lock = Arc::new(Mutex::new(()));
        let serve = |request: usize, mut random: Random| {
            let (at, lock) = (at.to_owned(), Arc::clone(&lock));
            move || {
                let _request = info_span!("serve", at, request).entered();
                info!("begins");
                for step in 0..3 {
                    wait(&mut random, &lock);
                    let _step = info_span!("step", step).entered();
                    info!("is looked up");
                    wait(&mut random, &lock);
                    info_span!("query").in_scope(|| {
                        wait(&mut random, &lock);
                        info!("is found");
                    });
                    wait(&mut random, &lock);
                    info!("is written");
                }
                wait(&mut random, &lock);
                info!("ends");
            }
        };
        let fibres: Vec<_> = (0..100)
            .map(|request| fibre::spawn(serve(request, random.split())))
            .collect();
        fibres.into_iter().for_each(|fibre| fibre.join().unwrap());
        let mut total = 0;
        for request in 0..100 {
            let span = format!(" INFO serve{{at=\"{at}\" request={request}}}:");
            let step = |step: usize| {
                let step = format!("{span}step{{step={step}}}:");
                let query = format!("{step}query: is found");
                [
                    format!("{step} is looked up"),
                    query,
                    format!("{step} is written"),
                ]
            };
            let steps = (0..3).flat_map(step);
            let first = std::iter::once(format!("{span} begins"));
            let expected: Vec<_> = first.chain(steps).chain([format!("{span} ends")]).collect();
            assert_eq!(lines().with(&span), expected);
            total += expected.len();
        }
        assert_eq!(lines().with(&format!("serve{{at=\"{at}\"")).len(), total);
    });
}

/// Waits in one of several ways.
fn wait(random: &mut Random, lock: &Mutex<()>) {
    match random.below(4) {
        0 => fibre::sleep(Duration::from_micros(random.below(300) as u64)),
        1 => {
            let _guard = lock.lock();
            fibre::yield_now();
        }
        2 => fibre::spawn(|| assert!(Span::current().is_none()))
            .join()
            .unwrap(),
        _ => fibre::yield_now(),
    }
}

/// Spans are entered and exited across time-outs, panics and groups.
#[test]
fn spans_are_exited_by_what_unwinds() {
    for_each(|at| {
        let all = Arc::new(Barrier::new(20));
        let body = |request: u32| {
            let (at, all) = (at.to_owned(), Arc::clone(&all));
            move || {
                let _outer = info_span!("unwinds", at, request).entered();
                let ended = fibre::timeout(Duration::from_micros(100), || {
                    let _late = info_span!("late").entered();
                    fibre::sleep(Duration::from_secs(100));
                });
                assert!(ended.is_err());
                info!("after a time-out");
                // No call is ended while another fibre of the thread waits in a destructor.
                all.wait();
                let panics = std::panic::catch_unwind(|| {
                    let _waits = OnDrop(|| {
                        fibre::sleep(Duration::from_micros(100));
                        info!("while it unwinds");
                    });
                    let _panics = info_span!("panics").entered();
                    fibre::yield_now();
                    std::panic::resume_unwind(Box::new("on purpose"));
                });
                assert!(panics.is_err());
                info!("after a panic");
                within_a_group();
                info!("at the end");
            }
        };
        let fibres: Vec<_> = (0..20).map(|request| fibre::spawn(body(request))).collect();
        fibres.into_iter().for_each(|fibre| fibre.join().unwrap());
        for request in 0..20 {
            let span = format!(" INFO unwinds{{at=\"{at}\" request={request}}}:");
            let expected = [
                format!("{span} after a time-out"),
                format!("{span} while it unwinds"),
                format!("{span} after a panic"),
                format!("{span} within a group"),
                format!("{span} within a group"),
                format!("{span} within a group"),
                format!("{span}group: around a group"),
                format!("{span} at the end"),
            ];
            assert_eq!(lines().with(&span), expected);
        }
    });
}

/// A group whose fibres log in the caller's span.
fn within_a_group() {
    let span = Span::current();
    let grouped = fibre::group(|group| {
        let _group = info_span!("group").entered();
        for _ in 0..3 {
            group.spawn(|| {
                assert!(Span::current().is_none());
                let _parent = span.enter();
                fibre::yield_now();
                info!("within a group");
                Ok::<_, ()>(())
            });
        }
        while group.next().is_some() {}
        info!("around a group");
        Err::<(), _>(())
    });
    assert!(grouped.is_err());
}

/// A span may be exited before one that was entered later, and entered twice.
#[test]
fn spans_may_cross() {
    for_each(|at| {
        let body = |request: u32| {
            let at = at.to_owned();
            move || {
                let a = info_span!("crosses", at, request, a = 1).entered();
                let b = info_span!(parent: None, "crosses", at, request, b = 1).entered();
                fibre::yield_now();
                let a = a.exit();
                fibre::yield_now();
                info!("in b");
                let again = a.enter();
                let twice = a.enter();
                fibre::yield_now();
                drop(again);
                fibre::yield_now();
                info!("in a");
                drop(twice);
                fibre::yield_now();
                info!("in b again");
                drop(b);
                fibre::yield_now();
                assert!(Span::current().is_none());
            }
        };
        let fibres: Vec<_> = (0..20).map(|request| fibre::spawn(body(request))).collect();
        fibres.into_iter().for_each(|fibre| fibre.join().unwrap());
        for request in 0..20 {
            let span = format!(" INFO crosses{{at=\"{at}\" request={request} ");
            let [a, b] = ["a", "b"].map(|name| format!("{span}{name}=1}}:"));
            let expected = [
                format!("{b} in b"),
                format!("{a} in a"),
                format!("{b} in b again"),
            ];
            assert_eq!(lines().with(&span), expected);
        }
    });
}

/// Guards that are leaked: the span is exited at its fibre's end, also if it was closed before.
#[test]
fn leaked_guards_leave_no_span_behind() {
    // On a thread, and so on a fibre with thread-locals of its own, they do.
    for_kinds(&["stay", "move"], |at| {
        let leak = |request: u32| {
            let at = at.to_owned();
            move || {
                std::mem::forget(info_span!("leaks", at, request).entered());
                let closed = info_span!("closed", at);
                std::mem::forget(closed.enter());
                drop(closed);
                // Until then the registry takes the closed one for the innermost one.
                fibre::sleep(Duration::from_micros(100));
                info!("goes on");
            }
        };
        for request in 0..20 {
            let fibre = fibre::spawn(leak(request));
            fibre::yield_now();
            assert!(Span::current().is_none());
            fibre.join().unwrap();
            assert!(fibre::spawn(Span::current).join().unwrap().is_none());
        }
        let expected = |request| format!(" INFO leaks{{at=\"{at}\" request={request}}}: goes on");
        let expected: Vec<_> = (0..20).map(expected).collect();
        assert_eq!(lines().with(&format!("leaks{{at=\"{at}\"")), expected);
    });
}

/// A fibre's own subscriber hears what the fibre says, and nothing of others.
#[test]
fn a_subscriber_of_its_own_stays_with_the_fibre() {
    for_each(|at| {
        let body = |request: u32| {
            let at = at.to_owned();
            move || {
                let (own, inner) = (Lines::default(), Lines::default());
                let _outer = info_span!("global", at, request).entered();
                let (subscriber, second) = (subscriber(&own), subscriber(&inner));
                fibre::tracing::with_default(&subscriber, || {
                    fibre::yield_now();
                    let _own = info_span!("own", request).entered();
                    fibre::yield_now();
                    info!("for itself");
                    fibre::tracing::with_default(&second, || {
                        fibre::yield_now();
                        info!("within");
                    });
                    fibre::yield_now();
                    let ended = fibre::timeout(Duration::from_micros(100), || {
                        fibre::tracing::with_default(&second, || {
                            fibre::sleep(Duration::from_secs(100));
                        });
                    });
                    assert!(ended.is_err());
                    info!("for itself again");
                });
                fibre::yield_now();
                info!("for all");
                let own_span = format!(" INFO own{{request={request}}}:");
                let expected = ["for itself", "for itself again"];
                let expected = expected.map(|words| format!("{own_span} {words}"));
                assert_eq!(own.with(""), expected);
                assert_eq!(inner.with(""), [" INFO within"]);
            }
        };
        let fibres: Vec<_> = (0..20).map(|request| fibre::spawn(body(request))).collect();
        fibres.into_iter().for_each(|fibre| fibre.join().unwrap());
        for request in 0..20 {
            let span = format!("global{{at=\"{at}\" request={request}}}:");
            assert_eq!(lines().with(&span), [format!(" INFO {span} for all")]);
        }
    });
}

/// Layers see switches as they see those of an instrumented future: the span is exited meanwhile.
#[test]
fn other_layers_see_a_span_exited_while_its_fibre_waits() {
    lines();
    let seen = Lines::default();
    let format = fmt::layer().with_ansi(false).without_time();
    let format = format.with_target(false).with_writer(seen.clone());
    let format = format.with_span_events(FmtSpan::ENTER | FmtSpan::EXIT);
    let layer = fibre::tracing::layer().unwrap();
    let subscriber = Dispatch::new(registry().with(layer).with(format));
    let cluster = Cluster::builder().processors(1).build().unwrap();
    let fibre = cluster.spawn(move || {
        fibre::tracing::with_default(&subscriber, || {
            let _span = info_span!("sees").entered();
            fibre::sleep(Duration::from_millis(1));
            info!("awake");
        });
    });
    fibre.join().unwrap();
    cluster.stop();
    let expected = ["enter", "exit", "enter", "awake", "exit"];
    assert_eq!(
        seen.with(""),
        expected.map(|words| format!(" INFO sees: {words}"))
    );
}

/// The layer has to be made before there is a cluster.
#[test]
fn a_layer_that_comes_too_late_is_an_error() {
    if plays("late") {
        end_after(Duration::from_secs(60));
        fibre::spawn(|| ()).join().unwrap();
        assert!(fibre::tracing::layer().is_err());
        return;
    }
    let ended = spawn_child("late", &[]);
    assert!(ended.status.success(), "{}", errors(&ended));
}
