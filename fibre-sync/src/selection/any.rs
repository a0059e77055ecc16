//! Selections among as many arms as there are at run time.

use super::case::{Candidate, Case};
use super::choose::{Chosen, Standing, choose_among, choose_within};
use super::order::Order;
use fibre_core::internal::begin_within;
use fibre_core::{Arm, Limit, WaitError};
use std::time::Duration;

/// Waits until one of the arms is chosen; each ready arm is equally likely. Returns its place, and
/// its output. Blocks the fibre, or the thread if the caller is not a fibre. It allocates memory
/// for the arms' places.
///
/// Arms of different kinds go into one slice as `Box<dyn Arm<Output = T>>`, or as `&mut dyn`.
///
/// ```
/// use fibre::JoinHandle;
/// use fibre::select::any;
///
/// let mut fibres: Vec<_> = (0..10).map(|i| Some(fibre::spawn(move || i))).collect();
/// let mut sum = 0;
/// for _ in 0..10 {
///     let mut ends: Vec<_> = fibres.iter_mut().map(JoinHandle::join_arm).collect();
///     let (_place, result) = any(&mut ends);
///     sum += result.unwrap();
/// }
/// assert_eq!(sum, 45);
/// ```
///
/// # Panics
///
/// If there are no arms: nothing would ever be chosen.
pub fn any<A: Arm>(arms: &mut [A]) -> (usize, A::Output) {
    match among(arms, Some(Limit::None)) {
        Ok(chosen) => chosen,
        Err(_) => unreachable!("a selection without a limit ends by one of its arms"),
    }
}

/// [`any`], but gives up after `timeout`, or when the fibre is cancelled: then `None`. A `timeout`
/// of zero, and a cancelled fibre, try once.
///
/// ```
/// use fibre::select::any_timeout;
/// use fibre::sync::Event;
/// use std::time::Duration;
///
/// let events = [Event::new(), Event::new()];
/// let timeout = Duration::from_millis(1);
/// assert_eq!(any_timeout(&mut events.each_ref().map(Event::wait_arm), timeout), None);
/// events[1].set();
/// assert_eq!(any_timeout(&mut events.each_ref().map(Event::wait_arm), timeout), Some((1, ())));
/// ```
///
/// # Panics
///
/// As [`any`].
pub fn any_timeout<A: Arm>(arms: &mut [A], timeout: Duration) -> Option<(usize, A::Output)> {
    among(arms, Some(Limit::after(timeout))).ok()
}

/// [`any`], but gives up when the [`Limit`] comes.
///
/// # Errors
///
/// [`WaitError`]: what came.
///
/// # Panics
///
/// As [`any`].
pub fn any_within<A: Arm>(
    arms: &mut [A],
    limit: impl Into<Limit>,
) -> Result<(usize, A::Output), WaitError> {
    among(arms, Some(begin_within(limit)?)).map_err(|error| error.unwrap_or(WaitError::TimedOut))
}

/// [`any`] without waiting: chooses among the arms that are ready now. Blocks nothing.
pub fn try_any<A: Arm>(arms: &mut [A]) -> Option<(usize, A::Output)> {
    among(arms, None).ok()
}

/// The common part of all.
fn among<A: Arm>(
    arms: &mut [A],
    limit: Option<Limit>,
) -> Result<(usize, A::Output), Option<WaitError>> {
    let cases = arms.iter_mut().map(|arm| Case::new(true, arm));
    let mut cases: Vec<_> = cases.collect();
    let standing = cases.iter_mut().enumerate();
    let standing = standing.map(|(number, case)| Standing::new(number, case as &mut dyn Candidate));
    let mut standing: Vec<_> = standing.collect();
    let chosen = match limit {
        Some(limit) => choose_within(&mut standing, Order::Fair, limit),
        None => choose_among(&mut standing, Order::Fair),
    };
    drop(standing);
    match chosen {
        Chosen::Arm(number) => match cases[number].take() {
            Some(output) => Ok((number, output)),
            None => unreachable!("the arm that was chosen has its output"),
        },
        Chosen::None(error) => Err(error),
        Chosen::Closed if limit.is_none() => Err(None),
        Chosen::Closed => panic!("a selection without arms has nothing to wait for"),
    }
}
