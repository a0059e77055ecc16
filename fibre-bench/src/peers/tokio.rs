//! tokio, on the calling thread and with one worker thread.

use ::tokio::runtime::Builder;
use ::tokio::sync::{Mutex, Notify};

/// Which of tokio's schedulers.
#[derive(Clone, Copy)]
pub(crate) enum Flavour {
    /// The single-threaded one.
    CurrentThread,
    /// The work-stealing one, with a single worker.
    OneWorker,
}

/// Starts a runtime and runs `body` as a task there.
pub(crate) fn enter<T: Send + 'static>(
    flavour: Flavour,
    body: impl Future<Output = anyhow::Result<T>> + Send + 'static,
) -> anyhow::Result<T> {
    let runtime = match flavour {
        Flavour::CurrentThread => Builder::new_current_thread().build(),
        Flavour::OneWorker => Builder::new_multi_thread().worker_threads(1).build(),
    }?;
    let task = runtime.spawn(body);
    runtime.block_on(task)?
}

/// Turns over tokio's primitives: `Notify` keeps one permit, so a wake that
/// comes between the unlock and the wait is not lost.
#[derive(Default)]
pub(crate) struct Turns {
    turn: Mutex<bool>,
    /// Told when the turn of player `false` or `true` has come.
    changed: [Notify; 2],
}

impl Turns {
    /// Waits until it is `player`'s turn and hands the turn over.
    pub(crate) async fn take(&self, player: bool) {
        let mut turn = self.turn.lock().await;
        while *turn != player {
            drop(turn);
            self.changed[usize::from(player)].notified().await;
            turn = self.turn.lock().await;
        }
        *turn = !player;
        self.changed[usize::from(!player)].notify_one();
    }
}
