//! What is recorded.

use super::reader::{
    BLOCK, END, Event, READY, REST, RUN, SLEEP, SPAWN, START, STEAL, THREAD, Trace, WAKE, YIELD,
};
use crate::support::process::{child, end_after, plays};
use crate::support::{eventually, until_waiting};
use fibre::activity::{Activity, Work};
use fibre::channel::bounded;
use fibre::sync::{Mutex, Semaphore};
use fibre::{Builder, Cluster, WaitKind};
use std::collections::HashMap;
use std::sync::Arc;

use std::time::Duration;

/// The longest that a child may take.
const LIMIT: Duration = Duration::from_secs(60);

/// Runs `program` in a process that records events in rings of this size; returns the trace that
/// it writes when `program` is through.
#[track_caller]
pub fn trace_of(ring: &str, processors: usize, program: impl FnOnce()) -> Trace {
    if plays("traced") {
        end_after(LIMIT);
        program();
        // A joiner goes on a moment before the fibre has left its stack.
        eventually(|| {
            fibre::metrics()
                .clusters
                .iter()
                .all(|cluster| cluster.live == 0)
        });
        let file = std::env::var_os("TRACE_FILE").unwrap();
        fibre::trace::write(&mut std::fs::File::create(file).unwrap()).unwrap();
        std::process::exit(0);
    }
    let file = std::env::temp_dir().join(format!(
        "fibre-trace-test-{}-{}",
        std::process::id(),
        std::thread::current().name().unwrap().replace(':', "-")
    ));
    let processors = processors.to_string();
    let output = child("traced", &[("FIBRE_TRACE", ring)])
        .env("FIBRE_PROCESSORS", processors)
        // Fibres yield and run where the test has them do so, however slow the machine is.
        .env("FIBRE_SLICE", "60000000")
        .env("FIBRE_MAX_SPARE", "0")
        .env("TRACE_FILE", &file)
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}: {errors}", output.status);
    let trace = Trace::read(&std::fs::read(&file).unwrap());
    std::fs::remove_file(file).unwrap();
    trace
}

/// Two fibres that wake each other.
fn ping_pong(rounds: u32) {
    let (to, from) = (bounded(1), bounded(1));
    let ping = Builder::new().name("ping").spawn(move || {
        for number in 0..rounds {
            to.0.send(number).unwrap();
            assert_eq!(from.1.recv().unwrap(), number);
        }
    });
    let pong = Builder::new().name("pong").spawn(move || {
        for number in 0..rounds {
            assert_eq!(to.1.recv().unwrap(), number);
            from.0.send(number).unwrap();
        }
    });
    ping.unwrap().join().unwrap();
    pong.unwrap().join().unwrap();
}

/// What a fibre is at, as its events tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Ready,
    Runs(usize),
    Waits,
    Ended,
}

/// Checks that all events of all fibres fit together: no fibre runs that was not made ready, or on
/// two processors at once, and no processor runs two.
#[track_caller]
fn check(trace: &Trace) {
    let mut states: HashMap<u64, State> = HashMap::new();
    let mut running: HashMap<usize, u64> = HashMap::new();
    // A fibre may be made ready by one processor while it leaves its stack on another one.
    let mut early: HashMap<u64, bool> = HashMap::new();
    for event in trace.events() {
        let fibre = event.fibre();
        match event.kind {
            SPAWN => assert_eq!(states.insert(fibre, State::Ready), None, "{event:?}"),
            READY => match states.get(&fibre) {
                Some(State::Waits) => drop(states.insert(fibre, State::Ready)),
                Some(State::Runs(_)) => drop(early.insert(fibre, true)),
                other => panic!("{event:?} of a fibre that is {other:?}"),
            },
            START | RUN => {
                assert_eq!(
                    states.insert(fibre, State::Runs(event.track)),
                    Some(State::Ready)
                );
                assert_eq!(running.insert(event.track, fibre), None, "{event:?}");
            }
            YIELD | END | BLOCK => {
                let ran = running
                    .remove(&event.track)
                    .expect("a fibre leaves that runs");
                assert!(event.kind == BLOCK || ran == fibre, "{event:?}");
                let early = early.remove(&ran).unwrap_or(false);
                let next = match event.kind {
                    YIELD => State::Ready,
                    END => State::Ended,
                    _ if early => State::Ready,
                    _ => State::Waits,
                };
                assert_eq!(states.insert(ran, next), Some(State::Runs(event.track)));
            }
            _ => {}
        }
    }
}

/// The events of a fibre on the track of its processor: with those that name it, its waits.
fn story(trace: &Trace, fibre: u64) -> Vec<u8> {
    let mut runs = None;
    let mut story = Vec::new();
    for event in trace.events() {
        let its_own = event.kind == BLOCK && runs == Some(event.track);
        let names = matches!(event.kind, RUN | START | YIELD | END | READY | SPAWN);
        if its_own || (names && event.fibre() == fibre) {
            story.push(event.kind);
            match event.kind {
                RUN | START => runs = Some(event.track),
                YIELD | END | BLOCK => runs = None,
                _ => {}
            }
        }
    }
    story
}

