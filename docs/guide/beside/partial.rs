//! The answers that come within a time; the rest is ended.

use super::{LONG, Stop, ask, ask_by_hand, ask_tokio, on_tokio};
use std::time::Duration;

mod fibres {
    use fibre::{Group, GroupError, Partial};
    use std::time::Duration;

    pub fn in_time<T: Send, E: Send>(
        time: Duration,
        requests: Vec<impl FnOnce() -> Result<T, E> + Send>,
    ) -> Vec<T> {
        let there: Result<_, GroupError<E>> = Group::builder().keep_going().run(|group| {
            requests
                .into_iter()
                .for_each(|request| group.spawn(request));
            Ok(group
                .results_within(time)
                .unwrap_or_else(Partial::into_results))
        });
        there.into_iter().flatten().flatten().collect()
    }
}

mod threads {
    use super::Stop;
    use std::sync::mpsc::channel;
    use std::thread;
    use std::time::{Duration, Instant};

    pub fn in_time<T: Send, E: Send>(
        time: Duration,
        requests: Vec<impl FnOnce(&Stop) -> Result<T, E> + Send>,
    ) -> Vec<T> {
        let (stop, (answers, answered)) = (Stop::default(), channel());
        let deadline = Instant::now() + time;
        thread::scope(|scope| {
            let stop = &stop;
            for request in requests {
                let answers = answers.clone();
                scope.spawn(move || {
                    let _ = answers.send(request(stop));
                });
            }
            drop(answers);
            let mut there = Vec::new();
            loop {
                let left = deadline.saturating_duration_since(Instant::now());
                match answered.recv_timeout(left) {
                    Ok(ended) => there.extend(ended.ok()),
                    Err(_) => break,
                }
            }
            stop.set();
            there
        })
    }
}

mod tasks {
    use std::time::Duration;
    use tokio::task::JoinSet;
    use tokio::time::{Instant, timeout_at};

    pub async fn in_time<T, E, F>(time: Duration, requests: Vec<F>) -> Vec<T>
    where
        T: Send + 'static,
        E: Send + 'static,
        F: Future<Output = Result<T, E>> + Send + 'static,
    {
        let deadline = Instant::now() + time;
        let mut running: JoinSet<_> = requests.into_iter().collect();
        let mut there = Vec::new();
        while let Ok(Some(ended)) = timeout_at(deadline, running.join_next()).await {
            if let Ok(Ok(answer)) = ended {
                there.push(answer);
            }
        }
        running.shutdown().await;
        there
    }
}

#[test]
fn the_rest_is_ended() {
    let long = [(LONG, Ok(9)), (Duration::ZERO, Err("no"))];
    let short = [(Duration::ZERO, Ok(1)), (Duration::ZERO, Err("no"))];
    // Nothing comes in time; or all has come, long before.
    for (answers, time, expected) in [
        (long, Duration::from_millis(5), vec![]),
        (short, LONG, vec![1]),
    ] {
        let requests = |(wait, answer)| move || ask(wait, answer);
        let by_fibres = fibres::in_time(time, answers.map(requests).into());
        let requests = |(wait, answer)| move |stop: &Stop| ask_by_hand(stop, wait, answer);
        let by_hand = threads::in_time(time, answers.map(requests).into());
        let requests = |(wait, answer)| ask_tokio(wait, answer);
        let by_tasks = on_tokio(tasks::in_time(time, answers.map(requests).into()));
        assert_eq!(
            [by_fibres, by_hand, by_tasks],
            [(); 3].map(|()| expected.clone())
        );
    }
}
