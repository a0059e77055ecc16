//! M:N user-level threads for Linux servers: plain blocking style, one fibre per connection or job,
//! at about the cost of an event loop.
//!
//! ```
//! use std::io::{Read, Write};
//!
//! let listener = fibre::net::TcpListener::bind("127.0.0.1:0")?;
//! let address = listener.local_addr()?;
//! fibre::spawn(move || {
//!     for (mut connection, _) in listener.connections() {
//!         fibre::spawn(move || {
//!             let mut buffer = [0; 1024];
//!             while let Ok(count @ 1..) = connection.read(&mut buffer) {
//!                 connection.write_all(&buffer[..count])?;
//!             }
//!             std::io::Result::Ok(())
//!         });
//!     }
//! });
//!
//! let mut client = fibre::net::TcpStream::connect(address)?;
//! client.write_all(b"echo")?;
//! let mut answer = [0; 4];
//! client.read_exact(&mut answer)?;
//! assert_eq!(&answer, b"echo");
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! A **fibre** is a stackful user-level thread. A **processor** is a kernel thread that
//! runs fibres. A **cluster** is a set of processors that share work. Everything here
//! can be called by fibres and by plain threads. A call blocks the fibre, or the
//! thread if the caller is not a fibre.
//!
//! The **guide**, `docs/guide` in the repository, teaches what this page lists: a first program,
//! which lock or channel to take, time-outs, shutdown, how to move from tokio or threads, and a
//! cookbook.
//!
//! # Features of Cargo.toml
//!
//! The first two are on by default. None changes anything else. Without these two fibre is made of
//! 17 packages, and of 41 with them.
//!
//! | feature | what it adds |
//! |---|---|
//! | `inspect` | what shows a running program: [`dump`](dump()) and SIGQUIT, the report of a stack overflow, [`trace::write`], [`stuck`](stuck()) and watches, the counters ([`metrics`](metrics())), `fibre-top`, and a script for gdb |
//! | `metrics` | these counters as OpenMetrics text ([`exposition`], [`add_exposition`]), and the server and page of `FIBRE_METRICS`; brings `inspect` |
//! | `tracing` | `fibre::tracing`: the spans of the crate `tracing` stay with the fibre that has entered them |
//! | `futures-io` | `AsyncRead` and `AsyncWrite` of the crate `futures-io` for [`net::AsyncStream`] |
//! | `cxx-names` | names of C++ functions in dumps, as their source has them |
//! | `hwloc` | `Topology::from_hwloc`, which asks the C library hwloc (2.8 or later) for the machine's caches and nodes |
//! | `sanitizer` | tells AddressSanitizer of every switch between stacks; for test builds with that sanitizer |
//!
//! # Three rules
//!
//! Started fibres of a processor take turns whenever one of them blocks or yields. So
//!
//! 1. **hold no guard of `std::sync` over a call that blocks**: use the locks of [`sync`];
//! 2. **do not compute for long, nor block the kernel thread**, on a processor that others need:
//!    wrap the one in [`compute`](compute()), the other in [`blocking`];
//! 3. **a `thread_local!` is the processor's**: do not borrow it over a call that blocks, and let
//!    no initialiser block. For a fibre's own values use [`fibre_local!`]. See
//!    [below](#thread-locals).
//!
//! In a cluster with [`own_thread_locals`](ClusterBuilder::own_thread_locals) the third one is
//! gone.
//!
//! # What is where
//!
//! | to | use |
//! |---|---|
//! | **fibres** | |
//! | start one, and wait for its result | [`spawn`], [`JoinHandle`]; [`Builder`] for a name, a stack size, a cluster, a priority |
//! | let fibres borrow from their parent | [`scope`] |
//! | let fibres succeed or fail together, a few at a time | [`group`](fn@group), [`GroupBuilder`] |
//! | keep a value for each fibre | [`fibre_local!`], [`Key`] |
//! | pass a request's number on to all that is started for it | [`scoped_local!`], [`ScopedBindings`] |
//! | run a handler again and again, without a stack while it is idle | [`activity`] |
//! | **waiting** | |
//! | lock, count, meet, notify, initialise once | [`sync`], after `std::sync` and more; it says which one |
//! | pass values on | [`channel`] |
//! | wait for one of several things, of any kind | [`select!`], [`mod@select`]; `docs/SELECT.md` |
//! | wait for time to pass | [`sleep`], [`sleep_until`], [`Interval`]; [`sleep_within`], which cancellation ends |
//! | bound one wait by time, or by cancellation | `…_timeout` and `…_within` forms, see [`Limit`] |
//! | bound every wait inside a closure | [`timeout`](fn@timeout), [`deadline`] |
//! | end fibres from outside | [`CancelToken`], [`JoinHandle::cancel`]; [`cancellable`], [`shield`] |
//! | **in and out** | |
//! | connect, listen, send messages | [`net`] after `std::net`, [`os::unix::net`] |
//! | read and write files, pipes, terminals, any descriptor | [`fs`], [`mod@io`] |
//! | wait for signals, start programs | [`signal`], [`process`] |
//! | wait for a future, or be awaited | [`block_on`], [`JoinFuture`], [`channel`]; `docs/ASYNC.md` |
//! | **calls that keep their thread** | |
//! | compute for long, while others go on | [`compute`], [`compute_within`]; [`Cluster::compute_cluster`] |
//! | call code that blocks its kernel thread | [`blocking`], [`blocking_within`], [`BlockingPool`] |
//! | use libraries that keep state in thread-locals | [`ClusterBuilder::own_thread_locals`]; [`SwitchHooks`], the feature `tracing`; `docs/THREAD_LOCALS.md` |
//! | recurse deeply | [`on_big_stack`], [`Builder::stack_size`] |
//! | **where and how they run** | |
//! | choose processors, CPUs, policies, limits | [`ClusterBuilder`], [`topology`]; `docs/CONFIGURATION.md` has the variables |
//! | pause, grow and stop | [`Cluster::pause`], [`Cluster::add_processors`], [`Cluster::stop_within`] |
//! | see what fibres wait for, and what they did | [`dump`](dump()), [`trace`], [`waits`], [`metrics`](metrics()), [`sync::contention`], [`stack_statistics`]; `docs/INSIDE.md` |
//!
//! Other forms of concurrency are crates beside this one: `fibre-actors`, `fibre-events` (callbacks
//! by colour) and `fibre-tasks` (permissions on shared objects). C programs take `fibre-capi`.
//!
//! # Thread-locals
//!
//! Once a fibre has started, it stays on its kernel thread, unless its cluster was built to
//! move it ([`ClusterBuilder::move_started_fibres`]). So `thread_local!` values
//! and guards keep their meaning. But other fibres of the same thread see the same
//! thread-locals, and run whenever this one blocks or yields. So a fibre must not hold a
//! `RefCell` borrow of a thread-local, or a `std::sync` guard, across a call that
//! blocks.
//!
//! # Panic hooks
//!
//! A hook may block its fibre. Meanwhile its processor runs no other fibre, since a second panic on
//! the kernel thread would end the process. After 100 ms it does run others, as the hook may wait
//! for one of them; a panic in one of these is then such a second panic. In a stripped program,
//! without a symbol table, this happens after 20 ms. So write with `std::io` in hooks, or keep
//! their waits short. `set_hook` blocks the kernel thread until all hooks have returned: in a
//! fibre, call it within [`blocking`].
//!
//! # Conditions of soundness
//!
//! Safe code is sound on fibres **if no fibre blocks or yields**
//!
//! * **in the initialiser of a std `thread_local!`**: another fibre of the thread may initialise
//!   the same value meanwhile, and std then replaces what the first one has borrowed;
//! * **in a scope of a thread-local**, where a crate keeps a pointer to a caller's frame in a
//!   thread-local for the time of a call (`scoped-tls`), **or in the initialiser of a crate's
//!   values per thread** (`thread_local`).
//!
//! This is undefined behaviour, and no library can prevent it: std treats a thread as one flow of
//! control. Calls on connections, files, locks and channels in an initialiser may block. Use
//! [`fibre_local!`]: its initialisers may block. Or make the value before the fibres start, or do
//! all of it within one [`blocking`], on a thread without fibres. `const` initialisers run no code.
//! Builds with debug assertions report a fibre that waits or yields in an initialiser of std's, on
//! standard error.
//!
//! ```
//! fibre::fibre_local! {
//!     static CONNECTION: std::io::Result<fibre::net::TcpStream> =
//!         fibre::net::TcpStream::connect("127.0.0.1:1"); // blocks the fibre, as it may
//! }
//! assert!(fibre::spawn(|| CONNECTION.with(|it| it.is_err())).join().unwrap());
//! ```
//!
//! A std `LazyLock`, `OnceLock` or `Once` with an initialiser that blocks the fibre is sound, but
//! may hang: if another fibre of the thread asks for the value, it blocks the thread that the
//! initialiser needs. Use those of [`sync`].
//!
//! # The end of the process
//!
//! [`std::process::exit`] in a fibre blocks its processor and ends the process on a thread of its
//! own. The thread-local values of the processor's thread are not dropped, since other fibres may
//! use them. Fibres of other processors run until the process has ended.

