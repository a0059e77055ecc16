//! Beginnings and ends: `spawn`, `Builder::spawn`, `scope`, `Cluster::spawn`, `blocking`,
//! and clusters themselves.
//!
//! | group | member | what it does |
//! |---|---|---|
//! | `spawn` | `fibre` | a fibre spawns empty ones and joins them, so many at a time |
//! | | `std::thread` | the same with threads |
//! | | `corosensei` | coroutines made and run on stacks that are used again: the floor |
//! | `queue` | each kind | the same on two processors, 1000 at a time: each fibre passes a queue with thieves |
//! | `Builder::spawn` | both | with a name and a stack size |
//! | `scope` | both | a scope with so many children, time per scope |
//! | `Cluster::spawn` | `fibre` | a thread spawns a fibre and joins it |
//! | | `std::thread` | a thread spawns a thread and joins it |
//! | | `std::sync::mpsc` | a thread hands a job to a standing thread and waits for it |
//! | `blocking` | the same three | a fibre or thread lets a call be made elsewhere |
//! | | `fibre, visit` | a fibre goes elsewhere to make it, and comes back |
//! | `file` | `fibre` | a fibre reads a cached page of a file |
//! | | `fibre, blocking` | it lets it be read elsewhere |
//! | | `std::fs` | a thread reads it |
//! | `Cluster` | `fibre` | starts a cluster and stops it |
//! | | `std::thread` | starts as many threads and joins them |
//!
//! A thread is what one would use without fibres, and a standing thread with a queue what
//! one would use if threads are too dear: the same number of wake-ups, without a
//! scheduler. Everything that is one after the other runs on one core, besides what goes
//! to another thread by its nature.

use crate::support::{Group, Running, Workers, add, member, must, time, time_batches};
use corosensei::Coroutine;
use corosensei::stack::DefaultStack;
use criterion::{BenchmarkId, Criterion, Throughput};
use fibre::{Cluster, QueueKind, fs};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::mpsc::{Sender, channel};
use std::thread;
use std::time::Duration;

/// Bytes that are read of a file at a time.
const PAGE: usize = 4096;

/// Bytes of a stack that is asked for.
const STACK: usize = 64 * 1024;

/// Empty fibres and threads, joined in the order they were spawned.
fn spawning(criterion: &mut Criterion) -> io::Result<()> {
    let fibres = Workers::fibres(1)?;
    let threads = Workers::Threads(1);
    let mut group = criterion.benchmark_group("spawn");
    for batch in [1, 1000] {
        let parameter = format!("{batch} at a time");
        let id = |name| member(name, &parameter);
        add(&mut group, id("fibre"), &fibres, move |count| {
            time_spawns(count, batch, || Running::Fibre(fibre::spawn(|| ())))
        });
        add(&mut group, id("std::thread"), &threads, move |count| {
            time_spawns(count, batch, || Running::Thread(thread::spawn(|| ())))
        });
        add(&mut group, id("corosensei"), &threads, move |count| {
            must(time_coroutines(count, batch))
        });
    }
    group.finish();
    fibres.stop();
    Ok(())
}

/// How long it takes to spawn and join so many, `batch` before the first join.
fn time_spawns(count: u64, batch: u64, spawn: impl Fn() -> Running<()>) -> Duration {
    let mut running = Vec::with_capacity(batch as usize);
    time_batches(count, batch, || {
        running.extend((0..batch).map(|_| spawn()));
        running.drain(..).for_each(Running::join);
    })
}

/// How long it takes to make and run so many coroutines, `batch` before the first runs.
fn time_coroutines(count: u64, batch: u64) -> io::Result<Duration> {
    let stack = |_| DefaultStack::new(STACK);
    let mut pool = (0..batch).map(stack).collect::<io::Result<Vec<_>>>()?;
    let mut made: Vec<Coroutine<(), (), ()>> = Vec::with_capacity(batch as usize);
    Ok(time_batches(count, batch, || {
        let stacks = pool.drain(..);
        made.extend(stacks.map(|stack| Coroutine::with_stack(stack, |_, ()| ())));
        for mut coroutine in made.drain(..) {
            coroutine.resume(());
            pool.push(coroutine.into_stack());
        }
    }))
}

/// Fibres that pass a queue of each kind on their way to two processors.
fn queues(criterion: &mut Criterion) -> io::Result<()> {
    let mut group = criterion.benchmark_group("queue");
    for kind in QueueKind::ALL {
        let cluster = Cluster::builder().processors(2).queue(kind).build()?;
        let fibres = Workers::Fibres(cluster);
        let id = BenchmarkId::new("fibre", kind);
        add(&mut group, id, &fibres, |count| {
            time_spawns(count, 1000, || Running::Fibre(fibre::spawn(|| ())))
        });
        fibres.stop();
    }
    group.finish();
    Ok(())
}

/// A name and a stack size asked for.
fn building(criterion: &mut Criterion) -> io::Result<()> {
    let fibres = Workers::fibres(1)?;
    let mut group = criterion.benchmark_group("Builder::spawn");
    add(&mut group, member("fibre", ""), &fibres, |count| {
        time_spawns(count, 1, || {
            let builder = fibre::Builder::new().name("accountant").stack_size(STACK);
            Running::Fibre(must(builder.spawn(|| ())))
        })
    });
    let threads = Workers::Threads(1);
    add(&mut group, member("std::thread", ""), &threads, |count| {
        time_spawns(count, 1, || {
            let builder = thread::Builder::new().name("accountant".to_owned());
            Running::Thread(must(builder.stack_size(STACK).spawn(|| ())))
        })
    });
    group.finish();
    fibres.stop();
    Ok(())
}

