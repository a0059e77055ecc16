//! One seed, one run.

use crate::schedules::loses_an_update;
use crate::support::process::{child, errors, plays, spawn_child};
use crate::{assert_says, failure};
use fibre::channel::{self, Receiver};
use fibre::sync::{Condvar, Mutex};
use fibre_test::{Schedule, Sim};
use std::process::Output;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// A run with locks, channels, time-outs, groups of fibres and a selection.
fn works(sim: &Sim) {
    let (sender, receiver) = channel::bounded::<u64>(2);
    let total = Arc::new((Mutex::new(0), Condvar::new()));
    let producers: Vec<_> = (1..=3)
        .map(|number| {
            let sender = sender.clone();
            fibre::spawn(move || {
                for step in 0..5 {
                    fibre::sleep(Duration::from_millis(number * step));
                    sender.send(number).unwrap();
                }
            })
        })
        .collect();
    drop(sender);
    let consumers = [(); 2].map(|()| {
        let (receiver, total) = (receiver.clone(), Arc::clone(&total));
        fibre::spawn(move || {
            while let Ok(number) = receiver.recv() {
                *total.0.lock() += number;
                total.1.notify_all();
            }
        })
    });
    let mut sum = total.0.lock();
    while *sum < 30 {
        total.1.wait_timeout(&mut sum, Duration::from_millis(3));
    }
    drop(sum);
    producers
        .into_iter()
        .for_each(|fibre| fibre.join().unwrap());
    consumers
        .into_iter()
        .for_each(|fibre| fibre.join().unwrap());
    assert!(sim.now() >= Duration::from_millis(30));
}

/// A number from one of these, by a selection.
fn one_of([one, two, three]: [&Receiver<u32>; 3]) -> u32 {
    fibre::select! {
        number = one.recv_arm() => number.unwrap(),
        number = two.recv_arm() => number.unwrap(),
        number = three.recv_arm() => number.unwrap(),
    }
}

/// Selections among what is ready, where chance decides.
fn selects(_: &Sim) {
    let channels: Vec<_> = (0..3).map(|_| channel::unbounded()).collect();
    for (number, (sender, _)) in (0..).zip(&channels) {
        (0..10).for_each(|_| sender.send(number).unwrap());
    }
    let receivers = [0, 1, 2].map(|number: usize| &channels[number].1);
    let order: Vec<_> = (0..10).map(|_| one_of(receivers)).collect();
    assert!((0..3).all(|number| order.contains(&number)), "{order:?}");
}

#[test]
fn selections_follow_the_seed() {
    // With some seeds an arm is not chosen in ten times.
    let fair = |seed| std::panic::catch_unwind(|| Sim::builder().seed(seed).run(selects));
    let hashes = || (0..20).filter_map(|seed| Some(fair(seed).ok()?.hash()));
    let first: Vec<_> = hashes().collect();
    assert!(first.len() > 10 && first.windows(2).all(|pair| pair[0] != pair[1]));
    assert!(hashes().eq(first));
}

#[test]
fn a_thousand_runs_of_a_seed_are_one() {
    let schedules = [
        Schedule::in_order(),
        Schedule::random(),
        Schedule::pct(4),
        Schedule::pos(),
    ];
    for schedule in schedules {
        let run = |seed| Sim::builder().seed(seed).schedule(schedule).run(works);
        let first = run(7);
        for _ in 0..1000 {
            assert_eq!(run(7), first, "{schedule:?}");
        }
        let differs = (0..20).any(|seed| run(seed).hash() != first.hash());
        assert_eq!(differs, schedule != Schedule::in_order());
    }
}

/// The machine's load must not matter: runs beside each other are those of a quiet machine.
#[test]
fn runs_of_a_seed_beside_each_other_are_one() {
    let run = || {
        Sim::builder()
            .seed(3)
            .schedule(Schedule::random())
            .seeds(50)
            .run(works)
    };
    let threads: Vec<_> = (0..4).map(|_| std::thread::spawn(run)).collect();
    let expected = run();
    for thread in threads {
        assert_eq!(thread.join().unwrap(), expected);
    }
}

