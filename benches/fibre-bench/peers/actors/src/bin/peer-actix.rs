//! actix, as a peer: each actor belongs to one of as many arbiters, which are threads, as there are
//! processors; actors are given to these in turn. Messages are sent by `do_send`, which heeds no
//! bound, and LOGM's workers stand still by `Context::wait` until the answer has come.

use std::process::ExitCode;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use actix::{
    Actor, ActorContext as _, ActorFutureExt as _, Addr, Arbiter, ArbiterHandle, AsyncContext,
    Handler, Message, System, SystemRunner, WrapFuture as _,
};
use anyhow::Context as _;
use fibre_bench::actors::logm::{self, LogM};
use fibre_bench::peer;
use fibre_bench::peer::library::{self, Asked, Behaviour, Context, Library};
use tokio::sync::oneshot;

fn main() -> ExitCode {
    peer::main(&library::workloads::<Actix>())
}

/// The library.
struct Actix;

/// The threads of actors.
struct Threads {
    /// What arbiters belong to; it must not end before them.
    _system: SystemRunner,
}

/// All arbiters.
static ARBITERS: OnceLock<Vec<ArbiterHandle>> = OnceLock::new();
/// The arbiter of the next actor.
static NEXT: AtomicUsize = AtomicUsize::new(0);

/// The arbiter of this turn.
fn arbiter() -> &'static ArbiterHandle {
    let arbiters = ARBITERS.get().map_or(&[][..], Vec::as_slice);
    &arbiters[NEXT.fetch_add(1, Ordering::Relaxed) % arbiters.len()]
}

/// An actor that behaves like this. It keeps its own address: actix ends actors without any, even
/// when an answer to what they have sent is about to come.
struct Host<B: Behaviour<Actix>>(B, Option<Addr<Self>>);

impl<B: Behaviour<Actix>> Unpin for Host<B> {}

impl<B: Behaviour<Actix>> Actor for Host<B> {
    type Context = actix::Context<Self>;

    fn started(&mut self, context: &mut Self::Context) {
        self.1 = Some(context.address());
    }
}

/// A message.
struct Mail<M>(M);

impl<M> Message for Mail<M> {
    type Result = ();
}

impl<B: Behaviour<Actix>> Handler<Mail<B::Message>> for Host<B> {
    type Result = ();

    fn handle(&mut self, Mail(message): Mail<B::Message>, context: &mut Self::Context) {
        self.0.handle(message, &mut Own(context));
    }
}

/// An actor's context.
struct Own<'a, B: Behaviour<Actix>>(&'a mut actix::Context<Host<B>>);

impl<B: Behaviour<Actix>> Context<Actix, B> for Own<'_, B> {
    fn myself(&self) -> Addr<Host<B>> {
        self.0.address()
    }

    fn stop(&mut self) {
        self.0.stop();
    }
}

impl Library for Actix {
    type Ref<B: Behaviour<Self>> = Addr<Host<B>>;
    type Runtime = Threads;

    fn start(processors: usize) -> anyhow::Result<Threads> {
        let system = System::new();
        let arbiters = (0..processors).map(|_| Arbiter::new().handle());
        let set = ARBITERS.set(arbiters.collect());
        set.ok().context("it is started twice")?;
        Ok(Threads { _system: system })
    }

    fn within<R>(_: &Threads, body: impl FnOnce() -> R) -> R {
        body()
    }

    fn wait<T: Send + 'static>(_: &Threads, outcome: oneshot::Receiver<T>) -> anyhow::Result<T> {
        outcome.blocking_recv().context("an actor has failed")
    }

    fn spawn<B: Behaviour<Self>>(behaviour: B) -> Addr<Host<B>> {
        Host::start_in_arbiter(arbiter(), move |_| Host(behaviour, None))
    }

    fn tell<B: Behaviour<Self>>(actor: &Addr<Host<B>>, message: B::Message) {
        assert!(actor.connected(), "an actor has ended too early");
        actor.do_send(Mail(message));
    }

    fn logm(threads: &Threads, program: &LogM) -> anyhow::Result<logm::Outcome> {
        let (reply, outcome) = oneshot::channel();
        let program = program.clone();
        let spawned = arbiter().spawn(async move {
            reply.send(iterate(&program).await).ok();
        });
        anyhow::ensure!(spawned, "the arbiter has ended");
        Self::wait(threads, outcome)?
    }

    fn ask(threads: &Threads, questions: u64) -> anyhow::Result<Asked> {
        let echo = Echo::start_in_arbiter(arbiter(), |_| Echo);
        let (reply, outcome) = oneshot::channel();
        let spawned = arbiter().spawn(async move {
            reply.send(inquire(&echo, questions).await).ok();
        });
        anyhow::ensure!(spawned, "the arbiter has ended");
        Self::wait(threads, outcome)?
    }
}

