//! What all conversations do: they make calls again, send what follows from a number, and check
//! what they receive.

use super::plan::Plan;
use super::support::Random;
use super::support::sockets::noise;
use rustix::io::Errno;
use std::io::{self, ErrorKind, IoSlice, IoSliceMut};

/// Bytes in each direction of a conversation.
const LENGTH: usize = if cfg!(debug_assertions) {
    10_000
} else {
    30_000
};

/// How a direction of a conversation has ended.
#[must_use]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// All was sent, or received.
    Whole,
    /// It was told of an error that ends conversations.
    Broken,
}

/// Makes a call until it does not fail in passing. `None`: it failed for good, as it may.
#[track_caller]
pub fn persist<T>(plan: Plan, mut call: impl FnMut() -> io::Result<T>) -> Option<T> {
    loop {
        match call() {
            Ok(value) => return Some(value),
            Err(error) if is_passing(plan, &error) => {}
            Err(_) => return None,
        }
    }
}

/// Whether a call that failed like this is made again; panics if it must not have.
#[track_caller]
pub fn is_passing(plan: Plan, error: &io::Error) -> bool {
    let errno = Errno::from_io_error(error);
    let is_one_of = |errnos: &[Errno]| errno.is_some_and(|errno| errnos.contains(&errno));
    let closed_by_us = errno.is_none() && error.kind() == ErrorKind::ConnectionAborted;
    let may_break = closed_by_us && !plan.lasting.is_empty();
    let passing = is_one_of(plan.passing);
    assert!(
        passing || may_break || is_one_of(plan.lasting),
        "{error} ({error:?})"
    );
    passing
}

/// Sends what follows from a number.
pub fn send(
    plan: Plan,
    number: u64,
    sizes: &mut Random,
    mut write: impl FnMut(&[IoSlice<'_>]) -> io::Result<usize>,
) -> End {
    let bytes: Vec<u8> = noise(number).take(LENGTH).collect();
    let mut rest = &bytes[..];
    while !rest.is_empty() {
        let piece = &rest[..(1 + sizes.below(6000)).min(rest.len())];
        let (first, second) = piece.split_at(piece.len().div_ceil(2));
        let slices = [IoSlice::new(first), IoSlice::new(second)];
        match persist(plan, || write(&slices)) {
            Some(count) => rest = &rest[count..],
            None => return End::Broken,
        }
    }
    End::Whole
}

/// Receives what follows from a number, up to the end.
pub fn receive(
    plan: Plan,
    number: u64,
    sizes: &mut Random,
    mut read: impl FnMut(&mut [IoSliceMut<'_>]) -> io::Result<usize>,
) -> End {
    let mut expected = noise(number);
    let mut buffer = vec![0; 6000];
    let mut total = 0;
    loop {
        let size = 2 + sizes.below(buffer.len() - 2);
        let (first, second) = buffer[..size].split_at_mut(size.div_ceil(2));
        let mut slices = [IoSliceMut::new(first), IoSliceMut::new(second)];
        let Some(count) = persist(plan, || read(&mut slices)) else {
            return End::Broken;
        };
        let same = buffer[..count]
            .iter()
            .all(|byte| expected.next() == Some(*byte));
        assert!(same, "wrong bytes after {total} of conversation {number:x}");
        total += count;
        if count == 0 {
            let whole = total == LENGTH;
            assert!(
                whole || !plan.lasting.is_empty(),
                "{total} of {LENGTH} bytes"
            );
            return if whole { End::Whole } else { End::Broken };
        }
    }
}