#![deny(unreachable_pub, unnameable_types)]
// The pages name what the features add.
#![cfg_attr(not(feature = "metrics"), allow(rustdoc::broken_intra_doc_links))]

pub use fibre_core::{
    BlockingPool, BlockingPoolBuilder, Builder, Cluster, ClusterBuilder, JoinHandle, QueueKind,
    Result, Scope, ScopedJoinHandle, StackError, UnknownChoice, blocking, blocking_visit,
    blocking_within, compute, compute_within, default_processors, id, in_fibre, is_forked_child,
    label, labels, name, scope, sleep, sleep_until, spawn, spawn_thread, take_signals_of_program,
    unblock_signals, yield_now,
};

pub use fibre_core::{
    CancelToken, Cancelled, cancellation_point, grace_limit, graceful, is_cancelled,
    is_cancelled_error, is_ending, shield, sleep_within,
};

pub use fibre_core::{DetachedFailure, FailureCause, on_detached_failure, spawn_detached};

pub use fibre_core::JoinFuture;
pub use fibre_sync::block_on;

pub use fibre_sync::{
    FibreError, Group, GroupBuilder, GroupError, Partial, PartialCause, Ready, Restarts,
    StartError, Supervisor, SupervisorBuilder, group,
};

pub use fibre_core::{TimedOut, cancellable, deadline, timeout};

