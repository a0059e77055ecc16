//! One round of the stress test: a group of a random kind, its fibres, and how it ends.
//!
//! A *calm* group has fibres that end by themselves: all of their waits have limits. So its body
//! may wait for all results, and each fibre has one. A *stormy* one is ended, by one of [`ENDERS`],
//! and its fibres may wait for what never comes. In either, a fibre may have a group of its own.

use super::books::{Books, Closure, Slip};
use super::waits::{World, soon};
use crate::support::{Random, die};
use fibre::select::after;
use fibre::{
    Builder, CancelToken, FibreError, Group, GroupError, Partial, Restarts, StartError, Supervisor,
    cancellable, graceful, group, select, shield, timeout,
};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering};
use std::sync::mpsc::Sender;
use std::time::{Duration, Instant};

/// How many ways there are to end a stormy group.
pub const ENDERS: usize = 9;

/// How often something fails that is run again.
const RESTARTS: usize = 3;

/// A time that no wait lasts.
const LONG: Duration = Duration::from_secs(3600);

/// How a plain thread cancels a token, and when.
pub struct Order {
    pub token: CancelToken,
    /// Cancelled with this grace, if any.
    pub grace: Option<Duration>,
    pub wait: Duration,
}

/// What the rounds of a cluster share.
pub struct Stage {
    pub world: Arc<World>,
    /// What the plain thread is told to cancel.
    pub orders: Sender<Order>,
    /// How often each way to end has been taken, with those of calm groups last.
    pub ends: [AtomicUsize; ENDERS + 1],
}

/// A round, which its fibres borrow.
struct Round<'a> {
    stage: &'a Arc<Stage>,
    /// Whether its fibres end by themselves.
    calm: bool,
    /// How deep its fibres may begin groups.
    depth: usize,
    /// How many of its closures are not gone.
    closures: AtomicUsize,
    /// By fibre: how often its end has been seen.
    seen: [AtomicU8; MOST],
    restarts: Restarts,
}

/// The most fibres of a round.
const MOST: usize = 24;

/// The results that a body of either kind of group takes.
type Item = Result<Slip, FibreError<Slip>>;

/// What a fibre's closure has: counted in the round, and in the books.
struct Job<'a> {
    round: &'a Round<'a>,
    closure: Closure,
    random: Random,
    number: usize,
}

impl Drop for Job<'_> {
    fn drop(&mut self) {
        self.round.closures.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Drop for Round<'_> {
    /// The group's call has returned, or was unwound: no fibre has outlived it.
    fn drop(&mut self) {
        let left = *self.closures.get_mut();
        if left != 0 {
            die(format_args!("{left} fibres have outlived their group"));
        }
    }
}

impl<'a> Round<'a> {
    fn new(stage: &'a Arc<Stage>, calm: bool, depth: usize) -> Self {
        Self {
            stage,
            calm,
            depth,
            closures: AtomicUsize::new(0),
            seen: Default::default(),
            restarts: Restarts::new(RESTARTS, LONG).backoff(Duration::ZERO, LONG / 1_000_000),
        }
    }

    fn books(&self) -> &Arc<Books> {
        &self.stage.world.books
    }

    /// A closure's part.
    fn job(&'a self, random: &mut Random, number: usize) -> Job<'a> {
        self.closures.fetch_add(1, Ordering::SeqCst);
        Job {
            round: self,
            closure: Closure::new(self.books()),
            random: random.split(),
            number,
        }
    }

    /// Somebody has seen the end of a fibre.
    fn see(&self, slip: Slip) {
        if self.seen[slip.number].fetch_add(1, Ordering::SeqCst) != 0 {
            die(format_args!("an end was seen twice"));
        }
        slip.take();
    }

    /// The same, however it has ended.
    fn see_item(&self, item: Item) {
        match item {
            Ok(slip) | Err(FibreError::Failed(slip)) => self.see(slip),
            Err(FibreError::Panicked(payload)) => match payload.downcast::<Slip>() {
                Ok(slip) => self.see(*slip),
                Err(_) => die(format_args!("a fibre has panicked by itself")),
            },
        }
    }

    /// Waits, in one manner or another.
    fn step(&self, random: &mut Random) {
        let world = &self.stage.world;
        let (outer, inner) = (soon(random), soon(random));
        // Where nobody ends the fibre, its wait has a limit.
        let wait = |random: &mut Random| match self.calm {
            true => drop(timeout(inner, || world.wait(random))),
            false => world.wait(random),
        };
        match random.below(8) {
            0 => drop(timeout(outer, || world.wait(random))),
            1 => drop(timeout(outer, || timeout(inner, || world.wait(random)))),
            2 => shield(|| timeout(inner, || world.wait(random)).unwrap_or(())),
            3 => drop(graceful(|| wait(random))),
            4 => drop(graceful(|| timeout(inner, || world.wait(random)))),
            5 if self.depth > 0 && random.one_in(6) => round(self.stage, random, self.depth - 1),
            _ => wait(random),
        }
    }
}

impl Job<'_> {
    /// The fibre's work, once or in each of its runs. It ends by a result, an error, or a panic;
    /// also by an error if it was cancelled, as nothing may keep it then.
    fn work(&mut self) -> Result<Slip, Slip> {
        let run = self.closure.run();
        let random = &mut self.random;
        let steps = 1 + random.below(3);
        let worked = cancellable(|| (0..steps).for_each(|_| self.round.step(random)));
        let how = random.below(8);
        let slip = Slip::new(self.round.books(), self.number);
        drop(run);
        match how {
            _ if worked.is_err() => Err(slip),
            0 => Err(slip),
            1 => resume_unwind(Box::new(slip)),
            _ => Ok(slip),
        }
    }
}

