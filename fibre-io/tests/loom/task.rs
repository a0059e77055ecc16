//! Models of tasks at a gate: calls that find nothing, wait without a frame, and may be dropped at
//! any moment, while a poller delivers edges.
//!
//! Run by `cargo xtask loom`. Turn and gate are the shipped ones; the kernel is a count of bytes.

use fibre_core::model::{check, finds_planted};
use fibre_io::funnel::Left;
use fibre_io::gate::single::Gate;
use fibre_io::gate::word::News;
use fibre_io::task_turn::{Pollee, TaskTurn};
use fibre_sync::block_on;
use loom::sync::atomic::{AtomicUsize, Ordering};
use loom::thread;
use rustix::io::Errno;
use std::future::poll_fn;
use std::io;
use std::task::Waker;

/// Arrivals are events: the descriptor is registered.
const REGISTERED: usize = 1 << 16;

/// A socket: what the kernel has, and the gate of its number.
struct Socket {
    /// How many bytes there are, and whether it is registered.
    kernel: AtomicUsize,
    gate: &'static Gate,
}

impl Socket {
    /// A socket that no call has tried yet. Slots are never freed, and nor is this.
    fn new() -> &'static Self {
        Box::leak(Box::new(Self {
            kernel: AtomicUsize::new(0),
            gate: Box::leak(Box::default()),
        }))
    }

    /// A byte arrives, and the poller delivers the edge.
    fn arrive(&self) {
        if self.kernel.fetch_add(1, Ordering::AcqRel) & REGISTERED != 0 {
            self.gate.event(News::default());
        }
    }

    /// Reads a byte.
    fn read(&self) -> Result<((), Left), Errno> {
        let before = self.kernel.load(Ordering::Acquire);
        if before % REGISTERED == 0 {
            return Err(Errno::AGAIN);
        }
        let taken = self.kernel.fetch_sub(1, Ordering::AcqRel);
        // One reads at a time here, or there are as many bytes as readers.
        assert!(taken % REGISTERED > 0);
        match taken % REGISTERED {
            1 => Ok(((), Left::Nothing)),
            _ => Ok(((), Left::More)),
        }
    }

    /// Reads a byte by a task, which waits for it.
    fn receive(&self) {
        let mut turn = TaskTurn::default();
        let read = poll_fn(|context| turn.poll(self, context.waker(), || self.read()));
        block_on(read).unwrap();
    }

    /// Polls once, with a waker that does nothing, and is dropped. Returns whether it has read.
    fn poll_and_drop(&self) -> bool {
        let mut turn = TaskTurn::default();
        turn.poll(self, Waker::noop(), || self.read()).is_ready()
    }
}

impl Pollee for Socket {
    fn gate(&self) -> &'static Gate {
        self.gate
    }

    fn is_told(&self) -> bool {
        self.kernel.load(Ordering::Acquire) & REGISTERED != 0
    }

    fn register(&self) -> io::Result<()> {
        if self.kernel.fetch_or(REGISTERED, Ordering::AcqRel) % REGISTERED > 0 {
            self.gate.event(News::default());
        }
        Ok(())
    }

    fn closed(&self) -> io::Error {
        io::ErrorKind::ConnectionAborted.into()
    }
}

/// A task reads two bytes as they come.
fn two_bytes() {
    let socket = Socket::new();
    let thread = thread::spawn(move || (0..2).for_each(|_| socket.arrive()));
    socket.receive();
    socket.receive();
    thread.join().unwrap();
}

/// No edge is lost between a call that finds nothing and the wait.
#[test]
fn a_task_gets_what_comes() {
    check(two_bytes);
}

/// A task waits before another one, and is dropped; one byte comes.
fn dropped() {
    let socket = Socket::new();
    let mut turn = TaskTurn::default();
    let first = turn.poll(socket, Waker::noop(), || socket.read());
    assert!(first.is_pending());
    let other = thread::spawn(move || socket.receive());
    let thread = thread::spawn(move || socket.arrive());
    drop(turn);
    other.join().unwrap();
    thread.join().unwrap();
}

/// An event that has woken a task which is dropped is passed on.
#[test]
fn a_dropped_task_passes_its_event_on() {
    check(dropped);
}

/// Planted: the event goes with the task.
#[test]
fn planted_kept_event_is_found() {
    finds_planted("task: a dropped task keeps its event", dropped);
}

/// A task that is dropped leaves a gate that others use, whatever has come.
fn dropped_alone() {
    let socket = Socket::new();
    let thread = thread::spawn(move || socket.arrive());
    if !socket.poll_and_drop() {
        socket.receive();
    }
    thread.join().unwrap();
    assert!(!socket.gate.snapshot().is_ready() || socket.kernel.load(Ordering::Acquire) & 1 == 0);
}

/// Nobody touches a wait that is gone.
#[test]
fn a_dropped_task_leaves_the_gate() {
    check(dropped_alone);
}