pub use fibre_core::{Limit, WaitError, WallTime};

pub use fibre_core::{Destructor, JoinOnDrop, Key, LocalKey, fibre_local};
pub use fibre_core::{ScopedBindings, ScopedLocal, scoped_local};

pub use fibre_core::{SwitchHooks, SwitchReason, SwitchedFibre, TooLate, install_switch_hooks};

pub use fibre_core::Interval;

pub use fibre_core::{
    Abandoned, LeftFibre, PauseError, Paused, StopError, StuckProcessor, processor,
};

pub use fibre_core::{WaitKind, WaitObject, Waiting, waits};

#[cfg(feature = "inspect")]
pub use fibre_inspect::{Format, Metrics, Stuck, StuckCounts, dump, metrics, stuck};

#[cfg(feature = "metrics")]
pub use fibre_inspect::{add_exposition, exposition};

/// The event trace: what processors did, recorded while they did it. `FIBRE_TRACE` switches it on;
/// `docs/INSIDE.md` explains what it shows.
pub mod trace {
    pub use fibre_core::trace_mark as mark;
    #[cfg(feature = "inspect")]
    pub use fibre_inspect::write_trace as write;
}

#[cfg_attr(not(feature = "inspect"), path = "unobserved.rs")]
mod observed;

#[cfg(feature = "tracing")]
pub mod tracing;

pub use fibre_core::{
    BlockingMetrics, ClusterMetrics, Counters, ProcessorMetrics, StackCounts, ThreadBlockCounts,
};

pub use fibre_core::{SpawnError, StackClass, on_big_stack, stack_statistics, stack_used};

pub use fibre_core::{Placement, Priority, Revival, StealOrder, Stealing, migrate_to, spawn_now};

/// Fibres that are run again and again, without an allocation: the base of serial queues, event
/// handlers and actors.
///
/// ```
/// use fibre::activity::{Activity, Work};
/// use fibre::sync::{Mutex, Semaphore};
///
/// /// Prints what was posted, one text after the other, whoever posts.
/// struct Printer {
///     texts: Mutex<Vec<&'static str>>,
///     printed: Semaphore,
/// }
///
/// impl Work for Printer {
///     fn run(this: &Activity<Self>) {
///         for text in std::mem::take(&mut *this.texts.lock()) {
///             println!("{text}");
///             this.printed.release();
///         }
///     }
/// }
///
/// let printer = Activity::new(None, Printer {
///     texts: Mutex::new(Vec::new()),
///     printed: Semaphore::new(0),
/// })?;
/// for text in ["one", "two"] {
///     printer.texts.lock().push(text);
///     printer.schedule()?;
/// }
/// printer.printed.acquire_many(2);
/// # Ok::<(), std::io::Error>(())
/// ```
pub mod activity {
    pub use fibre_core::{Activity, Stopped, Work};
}