#[test]
fn a_fibre_is_woken_by_its_partner() {
    const ROUNDS: u32 = 50;
    let trace = trace_of("ring:1M", 1, || ping_pong(ROUNDS));
    check(&trace);
    let (ping, pong) = (trace.named("ping"), trace.named("pong"));
    let mut runs = 0;
    let mut wakes: HashMap<(u64, u64), u32> = HashMap::new();
    for event in &trace.tracks[0].events {
        match event.kind {
            START | RUN => runs = event.fibre(),
            // Nothing stands beside what the running fibre has made ready.
            READY if event.beside() == 0 => *wakes.entry((runs, event.fibre())).or_default() += 1,
            _ => {}
        }
    }
    // The last answers may find nobody waiting.
    assert!(wakes[&(ping, pong)] >= ROUNDS / 2, "{wakes:?}");
    assert!(wakes[&(pong, ping)] >= ROUNDS / 2, "{wakes:?}");
    let waits = |event: &&Event| event.kind == BLOCK && event.word as u8 == WaitKind::Channel as u8;
    assert!(trace.events().iter().filter(waits).count() as u32 >= ROUNDS);
}

#[test]
fn the_events_of_several_processors_fit_together() {
    for processors in [2, 4] {
        let trace = trace_of("ring:16M", processors, || {
            let shared = Arc::new((Mutex::new(0), Semaphore::new(0)));
            let fibres: Vec<_> = (0..200)
                .map(|number| {
                    let shared = Arc::clone(&shared);
                    fibre::spawn(move || {
                        for _ in 0..20 {
                            *shared.0.lock() += 1;
                            fibre::yield_now();
                            if number % 2 == 0 {
                                shared.1.release();
                            } else {
                                shared.1.acquire();
                            }
                        }
                        fibre::sleep(Duration::from_micros(50));
                    })
                })
                .collect();
            fibres.into_iter().for_each(|fibre| fibre.join().unwrap());
            fibre::spawn(|| ping_pong(500)).join().unwrap();
        });
        assert!(trace.tracks.iter().all(|track| track.lost == 0));
        check(&trace);
        let events = trace.events();
        let count = |kind| events.iter().filter(|event| event.kind == kind).count();
        assert_eq!(count(SPAWN), 203);
        assert_eq!((count(START), count(END)), (203, 203));
        assert!(count(SLEEP) > 0 && count(WAKE) > 0);
        let sleeps =
            |event: &&Event| event.kind == BLOCK && event.word as u8 == WaitKind::Sleep as u8;
        assert_eq!(events.iter().filter(sleeps).count(), 200);
    }
}

/// Clusters that move started fibres go other ways, and so do C programs.
#[test]
fn fibres_that_move_are_followed() {
    let trace = trace_of("ring:16M", 1, || {
        // SAFETY: the fibres keep nothing of a kernel thread across a wait.
        let builder = unsafe { Cluster::builder().move_started_fibres() };
        let cluster = builder.processors(3).name("movers").build().unwrap();
        let fibres: Vec<_> = (0..50).map(|_| cluster.spawn(|| ping_pong(40))).collect();
        fibres.into_iter().for_each(|fibre| fibre.join().unwrap());
        cluster.stop();
    });
    check(&trace);
    let movers = trace.tracks.iter();
    let movers = movers.filter(|track| track.cluster.as_deref() == Some("movers"));
    assert!(movers.count() >= 3);
    let starts = trace
        .events()
        .iter()
        .filter(|event| event.kind == START)
        .count();
    assert!(starts >= 150);
}

#[test]
fn a_whole_life_is_told() {
    let trace = trace_of("ring:1M", 1, || {
        let fibre = Builder::new().name("one").spawn(|| {
            // Another one, so that the yield is one.
            let other = fibre::spawn(|| ());
            fibre::yield_now();
            other.join().unwrap();
            fibre::sleep(Duration::from_micros(1));
        });
        fibre.unwrap().join().unwrap();
    });
    check(&trace);
    let story = story(&trace, trace.named("one"));
    assert_eq!(story, [SPAWN, START, YIELD, RUN, BLOCK, READY, RUN, END]);
}