/// The fibres of a round, in a group of the usual kind.
fn start_all<'scope>(
    round: &'scope Round<'scope>,
    group: &Group<'scope, '_, Slip, Slip>,
    random: &mut Random,
) {
    for number in 0..1 + random.below(MOST) {
        let mut job = round.job(random, number);
        match random.below(8) {
            0 => group.run(move || job.work().map(|slip| job.round.see(slip))),
            1 => start(round, random, |time| {
                let start = || {
                    group.start(move |ready| {
                        if job.random.one_in(2) {
                            ready.send(());
                        }
                        job.work()
                    })
                };
                timeout(time, start).ok()
            }),
            _ => group.spawn(move || job.work()),
        }
    }
}

/// Starts a fibre that may say that it is ready, and sees its end if it does not.
fn start(
    round: &Round<'_>,
    random: &mut Random,
    start: impl FnOnce(Duration) -> Option<Result<(), StartError<Slip, Slip>>>,
) {
    let time = match random.one_in(2) {
        true => soon(random),
        false => 20 * soon(random),
    };
    match start(time) {
        Some(Err(StartError::Failed(failure))) => round.see_item(Err(failure)),
        Some(Err(StartError::Ended(slip))) => round.see(slip),
        Some(Ok(()) | Err(StartError::Cancelled)) | None => {}
    }
}

/// The fibres of a round, in a group that keeps going.
fn supervise_all<'scope>(
    round: &'scope Round<'scope>,
    group: &Supervisor<'scope, '_, Slip, Slip>,
    random: &mut Random,
) -> usize {
    let mut with_result = 0;
    for number in 0..1 + random.below(MOST) {
        let mut job = round.job(random, number);
        match random.below(8) {
            0 => group.run(move || job.work().map(|slip| job.round.see(slip))),
            1 => start(round, random, |time| {
                let start = || {
                    group.start(move |ready| {
                        if job.random.one_in(2) {
                            ready.send(());
                        }
                        job.work()
                    })
                };
                timeout(time, start).ok()
            }),
            2 | 3 => {
                with_result += 1;
                group.spawn(move || job.round.restarts.run(|| job.work()));
            }
            _ => {
                with_result += 1;
                group.spawn(move || job.work());
            }
        }
    }
    with_result
}

/// What a body of a calm group does: it waits for some or all results.
#[allow(clippy::cognitive_complexity, reason = "one arm a way to wait")]
fn gather<'scope, T>(
    group: &Group<'scope, '_, T, Slip>,
    random: &mut Random,
    mut see: impl FnMut(T),
) -> bool {
    let count = random.below(4);
    match random.below(7) {
        0 => group.first().into_iter().for_each(&mut see),
        1 => group
            .quorum(count)
            .unwrap_or_else(Partial::into_results)
            .into_iter()
            .for_each(&mut see),
        2 => {
            let there = group.quorum_within(count, soon(random));
            there
                .unwrap_or_else(Partial::into_results)
                .into_iter()
                .for_each(&mut see);
        }
        3 => {
            let there = group.results_within(10 * soon(random));
            there
                .unwrap_or_else(Partial::into_results)
                .into_iter()
                .for_each(&mut see);
        }
        4 => loop {
            let wait = soon(random);
            select! {
                item = group.next_arm(), if group.running() > 0 => item.into_iter().for_each(&mut see),
                () = group.end_arm() => break,
                _ = after(wait) => {}
            }
        },
        5 => group.results_in_order().take(count).for_each(&mut see),
        _ => {
            group.results().for_each(&mut see);
            return !group.has_failed() && !group.token().is_cancelled();
        }
    }
    if random.one_in(2) {
        group.end_rest();
    }
    group.results().for_each(see);
    false
}

/// Does what a catch of a panic must: a payload of a fibre's is had, and other unwinding goes on.
fn catching<R>(f: impl FnOnce() -> R) -> Option<R> {
    match catch_unwind(AssertUnwindSafe(f)) {
        Ok(value) => Some(value),
        Err(payload) => match payload.downcast::<Slip>() {
            Ok(slip) => {
                slip.take();
                None
            }
            Err(other) => resume_unwind(other),
        },
    }
}

