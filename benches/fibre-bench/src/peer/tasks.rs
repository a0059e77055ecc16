//! Ours with tasks: the programs of [`crate::tasks`] as workloads, and beside them, as variants,
//! what plain fibres do.

use std::io::{self, Read as _, Write as _};
use std::net::SocketAddr;
use std::sync::Arc;

use ::fibre::net::{TcpListener, TcpStream};
use ::fibre::sync::{Mutex, RwLock};
use ::fibre::{Cluster, scope};
use anyhow::anyhow;
use fibre_tasks::{Emits, Emitter, Full, Order, Shared, Tasks, acquire, finish, on, task};

use super::calibrate::calibrate;
use super::protocol::{Arguments, Parameters, Refusal, Workload};
use crate::measure::{Sample, Stopwatch};
use crate::tasks::fib::{Fib, plain};
use crate::tasks::served::{Kind, Load, answer, check, is_read};

/// What this peer is measured with beside fibres and actors.
pub(crate) fn workloads() -> Vec<Workload> {
    vec![
        Workload::new("fib", |told| fib::<ByTasks>(told, Order::Newest))
            .variant("scope", |told| fib::<ByScope>(told, Order::Newest))
            .variant("arrival", |told| fib::<ByTasks>(told, Order::Arrival)),
        Workload::new("echoing", echoing),
        Workload::new("counting", counting::<Shared<u64>>)
            .variant("rwlock", counting::<Arc<RwLock<u64>>>)
            .variant("mutex", counting::<Arc<Mutex<u64>>>),
    ]
}

/// What `fib` can be told.
pub(crate) struct ToldFib {
    /// Kernel threads.
    pub(crate) processors: usize,
    /// CPU time of the last round.
    pub(crate) seconds: f64,
    /// What to compute.
    pub(crate) fib: Fib,
}

impl Parameters for ToldFib {
    fn read(arguments: &mut Arguments) -> Result<Self, Refusal> {
        let usual = Fib::default();
        Ok(Self {
            processors: arguments.processors,
            seconds: arguments.seconds(0.1),
            fib: Fib {
                n: arguments.count("n", usual.n)?,
                grain: arguments.count("grain", usual.grain)?,
            },
        })
    }
}

/// Computes again and again until it is long enough. An operation is a call that splits.
pub(crate) fn repeat_fib(
    told: &ToldFib,
    mut compute: impl FnMut(Fib) -> anyhow::Result<u64>,
) -> anyhow::Result<Sample> {
    let splits = told.fib.splits().max(1);
    calibrate(told.seconds, splits, |operations| {
        let runs = operations.div_ceil(splits);
        let watch = Stopwatch::start()?;
        for _ in 0..runs {
            told.fib.check(compute(told.fib)?)?;
        }
        Ok(watch.stop(runs * splits)?)
    })
}

/// How `fib` splits.
trait Splits: 'static {
    /// The number.
    fn compute(fib: Fib) -> u64;
}

/// Both halves are tasks, as in the paper's Program 1.
struct ByTasks;
/// One half is a fibre that borrows.
struct ByScope;

impl Splits for ByTasks {
    fn compute(fib: Fib) -> u64 {
        if fib.is_fine() {
            return plain(fib.n);
        }
        let (one, other) = fib.halves();
        let (a, b) = finish((Full::new(0), Full::new(0)), |scope, (a, b)| {
            task!(scope, [+a, =one] { *a = Self::compute(one) });
            task!(scope, [+b, =other] { *b = Self::compute(other) });
        });
        *a + *b
    }
}

impl Splits for ByScope {
    fn compute(fib: Fib) -> u64 {
        if fib.is_fine() {
            return plain(fib.n);
        }
        let (one, other) = fib.halves();
        let (mut a, mut b) = (0, 0);
        scope(|scope| {
            scope.spawn(|| a = Self::compute(one));
            b = Self::compute(other);
        });
        a + b
    }
}

/// Runs `fib` in a cluster.
fn fib<S: Splits>(told: ToldFib, order: Order) -> anyhow::Result<Sample> {
    let tasks = Tasks::builder().processors(told.processors).order(order);
    let tasks = tasks.build()?;
    let sample = repeat_fib(&told, |fib| {
        let computed = task!(tasks, [] { S::compute(fib) }).join();
        computed.map_err(|error| anyhow!("{error}"))
    })?;
    tasks.stop();
    Ok(sample)
}

/// What the servers can be told.
pub(crate) struct ToldServed {
    /// Kernel threads of the server.
    pub(crate) processors: usize,
    /// Connections of the client.
    pub(crate) connections: usize,
    /// Messages on each.
    pub(crate) messages: u64,
    /// How many of a hundred read.
    pub(crate) reads: u64,
    /// Bytes of a message that is echoed.
    pub(crate) bytes: usize,
}

impl Parameters for ToldServed {
    fn read(arguments: &mut Arguments) -> Result<Self, Refusal> {
        Ok(Self {
            processors: arguments.processors,
            connections: arguments.count("connections", 150)? as usize,
            messages: arguments.count("messages", 10_000)?,
            reads: arguments.number("reads", 50)?,
            bytes: arguments.count("size", 16)? as usize,
        })
    }
}

