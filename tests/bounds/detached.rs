//! Failures that nobody learns of by joining a fibre: who is told, and on standard error what.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use crate::support;

use fibre::sync::Event;
use fibre::{
    Abandoned, Builder, CancelToken, Cancelled, Cluster, FailureCause, Group, GroupError,
    JoinHandle, on_detached_failure, shield, sleep_within, spawn_detached,
};
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind, panic_any, resume_unwind};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use support::process::{end_after, errors, plays, spawn_child};
use support::{any_cluster, eventually, for_each_cluster, processor_counts, until_waiting};

const LONG: Duration = Duration::from_secs(3600);

/// A failure, as the hook was told: the fibre's number and name, and what it has failed with.
type Told = (u64, Option<String>, String);

/// What the hook was told.
static TOLD: Mutex<Vec<Told>> = Mutex::new(Vec::new());

/// Makes the hook note what it is told.
fn listen() {
    on_detached_failure(|failure| {
        let what = match failure.cause() {
            FailureCause::Panic(payload) => match payload.downcast_ref::<u32>() {
                Some(number) => format!("payload {number}"),
                None => format!("panic {}", payload.downcast_ref::<&str>().unwrap()),
            },
            FailureCause::Error(error) => match error.downcast_ref::<io::Error>() {
                Some(error) => format!("kind {:?}", error.kind()),
                None => format!("error {error}"),
            },
            _ => unreachable!("there are no others"),
        };
        let name = failure.name().map(str::to_owned);
        TOLD.lock().unwrap().push((failure.id(), name, what));
    });
}

/// What the hook has been told since the last call, once it is so much.
fn told(count: usize) -> Vec<Told> {
    eventually(|| TOLD.lock().unwrap().len() >= count);
    let told = std::mem::take(&mut *TOLD.lock().unwrap());
    assert_eq!(told.len(), count, "{told:?}");
    told
}

/// Runs `body` in a process of its own, as its hook is there once.
fn in_child(role: &str, body: impl Fn()) {
    if plays(role) {
        end_after(Duration::from_secs(60));
        listen();
        return body();
    }
    let output = spawn_child(role, &[]);
    assert!(output.status.success(), "{}", errors(&output));
}

/// Waits until a fibre has ended, without taking its result.
fn ended<T>(fibre: &JoinHandle<T>) {
    eventually(|| fibre.is_finished());
}

/// A payload that nobody takes is told once, whenever the handle goes; one that is taken is not.
#[test]
fn a_panic_that_nobody_takes_is_told() {
    in_child("panics", || {
        for_each_cluster(|_| {
            let go = Arc::new(Event::new());
            let goes = Arc::clone(&go);
            let before = Builder::new().name("before").spawn(move || {
                goes.wait();
                panic!("at the end");
            });
            let before = before.unwrap();
            let id = before.id();
            drop(before);
            assert!(TOLD.lock().unwrap().is_empty());
            go.set();
            let expected = (id, Some("before".to_owned()), "panic at the end".to_owned());
            assert_eq!(told(1), [expected]);

            let after = fibre::spawn(|| panic_any(7_u32));
            let id = after.id();
            ended(&after);
            assert!(TOLD.lock().unwrap().is_empty());
            drop(after);
            assert_eq!(told(1), [(id, None, "payload 7".to_owned())]);
            // On a plain thread.
            let after = fibre::spawn(|| panic!("elsewhere"));
            ended(&after);
            std::thread::spawn(move || drop(after)).join().unwrap();
            assert_eq!(told(1)[0].2, "panic elsewhere");
            // One that ends quietly, to those who print, is told all the same.
            drop(fibre::spawn(|| resume_unwind(Box::new(8_u32))).join_on_drop());
            assert_eq!(told(1)[0].2, "payload 8");

            let joined = fibre::spawn(|| panic!("joined"));
            joined.join().unwrap_err();
            let joined = fibre::spawn(|| panic!("joined")).join_on_drop();
            joined.join().unwrap_err();
            drop(fibre::spawn(|| 7));
            let refused = Builder::new().stack_size(1 << 50).spawn(|| panic!("never"));
            refused.unwrap_err();
            told(0);
        });
        let counted = fibre::metrics().detached_failures;
        assert_eq!(counted, 4 * processor_counts().len() as u64);
    });
}

