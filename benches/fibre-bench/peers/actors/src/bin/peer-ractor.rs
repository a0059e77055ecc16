//! ractor, as a peer: an actor is a task of tokio's. The scheduler has as many threads as there are
//! processors. LOGM's workers stand still by awaiting the answer in their handler.

use std::marker::PhantomData;
use std::process::ExitCode;
use std::time::Instant;

use anyhow::{Context as _, anyhow};
use fibre_bench::actors::logm::{self, LogM};
use fibre_bench::peer;
use fibre_bench::peer::library::{self, Asked, Behaviour, Context, Library};
use ractor::rpc::CallResult;
use ractor::{Actor, ActorProcessingErr, ActorRef, ActorRuntime, RpcReplyPort};
use tokio::runtime::Runtime;
use tokio::sync::oneshot;

fn main() -> ExitCode {
    peer::main(&library::workloads::<Ractor>())
}

/// The library.
struct Ractor;

/// An actor that behaves like this; the behaviour is its state.
struct Host<B>(PhantomData<fn() -> B>);

impl<B: Behaviour<Ractor>> Actor for Host<B> {
    type Msg = B::Message;
    type State = B;
    type Arguments = B;

    async fn pre_start(
        &self,
        _: ActorRef<B::Message>,
        behaviour: B,
    ) -> Result<B, ActorProcessingErr> {
        Ok(behaviour)
    }

    async fn handle(
        &self,
        myself: ActorRef<B::Message>,
        message: B::Message,
        behaviour: &mut B,
    ) -> Result<(), ActorProcessingErr> {
        behaviour.handle(message, &mut Own(myself));
        Ok(())
    }
}

/// An actor's own reference.
struct Own<M>(ActorRef<M>);

impl<B: Behaviour<Ractor>> Context<Ractor, B> for Own<B::Message> {
    fn myself(&self) -> ActorRef<B::Message> {
        self.0.clone()
    }

    fn stop(&mut self) {
        self.0.stop(None);
    }
}

impl Library for Ractor {
    type Ref<B: Behaviour<Self>> = ActorRef<B::Message>;
    type Runtime = Runtime;

    fn start(processors: usize) -> anyhow::Result<Runtime> {
        Ok(peer::tokio::start(processors)?)
    }

    fn within<R>(runtime: &Runtime, body: impl FnOnce() -> R) -> R {
        let _entered = runtime.enter();
        body()
    }

    fn wait<T: Send + 'static>(
        runtime: &Runtime,
        outcome: oneshot::Receiver<T>,
    ) -> anyhow::Result<T> {
        runtime.block_on(outcome).context("an actor has failed")
    }

    fn spawn<B: Behaviour<Self>>(behaviour: B) -> ActorRef<B::Message> {
        spawn(Host(PhantomData), behaviour)
    }

    fn tell<B: Behaviour<Self>>(actor: &ActorRef<B::Message>, message: B::Message) {
        let sent = actor.send_message(message);
        assert!(sent.is_ok(), "an actor has ended too early");
    }

    fn logm(runtime: &Runtime, program: &LogM) -> anyhow::Result<logm::Outcome> {
        let program = program.clone();
        runtime.block_on(runtime.spawn(async move { iterate(&program).await }))?
    }

    fn ask(runtime: &Runtime, questions: u64) -> anyhow::Result<Asked> {
        runtime.block_on(runtime.spawn(inquire(questions)))?
    }
}

/// Spawns an actor without a name, and does not wait until it has started.
fn spawn<A: Actor>(actor: A, arguments: A::Arguments) -> ActorRef<A::Msg> {
    match ActorRuntime::spawn_instant(None, actor, arguments) {
        Ok((actor, _)) => actor,
        // Only a name can be taken.
        Err(error) => panic!("an actor does not start: {error}"),
    }
}

/// Asks an actor, and waits for its answer.
async fn ask<M: ractor::Message, T: Send + 'static>(
    actor: &ActorRef<M>,
    question: impl FnOnce(RpcReplyPort<T>) -> M,
) -> anyhow::Result<T> {
    let called = actor.call(question, None).await;
    match called.map_err(|error| anyhow!("{error}"))? {
        CallResult::Success(answer) => Ok(answer),
        CallResult::Timeout | CallResult::SenderError => Err(anyhow!("there is no answer")),
    }
}

