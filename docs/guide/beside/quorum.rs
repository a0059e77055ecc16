//! So many successes of several requests; the rest is ended, also once they cannot come.

use super::{LONG, Stop, ask, ask_by_hand, ask_tokio, on_tokio};
use std::time::Duration;

mod fibres {
    use fibre::{Group, GroupError};

    pub fn quorum<T: Send, E: Send>(
        count: usize,
        requests: Vec<impl FnOnce() -> Result<T, E> + Send>,
    ) -> Option<Vec<T>> {
        let met: Result<_, GroupError<E>> = Group::builder().keep_going().run(|group| {
            requests
                .into_iter()
                .for_each(|request| group.spawn(request));
            Ok(group.quorum(count).ok())
        });
        met.ok().flatten()
    }
}

mod threads {
    use super::Stop;
    use std::sync::mpsc::channel;
    use std::thread;

    pub fn quorum<T: Send, E: Send>(
        count: usize,
        requests: Vec<impl FnOnce(&Stop) -> Result<T, E> + Send>,
    ) -> Option<Vec<T>> {
        let (stop, (answers, answered)) = (Stop::default(), channel());
        let mut running = requests.len();
        thread::scope(|scope| {
            let stop = &stop;
            for request in requests {
                let answers = answers.clone();
                scope.spawn(move || {
                    let _ = answers.send(request(stop));
                });
            }
            let mut met = Vec::new();
            while met.len() < count && met.len() + running >= count {
                if let Ok(ended) = answered.recv() {
                    running -= 1;
                    met.extend(ended.ok());
                }
            }
            stop.set();
            (met.len() == count).then_some(met)
        })
    }
}

mod tasks {
    use tokio::task::JoinSet;

    pub async fn quorum<T, E, F>(count: usize, requests: Vec<F>) -> Option<Vec<T>>
    where
        T: Send + 'static,
        E: Send + 'static,
        F: Future<Output = Result<T, E>> + Send + 'static,
    {
        let mut running: JoinSet<_> = requests.into_iter().collect();
        let mut met = Vec::new();
        while met.len() < count && met.len() + running.len() >= count {
            if let Some(Ok(ended)) = running.join_next().await {
                met.extend(ended.ok());
            }
        }
        running.shutdown().await;
        (met.len() == count).then_some(met)
    }
}

#[test]
fn so_many_count() {
    let answers = [
        (LONG, Ok(9)),
        (Duration::ZERO, Ok(1)),
        (Duration::ZERO, Err("no")),
    ];
    for (count, expected) in [(0, Some(vec![])), (1, Some(vec![1])), (3, None)] {
        let requests = |(wait, answer)| move || ask(wait, answer);
        let by_fibres = fibres::quorum(count, answers.map(requests).into());
        let requests = |(wait, answer)| move |stop: &Stop| ask_by_hand(stop, wait, answer);
        let by_hand = threads::quorum(count, answers.map(requests).into());
        let requests = |(wait, answer)| ask_tokio(wait, answer);
        let by_tasks = on_tokio(tasks::quorum(count, answers.map(requests).into()));
        assert_eq!(
            [by_fibres, by_hand, by_tasks],
            [(); 3].map(|()| expected.clone())
        );
    }
}