/// An error that nobody takes is told if the fibre was spawned as a detached one.
#[test]
fn an_error_of_a_detached_fibre_is_told() {
    in_child("errors", || {
        for_each_cluster(|cluster| {
            spawn_detached(|| Err::<(), _>("by words"));
            assert_eq!(told(1)[0].2, "error by words");
            let failing = Builder::new().name("failing");
            let opens = || std::fs::File::open("/no/such/file");
            failing.clone().spawn_detached(opens).unwrap();
            let name = Some("failing".to_owned());
            let told_of = told(1).remove(0);
            assert_eq!((&told_of.1, &*told_of.2), (&name, "kind NotFound"));
            let boxed = || Err::<u32, Box<dyn std::error::Error + Send + Sync>>("boxed".into());
            failing.spawn_detached_in(cluster, boxed).unwrap();
            assert_eq!(told(1)[0].2, "error boxed");
            spawn_detached(|| -> Result<(), String> { panic!("and a panic") });
            assert_eq!(told(1)[0].2, "panic and a panic");

            let fine = Arc::new(Event::new());
            let sets = Arc::clone(&fine);
            spawn_detached(move || {
                sets.set();
                Ok::<_, String>(7)
            });
            fine.wait();
            // Nobody knows that this is an error.
            let value = fibre::spawn(|| Err::<(), _>("a value"));
            ended(&value);
            drop(value);
            told(0);
        });
    });
}

/// The end of a cancelled fibre is no failure; other errors of it are.
#[test]
fn an_end_by_cancellation_is_no_failure() {
    in_child("cancelled", || {
        for_each_cluster(|_| {
            let token = CancelToken::new();
            let begun = Arc::new(AtomicU32::new(0));
            let detached = |body: fn() -> Result<(), Box<dyn std::error::Error + Send + Sync>>| {
                let begun = Arc::clone(&begun);
                let builder = Builder::new().cancel_token(&token);
                let body = move || {
                    begun.fetch_add(1, Ordering::SeqCst);
                    body()
                };
                builder.spawn_detached(body).unwrap();
            };
            detached(|| Ok(sleep_within(LONG)?));
            detached(|| sleep_within(LONG).map_err(|error| io::Error::from(error).into()));
            detached(|| {
                let ended = fibre::group(|group: &Group<'_, '_, (), _>| {
                    group.run(|| sleep_within(LONG));
                    Ok(())
                });
                assert_eq!(ended, Err(GroupError::Cancelled));
                Ok(ended?)
            });
            detached(|| {
                sleep_within(LONG).unwrap_err();
                Err("no more paper".into())
            });
            eventually(|| begun.load(Ordering::SeqCst) == 4);
            token.cancel();
            assert_eq!(told(1)[0].2, "error no more paper");
            // It is another one that was cancelled.
            spawn_detached(|| Err::<(), _>(Cancelled));
            assert_eq!(told(1)[0].2, format!("error {Cancelled}"));
        });
    });
}

/// Neither fibres that the end of a cluster unwinds, nor those that it abandons, are failures.
#[test]
fn the_end_of_a_cluster_is_no_failure() {
    in_child("stopped", || {
        for processors in processor_counts() {
            let cluster = Cluster::builder().processors(processors).build().unwrap();
            let unwound = cluster.spawn(|| fibre::sleep(LONG));
            let abandoned = cluster.spawn(|| shield(|| fibre::sleep(LONG)));
            let ids = [unwound.id(), abandoned.id()];
            until_waiting(fibre::WaitKind::Sleep, &ids);
            drop(unwound);
            let error = cluster.stop_within(Duration::ZERO, Duration::from_millis(20));
            assert_eq!(error.unwrap_err().left.len(), 1);
            drop(abandoned);
            told(0);
            let cluster = Cluster::builder().processors(processors).build().unwrap();
            let abandoned = cluster.spawn(|| shield(|| fibre::sleep(LONG)));
            until_waiting(fibre::WaitKind::Sleep, &[abandoned.id()]);
            let error = cluster.stop_within(Duration::ZERO, Duration::from_millis(20));
            assert_eq!(error.unwrap_err().left.len(), 1);
            let payload = abandoned.join().unwrap_err();
            assert!(payload.is::<Abandoned>());
            told(0);
        }
    });
}

