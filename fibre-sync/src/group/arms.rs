//! What a group's body waits for, as arms of selections.

use super::Group;
use crate::members::{EndOf, NextOf};
use crate::selection::list_arm;

list_arm! {
    /// An arm of `select!` that waits for a result of a group's fibres; made by [`Group::next_arm`]
    /// and [`Group::next_in_order_arm`].
    NextArm<'a, T, E> ['a, T, E] over NextOf<'a, T, E> => Option<T>
}

list_arm! {
    /// An arm of `select!` that waits for the end of a group's fibres; made by [`Group::end_arm`].
    EndArm<'a, T, E> ['a, T, E] over EndOf<'a, T, E> => ()
}

impl<T, E> Group<'_, '_, T, E> {
    /// [`next`](Self::next) as an arm of `select!`. If another arm is chosen, no result has been
    /// taken.
    ///
    /// ```
    /// use fibre::{channel::unbounded, select};
    ///
    /// let (jobs, from_jobs) = unbounded();
    /// (1..=3).for_each(|job| jobs.send(job).unwrap());
    /// drop(jobs);
    /// let sum = fibre::group(|group| {
    ///     let (mut sum, mut open) = (0, true);
    ///     while open || group.running() > 0 {
    ///         select! {
    ///             job = from_jobs.recv_arm(), if open => match job {
    ///                 Ok(job) => group.spawn(move || Ok::<_, ()>(10 * job)),
    ///                 Err(_) => open = false,
    ///             },
    ///             Some(result) = group.next_arm(), if group.running() > 0 => sum += result,
    ///             else => {}
    ///         }
    ///     }
    ///     Ok(sum + group.results().sum::<i32>())
    /// });
    /// assert_eq!(sum, Ok(60));
    /// ```
    pub fn next_arm(&self) -> NextArm<'_, T, E> {
        NextArm(self.shared.members.next_arm(false))
    }

    /// [`next_in_order`](Self::next_in_order) as an arm of `select!`.
    pub fn next_in_order_arm(&self) -> NextArm<'_, T, E> {
        NextArm(self.shared.members.next_arm(true))
    }

    /// An arm of `select!` that is chosen when no fibre of the group runs. Their results stay where
    /// they are.
    ///
    /// ```
    /// use fibre::{select, select::after};
    /// use std::time::Duration;
    ///
    /// let done = fibre::group(|group| {
    ///     group.spawn(|| Ok::<_, ()>(1));
    ///     Ok(select! {
    ///         () = group.end_arm() => group.results().sum(),
    ///         _ = after(Duration::from_secs(10)) => 0,
    ///     })
    /// });
    /// assert_eq!(done, Ok(1));
    /// ```
    pub fn end_arm(&self) -> EndArm<'_, T, E> {
        EndArm(self.shared.members.end_arm())
    }
}
