//! Models of the funnel: calls that try, find nothing, and wait at a gate, while a poller delivers
//! edges, a deadline changes, and the number of the descriptor gets another owner.
//!
//! Run by `cargo xtask loom`. Funnel, gate, owners and users are the shipped ones; the kernel is a
//! count of bytes here. All calls that wait for one descriptor are policies of this one
//! loop (`Source::io`, `raw::Call::run`, `raw::wait`), so these models are theirs, too.

use fibre_core::internal::Waiter;
use fibre_core::model::{self, Shared};
use fibre_core::sync::Framed;
use fibre_core::{Arm, Entered, Left as LeftArm};
use fibre_io::descriptor::owner::Ownership;
use fibre_io::descriptor::use_count::{InUse, Users};
use fibre_io::funnel::{Direction, Left, Policy, Progress, TOLD};
use fibre_io::gate::single::{Gate, Turn};
use fibre_io::gate::word::News;
use fibre_io::{TimeLimit, Timeout};
use fibre_sync::{AutoEvent, Node, Place, select};
use loom::sync::atomic::{AtomicUsize, Ordering};
use loom::thread;
use rustix::io::Errno;
use std::io::{self, ErrorKind};
use std::time::Instant;

/// In models a wait that could be cancelled ends at any moment, and these are about being woken.
const ENDLESS: &[&str] = &["gate: nobody cancels those that wait without a limit"];

/// Checks a model.
fn check(model: fn()) {
    model::check_with(ENDLESS, model);
}

/// Checks that a model fails if the shipped code has this fault.
fn finds_planted(fault: &'static str, model: fn()) {
    model::finds_planted_with(ENDLESS, fault, model);
}

/// Arrivals are events: the descriptor is registered.
const REGISTERED: usize = 1 << 16;
/// The number is another descriptor's by now.
const REUSED: usize = 1 << 17;
/// How many bytes there are to read.
const BYTES: usize = REGISTERED - 1;

/// A socket: what the kernel has, and the slot of its number.
#[derive(Default)]
struct Socket {
    /// What the kernel knows of the number: bytes and flags.
    kernel: AtomicUsize,
    gate: Gate,
    ownership: Ownership,
    users: Users,
}

impl Socket {
    /// A socket that no call has tried yet.
    fn new() -> Shared<Self> {
        let socket = Self::default();
        socket.ownership.take(|| socket.users.admit());
        Shared::new(socket)
    }

    /// The same, which a call has found drained.
    fn drained() -> Shared<Self> {
        let socket = Self::new();
        socket.register();
        socket.gate.drained(socket.gate.snapshot(), true);
        socket
    }

    /// A byte arrives, and the poller delivers the edge.
    fn arrive(&self) {
        if self.kernel.fetch_add(1, Ordering::AcqRel) & REGISTERED != 0 {
            self.gate.event(News::default());
        }
    }

    /// Registers the descriptor, which reports the present state.
    fn register(&self) {
        if self.kernel.fetch_or(REGISTERED, Ordering::AcqRel) & BYTES > 0 {
            self.gate.event(News::default());
        }
    }

    /// `Slot::is_registered`.
    fn is_registered(&self) -> bool {
        self.kernel.load(Ordering::Acquire) & REGISTERED != 0
    }

    /// The system call: takes one byte.
    fn take(&self) -> Result<(), Errno> {
        let take = |kernel| (kernel & BYTES > 0).then(|| kernel - 1);
        let taken = self
            .kernel
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, take);
        let (Ok(kernel) | Err(kernel)) = taken;
        assert!(kernel & REUSED == 0, "a byte of another descriptor");
        taken.map(drop).map_err(|_| Errno::AGAIN)
    }

    /// Closes the number as `Slot::evict` does; another descriptor gets it, and has a byte.
    fn close_and_reuse(&self) {
        let evicted = self.ownership.evict(|| {
            self.users.bar();
            self.gate.close();
            while !self.users.is_empty() {
                thread::yield_now();
            }
        });
        assert!(evicted);
        self.kernel.store(REUSED | 1, Ordering::Release);
        let prepare = || {
            self.gate.reset();
            self.users.admit();
        };
        self.ownership.take(prepare);
    }
}

/// A call's policy: that of an object, or of a number that is checked for its owner.
#[derive(Clone, Copy)]
struct Reader {
    socket: Shared<Socket>,
    /// The owner when the call began.
    owner: u32,
}

impl Policy for Reader {
    type Error = io::Error;

