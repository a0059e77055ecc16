//! Models of cancellation: one wait, or two in a row, that wakers, a deadline and a canceller
//! compete for.
//!
//! The main thread of a model is the fibre and its processor. The side that may queue the fibre
//! opens its gate, once; the fibre's frame ends with [`EndOfFrame`], after which loom lets no
//! thread touch the waiter. Everything is leaked: the planted bugs are for loom to find, and no
//! real ones.
//!
//! A wait at home changes no word when the stack is left: there the canceller has all see that it
//! comes, and looks.
//!
//! Run by `cargo xtask loom`.

use fibre_core::internal::asymmetric;
use fibre_core::internal::state::{Cancel, Left, RunState, Wake};
use fibre_core::internal::waiter::{Outcome, Waiter, Wakeable};
use fibre_core::model::{self, Watched, finds_bug, finds_planted};
use fibre_core::sync::{EndOfFrame, Futex, Mutex};
use loom::thread;
use std::ptr::NonNull;

/// A fibre, as far as cancellation goes.
pub(super) struct Fibre {
    pub(super) state: RunState<Fibre>,
    /// Its ready queue: 1 while the fibre is in it.
    pub(super) queue: Futex,
    /// Its stack, as loom watches it: used by the fibre, and by the thread that queues it once it
    /// has been left, since the fibre may run on from there.
    pub(super) stack: Watched,
}

impl Fibre {
    pub(super) fn new() -> &'static Self {
        Box::leak(Box::new(Self {
            state: RunState::new(),
            queue: Futex::new(0),
            stack: Watched::default(),
        }))
    }

    /// Queues a fibre whose stack has been left.
    pub(super) fn enqueue_left(&self) {
        self.stack.count();
        self.enqueue();
    }

    fn enqueue(&self) {
        assert_eq!(self.queue.swap(1), 0, "queued twice");
        Futex::wake_one(&raw const self.queue);
    }

    /// The canceller's part.
    fn cancel(&self) {
        self.cancel_and(asymmetric::membarrier_all);
    }

    /// The canceller's part, with what it does between its steps.
    fn cancel_and(&self, between: impl FnOnce()) {
        match self.state.cancel() {
            Cancel::Done => {}
            Cancel::Enqueue => self.enqueue_left(),
            Cancel::Visit => {
                between();
                if self.state.visit() {
                    self.enqueue();
                }
            }
        }
    }

    /// The processor's part, and the way through the queue.
    fn leave(&self) {
        self.stack.count();
        if self.state.left() == Left::WokenEarly {
            self.enqueue_left();
        }
        self.await_queue();
        self.stack.count();
    }

    /// The way through the queue.
    pub(super) fn await_queue(&self) {
        self.queue.wait(0, None);
        assert_eq!(self.queue.swap(0), 1);
    }
}

impl Wakeable for Fibre {
    unsafe fn resume(this: NonNull<Self>) {
        // SAFETY: models keep the fibre alive.
        let this = unsafe { this.as_ref() };
        if this.state.wake() == Wake::Enqueue {
            this.enqueue_left();
        }
    }

    unsafe fn resume_at_home(this: NonNull<Self>) {
        // SAFETY: models keep the fibre alive.
        unsafe { this.as_ref() }.enqueue();
    }
}

/// A list with room for one waiter.
pub(super) struct List {
    pub(super) waiter: Mutex<Option<NonNull<Waiter<Fibre>>>>,
    /// 1 once there has been one.
    published: Futex,
}

// SAFETY: what is in it is used under its lock.
unsafe impl Send for List {}
// SAFETY: as above.
unsafe impl Sync for List {}