/// The machine: its CPUs, the caches they share, and the memory next to them.
///
/// ```
/// use fibre::topology::{Pinning, Topology};
///
/// // Each processor on a CPU of its own.
/// let cpus = Topology::of_machine().cpus().len();
/// let cluster = fibre::Cluster::builder()
///     .processors(cpus)
///     .pin(Pinning::Each)
///     .build()?;
/// assert_eq!(cluster.spawn(|| 6 * 7).join().unwrap(), 42);
/// cluster.stop();
/// # Ok::<(), std::io::Error>(())
/// ```
pub mod topology {
    pub use fibre_core::{
        Cpu, CpuSet, Node, ParseCpuSetError, ParseTopologyError, Pinning, Proximity, Topology,
    };
}

/// What fibres and threads wait on. A call blocks the fibre, or the thread if the caller is not a
/// fibre.
///
/// # Which one do I want?
///
/// | for | use |
/// |---|---|
/// | data that several fibres change | [`Mutex`](sync::Mutex); [`RwLock`](sync::RwLock) if most only read, and not just for a moment |
/// | waiting until such data is as you want it | [`Condvar`](sync::Condvar) |
/// | at most *n* at a time | [`Semaphore`](sync::Semaphore); its [`permit`](sync::Semaphore::permit) is a guard |
/// | "it has happened", for all who wait, now or later | [`Event`](sync::Event); for one of them [`AutoEvent`](sync::AutoEvent), [`Notify`](sync::Notify) |
/// | the end of a changing number of jobs | [`WaitGroup`](sync::WaitGroup); [`group`](fn@group) for their results and errors, too |
/// | rounds, where all wait for all | [`Barrier`](sync::Barrier) |
/// | a value that is made once, also by an initialiser that blocks | [`OnceLock`](sync::OnceLock), [`LazyLock`](sync::LazyLock), [`Once`](sync::Once) |
/// | values that change hands | [`channel::bounded`]; [`unbounded`](channel::unbounded) if senders must not wait |
/// | one answer to one question | [`channel::oneshot`](fn@channel::oneshot) |
/// | a value that changes, or news for all | [`watch`](fn@channel::watch), [`broadcast`](fn@channel::broadcast) |
/// | the first of several channels | [`select!`] |
/// | a lock with another way of handing over; locks without a value | [`lock`](sync::lock), [`raw`](sync::raw) |
///
/// If values change hands, take a channel; if they stay, a lock.
///
/// # What they have in common
///
/// * A guard may be held over a call that blocks. Everybody who wants the lock waits that long.
/// * Locks are not poisoned: after a panic the next holder finds the data as they were left.
/// * Each call that waits has up to four forms, `lock`, `try_lock`, `lock_timeout` and
///   `lock_within`: see [`Limit`]. A [`timeout`](fn@timeout) around any of them ends it.
/// * A wait that ends early has taken nothing: no permit, notification or value is lost.
///
/// ```
/// use fibre::sync::{Condvar, Mutex};
///
/// let ready = (Mutex::new(0), Condvar::new());
/// fibre::scope(|scope| {
///     for _ in 0..3 {
///         scope.spawn(|| {
///             *ready.0.lock() += 1;
///             ready.1.notify_one();
///         });
///     }
///     let mut count = ready.0.lock();
///     while *count < 3 {
///         ready.1.wait(&mut count);
///     }
/// });
/// ```
pub mod sync {
    pub use fibre_sync::raw;
    pub use fibre_sync::{
        AutoEvent, Barrier, BarrierWaitResult, BinarySemaphore, Condvar, ContendedPlace,
        Contention, Event, LazyLock, Mutex, MutexGuard, Notified, Notify, Once, OnceLock,
        OnceState, OwnedMutexGuard, OwnedRwLockReadGuard, OwnedRwLockWriteGuard,
        OwnedSemaphorePermit, RwLock, RwLockReadGuard, RwLockWriteGuard, Semaphore,
        SemaphorePermit, WaitGroup, WaitGroupGuard, contention, profile_contention,
    };

