//! Messages that come later.

use crate::actor::{Actor, Context};
use crate::cell::Cell;
use crate::clock::{Action, Alarm, Clock};
use crate::envelope::Envelope;
use crate::next::Mark;
use fibre_core::Activity;
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The longest time of a timer, about a century: longer ones mean for ever.
const MAX_DELAY: Duration = Duration::from_secs(100 * 365 * 24 * 3600);

/// A timer that is pending. Dropping it cancels the timer; so does the end of the actor. A message
/// that it has sent already stays in the mailbox.
///
/// ```
/// use fibre_actors::{Actor, Context, Timer};
/// use std::time::Duration;
///
/// /// Gives up on a client that is silent for too long.
/// struct Session {
///     timeout: Option<Timer>,
/// }
///
/// enum Event {
///     Input(String),
///     Silence,
/// }
///
/// impl Actor for Session {
///     type Message = Event;
///
///     fn started(&mut self, context: &mut Context<'_, Self>) {
///         let silence = Duration::from_millis(5);
///         self.timeout = Some(context.after(silence, Event::Silence));
///     }
///
///     fn handle(&mut self, event: Event, context: &mut Context<'_, Self>) {
///         match event {
///             Event::Input(_) => self.started(context), // the timer before is dropped
///             Event::Silence => context.stop(),
///         }
///     }
/// }
///
/// let session = fibre_actors::spawn(Session { timeout: None });
/// session.wait();
/// ```
#[must_use = "dropping a timer cancels it; `detach` lets it go on"]
pub struct Timer {
    alarm: Arc<Alarm>,
    clock: Arc<Clock>,
    /// Whether the timer goes on without the handle.
    detached: bool,
}

impl Timer {
    /// Whether the timer will send a message yet.
    #[must_use]
    pub fn is_pending(&self) -> bool {
        !self.alarm.is_gone()
    }

    /// Cancels the timer.
    pub fn cancel(self) {
        drop(self);
    }

    /// Gives the handle up without cancelling the timer, which then ends with the actor at the
    /// latest.
    pub fn detach(mut self) {
        self.detached = true;
    }
}

impl Drop for Timer {
    fn drop(&mut self) {
        if !self.detached {
            self.clock.cancel(&self.alarm);
        }
    }
}

impl fmt::Debug for Timer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Timer")
            .field("is_pending", &self.is_pending())
            .finish_non_exhaustive()
    }
}