/// A scope and a group tell their callers of a panic. One that they can tell nobody of is told.
#[test]
fn no_panic_of_a_group_is_hidden() {
    in_child("groups", || {
        for_each_cluster(|_| {
            let scoped = fibre::spawn(|| {
                fibre::scope(|scope| {
                    scope.spawn(|| panic!("in a scope"));
                });
            });
            scoped.join().unwrap_err();
            let first = fibre::spawn(|| {
                let _ = fibre::group(|group: &Group<'_, '_, (), _>| {
                    group.run(|| -> Result<(), u32> { panic!("the first one") });
                    Ok(())
                });
            });
            let payload = first.join().unwrap_err();
            assert_eq!(payload.downcast_ref(), Some(&"the first one"));
            told(0);
            // The group has an error to tell already, or its caller has cancelled it.
            for cancels in [false, true] {
                let ended = fibre::group(|group: &Group<'_, '_, (), _>| {
                    group.run(|| {
                        let _ = sleep_within(LONG);
                        panic!("too late")
                    });
                    match cancels {
                        true => group.cancel(),
                        false => return Err("early"),
                    }
                    Ok(())
                });
                match cancels {
                    true => assert_eq!(ended, Err(GroupError::Cancelled)),
                    false => assert_eq!(ended, Err(GroupError::Failed("early"))),
                }
                assert_eq!(told(1)[0].2, "panic too late");
            }
        });
    });
}

/// A hook that panics harms nobody, and one may wait, and spawn fibres.
#[test]
fn a_hook_may_panic_wait_and_spawn() {
    in_child("hooks", || {
        for processors in processor_counts() {
            let cluster = any_cluster().processors(processors).build().unwrap();
            let calls = Arc::new(AtomicU32::new(0));
            let counts = Arc::clone(&calls);
            on_detached_failure(move |_| {
                counts.fetch_add(1, Ordering::SeqCst);
                panic!("in the hook");
            });
            cluster.spawn(|| panic!("first"));
            eventually(|| calls.load(Ordering::SeqCst) == 1);
            let late = cluster.spawn(|| panic!("second"));
            ended(&late);
            drop(late);
            assert_eq!(calls.load(Ordering::SeqCst), 2);
            // A hook may also be replaced in a hook.
            let counts = Arc::clone(&calls);
            on_detached_failure(move |failure| {
                let id = failure.id();
                fibre::sleep(Duration::from_micros(50));
                assert_eq!(fibre::spawn(move || id).join().unwrap(), id);
                counts.fetch_add(1, Ordering::SeqCst);
                listen();
            });
            cluster.spawn(|| panic!("third"));
            eventually(|| calls.load(Ordering::SeqCst) == 3);
            cluster.spawn(|| panic!("fourth"));
            assert_eq!(told(1)[0].2, "panic fourth");
            cluster.stop();
        }
    });
}

/// An error with a source.
#[derive(Debug)]
struct Outer(io::Error);

impl std::fmt::Display for Outer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("no more paper")
    }
}

impl std::error::Error for Outer {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.0)
    }
}