/// Spawns LOGM's actors, queues the requests, and gathers what has come out.
async fn iterate(program: &LogM) -> anyhow::Result<logm::Outcome> {
    let pair = |index| {
        let (rate, term) = logm::start(index);
        let computer = spawn(Computer, (rate, 0));
        let series = Series {
            term,
            computer: computer.clone(),
            next_terms: 0,
            results: 0,
        };
        (spawn(Worker, series), computer)
    };
    let pairs: Vec<_> = (0..program.series).map(pair).collect();
    for _ in 0..program.terms {
        for (worker, _) in &pairs {
            worker.send_message(Request::NextTerm)?;
        }
    }
    let mut outcome = logm::Outcome {
        last: Vec::new(),
        next_terms: 0,
        computes: 0,
        results: 0,
    };
    for (worker, computer) in &pairs {
        let (term, next_terms, results) = ask(worker, Request::End).await?;
        outcome.last.push(term);
        outcome.next_terms += next_terms;
        outcome.results += results;
        outcome.computes += ask(computer, Compute::Count).await?;
        worker.stop(None);
        computer.stop(None);
    }
    Ok(outcome)
}

/// What LOGM's workers are sent.
enum Request {
    NextTerm,
    /// What has come out: the term, requests and answers.
    End(RpcReplyPort<(f64, u64, u64)>),
}

/// LOGM's actor of a series.
struct Worker;

/// What a worker knows.
struct Series {
    term: f64,
    computer: ActorRef<Compute>,
    next_terms: u64,
    results: u64,
}

impl Actor for Worker {
    type Msg = Request;
    type State = Series;
    type Arguments = Series;

    async fn pre_start(
        &self,
        _: ActorRef<Request>,
        series: Series,
    ) -> Result<Series, ActorProcessingErr> {
        Ok(series)
    }

    async fn handle(
        &self,
        _: ActorRef<Request>,
        request: Request,
        series: &mut Series,
    ) -> Result<(), ActorProcessingErr> {
        match request {
            Request::NextTerm => {
                series.next_terms += 1;
                let term = series.term;
                series.term = ask(&series.computer, |reply| Compute::Next(term, reply)).await?;
                series.results += 1;
            }
            Request::End(reply) => {
                reply.send((series.term, series.next_terms, series.results))?;
            }
        }
        Ok(())
    }
}

/// What LOGM's computers are sent.
enum Compute {
    /// What comes after this term?
    Next(f64, RpcReplyPort<f64>),
    /// How many terms have been computed?
    Count(RpcReplyPort<u64>),
}

/// LOGM's actor that knows a rate; its state is the rate, and how many terms it has computed.
struct Computer;

impl Actor for Computer {
    type Msg = Compute;
    type State = (f64, u64);
    type Arguments = (f64, u64);

    async fn pre_start(
        &self,
        _: ActorRef<Compute>,
        state: (f64, u64),
    ) -> Result<(f64, u64), ActorProcessingErr> {
        Ok(state)
    }

    async fn handle(
        &self,
        _: ActorRef<Compute>,
        compute: Compute,
        (rate, computed): &mut (f64, u64),
    ) -> Result<(), ActorProcessingErr> {
        match compute {
            Compute::Next(term, reply) => {
                *computed += 1;
                reply.send(logm::next(*rate, term))?;
            }
            Compute::Count(reply) => reply.send(*computed)?,
        }
        Ok(())
    }
}

/// Asks an actor so many times.
async fn inquire(questions: u64) -> anyhow::Result<Asked> {
    let echo = spawn(Echo, ());
    let mut asked = Asked::new()?;
    for question in 0..questions {
        let begin = question.is_multiple_of(Asked::TIMED).then(Instant::now);
        asked.sum += ask(&echo, |reply| Question(question, reply)).await?;
        if let Some(begin) = begin {
            asked.latency += begin.elapsed().as_nanos() as u64;
        }
    }
    echo.stop(None);
    Ok(asked)
}

/// A number, to be answered with the next one.
struct Question(u64, RpcReplyPort<u64>);

/// An actor that answers.
struct Echo;

impl Actor for Echo {
    type Msg = Question;
    type State = ();
    type Arguments = ();

    async fn pre_start(&self, _: ActorRef<Question>, (): ()) -> Result<(), ActorProcessingErr> {
        Ok(())
    }

    async fn handle(
        &self,
        _: ActorRef<Question>,
        Question(question, reply): Question,
        (): &mut (),
    ) -> Result<(), ActorProcessingErr> {
        Ok(reply.send(question + 1)?)
    }
}
