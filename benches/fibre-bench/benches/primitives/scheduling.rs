//! Running and stopping to run: `yield_now`, `id`, `name`, `sleep`.
//!
//! | group | member | what it does |
//! |---|---|---|
//! | `yield_now` | `fibre` | some fibres yield in turn; one alone finds nobody to yield to |
//! | | `std::thread` | `sched_yield` by threads that share the cores |
//! | | `corosensei` | coroutines left and resumed in turn: the switch without a scheduler |
//! | `id`, `name` | `fibre` | asks who runs |
//! | | `std::thread` | the same of the current thread; the name is copied in both |
//! | `sleep` | `fibre`, `std::thread` | how much later than asked for a sleeper wakes |
//!
//! The switch alone is the floor of a yield: what lies between is the price of choosing
//! who goes on. Threads yield to each other only where they share a core, so they are
//! pinned. A sleep is compared in a process without other work: both sleep in the kernel,
//! with its timer slack.

use crate::support::{Contest, Group, Running, Workers, add, in_proportion, member, must, time};
use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, Yielder};
use criterion::{BenchmarkId, Criterion};
use std::io;
use std::time::{Duration, Instant};

/// Bytes of a coroutine's stack.
const STACK: usize = 64 * 1024;
/// What a sleeper asks for.
const SLEEP: Duration = Duration::from_millis(1);

/// One yield by each of some workers in turn.
fn yielding(criterion: &mut Criterion) -> io::Result<()> {
    let mut group = criterion.benchmark_group("yield_now");
    for (fibres, processors) in [(1, 1), (2, 1), (1000, 1), (1000, 2)] {
        let workers = Workers::fibres(processors)?;
        let contest = Contest::new(&workers, fibres, fibre::yield_now);
        let id = BenchmarkId::new("fibre", format!("{fibres} on {processors}"));
        group.bench_function(id, |bencher| {
            bencher.iter_custom(|yields| contest.time(yields));
        });
        workers.stop();
    }
    for (threads, cores) in [(2, 1), (100, 1), (100, 2)] {
        let workers = Workers::Threads(cores);
        let contest = Contest::new(&workers, threads, std::thread::yield_now);
        let id = BenchmarkId::new("std::thread", format!("{threads} on {cores}"));
        group.bench_function(id, |bencher| {
            bencher.iter_custom(|yields| contest.time(yields));
        });
    }
    for coroutines in [2, 1000] {
        let id = BenchmarkId::new("corosensei", format!("{coroutines} on 1"));
        group.bench_function(id, |bencher| {
            bencher.iter_custom(|switches| must(leave_and_return(coroutines, switches)));
        });
    }
    group.finish();
    Ok(())
}

/// Resumes coroutines in turn which leave at once, so often in all.
fn leave_and_return(coroutines: u64, switches: u64) -> io::Result<Duration> {
    let body = |yielder: &Yielder<bool, ()>, mut go_on| {
        while go_on {
            go_on = yielder.suspend(());
        }
    };
    let coroutine = |_| {
        Ok(Coroutine::<bool, (), ()>::with_stack(
            DefaultStack::new(STACK)?,
            body,
        ))
    };
    let mut running = (0..coroutines)
        .map(coroutine)
        .collect::<io::Result<Vec<_>>>()?;
    let mut round = |go_on| {
        for coroutine in &mut running {
            coroutine.resume(go_on);
        }
    };
    round(true); // all have started
    let rounds = switches.div_ceil(coroutines);
    let elapsed = time(rounds, || round(true));
    round(false); // all end
    Ok(in_proportion(elapsed, switches, rounds * coroutines))
}

/// Asking which fibre or thread the caller is.
fn identity(criterion: &mut Criterion) -> io::Result<()> {
    let fibres = Workers::fibres(1)?;
    let threads = Workers::Threads(1);

    let mut group = criterion.benchmark_group("id");
    add(&mut group, member("fibre", ""), &fibres, |calls| {
        time(calls, fibre::id)
    });
    add(&mut group, member("std::thread", ""), &threads, |calls| {
        time(calls, || std::thread::current().id())
    });
    group.finish();

    let mut group = criterion.benchmark_group("name");
    add(&mut group, member("fibre", ""), &fibres, |calls| {
        let named = fibre::Builder::new().name("accountant");
        let body = move || time(calls, fibre::name);
        Running::Fibre(must(named.spawn(body))).join()
    });
    add(&mut group, member("std::thread", ""), &threads, |calls| {
        let named = std::thread::Builder::new().name("accountant".to_owned());
        let name = || std::thread::current().name().map(str::to_owned);
        let body = move || time(calls, name);
        Running::Thread(must(named.spawn(body))).join()
    });
    group.finish();
    fibres.stop();
    Ok(())
}

/// How much too late a sleeper wakes. Criterion's line is about the mean; the
/// distributions follow.
fn sleeping(criterion: &mut Criterion) -> io::Result<()> {
    let fibres = Workers::fibres(1)?;
    let threads = Workers::Threads(1);
    let mut group = criterion.benchmark_group("sleep");
    let lines = [
        add_sleeper(&mut group, "fibre", &fibres, fibre::sleep),
        add_sleeper(&mut group, "std::thread", &threads, std::thread::sleep),
    ];
    group.finish();
    for line in lines.into_iter().flatten() {
        println!("{line}");
    }
    fibres.stop();
    Ok(())
}

/// Adds a member that sleeps; returns a line about all of its times.
fn add_sleeper(
    group: &mut Group<'_>,
    name: &str,
    workers: &Workers,
    sleep: fn(Duration),
) -> Option<String> {
    let mut late = Vec::new();
    group.bench_function(name, |bencher| {
        bencher.iter_custom(|sleeps| {
            let now = workers.run(move || oversleep(sleeps, sleep));
            late.extend_from_slice(&now);
            now.iter().sum()
        });
    });
    late.sort_unstable();
    distribution(name, &late)
}

/// How late a sleeper wakes, so many times.
fn oversleep(sleeps: u64, sleep: fn(Duration)) -> Vec<Duration> {
    let once = |_| {
        let began = Instant::now();
        sleep(SLEEP);
        began.elapsed().saturating_sub(SLEEP)
    };
    (0..sleeps).map(once).collect()
}

/// A line about sorted times; none if there are no times.
fn distribution(name: &str, sorted: &[Duration]) -> Option<String> {
    let last = sorted.len().checked_sub(1)?;
    let at = |part: f64| {
        let microseconds = sorted[(part * last as f64) as usize].as_secs_f64() * 1e6;
        format!("{microseconds:.1}")
    };
    Some(format!(
        "{name:<12} late by µs: least {}, median {}, 90 % {}, 99 % {}, most {} of {}",
        at(0.0),
        at(0.5),
        at(0.9),
        at(0.99),
        at(1.0),
        sorted.len(),
    ))
}

/// Measures all of them.
pub(crate) fn measure_all(criterion: &mut Criterion) -> io::Result<()> {
    yielding(criterion)?;
    identity(criterion)?;
    sleeping(criterion)?;
    Ok(())
}
