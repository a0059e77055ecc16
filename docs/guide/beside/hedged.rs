//! A request that is sent again if its answer takes long; the first answer counts.

use super::{LONG, Stop, ask, ask_by_hand, ask_tokio, on_tokio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

mod fibres {
    use fibre::{Group, GroupError, select, select::after};
    use std::time::Duration;

    pub fn hedged<T: Send, E: Send>(
        delay: Duration,
        request: impl Fn() -> Result<T, E> + Sync,
    ) -> Option<T> {
        let request = &request;
        let answered: Result<_, GroupError<E>> = Group::builder().keep_going().run(|group| {
            group.spawn(request);
            let early = select! {
                ended = group.next_arm() => ended.and_then(Result::ok),
                _ = after(delay) => None,
            };
            if early.is_some() {
                return Ok(early);
            }
            group.spawn(request);
            Ok(group.first().ok())
        });
        answered.ok().flatten()
    }
}

mod threads {
    use super::Stop;
    use std::sync::mpsc::channel;
    use std::thread;
    use std::time::Duration;

    pub fn hedged<T: Send, E: Send>(
        delay: Duration,
        request: impl Fn(&Stop) -> Result<T, E> + Sync,
    ) -> Option<T> {
        let (stop, (answers, answered)) = (Stop::default(), channel());
        thread::scope(|scope| {
            let (stop, request) = (&stop, &request);
            let send = || {
                let answers = answers.clone();
                scope.spawn(move || {
                    let _ = answers.send(request(stop));
                });
            };
            send();
            let mut running = 1;
            if let Ok(ended) = answered.recv_timeout(delay) {
                running -= 1;
                if let Ok(answer) = ended {
                    return Some(answer);
                }
            }
            send();
            running += 1;
            while running > 0 {
                match answered.recv() {
                    Ok(Ok(answer)) => {
                        stop.set();
                        return Some(answer);
                    }
                    _ => running -= 1,
                }
            }
            None
        })
    }
}

mod tasks {
    use std::time::Duration;
    use tokio::task::JoinSet;
    use tokio::time::timeout;

    pub async fn hedged<T, E, F>(delay: Duration, request: impl Fn() -> F) -> Option<T>
    where
        T: Send + 'static,
        E: Send + 'static,
        F: Future<Output = Result<T, E>> + Send + 'static,
    {
        let mut requests = JoinSet::new();
        requests.spawn(request());
        if let Ok(Some(Ok(Ok(answer)))) = timeout(delay, requests.join_next()).await {
            return Some(answer);
        }
        requests.spawn(request());
        while let Some(ended) = requests.join_next().await {
            if let Ok(Ok(answer)) = ended {
                requests.shutdown().await;
                return Some(answer);
            }
        }
        None
    }
}

#[test]
fn the_first_answer_counts() {
    // The first request is late, or fails; or no other one is needed; or both fail.
    let delay = Duration::from_millis(2);
    let cases = [
        ([(LONG, Ok(1)), (Duration::ZERO, Ok(2))], delay, Some(2)),
        (
            [(Duration::ZERO, Err("no")), (Duration::ZERO, Ok(2))],
            LONG,
            Some(2),
        ),
        ([(Duration::ZERO, Ok(1)), (LONG, Ok(2))], LONG, Some(1)),
        (
            [(Duration::ZERO, Err("no")), (Duration::ZERO, Err("no"))],
            LONG,
            None,
        ),
    ];
    for (requests, delay, expected) in cases {
        let sent = AtomicU32::new(0);
        let next = || requests[sent.fetch_add(1, Ordering::Relaxed) as usize % 2];
        let by_fibres = fibres::hedged(delay, || {
            let (wait, answer) = next();
            ask(wait, answer)
        });
        sent.store(0, Ordering::Relaxed);
        let by_hand = threads::hedged(delay, |stop| {
            let (wait, answer) = next();
            ask_by_hand(stop, wait, answer)
        });
        assert_eq!((by_fibres, by_hand), (expected, expected));
        sent.store(0, Ordering::Relaxed);
        let by_tasks = on_tokio(tasks::hedged(delay, || {
            let (wait, answer) = next();
            ask_tokio(wait, answer)
        }));
        assert_eq!(by_tasks, expected);
    }
}
