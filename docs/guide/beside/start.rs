//! A service that says when it is ready, with a value; until then its failure is the starter's.
//! What the starter does then is done with the service running, which ends with it.

use super::{LONG, Stop, on_tokio};

mod fibres {
    use fibre::{Group, GroupError, Ready, StartError};

    pub fn with_service<V: Send, E: Send + From<&'static str>, R>(
        service: impl FnOnce(Ready<'_, V>) -> Result<(), E> + Send,
        body: impl FnOnce(V) -> R,
    ) -> Result<R, GroupError<E>> {
        fibre::group(|group: &Group<'_, '_, (), E>| {
            let value = group.start(service).map_err(|error| match error {
                StartError::Failed(fibre::FibreError::Failed(error)) => error,
                _ => E::from("it has ended without a word"),
            })?;
            let result = body(value);
            group.end_rest();
            Ok(result)
        })
    }
}

mod threads {
    use super::Stop;
    use std::sync::mpsc::{SyncSender, sync_channel};
    use std::thread;

    pub fn with_service<V: Send, E: Send + From<&'static str>, R>(
        service: impl FnOnce(&Stop, SyncSender<V>) -> Result<(), E> + Send,
        body: impl FnOnce(V) -> R,
    ) -> Result<R, E> {
        let (stop, (ready, is_ready)) = (Stop::default(), sync_channel(1));
        thread::scope(|scope| {
            let running = scope.spawn(|| service(&stop, ready));
            // It fails once the service has dropped its end, said so or not.
            let Ok(value) = is_ready.recv() else {
                return match running.join() {
                    Ok(Err(error)) => Err(error),
                    _ => Err(E::from("it has ended without a word")),
                };
            };
            let result = body(value);
            let is_running = !running.is_finished();
            stop.set();
            match running.join() {
                Ok(Err(error)) if !is_running => Err(error),
                Ok(_) => Ok(result),
                Err(payload) => std::panic::resume_unwind(payload),
            }
        })
    }
}

mod tasks {
    use tokio::sync::oneshot::{Sender, channel};

    pub async fn with_service<V, E, F, G>(
        service: impl FnOnce(Sender<V>) -> F,
        body: impl FnOnce(V) -> G,
    ) -> Result<G::Output, E>
    where
        E: Send + 'static + From<&'static str>,
        F: Future<Output = Result<(), E>> + Send + 'static,
        G: Future,
    {
        let (ready, is_ready) = channel();
        let running = tokio::spawn(service(ready));
        let Ok(value) = is_ready.await else {
            return match running.await {
                Ok(Err(error)) => Err(error),
                _ => Err(E::from("it has ended without a word")),
            };
        };
        let result = body(value).await;
        running.abort();
        match running.await {
            Ok(Err(error)) => Err(error),
            Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
            _ => Ok(result),
        }
    }
}

#[test]
fn a_service_says_when() {
    for (says, fails, expected) in [
        (true, false, Ok(8)),
        (false, true, Err("no")),
        (false, false, Err("it has ended without a word")),
    ] {
        let how = move || if fails { Err("no") } else { Ok(()) };
        let service = |ready: fibre::Ready<'_, u32>| {
            if says {
                ready.send(7);
                let _ = fibre::sleep_within(LONG);
            }
            how()
        };
        let by_fibres = fibres::with_service(service, |value| value + 1);
        assert_eq!(
            by_fibres.map_err(|error| error.into_error().unwrap()),
            expected
        );
        let service = |stop: &Stop, ready: std::sync::mpsc::SyncSender<u32>| {
            if says {
                ready.send(7).unwrap();
                stop.sleep(LONG);
            }
            how()
        };
        assert_eq!(threads::with_service(service, |value| value + 1), expected);
        let service = move |ready: tokio::sync::oneshot::Sender<u32>| async move {
            if says {
                ready.send(7).unwrap();
                tokio::time::sleep(LONG).await;
            }
            how()
        };
        let by_tasks = tasks::with_service(service, |value| std::future::ready(value + 1));
        assert_eq!(on_tokio(by_tasks), expected);
    }
}