impl ToldServed {
    /// The client's load.
    pub(crate) fn load(&self, kind: Kind) -> Load {
        Load {
            connections: self.connections,
            messages: self.messages,
            kind,
        }
    }
}

/// A server: what it does with a connection.
trait Serve: Clone + Send + 'static {
    fn serve(&self, stream: TcpStream) -> io::Result<()>;
}

/// Starts a server, puts the load on it, and stops it.
fn measure(told: &ToldServed, kind: Kind, server: impl Serve) -> anyhow::Result<(Sample, u64)> {
    let cluster = Cluster::builder().processors(told.processors).build()?;
    let listener = TcpListener::bind("127.0.0.1:0")?;
    crate::serving::deepen_backlog(&listener)?;
    let address: SocketAddr = listener.local_addr()?;
    let accepts = cluster.spawn(move || {
        while let Ok((stream, _)) = listener.accept() {
            let server = server.clone();
            ::fibre::spawn(move || {
                stream.set_nodelay(true)?;
                server.serve(stream)
            });
        }
    });
    let seen = told.load(kind).put_on(address);
    accepts.cancel();
    cluster.stop();
    seen
}

/// Echoes.
#[derive(Clone)]
struct Echo(usize);

impl Serve for Echo {
    fn serve(&self, mut stream: TcpStream) -> io::Result<()> {
        let mut buffer = vec![0; self.0];
        loop {
            let length = stream.read(&mut buffer)?;
            if length == 0 {
                return Ok(());
            }
            stream.write_all(&buffer[..length])?;
        }
    }
}

/// The echo server.
fn echoing(told: ToldServed) -> anyhow::Result<Sample> {
    let (sample, _) = measure(&told, Kind::Echo(told.bytes), Echo(told.bytes))?;
    Ok(sample)
}

/// A counter that a server has.
trait Counter: Serve {
    /// A counter at zero.
    fn zero() -> Self;
    /// Its value in the end.
    fn value(&self) -> u64;
}

/// The counter server.
fn counting<C: Counter>(told: ToldServed) -> anyhow::Result<Sample> {
    let counter = C::zero();
    let (sample, increments) = measure(&told, Kind::Counter(told.reads), counter.clone())?;
    check(counter.value(), increments)?;
    Ok(sample)
}

/// A client asks for the value.
struct Read;
/// A client adds one.
struct Increment;

/// A connection, which emits its client's requests.
struct Client {
    read: Emitter<Read>,
    increment: Emitter<Increment>,
}

impl Emits<Read> for Client {
    fn emitter(&self) -> &Emitter<Read> {
        &self.read
    }
}

impl Emits<Increment> for Client {
    fn emitter(&self) -> &Emitter<Increment> {
        &self.increment
    }
}

impl Serve for Shared<u64> {
    fn serve(&self, stream: TcpStream) -> io::Result<()> {
        let client = Client {
            read: Emitter::try_new(None)?,
            increment: Emitter::try_new(None)?,
        };
        let (counter, stream) = (self, Arc::new(stream));
        on!(client, Read, [counter, =stream] |_| {
            let value = *counter;
            drop(counter);
            let _gone = (&*stream).write_all(&answer(value));
        });
        on!(client, Increment, [+counter, =stream] |_| {
            *counter += 1;
            let value = *counter;
            drop(counter);
            let _gone = (&*stream).write_all(&answer(value));
        });
        let mut request = [0];
        while (&*stream).read(&mut request)? == 1 {
            match is_read(request[0])? {
                true => client.read.deliver(Read),
                false => client.increment.deliver(Increment),
            }
        }
        Ok(())
    }
}

impl Counter for Shared<u64> {
    fn zero() -> Self {
        Shared::new(0)
    }

    fn value(&self) -> u64 {
        *acquire(self.read())
    }
}

/// Answers requests with these two functions.
fn serve_by(
    mut stream: TcpStream,
    read: impl Fn() -> u64,
    increment: impl Fn() -> u64,
) -> io::Result<()> {
    let mut request = [0];
    while stream.read(&mut request)? == 1 {
        let value = match is_read(request[0])? {
            true => read(),
            false => increment(),
        };
        stream.write_all(&answer(value))?;
    }
    Ok(())
}

/// Adds one.
fn add_one(counter: &mut u64) -> u64 {
    *counter += 1;
    *counter
}

impl Serve for Arc<RwLock<u64>> {
    fn serve(&self, stream: TcpStream) -> io::Result<()> {
        serve_by(stream, || *self.read(), || add_one(&mut self.write()))
    }
}

impl Counter for Arc<RwLock<u64>> {
    fn zero() -> Self {
        Self::default()
    }

    fn value(&self) -> u64 {
        *self.read()
    }
}

impl Serve for Arc<Mutex<u64>> {
    fn serve(&self, stream: TcpStream) -> io::Result<()> {
        serve_by(stream, || *self.lock(), || add_one(&mut self.lock()))
    }
}

impl Counter for Arc<Mutex<u64>> {
    fn zero() -> Self {
        Self::default()
    }

    fn value(&self) -> u64 {
        *self.lock()
    }
}