/// Spawns LOGM's actors, queues the requests, and gathers what has come out.
async fn iterate(program: &LogM) -> anyhow::Result<logm::Outcome> {
    let pair = |index| {
        let (rate, term) = logm::start(index);
        let computer = Computer { rate, computed: 0 };
        let computer = Computer::start_in_arbiter(arbiter(), move |_| computer);
        let worker = Worker {
            term,
            computer: computer.clone(),
            next_terms: 0,
            results: 0,
        };
        (
            Worker::start_in_arbiter(arbiter(), move |_| worker),
            computer,
        )
    };
    let pairs: Vec<_> = (0..program.series).map(pair).collect();
    for _ in 0..program.terms {
        for (worker, _) in &pairs {
            worker.do_send(NextTerm);
        }
    }
    let mut outcome = logm::Outcome {
        last: Vec::new(),
        next_terms: 0,
        computes: 0,
        results: 0,
    };
    for (worker, computer) in &pairs {
        let (term, next_terms, results) = worker.send(End).await?;
        outcome.last.push(term);
        outcome.next_terms += next_terms;
        outcome.results += results;
        outcome.computes += computer.send(Count).await?;
    }
    Ok(outcome)
}

/// A worker is asked for one more term.
struct NextTerm;

impl Message for NextTerm {
    type Result = ();
}

/// A worker is asked for what has come out: the term, requests and answers.
struct End;

impl Message for End {
    type Result = (f64, u64, u64);
}

/// LOGM's actor of a series.
struct Worker {
    term: f64,
    computer: Addr<Computer>,
    next_terms: u64,
    results: u64,
}

impl Actor for Worker {
    type Context = actix::Context<Self>;
}

impl Handler<NextTerm> for Worker {
    type Result = ();

    fn handle(&mut self, _: NextTerm, context: &mut Self::Context) {
        self.next_terms += 1;
        let answer = self.computer.send(Next(self.term)).into_actor(self);
        context.wait(answer.map(|answer, worker, _| {
            // Without it the count of answers is wrong.
            if let Ok(term) = answer {
                worker.term = term;
                worker.results += 1;
            }
        }));
    }
}

impl Handler<End> for Worker {
    type Result = actix::MessageResult<End>;

    fn handle(&mut self, _: End, context: &mut Self::Context) -> Self::Result {
        context.stop();
        actix::MessageResult((self.term, self.next_terms, self.results))
    }
}

/// A computer is asked what comes after this term.
struct Next(f64);

impl Message for Next {
    type Result = f64;
}

/// A computer is asked how many terms it has computed.
struct Count;

impl Message for Count {
    type Result = u64;
}

/// LOGM's actor that knows a rate.
struct Computer {
    rate: f64,
    computed: u64,
}

impl Actor for Computer {
    type Context = actix::Context<Self>;
}

impl Handler<Next> for Computer {
    type Result = f64;

    fn handle(&mut self, Next(term): Next, _: &mut Self::Context) -> f64 {
        self.computed += 1;
        logm::next(self.rate, term)
    }
}

impl Handler<Count> for Computer {
    type Result = u64;

    fn handle(&mut self, _: Count, context: &mut Self::Context) -> u64 {
        context.stop();
        self.computed
    }
}

/// Asks an actor so many times.
async fn inquire(echo: &Addr<Echo>, questions: u64) -> anyhow::Result<Asked> {
    let mut asked = Asked::new()?;
    for question in 0..questions {
        let begin = question.is_multiple_of(Asked::TIMED).then(Instant::now);
        asked.sum += echo.send(Question(question)).await?;
        if let Some(begin) = begin {
            asked.latency += begin.elapsed().as_nanos() as u64;
        }
    }
    Ok(asked)
}

/// A number, to be answered with the next one.
struct Question(u64);

impl Message for Question {
    type Result = u64;
}

/// An actor that answers.
struct Echo;

impl Actor for Echo {
    type Context = actix::Context<Self>;
}

impl Handler<Question> for Echo {
    type Result = u64;

    fn handle(&mut self, Question(question): Question, _: &mut Self::Context) -> u64 {
        question + 1
    }
}
