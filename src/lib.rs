//! M:N user-level threads for Linux servers: plain blocking style, one fibre per
//! connection or job, at the cost of an event loop.
//!
//! ```
//! use std::io::{Read, Write};
//!
//! let listener = fibre::net::TcpListener::bind("127.0.0.1:0")?;
//! let address = listener.local_addr()?;
//! fibre::spawn(move || {
//!     for connection in listener.incoming() {
//!         let mut connection = connection?;
//!         fibre::spawn(move || {
//!             let mut buffer = [0; 1024];
//!             while let Ok(count @ 1..) = connection.read(&mut buffer) {
//!                 connection.write_all(&buffer[..count])?;
//!             }
//!             std::io::Result::Ok(())
//!         });
//!     }
//!     std::io::Result::Ok(())
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
//! can be called by fibres and by plain threads; what blocks is the fibre, or the
//! thread if the caller is not a fibre.
//!
//! # Thread-locals
//!
//! Once a fibre has started, it stays on its kernel thread, unless its cluster was built to
//! move it ([`ClusterBuilder::move_started_fibres`]), so `thread_local!` values
//! and guards keep their meaning; but other fibres of the same thread see the same
//! thread-locals, and run whenever this one blocks or yields. So do not hold a
//! `RefCell` borrow of a thread-local, or a `std::sync` guard, across a call that
//! blocks.

pub use fibre_core::{
    BlockingPool, BlockingPoolBuilder, Builder, Cluster, ClusterBuilder, JoinHandle, QueueKind,
    Result, Scope, ScopedJoinHandle, StackError, UnknownQueueKind, blocking, blocking_visit,
    default_processors, id, in_fibre, is_forked_child, name, scope, sleep, sleep_until, spawn,
    unblock_signals, yield_now,
};

pub use fibre_core::{
    CancelToken, Cancelled, cancellation_point, is_cancelled, shield, sleep_cancellable,
};

pub use fibre_core::{Destructor, JoinOnDrop, Key, LocalKey, fibre_local};

pub use fibre_core::Interval;

pub use fibre_core::{
    Abandoned, LeftFibre, PauseError, Paused, StopError, StuckProcessor, processor,
};

pub use fibre_core::{Awaited, WaitKind, Waiting, waits};

pub use fibre_core::{SpawnError, StackClass, on_big_stack, stack_statistics, stack_used};

pub use fibre_core::{
    Placement, Priority, StealOrder, Stealing, UnknownPolicy, migrate_to, spawn_now,
};

/// The machine: its CPUs, the caches they share, and the memory next to them.
pub mod topology {
    pub use fibre_core::{
        Cpu, CpuSet, Node, ParseCpuSetError, ParseTopologyError, Pinning, Proximity, Topology,
    };
}

/// What fibres and threads wait on.
pub mod sync {
    pub use fibre_sync::raw;
    pub use fibre_sync::{
        AutoEvent, Barrier, BarrierWaitResult, BinarySemaphore, Condvar, ContendedPlace,
        Contention, Event, LazyLock, Mutex, MutexGuard, Notified, Notify, Once, OnceLock,
        OnceState, RwLock, RwLockReadGuard, RwLockWriteGuard, Semaphore, SemaphorePermit,
        WaitGroup, WaitGroupGuard, contention, profile_contention,
    };

    /// The kinds of lock that a mutex may have, over the whole barging spectrum.
    pub mod lock {
        pub use fibre_sync::lock::{
            Barging, Baton, DefaultLock, Exchange, Hybrid, RawLock, SpinThenBlock, Spinning,
        };
    }
}

/// Channels: values go from senders to receivers, any number of both; [`select!`] chooses one of
/// several operations.
pub mod channel {
    pub use fibre_sync::channel::*;
}

pub use fibre_sync::select;

/// TCP and UDP, after `std::net`.
#[doc(inline)]
pub use fibre_io::net;

pub use fibre_io::{BufferPool, IoChoices, Poller, PooledBuffer, UnknownPoller};

/// Files, after `std::fs`.
#[doc(inline)]
pub use fibre_io::fs;

/// What `std::os` has: `fibre::os::unix::net` for `std::os::unix::net`.
pub mod os {
    /// What `std::os::unix` has.
    pub mod unix {
        #[doc(inline)]
        pub use fibre_io::net::unix as net;
    }
}

/// Pipes, after `std::io`; and whatever else has a descriptor that can be waited for.
pub mod io {
    pub use fibre_io::copy::{CopyFrom, CopyTo, Duplex, copy, copy_bidirectional, sendfile};
    pub use fibre_io::pipe::{PipeReader, PipeWriter, pipe};
    pub use fibre_io::poll::{PollFd, Readiness, poll, poll_timeout, poll_until, try_poll};
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

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
