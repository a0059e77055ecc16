//! Workers that take jobs until they are told to end. What they have begun may go on for a time;
//! nothing is begun after that. Each returns how many jobs it has done.

use super::{LONG, Stop, on_tokio};
use std::time::Duration;

mod fibres {
    use fibre::channel::Receiver;
    use fibre::{CancelToken, Limit, graceful};

    pub fn work<J>(jobs: &Receiver<J>, job: impl Fn(J) -> bool) -> u32 {
        let mut done = 0;
        while let Ok(next) = jobs.recv_within(Limit::Cancellation) {
            done += u32::from(graceful(|| job(next)).unwrap_or(false));
        }
        done
    }

    pub fn end(service: &CancelToken, grace: std::time::Duration) {
        service
            .cancel_within(grace)
            .unwrap_or_else(|_| service.cancel());
    }
}

mod threads {
    use super::Stop;
    use std::sync::mpsc::{Receiver, RecvTimeoutError};
    use std::sync::{Arc, Condvar, Mutex};
    use std::thread;
    use std::time::Duration;

    #[derive(Default)]
    pub struct Service {
        ending: Stop,
        over: Stop,
        working: Mutex<u32>,
        idle: Condvar,
    }

    pub fn work<J>(service: &Service, jobs: &Receiver<J>, job: impl Fn(&Stop, J) -> bool) -> u32 {
        let mut done = 0;
        while !service.ending.is_set() {
            let next = match jobs.recv_timeout(Duration::from_millis(1)) {
                Ok(next) => next,
                Err(RecvTimeoutError::Timeout) => continue,
                Err(RecvTimeoutError::Disconnected) => break,
            };
            {
                let mut working = service.working.lock().unwrap();
                if service.ending.is_set() {
                    break;
                }
                *working += 1;
            }
            done += u32::from(job(&service.over, next));
            *service.working.lock().unwrap() -= 1;
            service.idle.notify_all();
        }
        done
    }

    pub fn end(service: &Arc<Service>, grace: Duration) {
        let working = service.working.lock().unwrap();
        service.ending.set();
        drop(working);
        let service = Arc::clone(service);
        thread::spawn(move || {
            let working = service.working.lock().unwrap();
            let busy = |working: &mut u32| *working > 0;
            drop(service.idle.wait_timeout_while(working, grace, busy));
            service.over.set();
        });
    }
}

mod tasks {
    use std::pin::pin;
    use std::time::Duration;
    use tokio::sync::mpsc::Receiver;
    use tokio::sync::watch;
    use tokio::time::{Instant, timeout_at};

    pub async fn work<J, F: Future<Output = bool>>(
        mut ending: watch::Receiver<Option<Instant>>,
        mut jobs: Receiver<J>,
        job: impl Fn(J) -> F,
    ) -> u32 {
        let mut done = 0;
        loop {
            let next = tokio::select! {
                biased;
                _ = ending.wait_for(Option::is_some) => break,
                next = jobs.recv() => next,
            };
            let Some(next) = next else { break };
            let mut work = pin!(job(next));
            let limit = tokio::select! {
                biased;
                well = &mut work => {
                    done += u32::from(well);
                    continue;
                }
                limit = ending.wait_for(Option::is_some) => limit.ok().and_then(|limit| *limit),
            };
            let limit = limit.unwrap_or_else(Instant::now);
            done += u32::from(timeout_at(limit, work).await.unwrap_or(false));
        }
        done
    }

    pub fn end(service: &watch::Sender<Option<Instant>>, grace: Duration) {
        service.send_replace(Some(Instant::now() + grace));
    }
}

/// How long the second job takes, the grace, and how many jobs are done then.
const CASES: [(Duration, Duration, u32); 2] = [
    (Duration::from_millis(5), LONG, 2),
    (LONG, Duration::from_millis(5), 1),
];

#[test]
fn fibres_end_with_grace() {
    for (length, grace, expected) in CASES {
        let service = fibre::CancelToken::new();
        let (jobs, to_do) = fibre::channel::bounded(3);
        let (begun, has_begun) = fibre::channel::unbounded();
        let worker = fibre::Builder::new().cancel_token(&service).spawn(move || {
            fibres::work(&to_do, |length| {
                begun.send(()).unwrap();
                fibre::sleep_within(length).is_ok()
            })
        });
        for length in [Duration::ZERO, length] {
            jobs.send(length).unwrap();
            has_begun.recv().unwrap();
        }
        fibres::end(&service, grace);
        let _ = jobs.send(Duration::ZERO); // too late
        assert_eq!(worker.unwrap().join().unwrap(), expected);
    }
}

#[test]
fn threads_end_with_grace() {
    for (length, grace, expected) in CASES {
        let service = std::sync::Arc::new(threads::Service::default());
        let (jobs, to_do) = std::sync::mpsc::channel();
        let (begun, has_begun) = std::sync::mpsc::channel();
        let working = std::sync::Arc::clone(&service);
        let worker = std::thread::spawn(move || {
            threads::work(&working, &to_do, |over, length| {
                begun.send(()).unwrap();
                over.sleep(length)
            })
        });
        for length in [Duration::ZERO, length] {
            jobs.send(length).unwrap();
            has_begun.recv().unwrap();
        }
        threads::end(&service, grace);
        let _ = jobs.send(Duration::ZERO); // too late
        assert_eq!(worker.join().unwrap(), expected);
    }
}

#[test]
fn tasks_end_with_grace() {
    for (length, grace, expected) in CASES {
        let done = on_tokio(async {
            let (service, ending) = tokio::sync::watch::channel(None);
            let (jobs, to_do) = tokio::sync::mpsc::channel(3);
            let (begun, mut has_begun) = tokio::sync::mpsc::unbounded_channel();
            let worker = tokio::spawn(tasks::work(ending, to_do, move |length| {
                begun.send(()).unwrap();
                async move {
                    tokio::time::sleep(length).await;
                    true
                }
            }));
            for length in [Duration::ZERO, length] {
                jobs.send(length).await.unwrap();
                has_begun.recv().await.unwrap();
            }
            tasks::end(&service, grace);
            let _ = jobs.send(Duration::ZERO).await; // too late
            worker.await.unwrap()
        });
        assert_eq!(done, expected);
    }
}
