//! tokio's tasks as a library of actors: a task with an unbounded channel for each.

use std::marker::PhantomData;
use std::time::Instant;

use anyhow::Context as _;
use tokio::runtime::Runtime;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use tokio::sync::oneshot;

use super::actors;
use super::scheduler::{self, Choice};
use crate::actors::logm::{self, LogM};
use crate::peer::library::{self, Asked, Behaviour, Context, Library};
use crate::peer::protocol::Workload;

/// All programs over actors, for tasks.
pub(super) fn workloads<C: Choice>() -> Vec<Workload> {
    library::workloads::<Tasks<C>>()
}

/// Tasks over a scheduler that is chosen like this.
struct Tasks<C>(PhantomData<C>);

impl<C: Choice> Library for Tasks<C> {
    type Ref<B: Behaviour<Self>> = UnboundedSender<B::Message>;
    type Runtime = Runtime;

    fn start(processors: usize) -> anyhow::Result<Runtime> {
        Ok(C::start(processors)?)
    }

    fn within<R>(runtime: &Runtime, body: impl FnOnce() -> R) -> R {
        let _entered = runtime.enter();
        body()
    }

    fn wait<T: Send + 'static>(
        runtime: &Runtime,
        outcome: oneshot::Receiver<T>,
    ) -> anyhow::Result<T> {
        scheduler::run(runtime, async {
            outcome.await.context("a task has failed")
        })
    }

    fn spawn<B: Behaviour<Self>>(mut behaviour: B) -> Self::Ref<B> {
        let (myself, mut messages) = unbounded_channel();
        let mut own = Own {
            myself: myself.clone(),
            stopped: false,
        };
        tokio::spawn(async move {
            while !own.stopped
                && let Some(message) = messages.recv().await
            {
                behaviour.handle(message, &mut own);
            }
        });
        myself
    }

    fn tell<B: Behaviour<Self>>(actor: &Self::Ref<B>, message: B::Message) {
        assert!(actor.send(message).is_ok(), "a task has ended too early");
    }

    fn logm(runtime: &Runtime, program: &LogM) -> anyhow::Result<logm::Outcome> {
        scheduler::run(runtime, actors::iterate(program.clone()))
    }

    fn ask(runtime: &Runtime, questions: u64) -> anyhow::Result<Asked> {
        scheduler::run(runtime, inquire(questions))
    }
}

/// What a task that handles a message knows of itself.
struct Own<M> {
    myself: UnboundedSender<M>,
    stopped: bool,
}

impl<C: Choice, B: Behaviour<Tasks<C>>> Context<Tasks<C>, B> for Own<B::Message> {
    fn myself(&self) -> UnboundedSender<B::Message> {
        self.myself.clone()
    }

    fn stop(&mut self) {
        self.stopped = true;
    }
}

/// Makes a task ask another, which answers through a oneshot channel.
async fn inquire(questions: u64) -> anyhow::Result<Asked> {
    let (echo, mut asked) = unbounded_channel::<(u64, oneshot::Sender<u64>)>();
    tokio::spawn(async move {
        while let Some((question, reply)) = asked.recv().await {
            // The one that asks waits.
            reply.send(question + 1).ok();
        }
    });
    let mut outcome = Asked::new()?;
    for question in 0..questions {
        let begin = question.is_multiple_of(Asked::TIMED).then(Instant::now);
        let (reply, answer) = oneshot::channel();
        echo.send((question, reply))?;
        outcome.sum += answer.await?;
        if let Some(begin) = begin {
            outcome.latency += begin.elapsed().as_nanos() as u64;
        }
    }
    Ok(outcome)
}
