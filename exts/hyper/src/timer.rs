//! Time that passes for hyper.
//!
//! A sleep that is polled is a fibre that sleeps. It is cancelled when the sleep is dropped or gets
//! another deadline. hyper sleeps seldom: for a time-out of a connection, which it sets anew, and
//! for pings.

use fibre_core::{JoinFuture, Limit, spawn};
use hyper::rt::{Sleep, Timer};
use std::future::{Future, IntoFuture};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

/// The time-outs that hyper's builders are given, by fibres: those of the cluster of the fibre that
/// polls, or of the default cluster.
///
/// ```
/// use fibre_hyper::FibreTimer;
/// use hyper::rt::Timer;
/// use std::time::{Duration, Instant};
///
/// let begun = Instant::now();
/// fibre::block_on(FibreTimer::new().sleep(Duration::from_millis(5)));
/// assert!(begun.elapsed() >= Duration::from_millis(5));
/// ```
#[derive(Debug, Clone, Copy, Default)]
pub struct FibreTimer;

impl FibreTimer {
    /// The timer.
    #[must_use]
    pub const fn new() -> Self {
        Self
    }
}

impl Timer for FibreTimer {
    fn sleep(&self, duration: Duration) -> Pin<Box<dyn Sleep>> {
        let now = Instant::now();
        // As far as the clock can tell.
        let deadline = now.checked_add(duration).unwrap_or(now + FAR);
        self.sleep_until(deadline)
    }

    fn sleep_until(&self, deadline: Instant) -> Pin<Box<dyn Sleep>> {
        Box::pin(FibreSleep::new(deadline))
    }

    fn reset(&self, sleep: &mut Pin<Box<dyn Sleep>>, deadline: Instant) {
        match sleep.as_mut().downcast_mut_pin::<FibreSleep>() {
            Some(sleep) => sleep.get_mut().reset(deadline),
            None => *sleep = self.sleep_until(deadline),
        }
    }
}

/// A time that does not pass while the process lives.
const FAR: Duration = Duration::from_secs(1 << 32);

/// A sleep until a moment.
struct FibreSleep {
    deadline: Instant,
    /// The fibre that sleeps, once somebody has asked.
    fibre: Option<JoinFuture<()>>,
}

impl FibreSleep {
    /// A sleep that nobody waits for yet.
    fn new(deadline: Instant) -> Self {
        let fibre = None;
        Self { deadline, fibre }
    }

    /// Sets another deadline.
    fn reset(&mut self, deadline: Instant) {
        self.end();
        self.deadline = deadline;
    }

    /// Ends the fibre, if there is one.
    fn end(&mut self) {
        if let Some(fibre) = self.fibre.take() {
            fibre.into_handle().cancel();
        }
    }
}

impl Sleep for FibreSleep {}

impl Future for FibreSleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let deadline = self.deadline;
        if Instant::now() >= deadline {
            self.end();
            return Poll::Ready(());
        }
        let fibre = self.fibre.get_or_insert_with(|| {
            // Cancelled or not, the sleep is over.
            let sleeps = move || {
                let _ = fibre_core::sleep_within(Limit::Deadline(deadline));
            };
            spawn(sleeps).into_future()
        });
        let Poll::Ready(_ended) = Pin::new(fibre).poll(context) else {
            return Poll::Pending;
        };
        self.fibre = None;
        Poll::Ready(())
    }
}

impl Drop for FibreSleep {
    fn drop(&mut self) {
        self.end();
    }
}