impl List {
    pub(super) fn new() -> &'static Self {
        Box::leak(Box::new(Self {
            waiter: Mutex::new(None),
            published: Futex::new(0),
        }))
    }

    /// The fibre's part.
    pub(super) fn publish(&self, waiter: &Waiter<Fibre>) {
        *self.waiter.lock() = Some(NonNull::from(waiter));
        self.published.swap(1);
        Futex::wake_one(&raw const self.published);
    }

    /// The waker's part: takes the waiter out, claims it, and resumes.
    pub(super) fn wake(&self) -> bool {
        let mut list = self.waiter.lock();
        // SAFETY: in the list, hence alive.
        let won = list
            .take()
            .map(|waiter| unsafe { waiter.as_ref() }.claim(0));
        drop(list);
        won.flatten().map(|resume| resume.resume()).is_some()
    }

    /// A waker that comes when the fibre waits.
    pub(super) fn wake_for_sure(&self) {
        self.published.wait(0, None);
        assert!(self.wake());
    }

    /// The deadline's part.
    fn time_out(&self) {
        let list = self.waiter.lock();
        // SAFETY: in the list, hence alive.
        let won = list.map(|waiter| unsafe { waiter.as_ref() }.time_out());
        drop(list);
        won.flatten().map(|resume| resume.resume());
    }
}

/// One wait of the fibre, as `Wait::park` does it.
fn wait(fibre: &Fibre, list: &List, cancellable: bool) -> Outcome {
    let (outcome, waiter) = wait_without_withdrawal(fibre, list, cancellable);
    list.waiter.lock().take();
    waiter.end_of_frame();
    outcome
}

/// One wait of the fibre, without its end.
fn wait_without_withdrawal(
    fibre: &Fibre,
    list: &List,
    cancellable: bool,
) -> (Outcome, &'static mut Waiter<Fibre>) {
    // SAFETY: the model's fibre outlives its threads.
    let waiter = unsafe { Waiter::for_fibre(NonNull::from(fibre)) };
    let waiter = Box::leak(Box::new(waiter));
    list.publish(waiter);
    // SAFETY: it is leaked.
    unsafe { fibre.state.begin_wait(cancellable.then_some(&*waiter)) };
    if !fibre.state.stay() {
        fibre.leave();
    }
    (waiter.outcome(), waiter)
}

/// One wait of the fibre at home, as `Wait::park` does it.
fn wait_at_home(fibre: &Fibre, list: &List) -> Outcome {
    // SAFETY: as in `wait`; the main thread is its home.
    let waiter = unsafe { Waiter::at_home(NonNull::from(fibre)) };
    let waiter = Box::leak(Box::new(waiter));
    list.publish(waiter);
    // SAFETY: it is leaked.
    let cancelled = unsafe { fibre.state.begin_wait_at_home(waiter) };
    if !cancelled || waiter.cancel().is_none() {
        fibre.await_queue();
    }
    fibre.state.end_wait_at_home(waiter);
    let outcome = waiter.outcome();
    list.waiter.lock().take();
    waiter.end_of_frame();
    outcome
}

/// One wait of a fibre that its processor holds, as `Wait::park` does it in the panic hook.
fn wait_held(fibre: &Fibre, list: &List, cancellable: bool) -> Outcome {
    // SAFETY: as in `wait`.
    let waiter = unsafe { Waiter::for_fibre(NonNull::from(fibre)) };
    let waiter = Box::leak(Box::new(waiter));
    list.publish(waiter);
    // SAFETY: it is leaked.
    unsafe { fibre.state.begin_wait(cancellable.then_some(&*waiter)) };
    while !fibre.state.stay() && !fibre.state.give_up() {
        thread::yield_now();
    }
    let outcome = waiter.outcome();
    list.waiter.lock().take();
    waiter.end_of_frame();
    outcome
}

/// Runs `f` in a thread of the model.
fn start<R: 'static>(
    fibre: &'static Fibre,
    list: &'static List,
    f: impl FnOnce(&Fibre, &List) -> R + 'static,
) -> thread::JoinHandle<R> {
    thread::spawn(move || f(fibre, list))
}