/// One round.
pub fn round(stage: &Arc<Stage>, random: &mut Random, depth: usize) {
    let calm = random.one_in(2);
    let keeps_going = random.one_in(2);
    let ender = match calm {
        true => ENDERS,
        false => random.below(ENDERS),
    };
    stage.ends[ender].fetch_add(1, Ordering::Relaxed);
    let round = Round::new(stage, calm, depth);
    let time = 2 * soon(random);
    let token = CancelToken::new();
    let mut builder = Group::builder().cancellable(random.one_in(2));
    // A body that waits for room ends nobody, so others do.
    if random.one_in(4) && !matches!(ender, 2 | 6..ENDERS) {
        builder = builder.limit(1 + random.below(4));
    }
    match ender {
        0 => builder = builder.timeout(time),
        3..6 => {
            builder = builder.cancel_token(&token);
            cancel_later(stage, random, &token, ender, time);
        }
        _ => {}
    }
    let call = |random: &mut Random| match keeps_going {
        false => drop(see_error(builder.run(|group| {
            start_all(&round, group, random);
            match calm {
                true => drop(gather(group, random, |slip| round.see(slip))),
                false => end(group, random, ender, time, &round, |slip| round.see(slip))?,
            }
            Ok(())
        }))),
        true => drop(see_error(builder.keep_going().run(|group| {
            let with_result = supervise_all(&round, group, random);
            match calm {
                true => {
                    let mut had = 0;
                    let all = gather(group, random, |item| {
                        had += 1;
                        round.see_item(item);
                    });
                    assert!(!all || had >= with_result, "an end was not seen");
                }
                false => end(group, random, ender, time, &round, |item| {
                    round.see_item(item)
                })?,
            }
            Ok(())
        }))),
    };
    let _ = catching(|| match ender {
        1 => drop(timeout(time, || call(random))),
        _ => call(random),
    });
}

/// The error of a fibre or body is had.
fn see_error(ended: Result<(), GroupError<Slip>>) -> Option<()> {
    ended
        .map_err(|error| error.into_error().map(Slip::take))
        .ok()
}

/// Lets a plain thread, another fibre, or a moment cancel a token.
fn cancel_later(
    stage: &Arc<Stage>,
    random: &mut Random,
    token: &CancelToken,
    ender: usize,
    wait: Duration,
) {
    let grace = random.one_in(2).then(|| soon(random));
    let token = token.clone();
    match ender {
        3 => stage.orders.send(Order { token, grace, wait }).unwrap(),
        4 => {
            let closure = Closure::new(&stage.world.books);
            drop(fibre::spawn(move || {
                let _run = closure.run();
                fibre::sleep(wait);
                match grace {
                    Some(grace) => token.cancel_within(grace).unwrap(),
                    None => token.cancel(),
                }
            }));
        }
        _ => token.cancel_at(Instant::now() + wait).unwrap(),
    }
}

/// Ends a stormy group, unless somebody else does, and sees what there is.
fn end<T>(
    group: &Group<'_, '_, T, Slip>,
    random: &mut Random,
    ender: usize,
    time: Duration,
    round: &Round<'_>,
    mut see: impl FnMut(T),
) -> Result<(), Slip> {
    // The body's own, which nobody sees by its number.
    let slip = || Slip::new(round.books(), MOST);
    match ender {
        2 => {
            fibre::sleep(time);
            group.cancel();
        }
        6 => {
            let late = timeout(time, || group.first());
            late.ok().flatten().into_iter().for_each(&mut see);
            group.end_rest();
        }
        7 => {
            let there = match random.one_in(2) {
                true => group.results_within(time),
                false => group.quorum_within(3, time),
            };
            there
                .unwrap_or_else(Partial::into_results)
                .into_iter()
                .for_each(&mut see);
        }
        8 => {
            fibre::sleep(time);
            return match random.one_in(2) {
                true => resume_unwind(Box::new(slip())),
                false => Err(slip()),
            };
        }
        _ => {}
    }
    group.results().for_each(see);
    Ok(())
}

/// Runs rounds in a fibre that is cancelled at some moment, by its handle or its token. The fibre's
/// end is the caller's, as it joins it.
pub fn cancelled_rounds(stage: &Arc<Stage>, random: &mut Random) {
    let token = CancelToken::new();
    let (stage_of_fibre, mut own) = (Arc::clone(stage), random.split());
    let closure = Closure::new(&stage.world.books);
    let fibre = Builder::new().cancel_token(&token).spawn(move || {
        let _run = closure.run();
        let _ = cancellable(|| {
            loop {
                round(&stage_of_fibre, &mut own, 1);
                fibre::yield_now();
                if fibre::cancellation_point().is_err() {
                    return;
                }
            }
        });
    });
    let fibre = fibre.unwrap();
    fibre::sleep(3 * soon(random));
    match random.below(3) {
        0 => fibre.cancel(),
        1 => token.cancel(),
        _ => token.cancel_within(soon(random)).unwrap(),
    }
    fibre.join().unwrap();
}

/// A group without fibres ends at once, in whatever way it is asked.
pub fn empty_round() {
    let none: Result<(), GroupError<()>> = group(|group: &Group<'_, '_, (), ()>| {
        group.end_rest();
        assert!(group.first().is_none() && group.quorum(1).is_err());
        Ok(())
    });
    assert_eq!(none, Ok(()));
}