impl<A: Actor> Context<'_, A> {
    /// Sends the actor a message after a time. The timer is cancelled when its handle is dropped,
    /// and when the actor ends. Blocks nothing.
    ///
    /// # Panics
    ///
    /// If neither a fibre nor a thread can be had that waits for the time.
    pub fn after(&mut self, time: Duration, message: A::Message) -> Timer {
        let mut message = Some(message);
        self.set(time, None, move || message.take())
    }

    /// Sends the actor a message again and again, first when one period is over. At most one
    /// message of a timer is under way: while the actor has not handled the last one, and those
    /// that it has taken with it, no other is sent. If the clock comes late by more than a period,
    /// it leaves out what it has missed, too. The message is cloned on the clock's fibre, so it
    /// should be small. Messages that cannot be cloned, as those of an actor that is
    /// [asked](crate::ActorRef::ask), are made by [`every_with`](Self::every_with). Blocks nothing.
    ///
    /// ```
    /// use fibre_actors::{Actor, Context, Timer};
    /// use std::time::Duration;
    ///
    /// struct Heart(Option<Timer>, u32);
    /// impl Actor for Heart {
    ///     type Message = ();
    ///     fn started(&mut self, context: &mut Context<'_, Self>) {
    ///         self.0 = Some(context.every(Duration::from_millis(1), ()));
    ///     }
    ///     fn handle(&mut self, (): (), context: &mut Context<'_, Self>) {
    ///         self.1 += 1;
    ///         if self.1 == 3 {
    ///             context.stop();
    ///         }
    ///     }
    /// }
    ///
    /// fibre_actors::spawn(Heart(None, 0)).wait();
    /// ```
    ///
    /// # Panics
    ///
    /// If the period is zero; and as [`after`](Self::after).
    pub fn every(&mut self, period: Duration, message: A::Message) -> Timer
    where
        A::Message: Clone,
    {
        self.every_with(period, move || message.clone())
    }

    /// Like [`every`](Self::every), with messages that `make` makes, on the clock's fibre: it
    /// should neither block nor take long. An actor that keeps no handle [detaches](Timer::detach)
    /// it.
    ///
    /// ```
    /// use fibre_actors::{Actor, Context, Reply};
    /// use std::time::Duration;
    ///
    /// struct Ticks(u32);
    /// enum Message {
    ///     Tick,
    ///     Count(Reply<u32>), // cannot be cloned
    /// }
    ///
    /// impl Actor for Ticks {
    ///     type Message = Message;
    ///     fn started(&mut self, context: &mut Context<'_, Self>) {
    ///         context.every_with(Duration::from_millis(1), || Message::Tick).detach();
    ///     }
    ///     fn handle(&mut self, message: Message, _: &mut Context<'_, Self>) {
    ///         match message {
    ///             Message::Tick => self.0 += 1,
    ///             Message::Count(reply) => reply.send(self.0),
    ///         }
    ///     }
    /// }
    ///
    /// let ticks = fibre_actors::spawn(Ticks(0));
    /// while ticks.ask(Message::Count)? < 3 {
    ///     fibre::sleep(Duration::from_millis(1));
    /// }
    /// # Ok::<(), fibre_actors::AskError>(())
    /// ```
    ///
    /// # Panics
    ///
    /// As [`every`](Self::every).
    pub fn every_with<F>(&mut self, period: Duration, mut make: F) -> Timer
    where
        F: FnMut() -> A::Message + Send + 'static,
    {
        assert!(!period.is_zero(), "a timer without a period");
        self.set(period, Some(period), move || Some(make()))
    }

    /// Sets a timer that sends what `make` makes, and again after each `period`.
    fn set<F>(&mut self, time: Duration, period: Option<Duration>, make: F) -> Timer
    where
        F: FnMut() -> Option<A::Message> + Send + 'static,
    {
        let now = Instant::now();
        let due = now.checked_add(time.min(MAX_DELAY)).unwrap_or(now);
        let delivery = Box::new(Delivery::new(self.activity(), period, make));
        let clock = Arc::clone(&self.system().clock);
        let alarm = match self.system().cluster_of_clock() {
            Ok(cluster) => clock.set(cluster, due, delivery),
            Err(error) => panic!("timers cannot be run: {error}"),
        };
        self.alarms().add(&alarm);
        Timer {
            alarm,
            clock,
            detached: false,
        }
    }
}

/// A timer's message on its way. The actor counts it as pending until it is dropped.
struct Delivery<M: Send + 'static, F> {
    to: Activity<Cell<M>>,
    make: F,
    /// The time from one message to the next, if there is a next one.
    period: Option<Duration>,
    /// That of the last message.
    last: Mark,
}

impl<M: Send + 'static, F> Delivery<M, F> {
    /// A message to this actor.
    fn new(to: &Activity<Cell<M>>, period: Option<Duration>, make: F) -> Self {
        to.inbox.timer_set();
        Self {
            to: to.clone(),
            make,
            period,
            last: Mark::NONE,
        }
    }
}

impl<M, F> Action for Delivery<M, F>
where
    M: Send + 'static,
    F: FnMut() -> Option<M> + Send,
{
    fn ring(&mut self) -> Option<Duration> {
        let inbox = &self.to.inbox;
        if inbox.has_handled(self.last)
            && let Some(message) = (self.make)()
        {
            let (activation, mark) = inbox.deliver(Envelope::Plain(message));
            self.last = mark;
            Cell::wake(&self.to, activation);
        }
        self.period
    }
}

impl<M: Send + 'static, F> Drop for Delivery<M, F> {
    fn drop(&mut self) {
        Cell::wake(&self.to, self.to.inbox.timer_gone());
    }
}