#[test]
fn what_runs_leave_behind_is_found_out() {
    static RUNS: AtomicU64 = AtomicU64::new(0);
    let text = failure(Sim::builder(), |_| {
        let yields = RUNS.fetch_add(1, Ordering::Relaxed);
        fibre::scope(|scope| {
            for _ in 0..yields {
                scope.spawn(fibre::yield_now);
            }
        });
        fibre::sync::Event::new().wait();
    });
    let parts = [
        "something is not under the kit's control: a second run of the seed is another one",
        "deadlock",
    ];
    assert_says(&text, &parts);
}

/// What is printed behind `title`, as the variable's value.
pub(crate) fn printed(output: &Output, title: &str) -> String {
    let errors = errors(output);
    let title = format!("{title}: FIBRE_TEST=");
    let line = errors.split(&title).nth(1).expect(&errors);
    line.split_whitespace().next().unwrap().to_owned()
}

/// Both lines that a failed run prints: the shortest run, and the whole one.
#[test]
fn the_printed_lines_repeat_the_run_in_another_process() {
    if plays("fails") {
        let builder = Sim::builder().seeds(1000).schedule(Schedule::random());
        let builder = builder.shorten_for(Duration::from_secs(3600));
        let _ = builder.run(loses_an_update);
        return;
    }
    let run = |variables: &[(&str, &str)]| spawn_child("fails", variables);
    let first = run(&[]);
    let (short, whole) = (printed(&first, "replay"), printed(&first, "the whole run"));
    let (seed, hash) = whole.split_once(':').unwrap();
    assert!(!first.status.success());
    let says = [
        " of 1000): the test has panicked",
        "shortest failing schedule: 1 switch\n",
        "gives way in kit::schedules::loses_an_update",
    ];
    assert_says(&errors(&first), &says);
    assert!(short.starts_with(&format!("{seed}:")), "{short}");

    for value in [&short, &whole] {
        let again = run(&[("FIBRE_TEST", value)]);
        assert!(!again.status.success());
        let begins = format!("fibre-test: seed {seed}: the test");
        assert_says(&errors(&again), &[&begins]);
        assert_eq!(&printed(&again, "replay"), value);
    }
    let by_seed = run(&[("FIBRE_TEST", seed)]);
    assert_eq!(printed(&by_seed, "replay"), whole);

    let other = run(&[("FIBRE_TEST", &format!("{seed}:0123456789abcdef"))]);
    let differs = format!("seed {seed}, which is another run than 0123456789abcdef");
    assert_says(
        &errors(&other),
        &[&differs, &format!("FIBRE_TEST={seed}:{hash}")],
    );

    for nonsense in ["often", "1:2:3"] {
        let nonsense = run(&[("FIBRE_TEST", nonsense)]);
        assert!(!nonsense.status.success());
        assert_says(&errors(&nonsense), &["is a seed, or seed:hash"]);
    }
}

/// When a run has failed, its fibres are unwound, and may panic: that is not what went wrong.
#[test]
fn what_follows_from_a_failure_is_not_told() {
    if plays("fails") {
        fibre_test::run(|_| {
            let mutex = Arc::new(Mutex::new(()));
            let held = mutex.lock();
            let waits = Arc::clone(&mutex);
            let joined = fibre::spawn(move || drop(waits.lock())).join();
            drop(held);
            joined.expect("it has ended well");
        });
        return;
    }
    let output = spawn_child("fails", &[]);
    let errors = errors(&output);
    assert_says(&errors, &["deadlock: nothing can run and nothing is due"]);
    assert!(!errors.contains("it has ended well"), "{errors}");
}

/// An exhaustive schedule has no seed that says all, so the line has the switches.
#[test]
fn a_schedule_of_all_is_repeated_by_its_switches() {
    if plays("fails") {
        let builder = Sim::builder().schedule(Schedule::exhaustive(2));
        let _ = builder.run(loses_an_update);
        return;
    }
    let first = spawn_child("fails", &[]);
    assert_says(&errors(&first), &["seed 0 (schedule "]);
    let value = printed(&first, "replay");
    assert_eq!(value.split(':').count(), 3, "{value}");
    let again = spawn_child("fails", &[("FIBRE_TEST", &value)]);
    assert!(!again.status.success());
    assert_says(&errors(&again), &["switches out of order: 1 switch\n"]);
    assert_eq!(printed(&again, "replay"), value);
    // A seed alone stands for all schedules with it.
    let all = spawn_child("fails", &[("FIBRE_TEST", "5")]);
    assert_says(&errors(&all), &["seed 5 (schedule "]);
}