#[test]
fn plain_threads_are_named_by_their_numbers() {
    let trace = trace_of("ring:1M", 1, || {
        let (to, from) = bounded::<()>(1);
        let waits = fibre::spawn(move || from.recv().unwrap());
        until_waiting(WaitKind::Channel, &[waits.id()]);
        fibre::trace::mark("a thread outside");
        to.send(()).unwrap();
        waits.join().unwrap();
    });
    let thread = u64::from(trace.process);
    let plain = trace.tracks.iter().find(|track| track.cluster.is_none());
    let events = &plain.unwrap().events;
    let woke = |event: &&Event| event.kind == READY || event.kind == SPAWN;
    let by: Vec<_> = events
        .iter()
        .filter(woke)
        .map(|event| event.beside())
        .collect();
    assert!(by.len() >= 2, "{events:?}");
    // The test runs on a thread that the test harness has made, not on the main one.
    assert!(
        by.iter()
            .all(|number| *number >= thread && *number == by[0]),
        "{by:?}"
    );
    let of_mark = events.iter().find(|event| event.kind == THREAD);
    assert_eq!(of_mark.unwrap().word, by[0]);
    assert_eq!(trace.marks(), ["a thread outside"]);
}

#[test]
fn marks_of_fibres_are_whole() {
    let texts = ["", "12345678", "a longer one, of several events", "é"];
    let trace = trace_of("ring:1M", 1, || {
        let marks = move || texts.into_iter().for_each(fibre::trace::mark);
        fibre::spawn(marks).join().unwrap();
    });
    assert_eq!(trace.marks(), texts);
}

#[test]
fn a_full_ring_keeps_the_newest() {
    let trace = trace_of("ring:64K", 1, || {
        let marks = || {
            for number in 0..20_000 {
                fibre::trace::mark(&number.to_string());
            }
        };
        fibre::spawn(marks).join().unwrap();
    });
    let lost = trace.tracks[0].lost;
    assert!(lost > 15_000);
    let marks: Vec<u64> = trace
        .marks()
        .iter()
        .map(|mark| mark.parse().unwrap())
        .collect();
    assert!(marks.len() > 4000 && marks.len() < 4096);
    assert_eq!(*marks.last().unwrap(), 19_999);
    assert!(marks.windows(2).all(|two| two[1] == two[0] + 1));
}

/// An activity that counts its runs.
struct Counter(Semaphore);

impl Work for Counter {
    fn run(this: &Activity<Self>) {
        this.0.release();
    }
}

#[test]
fn activities_rest_between_their_runs() {
    let trace = trace_of("ring:1M", 1, || {
        let runs = || {
            let counter = Activity::new(None, Counter(Semaphore::new(0))).unwrap();
            for _ in 0..10 {
                counter.schedule().unwrap();
                counter.0.acquire();
                fibre::yield_now();
            }
            counter.id()
        };
        let id = fibre::spawn(runs).join().unwrap();
        fibre::trace::mark(&id.to_string());
    });
    let id: u64 = trace.marks()[0].parse().unwrap();
    let events = trace.events();
    let of = |kind| {
        let its = events.iter().filter(|event| event.kind == kind);
        its.filter(|event| event.fibre() == id).count()
    };
    assert_eq!((of(READY), of(START), of(REST)), (10, 10, 10));
}

/// The clocks tell how long a tick is, and every event lies between them.
#[test]
fn the_clocks_enclose_the_events() {
    let trace = trace_of("ring:1M", 2, || {
        fibre::spawn(|| fibre::sleep(Duration::from_millis(20)))
            .join()
            .unwrap();
    });
    let [first, began, _, last, ended, _] = trace.clocks[..] else {
        panic!("{:?}", trace.clocks);
    };
    assert!(ended - began >= 20_000_000);
    assert!(
        trace
            .events()
            .iter()
            .all(|event| event.at >= first && event.at <= last)
    );
    let at = |kind| {
        let all = trace.events();
        let mut its = all.into_iter().filter(move |event| event.kind == kind);
        its.next().unwrap().at
    };
    let slept = (at(END) - at(START)) as f64 * (ended - began) as f64 / (last - first) as f64;
    assert!(slept >= 19_900_000.0, "{slept}");
}

/// What a thief takes is recorded on its own track.
#[test]
fn steals_name_their_victims() {
    let trace = trace_of("ring:4M", 2, || {
        let cluster = Cluster::builder()
            .processors(2)
            .placement(fibre::Placement::Local)
            .build()
            .unwrap();
        let spawner = || {
            let (go, gone) = bounded::<usize>(64);
            for _ in 0..32 {
                let go = go.clone();
                fibre::spawn(move || go.send(fibre::processor().unwrap()).unwrap());
            }
            // It keeps its processor: only the other one can run them.
            let here = fibre::processor().unwrap();
            let mut first = None;
            while first.is_none() {
                first = gone.try_recv().ok();
            }
            assert_ne!(first, Some(here));
        };
        cluster.spawn(spawner).join().unwrap();
        cluster.stop();
    });
    let events = trace.events();
    let steals: Vec<_> = events.iter().filter(|event| event.kind == STEAL).collect();
    assert!(!steals.is_empty());
    for steal in steals {
        let thief = trace.tracks[steal.track].processor;
        assert_ne!(u64::from(thief), steal.beside());
    }
}