    fn gate(&self, _: Direction) -> &'static Gate {
        &self.socket.get().gate
    }

    fn number(&self) -> u32 {
        7
    }

    fn is_told(&mut self) -> io::Result<bool> {
        Ok(self.socket.is_registered())
    }

    fn register(&mut self) -> io::Result<()> {
        if self.is_current() && !self.socket.is_registered() {
            self.socket.register();
        }
        Ok(())
    }

    fn registers_first(&mut self) -> bool {
        let is_new = self.is_current() && !self.socket.is_registered();
        if is_new {
            self.socket.register();
        }
        is_new
    }

    fn is_current(&self) -> bool {
        self.socket.ownership.is_owner(self.owner)
    }

    fn enter(&self) -> io::Result<Option<InUse<'static>>> {
        let inside = self.socket.get().users.enter();
        if inside.is_none() || !self.is_current() {
            return Err(self.closed());
        }
        Ok(inside)
    }

    fn closed(&self) -> io::Error {
        Errno::BADF.into()
    }

    fn late(&self) -> io::Error {
        ErrorKind::TimedOut.into()
    }
}

/// Reads one byte, and leaves what there is beyond it.
fn read(socket: Shared<Socket>, timeout: Timeout<'_>) -> io::Result<()> {
    let owner = socket.ownership.generation();
    let mut reader = Reader { socket, owner };
    let mut turn = Turn::new(timeout);
    let mut progress = Progress::new(Direction::Read, false);
    reader.run::<TOLD, _>(&mut turn, &mut progress, || {
        Ok((socket.take()?, Left::More))
    })
}

/// A reader and an edge. A reader that nobody wakes is a deadlock, which loom finds.
fn one_reader(is_registered: bool) {
    let socket = Socket::new();
    if is_registered {
        socket.register();
    }
    let poller = thread::spawn(move || socket.arrive());
    read(socket, Timeout::Endless).unwrap();
    poller.join().ok();
}

/// The same where the read before has taken all, and the descriptor is not registered yet.
fn first_wait() {
    let socket = Socket::new();
    socket.gate.took_rest(socket.gate.snapshot());
    let poller = thread::spawn(move || socket.arrive());
    read(socket, Timeout::Endless).unwrap();
    poller.join().ok();
}

/// The same at a gate where a reader has waited before, and while another call passes an event on.
fn late_reader() {
    let socket = Socket::drained();
    let mut turn = Turn::new(Timeout::Until(Instant::now()));
    assert!(socket.gate.wait(7, &mut turn, || true).is_ok());
    assert!(socket.gate.snapshot().has_waiters());
    let poller = thread::spawn(move || socket.arrive());
    let other = thread::spawn(move || socket.gate.pass_on());
    read(socket, Timeout::Endless).unwrap();
    poller.join().ok();
    other.join().ok();
}

/// Two readers, and an edge for two bytes: whoever comes first passes it on.
fn two_readers() {
    let socket = Socket::drained();
    let reader = thread::spawn(move || read(socket, Timeout::Endless).unwrap());
    socket.kernel.fetch_add(1, Ordering::AcqRel);
    socket.arrive();
    read(socket, Timeout::Endless).unwrap();
    reader.join().unwrap();
}

/// A reader with nothing to read; its deadline is set to a moment that is past.
fn changed_deadline() {
    let socket = Socket::drained();
    let limit = Shared::new(TimeLimit::default());
    let setter = thread::spawn(move || {
        limit.set_deadline(Some(Instant::now()));
        socket.gate.nudge();
    });
    let late = read(socket, Timeout::Set(limit.get())).unwrap_err();
    assert_eq!(late.kind(), ErrorKind::TimedOut);
    setter.join().ok();
}

/// A reader that has waited, or is about to, when its number is closed and reused.
fn closed_under_a_reader(waits: bool) {
    let socket = if waits {
        Socket::drained()
    } else {
        Socket::new()
    };
    let owner = socket.ownership.generation();
    let closer = thread::spawn(move || socket.close_and_reuse());
    let mut reader = Reader { socket, owner };
    let mut turn = Turn::new(Timeout::Endless);
    let mut progress = Progress::new(Direction::Read, false);
    let mut first = true;
    let done = reader.run::<TOLD, _>(&mut turn, &mut progress, || {
        if std::mem::take(&mut first) && !waits {
            // A first try does not enter: here it was made before the number was closed.
            return Err(Errno::AGAIN);
        }
        Ok((socket.take()?, Left::More))
    });
    assert_eq!(
        done.unwrap_err().raw_os_error(),
        Some(Errno::BADF.raw_os_error())
    );
    closer.join().ok();
}

/// An edge is never lost, whenever it comes.
#[test]
fn an_edge_is_not_lost() {
    check(|| one_reader(false));
    check(|| one_reader(true));
    check(first_wait);
}

