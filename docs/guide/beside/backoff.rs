//! What fails is run again: at most so often within a time, with pauses that double.

use super::{LONG, Stop, on_tokio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// How often, within what time, and the first and the longest pause.
const LIMITS: (usize, Duration, Duration, Duration) = (
    3,
    LONG,
    Duration::from_micros(10),
    Duration::from_micros(20),
);

mod fibres {
    use super::LIMITS;
    use fibre::Restarts;

    pub fn run<T, E>(job: impl FnMut() -> Result<T, E>) -> Result<T, E> {
        let (most, time, first, longest) = LIMITS;
        Restarts::new(most, time).backoff(first, longest).run(job)
    }
}

mod threads {
    use super::{LIMITS, Stop};
    use std::collections::VecDeque;
    use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
    use std::time::Instant;

    pub fn run<T, E>(stop: &Stop, mut job: impl FnMut() -> Result<T, E>) -> Result<T, E> {
        let (most, time, first, longest) = LIMITS;
        let (mut recent, mut pause) = (VecDeque::<Instant>::new(), first);
        loop {
            let begun = Instant::now();
            let failure = match catch_unwind(AssertUnwindSafe(&mut job)) {
                Ok(Ok(value)) => return Ok(value),
                Ok(Err(error)) => Ok(error),
                Err(payload) => Err(payload),
            };
            while recent
                .front()
                .is_some_and(|moment| moment.elapsed() >= time)
            {
                recent.pop_front();
            }
            if begun.elapsed() > time {
                pause = first;
            }
            if recent.len() == most || stop.is_set() || !stop.sleep(pause) {
                return failure.map_or_else(|payload| resume_unwind(payload), Err);
            }
            recent.push_back(Instant::now());
            pause = (2 * pause).min(longest);
        }
    }
}

mod tasks {
    use super::LIMITS;
    use std::collections::VecDeque;
    use std::panic::resume_unwind;
    use std::time::Instant;

    pub async fn run<T, E, F>(mut job: impl FnMut() -> F) -> Result<T, E>
    where
        T: Send + 'static,
        E: Send + 'static,
        F: Future<Output = Result<T, E>> + Send + 'static,
    {
        let (most, time, first, longest) = LIMITS;
        let (mut recent, mut pause) = (VecDeque::<Instant>::new(), first);
        loop {
            let begun = Instant::now();
            let failure = match tokio::spawn(job()).await {
                Ok(Ok(value)) => return Ok(value),
                Ok(Err(error)) => Ok(error),
                Err(panic) => Err(panic),
            };
            while recent
                .front()
                .is_some_and(|moment| moment.elapsed() >= time)
            {
                recent.pop_front();
            }
            if begun.elapsed() > time {
                pause = first;
            }
            if recent.len() == most {
                return failure.map_or_else(|panic| resume_unwind(panic.into_panic()), Err);
            }
            recent.push_back(Instant::now());
            tokio::time::sleep(pause).await;
            pause = (2 * pause).min(longest);
        }
    }
}

#[test]
fn what_fails_runs_again() {
    for (failures, expected) in [(0, Ok(0)), (3, Ok(3)), (4, Err("no"))] {
        let runs = AtomicU32::new(0);
        let job = || match runs.fetch_add(1, Ordering::Relaxed) {
            run if run < failures => Err("no"),
            run => Ok(run),
        };
        assert_eq!(fibres::run(job), expected);
        runs.store(0, Ordering::Relaxed);
        assert_eq!(threads::run(&Stop::default(), job), expected);
        runs.store(0, Ordering::Relaxed);
        assert_eq!(on_tokio(tasks::run(|| std::future::ready(job()))), expected);
        assert_eq!(runs.into_inner(), failures.min(3) + 1);
    }
}