/// Fails in all ways, one after the other, and prints the fibres' numbers.
fn fail_in_all_ways() {
    end_after(Duration::from_secs(60));
    let count = |failures: u64| eventually(|| fibre::metrics().detached_failures == failures);
    let go = Arc::new(Event::new());
    let goes = Arc::clone(&go);
    let before = Builder::new().name("worker").spawn(move || {
        goes.wait();
        fibre::label("step", 3);
        panic!("number {}", 5);
    });
    let before = before.unwrap();
    let after = fibre::spawn(|| panic!("seen by nobody"));
    let quiet = fibre::spawn(|| resume_unwind(Box::new(7)));
    let joined = fibre::spawn(|| panic!("joined"));
    let scoped = panic_in_scope();
    let ids = [before.id(), after.id(), joined.id(), scoped];
    joined.join().unwrap_err();
    drop(before);
    go.set();
    count(1);
    ended(&after);
    drop(after);
    count(2);
    ended(&quiet);
    drop(quiet);
    count(3);
    spawn_detached(|| Err::<(), _>(Outer(io::ErrorKind::NotFound.into())));
    count(4);
    println!("\nids {ids:?}");
}

/// Panics in a scope's fibre that nobody joins. Returns its number.
fn panic_in_scope() -> u64 {
    let (go, mut number) = (Event::new(), 0);
    let panics = || {
        fibre::scope(|scope| {
            let (tell, told) = std::sync::mpsc::channel();
            let go = &go;
            let fibre = scope.spawn(move || {
                tell.send(fibre::id().unwrap()).unwrap();
                go.wait();
                panic!("in a scope");
            });
            number = told.recv().unwrap();
            drop(fibre);
            go.set();
        });
    };
    catch_unwind(AssertUnwindSafe(panics)).unwrap_err();
    number
}

/// The lines on standard error that tell of fibres, with `N0` and so on in place of their numbers.
fn lines(environment: &[(&str, &str)]) -> Vec<String> {
    let output = spawn_child("lines", environment);
    let text = errors(&output);
    assert!(output.status.success(), "{text}");
    let said = String::from_utf8(output.stdout.clone()).unwrap();
    let ids = said.lines().find_map(|line| line.strip_prefix("ids ["));
    let ids: Vec<_> = ids.unwrap().trim_end_matches(']').split(", ").collect();
    let of_fibre = |line: &&str| line.starts_with("fibre: fibre ");
    let named = |line: &str| {
        let (id, rest) = line["fibre: fibre ".len()..]
            .split_once([' ', ','])
            .unwrap();
        let place = ids.iter().position(|one| *one == id);
        let place = place.map_or_else(|| "another".to_owned(), |place| format!("N{place}"));
        format!("{place} {}", rest.trim_start())
    };
    text.lines().filter(of_fibre).map(named).collect()
}

/// In builds with debug assertions a line tells of each failure, else if `FIBRE_DETACHED` says so.
/// A panic of a detached fibre has one line, not two.
#[test]
fn a_line_tells_of_what_nobody_joins() {
    if plays("lines") {
        return fail_in_all_ways();
    }
    let told = [
        "N2 has panicked: joined",
        "N3 has panicked: in a scope",
        "N0 (\"worker\") [step=3], which nobody joins, has panicked: number 5",
        "N1 which nobody joins, has panicked: seen by nobody",
        "another which nobody joins, has failed: no more paper: entity not found",
    ];
    // A line of its own, when it was not known that nobody would join it.
    let early = "N1 has panicked: seen by nobody";
    let sorted = |mut lines: Vec<String>| {
        lines.sort();
        lines
    };
    let expected = sorted(
        told.iter()
            .chain([&early])
            .map(|line| (*line).to_owned())
            .collect(),
    );
    let silent = [
        "N0 (\"worker\") [step=3] has panicked: number 5",
        "N1 has panicked: seen by nobody",
        "N2 has panicked: joined",
        "N3 has panicked: in a scope",
    ];
    let silent = sorted(silent.map(str::to_owned).to_vec());
    let default = match cfg!(debug_assertions) {
        true => &expected,
        false => &silent,
    };
    assert_eq!(sorted(lines(&[("FIBRE_DETACHED", "1")])), expected);
    assert_eq!(sorted(lines(&[("FIBRE_DETACHED", "0")])), silent);
    assert_eq!(&sorted(lines(&[])), default);
}