/// Scopes with children that borrow.
fn scoping(criterion: &mut Criterion) -> io::Result<()> {
    let fibres = Workers::fibres(1)?;
    let threads = Workers::Threads(1);
    let mut group = criterion.benchmark_group("scope");
    for children in [1, 10, 100] {
        group.throughput(Throughput::Elements(children));
        let id = |name| BenchmarkId::new(name, children);
        add(&mut group, id("fibre"), &fibres, move |scopes| {
            let borrowed = ();
            time(scopes, || {
                fibre::scope(|scope| {
                    for _ in 0..children {
                        scope.spawn(|| borrowed);
                    }
                });
            })
        });
        add(&mut group, id("std::thread"), &threads, move |scopes| {
            let borrowed = ();
            time(scopes, || {
                thread::scope(|scope| {
                    for _ in 0..children {
                        scope.spawn(|| borrowed);
                    }
                });
            })
        });
    }
    group.finish();
    fibres.stop();
    Ok(())
}

/// Spawning from a thread into a cluster, and joining.
fn spawning_from_outside(criterion: &mut Criterion) -> io::Result<()> {
    let cluster = Cluster::builder().processors(1).build()?;
    let mut group = criterion.benchmark_group("Cluster::spawn");
    group.bench_function("fibre", |bencher| {
        bencher.iter(|| Running::Fibre(cluster.spawn(|| ())).join());
    });
    add_threads(&mut group);
    group.finish();
    cluster.stop();
    Ok(())
}

/// A call that may block, made elsewhere.
fn blocking(criterion: &mut Criterion) -> io::Result<()> {
    let fibres = Workers::fibres(1)?;
    let mut group = criterion.benchmark_group("blocking");
    add(&mut group, member("fibre", ""), &fibres, |calls| {
        time(calls, || fibre::blocking(|| ()))
    });
    // SAFETY: the fibre keeps nothing that belongs to a kernel thread.
    let moving = unsafe { Cluster::builder().processors(1).move_started_fibres() };
    let moving = Workers::Fibres(moving.build()?);
    add(&mut group, member("fibre, visit", ""), &moving, |calls| {
        time(calls, || must(fibre::blocking_visit(|| ())))
    });
    add_threads(&mut group);
    group.finish();
    fibres.stop();
    moving.stop();
    Ok(())
}

/// A cached page of a file.
fn files(criterion: &mut Criterion) -> io::Result<()> {
    let fibres = Workers::fibres(1)?;
    let threads = Workers::Threads(1);
    let path = std::env::temp_dir().join(format!("fibre-bench-{}", std::process::id()));
    std::fs::write(&path, [1; PAGE])?;
    let std: &'static File = Box::leak(Box::new(File::open(&path)?));
    let ours: &'static fs::File = Box::leak(Box::new(std.try_clone()?.into()));
    std::fs::remove_file(path)?;
    let mut group = criterion.benchmark_group("file");
    add(&mut group, member("fibre", ""), &fibres, move |reads| {
        let mut page = [0; PAGE];
        time(reads, || must(ours.read_at(&mut page, 0)))
    });
    let id = member("fibre, blocking", "");
    add(&mut group, id, &fibres, move |reads| {
        let mut page = [0; PAGE];
        time(reads, || {
            must(fibre::blocking(|| std.read_at(&mut page, 0)))
        })
    });
    add(&mut group, member("std::fs", ""), &threads, move |reads| {
        let mut page = [0; PAGE];
        time(reads, || must(std.read_at(&mut page, 0)))
    });
    group.finish();
    fibres.stop();
    Ok(())
}

/// What threads do instead: spawn another one, or hand a job to one that is there.
fn add_threads(group: &mut Group<'_>) {
    group.bench_function("std::thread", |bencher| {
        bencher.iter(|| Running::Thread(thread::spawn(|| ())).join());
    });
    let (jobs, to_do) = channel::<Box<dyn FnOnce() + Send>>();
    let standing = thread::spawn(move || to_do.into_iter().for_each(|job| job()));
    group.bench_function("std::sync::mpsc", |bencher| {
        bencher.iter(|| hand_over(&jobs));
    });
    drop(jobs);
    Running::Thread(standing).join();
}

/// Hands a job to the standing thread and waits until it has been done.
fn hand_over(jobs: &Sender<Box<dyn FnOnce() + Send>>) {
    let (done, wait) = channel();
    must(
        jobs.send(Box::new(move || must(done.send(()))))
            .map_err(|_| "the thread is gone"),
    );
    must(wait.recv());
}

/// Clusters, from the start to the end.
fn clusters(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("Cluster");
    for processors in [1, 2] {
        let parameter = format!("{processors} started and stopped");
        group.bench_function(member("fibre", &parameter), |bencher| {
            bencher.iter(|| must(Cluster::builder().processors(processors).build()).stop());
        });
        group.bench_function(member("std::thread", &parameter), |bencher| {
            bencher.iter(|| {
                let threads: Vec<_> = (0..processors).map(|_| thread::spawn(|| ())).collect();
                for thread in threads {
                    Running::Thread(thread).join();
                }
            });
        });
    }
    group.finish();
}

/// Measures all of them.
pub(crate) fn measure_all(criterion: &mut Criterion) -> io::Result<()> {
    spawning(criterion)?;
    queues(criterion)?;
    building(criterion)?;
    scoping(criterion)?;
    spawning_from_outside(criterion)?;
    blocking(criterion)?;
    files(criterion)?;
    clusters(criterion);
    Ok(())
}