/// A deadlock of two among many others, which have nothing to do with it.
#[test]
fn a_failing_schedule_is_made_shorter() {
    let runs = Sim::builder().seeds(1000).schedule(Schedule::random());
    let runs = runs.shorten_for(Duration::from_secs(3600));
    let failed = runs.try_run(|_| {
        let mutexes = [(); 2].map(|()| Arc::new(Mutex::new(())));
        let pairs = [[0, 1], [1, 0]].map(|order| {
            let [first, second] = order.map(|which: usize| Arc::clone(&mutexes[which]));
            let pair = fibre::Builder::new().name(format!("pair {}", order[0]));
            let locks = move || {
                let _first = first.lock();
                drop(second.lock());
            };
            pair.spawn(locks).unwrap()
        });
        let others = [(); 5].map(|()| {
            fibre::spawn(|| {
                let mutex = Mutex::new(0);
                (0..20).for_each(|_| *mutex.lock() += 1);
            })
        });
        pairs.into_iter().for_each(|pair| pair.join().unwrap());
        others.into_iter().for_each(|other| other.join().unwrap());
    });
    let failed = failed.unwrap_err();
    let text = failed.to_string();
    assert_eq!(failed.switches(), Some(1), "{text}");
    let parts = [
        "deadlock: nothing can run and nothing is due",
        "\nshortest failing schedule: 1 switch\n  fibre ",
        " (\"pair ",
        " gives way in kit::replays::a_failing_schedule_is_made_shorter::{{closure}}",
        "replays.rs:",
        "\nreplay: FIBRE_TEST=",
    ];
    assert_says(&text, &parts);
}

#[test]
fn a_fault_of_all_schedules_needs_no_switch() {
    for schedule in [Schedule::random(), Schedule::pos(), Schedule::exhaustive(1)] {
        let failed = Sim::builder().schedule(schedule).try_run(|_| {
            fibre::spawn(fibre::yield_now).join().unwrap();
            fibre::sync::Event::new().wait();
        });
        let failed = failed.unwrap_err();
        assert_eq!(failed.switches(), Some(0));
        assert_says(
            &failed.to_string(),
            &["it fails in order, too", ":- cargo test"],
        );
    }
}

/// What fails in another way is no shorter form of the same.
#[test]
fn a_shorter_schedule_fails_in_the_same_way() {
    let deadlock = (0..1000).find_map(|seed| {
        let runs = Sim::builder().seed(seed).schedule(Schedule::random());
        let failed = runs.try_run(|_| {
            let count = Arc::new(Mutex::new(0));
            let adds = Arc::clone(&count);
            let adder = fibre::spawn(move || *adds.lock() += 1);
            let seen = *count.lock();
            adder.join().unwrap();
            match seen {
                0 => assert!(*count.lock() == 2, "the fault in order"),
                _ => fibre::sync::Event::new().wait(),
            }
        });
        failed
            .err()
            .filter(|failed| failed.to_string().contains("deadlock"))
    });
    assert_eq!(deadlock.unwrap().switches(), Some(1));
}

/// A seed that passes is no proof if it is another run than the one that failed.
#[test]
fn a_repeated_run_that_passes_says_so_if_it_is_another_one() {
    if plays("passes") {
        let report = Sim::builder().run(works);
        println!("hash {:016x}", report.hash());
        return;
    }
    let child = |variables: &[(&str, &str)]| {
        let output = child("passes", variables).output().unwrap();
        (output.status.success(), output)
    };
    let (passes, output) = child(&[("FIBRE_TEST", "3")]);
    assert!(passes);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let hash = &text.split("hash ").nth(1).expect(&text)[..16];
    assert!(child(&[("FIBRE_TEST", &format!("3:{hash}"))]).0);
    let (passes, output) = child(&[("FIBRE_TEST", "3:1")]);
    assert!(!passes);
    let all = errors(&output) + &String::from_utf8_lossy(&output.stdout);
    assert_says(
        &all,
        &["seed 3, which is another run than 0000000000000001"],
    );
}

#[test]
fn a_failure_says_which_of_the_seeds_it_was() {
    let text = failure(Sim::builder().seed(5).seeds(10), |_| {
        fibre::sync::Event::new().wait();
    });
    assert_says(
        &text,
        &["seed 5 (run 1 of 10): deadlock", "replay: FIBRE_TEST=5:"],
    );
}