/// A waker and a canceller compete for one wait, and one of them wins.
#[test]
fn a_waker_or_the_canceller_wins() {
    model::check(|| {
        let (fibre, list) = (Fibre::new(), List::new());
        let canceller = start(fibre, list, |fibre, _| fibre.cancel());
        let waker = start(fibre, list, |_, list| list.wake());
        let outcome = wait(fibre, list, true);
        canceller.join().unwrap();
        let woken = waker.join().unwrap();
        assert_eq!(woken, outcome == Outcome::Woken(0));
        assert!(woken || outcome == Outcome::Cancelled);
        assert!(fibre.state.is_cancelled());
    });
}

/// A waker, a deadline and a canceller.
#[test]
fn three_compete() {
    model::check(|| {
        let (fibre, list) = (Fibre::new(), List::new());
        let canceller = start(fibre, list, |fibre, _| fibre.cancel());
        let waker = start(fibre, list, |_, list| list.wake());
        let timer = start(fibre, list, |_, list| list.time_out());
        let outcome = wait(fibre, list, true);
        canceller.join().unwrap();
        timer.join().unwrap();
        assert_eq!(waker.join().unwrap(), outcome == Outcome::Woken(0));
    });
}

/// A waker and a canceller compete for a held wait; then comes one that only its waker ends.
fn two_compete_for_a_held_wait() {
    let (fibre, first, second) = (Fibre::new(), List::new(), List::new());
    let canceller = start(fibre, first, |fibre, _| fibre.cancel());
    let waker = thread::spawn(move || {
        let won = first.wake();
        second.wake_for_sure();
        won
    });
    let outcome = wait_held(fibre, first, true);
    assert_eq!(wait_held(fibre, second, false), Outcome::Woken(0));
    canceller.join().unwrap();
    let woken = waker.join().unwrap();
    assert_eq!(woken, outcome == Outcome::Woken(0));
    assert!(woken || outcome == Outcome::Cancelled);
    assert_eq!(fibre.queue.load(), 0, "a held fibre was queued");
}

/// One of them wins, and the fibre is not queued.
#[test]
fn a_waker_or_the_canceller_wins_a_held_wait() {
    model::check(two_compete_for_a_held_wait);
}

/// Planted: the fibre goes on before its waker has been here, whose wake-up ends the next wait.
#[test]
fn planted_held_fibre_that_gives_up_too_much_is_found() {
    finds_planted(
        "state: a held fibre gives up a wait that its waker has won",
        two_compete_for_a_held_wait,
    );
}

/// A waker and a canceller, at home.
fn two_compete_at_home() {
    let (fibre, list) = (Fibre::new(), List::new());
    let canceller = start(fibre, list, |fibre, _| fibre.cancel());
    let waker = start(fibre, list, |_, list| list.wake());
    let outcome = wait_at_home(fibre, list);
    canceller.join().unwrap();
    assert_eq!(waker.join().unwrap(), outcome == Outcome::Woken(0));
    assert!(fibre.state.is_cancelled());
}

/// One of them wins, and what is gone is not touched.
#[test]
fn a_waker_or_the_canceller_wins_at_home() {
    model::check(two_compete_at_home);
}

/// Planted: a fibre that was woken leaves its frame while a canceller is about to claim.
#[test]
fn planted_canceller_in_a_frame_that_is_gone_is_found() {
    finds_planted(
        "state: a wait at home ends while a canceller looks at it",
        two_compete_at_home,
    );
}

/// A deadline and a canceller, at home.
#[test]
fn the_deadline_or_the_canceller_wins_at_home() {
    model::check(|| {
        let (fibre, list) = (Fibre::new(), List::new());
        let canceller = start(fibre, list, |fibre, _| fibre.cancel());
        let timer = start(fibre, list, |_, list| list.time_out());
        let outcome = wait_at_home(fibre, list);
        canceller.join().unwrap();
        timer.join().unwrap();
        assert!(matches!(outcome, Outcome::TimedOut | Outcome::Cancelled));
    });
}