    /// The locks that a mutex may use, over the whole barging spectrum.
    ///
    /// ```
    /// use fibre::sync::{Mutex, lock::Baton};
    ///
    /// // Handed over in the order in which fibres came.
    /// let fair = Mutex::<_, Baton>::with_lock(vec![1, 2, 3]);
    /// fair.lock().push(4);
    /// ```
    pub mod lock {
        pub use fibre_sync::lock::variants::*;
        pub use fibre_sync::lock::{DefaultLock, Hybrid, RawLock, Spinning};
    }
}

/// Channels: values go from senders to receivers, any number of both; [`select!`] chooses one of
/// several operations.
pub mod channel {
    pub use fibre_sync::channel::*;
}

pub use fibre_sync::select;

/// The arms that [`select!`] waits for.
///
/// | to wait for | the arm | yields |
/// |---|---|---|
/// | a value of a channel | `receiver.recv_arm()`, or `recv(receiver) ->` | `Result<T, RecvError>` |
/// | room for a value | `sender.send_arm(value)`, or `send(sender, value) ->` | `Result<(), SendError<T>>` |
/// | the value of a oneshot channel | `receiver.recv_arm()` | `Result<T, RecvError>` |
/// | a broadcast value | `receiver.recv_arm()` | `Result<Received<T>, RecvError>` |
/// | a change of a watched value | `receiver.changed_arm()` | `Result<(), RecvError>` |
/// | a time, a moment | [`after(duration)`](select::after), [`at(instant)`](select::at) | `Instant` |
/// | an interval's tick | `interval.tick_arm()` | `Instant` |
/// | the end of a fibre | `handle.finished_arm()`; with its result, `JoinHandle::join_arm(&mut option)` | `()`; `Result<T>` |
/// | a permit, or several | `semaphore.permit_arm()`, `permits_arm(n)`, `permits_owned_arm(n)` | the permits |
/// | an event | `event.wait_arm()`, of [`Event`](sync::Event) and [`AutoEvent`](sync::AutoEvent) | `()` |
/// | a notification | `notify.wait_arm()`, `notified.wait_arm()` | `()` |
/// | the jobs of a wait group | `group.wait_arm()` | `()` |
/// | a group's next result, its end | `group.next_arm()`, `next_in_order_arm()`; `end_arm()` | `Option<T>`; `()` |
/// | a token's cancellation | `token.cancelled_arm()` | `()` |
/// | a connection | `listener.connections().next_arm()`, of TCP and Unix listeners; it waits while no descriptor is free | `Option<(stream, address)>`, `None` once it is closed |
/// | the same, with errors | `listener.accept_arm()` | `io::Result<(stream, address)>` |
/// | readiness of a descriptor | [`io::ready_arm(&fd, readiness)`](io::ready_arm) | `io::Result<Readiness>` |
/// | a signal | `signals.wait_arm()` | `io::Result<Signal>` |
/// | the end of a process | `child.wait_arm()` | `io::Result<ExitStatus>` |
/// | an object of your own | [`watchers.watch(look)`](select::Watchers::watch), or an [`Arm`](select::Arm) | what you like |
///
/// A server's loop, which accepts until it is told to stop, and does something now and then:
///
/// ```
/// use fibre::net::{TcpListener, TcpStream};
/// use fibre::signal::{SIGTERM, SIGUSR1, Signals};
/// use fibre::{Interval, select};
/// use std::io::{Read, Write};
/// use std::time::Duration;
///
/// fn serve(listener: &TcpListener, stop: &Signals) -> std::io::Result<u32> {
///     let connections = listener.connections();
///     let mut second = Interval::new(Duration::from_secs(1));
///     let mut served = 0;
///     fibre::scope(|scope| loop {
///         select! {
///             Some((mut stream, _)) = connections.next_arm() => {
///                 served += 1;
///                 scope.spawn(move || stream.write_all(b"hello"));
///             }
///             signal = stop.wait_arm() => {
///                 println!("{}: good-bye", signal?);
///                 break Ok(served); // when all have been served
///             }
///             _ = second.tick_arm() => println!("{served} served so far"),
///         }
///     })
/// }
///
/// let listener = TcpListener::bind("127.0.0.1:0")?;
/// let address = listener.local_addr()?;
/// let stop = Signals::new([SIGTERM, SIGUSR1])?;
/// let server = fibre::spawn(move || serve(&listener, &stop));
/// let mut text = String::new();
/// TcpStream::connect(address)?.read_to_string(&mut text)?;
/// assert_eq!(text, "hello");
/// rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::USR1)?;
/// assert_eq!(server.join().unwrap()?, 1);
/// # Ok::<(), std::io::Error>(())
/// ```
pub mod select {
    pub use fibre_core::{CancelledArm, DueArm, FinishedArm, JoinArm, TickArm, after, at};
    pub use fibre_io::net::unix::{UnixAcceptArm, UnixConnectionArm};
    pub use fibre_io::net::{AcceptArm, ConnectionArm};
    pub use fibre_io::poll::ReadyArm;
    pub use fibre_io::process::ChildArm;
    pub use fibre_io::signal::SignalArm;
    pub use fibre_sync::channel::{BroadcastArm, ChangedArm, RecvArm, SendArm};
    pub use fibre_sync::selection::{
        Arm, Entered, Left, Map, WatchArm, Watchers, any, any_timeout, any_within, try_any,
    };
    pub use fibre_sync::{EndArm, EventArm, NextArm, NotifiedArm, PermitArm, WaitGroupArm};
}

