//! How a task comes by all permissions that it wants, in one step.
//!
//! A task enters the lines of all its objects while it has the locks of all of them, which it takes
//! in the order of the objects' addresses. So all entries are in one order, the same in each line.
//! The oldest task that has not ended is therefore the first in each of its lines, or has been
//! admitted there, and goes on: **there is no deadlock**, as long as no task waits for a permission
//! while it has another one. Nobody spins, and nobody tries again.
//!
//! The caller that gives back what a request was lacking last starts it, outside of all locks.

use crate::faults;
use crate::line::{Line, Permission, State};
use crate::ticket::{Granted, Waiting};
use fibre_core::internal::ShortGuard;
use fibre_core::sync::planted;
use smallvec::SmallVec;
use std::ptr;
use std::sync::Arc;

/// The lines that a task has to enter, with what it wants there.
pub type Lines<'a, 's> = SmallVec<[(&'a Line<'s>, Permission); 4]>;

/// The locks of such lines.
type Locks<'a, 's> = SmallVec<[ShortGuard<'a, State<'s>>; 4]>;

/// Puts lines into the order of their locking.
///
/// # Panics
///
/// If one comes twice.
fn sort(lines: &mut Lines<'_, '_>) {
    if lines.len() > 1 {
        lines.sort_unstable_by_key(|(line, _)| ptr::from_ref(*line).addr());
        let is_twice = |pair: &[(&Line<'_>, Permission)]| ptr::eq(pair[0].0, pair[1].0);
        let twice = lines.windows(2).any(is_twice);
        assert!(!twice, "a task wants the same shared object twice");
    }
}

/// Takes the locks.
fn lock<'a, 's>(lines: &Lines<'a, 's>) -> Locks<'a, 's> {
    lines.iter().map(|(line, _)| line.lock()).collect()
}

/// Takes all permissions, if nobody has them or waits for them. Blocks nothing.
///
/// # Panics
///
/// If a line comes twice.
pub fn try_enter(lines: &mut Lines<'_, '_>) -> bool {
    sort(lines);
    let mut states = lock(lines);
    let are_open = |(state, (_, permission)): (&ShortGuard<'_, State<'_>>, &(_, Permission))| {
        state.is_open_to(*permission)
    };
    let is_open = states.iter().zip(lines.iter()).all(are_open);
    if is_open {
        for (state, (_, permission)) in states.iter_mut().zip(lines.iter()) {
            state.take(*permission);
        }
    }
    is_open
}

/// Enters all lines. `true`: all permissions are there, and the caller starts the request. Else
/// somebody else will. Blocks nothing.
///
/// # Panics
///
/// If a line comes twice.
pub fn enter<'s>(lines: &mut Lines<'_, 's>, request: &Arc<dyn Waiting<'s> + 's>) -> bool {
    sort(lines);
    let ticket = request.ticket();
    if planted(faults::entry::ENTERS_LINES_SEPARATELY) {
        ticket.enumerate();
        ticket.lacks(lines.len() + 1);
        for (line, permission) in lines.iter() {
            if enter_one(&mut line.lock(), *permission, request) {
                let _ = ticket.count_one();
            }
        }
        return ticket.count_one();
    }
    let mut missing = 0;
    let mut states = lock(lines);
    ticket.enumerate();
    for (state, (_, permission)) in states.iter_mut().zip(lines.iter()) {
        missing += usize::from(!enter_one(state, *permission, request));
    }
    if planted(faults::entry::COUNTS_LATE) {
        drop(states);
        ticket.lacks(missing);
        return missing == 0;
    }
    ticket.lacks(missing);
    missing == 0
}

/// Enters one line. Returns whether the permission is there.
fn enter_one<'s>(
    state: &mut State<'s>,
    permission: Permission,
    request: &Arc<dyn Waiting<'s> + 's>,
) -> bool {
    let is_open = state.is_open_to(permission);
    if is_open {
        state.take(permission);
    } else {
        state.push(permission, request);
    }
    is_open
}

/// Takes a request out of its lines. `false`: it has all that it wants, or has been withdrawn.
pub fn withdraw<'s>(lines: &mut Lines<'_, 's>, request: &Arc<dyn Waiting<'s> + 's>) -> bool {
    sort(lines);
    let mut granted = Granted::new();
    {
        let mut states = lock(lines);
        if !request.ticket().waits() {
            return false;
        }
        for (state, (_, permission)) in states.iter_mut().zip(lines.iter()) {
            let waited = state.remove(request);
            if !waited && !planted(faults::entry::KEEPS_WHEN_WITHDRAWN) {
                state.put_back(*permission);
            }
            if !planted(faults::entry::WITHDRAWS_SILENTLY) {
                state.admit(&mut granted);
            }
        }
        request.ticket().withdraw();
    }
    follow(granted);
    true
}

/// Starts requests that have all that they want. Those that cannot use it make room for others,
/// which are started, too.
pub fn follow(mut granted: Granted<'_>) {
    while !granted.is_empty() {
        for request in std::mem::take(&mut granted) {
            request.start(&mut granted);
        }
    }
}

/// Gives one permission back, and starts what it was lacking to. Blocks nothing.
pub fn give_back(line: &Line<'_>, permission: Permission) {
    let mut granted = Granted::new();
    line.give_back(permission, &mut granted);
    follow(granted);
}
