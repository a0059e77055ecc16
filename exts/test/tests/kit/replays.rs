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
    for schedule in [Schedule::in_order(), Schedule::random(), Schedule::pct(4)] {
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

/// The line that a failed run has printed, as the variable's value.
fn printed(output: &Output) -> String {
    let errors = errors(output);
    let line = errors.split("replay: FIBRE_TEST=").nth(1).expect(&errors);
    line.split(' ').next().unwrap().to_owned()
}

#[test]
fn the_printed_line_repeats_the_run_in_another_process() {
    if plays("fails") {
        let builder = Sim::builder().seeds(1000).schedule(Schedule::random());
        let _ = builder.run(loses_an_update);
        return;
    }
    let run = |variables: &[(&str, &str)]| spawn_child("fails", variables);
    let first = run(&[]);
    let value = printed(&first);
    let (seed, hash) = value.split_once(':').unwrap();
    assert!(!first.status.success());
    assert_says(&errors(&first), &[" of 1000): the test has panicked"]);

    let again = run(&[("FIBRE_TEST", &value)]);
    assert!(!again.status.success());
    assert_says(
        &errors(&again),
        &[&format!("fibre-test: seed {seed}: the test")],
    );
    assert_eq!(printed(&again), value);

    let by_seed = run(&[("FIBRE_TEST", seed)]);
    assert_eq!(printed(&by_seed), value);

    let other = run(&[("FIBRE_TEST", &format!("{seed}:0123456789abcdef"))]);
    let differs = format!("seed {seed}, which is another run than 0123456789abcdef");
    assert_says(
        &errors(&other),
        &[&differs, &format!("FIBRE_TEST={seed}:{hash}")],
    );

    let nonsense = run(&[("FIBRE_TEST", "often")]);
    assert!(!nonsense.status.success());
    assert_says(
        &errors(&nonsense),
        &["is a seed, or seed:hash", "\"often\""],
    );
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