/// TCP and UDP, after `std::net`.
#[doc(inline)]
pub use fibre_io::net;

pub use fibre_io::{BufferPool, IoChoices, Poller, PooledBuffer, UnknownPoller};

/// Files, after `std::fs`.
#[doc(inline)]
pub use fibre_io::fs;

/// The counterparts of `std::os`: `fibre::os::unix::net` for `std::os::unix::net`.
pub mod os {
    /// What `std::os::unix` has.
    ///
    /// ```
    /// use std::io::{Read, Write};
    ///
    /// let (mut one, mut other) = fibre::os::unix::net::UnixStream::pair()?;
    /// let fibre = fibre::spawn(move || other.write_all(b"to the sibling"));
    /// let mut text = [0; 14];
    /// one.read_exact(&mut text)?; // blocks the fibre, or the thread
    /// assert_eq!(&text, b"to the sibling");
    /// fibre.join().unwrap()?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub mod unix {
        #[doc(inline)]
        pub use fibre_io::net::unix as net;
    }
}

/// Pipes, after `std::io`; and any other descriptor that a fibre can wait for.
///
/// ```
/// use std::io::{Read, Write};
///
/// let (mut reader, mut writer) = fibre::io::pipe()?;
/// let fibre = fibre::spawn(move || -> std::io::Result<String> {
///     let mut text = String::new();
///     reader.read_to_string(&mut text)?; // blocks the fibre until the writer is dropped
///     Ok(text)
/// });
/// writer.write_all(b"through the kernel")?;
/// drop(writer);
/// assert_eq!(fibre.join().unwrap()?, "through the kernel");
/// # Ok::<(), std::io::Error>(())
/// ```
pub mod io {
    pub use fibre_io::copy::{CopyFrom, CopyTo, Duplex, copy, copy_bidirectional, sendfile};
    pub use fibre_io::pipe::{PipeReader, PipeWriter, pipe};
    pub use fibre_io::poll::{
        PollFd, Readiness, poll, poll_timeout, poll_until, ready_arm, try_poll,
    };
    pub use fibre_io::pollable::Pollable;
    #[doc(inline)]
    pub use fibre_io::raw;
    pub use fibre_io::stdio::{
        Stderr, StderrLock, Stdin, StdinLock, Stdout, StdoutLock, stderr, stdin, stdout,
    };
}

/// Signals as values.
#[doc(inline)]
pub use fibre_io::signal;

/// Child processes, after `std::process`.
#[doc(inline)]
pub use fibre_io::process;

/// Sets up dumps on SIGQUIT, and metrics as the environment says, in every program that is linked
/// to this library with the feature `inspect`. The loader calls it before `main`, and it only notes
/// functions that the first cluster will call.
#[used]
// SAFETY: the section holds the addresses of functions without arguments, as this is one.
#[unsafe(link_section = ".init_array")]
static OBSERVE: extern "C" fn() = {
    extern "C" fn begin() {
        observed::begin();
    }
    begin
};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