/// Planted: a read waits for what it has not asked for.
#[test]
fn planted_wait_before_the_registration_is_found() {
    finds_planted(
        "funnel: a first wait comes before the registration",
        first_wait,
    );
}

/// Nor is one for a reader that finds the flag of the waiters set.
#[test]
fn an_edge_is_not_lost_on_readers_that_are_back() {
    check(late_reader);
}

/// Two readers of one socket both get what came for them.
#[test]
fn two_readers_are_both_served() {
    check(two_readers);
}

/// A new deadline reaches all waiters, whenever it comes.
#[test]
fn a_deadline_is_not_missed() {
    check(changed_deadline);
}

/// A call ends with its descriptor, and takes nothing of the next one.
#[test]
fn a_call_touches_its_own_descriptor_only() {
    check(|| closed_under_a_reader(true));
    check(|| closed_under_a_reader(false));
}

/// Planted: a late try clears the readiness of an edge that it has not seen.
#[test]
fn planted_blind_clearing_is_found() {
    finds_planted(
        "gate: what a try found clears what has come meanwhile",
        || one_reader(true),
    );
}

/// Planted: a reader waits although the edge has come.
#[test]
fn planted_blind_waiting_is_found() {
    finds_planted(
        "gate: a waiter does not ask whether an event has come",
        || one_reader(false),
    );
}

/// Planted: the flag of the waiters is cleared when a reader waits again.
#[test]
fn planted_late_clearing_is_found() {
    finds_planted(
        "gate: the flag of the waiters is cleared after the list is let go",
        late_reader,
    );
}

/// Planted: a reader waits although its deadline has changed since it was looked at.
#[test]
fn planted_old_deadline_is_found() {
    finds_planted(
        "gate: a waiter keeps a time limit that has changed",
        changed_deadline,
    );
}

/// Planted: a reader that was woken reads from the number, whosever it is.
#[test]
fn planted_trust_in_numbers_is_found() {
    finds_planted("funnel: a later try does not enter", || {
        closed_under_a_reader(false);
    });
}

/// A read as an arm of a selection, as `source::arm` has it.
struct ReadArm {
    socket: Shared<Socket>,
    node: Framed<Node>,
}

impl ReadArm {
    fn new(socket: Shared<Socket>) -> Self {
        let node = Framed::new(Node::new());
        Self { socket, node }
    }
}

impl Arm for ReadArm {
    type Output = io::Result<()>;

    fn attempt(&mut self) -> Option<io::Result<()>> {
        let socket = self.socket;
        let owner = socket.ownership.generation();
        let mut reader = Reader { socket, owner };
        let mut progress = Progress::new(Direction::Read, true);
        let read = reader.run::<TOLD, _>(&mut Turn::over(), &mut progress, || {
            Ok((socket.take()?, Left::More))
        });
        match read {
            Err(error) if error.kind() == ErrorKind::TimedOut => {
                Policy::register(&mut reader).err().map(Err)
            }
            read => Some(read),
        }
    }

    unsafe fn enter(&self, waiter: &Waiter) -> Entered {
        // SAFETY: passed on.
        match unsafe {
            self.socket
                .gate
                .enter_ready(&self.node, waiter, Place::Last)
        } {
            true => Entered::Waits,
            false => Entered::Ready,
        }
    }

    unsafe fn leave(&self, _: &Waiter) -> LeftArm {
        // SAFETY: it has entered.
        unsafe { self.socket.gate.leave_among(&self.node) }
    }
}

/// A byte arrives, and an event is set, while one selects among them. Both are had.
fn selected(is_registered: bool) {
    let socket = Socket::new();
    if is_registered {
        socket.register();
    }
    let event = Shared::new(AutoEvent::new());
    let poller = thread::spawn(move || socket.arrive());
    let setter = thread::spawn(move || event.set());
    select! {
        () = event.wait_arm() => read(socket, Timeout::Endless).unwrap(),
        read = ReadArm::new(socket) => {
            read.unwrap();
            event.wait();
        }
    }
    poller.join().ok();
    setter.join().ok();
    assert!(!event.is_set(), "it has been had twice");
    event.free();
}

#[test]
fn an_edge_and_an_event_are_both_had() {
    check(|| selected(false));
    check(|| selected(true));
}

/// Planted: the arm is taken though the event has chosen.
#[test]
fn planted_read_without_a_claim_is_found() {
    finds_planted(fibre_sync::faults::select::TAKES_WITHOUT_A_CLAIM, || {
        selected(true)
    });
}
