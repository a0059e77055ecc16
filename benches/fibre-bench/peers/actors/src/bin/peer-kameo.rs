//! kameo, as a peer: an actor is a task of tokio's. The scheduler has as many threads as there are
//! processors; mailboxes have no bound. LOGM's workers stand still by awaiting the answer in their
//! handler.

use std::convert::Infallible;
use std::process::ExitCode;
use std::time::Instant;

use anyhow::Context as _;
use fibre_bench::actors::logm::{self, LogM};
use fibre_bench::peer;
use fibre_bench::peer::library::{self, Asked, Behaviour, Context, Library};
use kameo::actor::{Actor, ActorRef, Spawn as _};
use kameo::mailbox;
use kameo::message::Message;
use tokio::runtime::Runtime;
use tokio::sync::oneshot;

fn main() -> ExitCode {
    peer::main(&library::workloads::<Kameo>())
}

/// The library.
struct Kameo;

/// Makes a type an actor that begins as it is.
macro_rules! actor {
    ($name:ty $(, $behaviour:ident)?) => {
        impl$(<$behaviour: Behaviour<Kameo>>)? Actor for $name {
            type Args = Self;
            type Error = Infallible;

            async fn on_start(myself: Self, _: ActorRef<Self>) -> Result<Self, Infallible> {
                Ok(myself)
            }
        }
    };
}

/// An actor that behaves like this.
struct Host<B>(B);

actor!(Host<B>, B);

/// A message for a behaviour.
struct Mail<M>(M);

impl<B: Behaviour<Kameo>> Message<Mail<B::Message>> for Host<B> {
    type Reply = ();

    async fn handle(
        &mut self,
        Mail(message): Mail<B::Message>,
        context: &mut kameo::message::Context<Self, ()>,
    ) {
        self.0.handle(message, &mut Own(context));
    }
}

/// An actor's context.
struct Own<'a, B: Behaviour<Kameo>>(&'a mut kameo::message::Context<Host<B>, ()>);

impl<B: Behaviour<Kameo>> Context<Kameo, B> for Own<'_, B> {
    fn myself(&self) -> ActorRef<Host<B>> {
        self.0.actor_ref().clone()
    }

    fn stop(&mut self) {
        self.0.stop();
    }
}

impl Library for Kameo {
    type Ref<B: Behaviour<Self>> = ActorRef<Host<B>>;
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

    fn spawn<B: Behaviour<Self>>(behaviour: B) -> ActorRef<Host<B>> {
        spawn(Host(behaviour))
    }

    fn tell<B: Behaviour<Self>>(actor: &ActorRef<Host<B>>, message: B::Message) {
        let sent = actor.tell(Mail(message)).try_send();
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

/// Spawns an actor with a mailbox without a bound.
fn spawn<A: Actor<Args = A>>(actor: A) -> ActorRef<A> {
    A::spawn_with_mailbox(actor, mailbox::unbounded())
}

/// Spawns LOGM's actors, queues the requests, and gathers what has come out.
async fn iterate(program: &LogM) -> anyhow::Result<logm::Outcome> {
    let pair = |index| {
        let (rate, term) = logm::start(index);
        let computer = spawn(Computer { rate, computed: 0 });
        let worker = spawn(Worker {
            term,
            computer: computer.clone(),
            next_terms: 0,
            results: 0,
        });
        (worker, computer)
    };
    let pairs: Vec<_> = (0..program.series).map(pair).collect();
    for _ in 0..program.terms {
        for (worker, _) in &pairs {
            worker.tell(NextTerm).try_send()?;
        }
    }
    let mut outcome = logm::Outcome {
        last: Vec::new(),
        next_terms: 0,
        computes: 0,
        results: 0,
    };
    for (worker, computer) in &pairs {
        let (term, (next_terms, results)) = worker.ask(End).await?;
        outcome.last.push(term);
        outcome.next_terms += next_terms;
        outcome.results += results;
        outcome.computes += computer.ask(Count).await?;
    }
    Ok(outcome)
}

/// A worker is asked for one more term.
struct NextTerm;

/// A worker is asked for what has come out.
struct End;

/// LOGM's actor of a series.
struct Worker {
    term: f64,
    computer: ActorRef<Computer>,
    next_terms: u64,
    results: u64,
}

actor!(Worker);

impl Message<NextTerm> for Worker {
    type Reply = ();

    async fn handle(&mut self, _: NextTerm, _: &mut kameo::message::Context<Self, ()>) {
        self.next_terms += 1;
        // Without it the count of answers is wrong.
        if let Ok(term) = self.computer.ask(Next(self.term)).await {
            self.term = term;
            self.results += 1;
        }
    }
}

/// The last term; requests and answers.
type Ended = (f64, (u64, u64));

impl Message<End> for Worker {
    type Reply = Ended;

    async fn handle(
        &mut self,
        _: End,
        context: &mut kameo::message::Context<Self, Ended>,
    ) -> Ended {
        context.stop();
        (self.term, (self.next_terms, self.results))
    }
}

/// A computer is asked what comes after this term.
struct Next(f64);

/// A computer is asked how many terms it has computed.
struct Count;

/// LOGM's actor that knows a rate.
struct Computer {
    rate: f64,
    computed: u64,
}

actor!(Computer);

impl Message<Next> for Computer {
    type Reply = f64;

    async fn handle(
        &mut self,
        Next(term): Next,
        _: &mut kameo::message::Context<Self, f64>,
    ) -> f64 {
        self.computed += 1;
        logm::next(self.rate, term)
    }
}

impl Message<Count> for Computer {
    type Reply = u64;

    async fn handle(&mut self, _: Count, context: &mut kameo::message::Context<Self, u64>) -> u64 {
        context.stop();
        self.computed
    }
}

/// Asks an actor so many times.
async fn inquire(questions: u64) -> anyhow::Result<Asked> {
    let echo = spawn(Echo);
    let mut asked = Asked::new()?;
    for question in 0..questions {
        let begin = question.is_multiple_of(Asked::TIMED).then(Instant::now);
        asked.sum += echo.ask(Question(question)).await?;
        if let Some(begin) = begin {
            asked.latency += begin.elapsed().as_nanos() as u64;
        }
    }
    Ok(asked)
}

/// A number, to be answered with the next one.
struct Question(u64);

/// An actor that answers.
struct Echo;

actor!(Echo);

impl Message<Question> for Echo {
    type Reply = u64;

    async fn handle(
        &mut self,
        Question(question): Question,
        _: &mut kameo::message::Context<Self, u64>,
    ) -> u64 {
        question + 1
    }
}