/// A wait at home that a waker ends, and one that only the canceller can; `between`: what the
/// canceller does between its steps.
fn two_waits_at_home(between: fn()) {
    let (fibre, first, second) = (Fibre::new(), List::new(), List::new());
    let canceller = start(fibre, first, move |fibre, _| fibre.cancel_and(between));
    let waker = start(fibre, first, |_, list| list.wake());
    let woken = wait_at_home(fibre, first) == Outcome::Woken(0);
    assert_eq!(wait_at_home(fibre, second), Outcome::Cancelled);
    canceller.join().unwrap();
    assert_eq!(waker.join().unwrap(), woken);
}

/// No cancellation is lost at home.
#[test]
fn the_next_wait_at_home_is_cancelled() {
    model::check(|| two_waits_at_home(asymmetric::membarrier_all));
}

/// Planted: the canceller does not have all see that it comes.
#[test]
fn planted_canceller_that_nobody_sees_is_found() {
    finds_bug(|| two_waits_at_home(|| ()));
}

/// A wait at home, and one on a processor that others may take the fibre from.
#[test]
fn the_next_wait_elsewhere_is_cancelled() {
    model::check(|| {
        let (fibre, first, second) = (Fibre::new(), List::new(), List::new());
        let canceller = start(fibre, first, |fibre, _| fibre.cancel());
        let waker = start(fibre, first, |_, list| list.wake());
        let woken = wait_at_home(fibre, first) == Outcome::Woken(0);
        assert_eq!(wait(fibre, second, true), Outcome::Cancelled);
        canceller.join().unwrap();
        assert_eq!(waker.join().unwrap(), woken);
    });
}

/// Two cancellers: the second one has nothing to do.
#[test]
fn cancelling_twice_is_cancelling_once() {
    model::check(|| {
        let (fibre, list) = (Fibre::new(), List::new());
        let cancellers = [(); 2].map(|()| start(fibre, list, |fibre, _| fibre.cancel()));
        assert_eq!(wait(fibre, list, true), Outcome::Cancelled);
        for canceller in cancellers {
            canceller.join().unwrap();
        }
    });
}

/// A wait that only its waker can end, and one that only the canceller can: whenever it
/// comes, it ends the second one and not the first. `told`: the fibre says what it waits by.
fn two_waits(told: bool) {
    let (fibre, first, second) = (Fibre::new(), List::new(), List::new());
    let canceller = start(fibre, first, |fibre, _| fibre.cancel());
    let waker = start(fibre, first, |_, list| list.wake_for_sure());
    assert_eq!(wait(fibre, first, false), Outcome::Woken(0));
    assert_eq!(wait(fibre, second, told), Outcome::Cancelled);
    canceller.join().unwrap();
    waker.join().unwrap();
}

/// No cancellation is lost, and none comes where it is not wanted.
#[test]
fn the_next_wait_is_cancelled() {
    model::check(|| two_waits(true));
}

/// Planted: the fibre waits without saying by what waiter.
#[test]
fn planted_unknown_wait_is_found() {
    finds_bug(|| two_waits(false));
}

/// Planted: the canceller, told to queue the fibre, does not.
#[test]
fn planted_forgotten_fibre_is_found() {
    finds_bug(|| {
        let (fibre, list) = (Fibre::new(), List::new());
        let canceller = start(fibre, list, |fibre, _| {
            let _ = fibre.state.cancel();
        });
        let _ = wait(fibre, list, true);
        canceller.join().unwrap();
    });
}

/// Planted: a cancelled wait ends without taking its waiter out of the list.
#[test]
fn planted_missing_withdrawal_is_found() {
    finds_bug(|| {
        let (fibre, list) = (Fibre::new(), List::new());
        let canceller = start(fibre, list, |fibre, _| fibre.cancel());
        let waker = start(fibre, list, |_, list| list.wake());
        let (_, waiter) = wait_without_withdrawal(fibre, list, true);
        waiter.end_of_frame();
        canceller.join().unwrap();
        waker.join().unwrap();
    });
}
