//! What has been reported, so that no place of the program fills a log.
//!
//! After a report its place is left out for a while, and then reported again with the number of
//! times that it was left out. Finding out the place costs a stack and its symbols, so that is not
//! done often either: what comes in between is counted for all places together.

use std::collections::HashMap;
use std::time::{Duration, Instant};

/// How long a place is left out once it has been told.
const QUIET: Duration = Duration::from_secs(60);

/// The time between two stacks.
const PAUSE: Duration = Duration::from_millis(100);

/// The most places that are told apart; others count as one.
const MOST: usize = 1024;

/// What has been told.
#[derive(Debug, Default)]
pub(crate) struct Told {
    places: HashMap<u64, Site>,
    /// When the last stack was taken.
    last: Option<Instant>,
}

/// A place that has been told.
#[derive(Debug)]
struct Site {
    /// When it last was.
    last: Instant,
    /// How often it was left out since.
    left_out: u64,
}

impl Told {
    /// Whether a stack may be taken, which is then noted.
    pub(crate) fn may_look(&mut self, now: Instant) -> bool {
        let too_soon = self
            .last
            .is_some_and(|last| now.saturating_duration_since(last) < PAUSE);
        if !too_soon {
            self.last = Some(now);
        }
        !too_soon
    }

    /// Whether to tell a place: with the number of times that it was left out before. `None`: it is
    /// left out.
    pub(crate) fn tell(&mut self, place: u64, now: Instant) -> Option<u64> {
        let known = self.places.len() < MOST || self.places.contains_key(&place);
        let place = if known { place } else { 0 };
        let Some(told) = self.places.get_mut(&place) else {
            self.places.insert(
                place,
                Site {
                    last: now,
                    left_out: 0,
                },
            );
            return Some(0);
        };
        if now.saturating_duration_since(told.last) < QUIET {
            told.left_out += 1;
            return None;
        }
        told.last = now;
        Some(std::mem::take(&mut told.left_out))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_told_once_in_a_while_with_what_was_left_out() {
        let (mut told, now) = (Told::default(), Instant::now());
        assert_eq!(told.tell(1, now), Some(0));
        assert_eq!(told.tell(1, now), None);
        assert_eq!(told.tell(1, now + QUIET / 2), None);
        assert_eq!(told.tell(2, now), Some(0), "another place");
        assert_eq!(told.tell(1, now + QUIET), Some(2));
        assert_eq!(told.tell(1, now + 2 * QUIET), Some(0));
    }

    #[test]
    fn places_are_not_told_apart_without_end() {
        let (mut told, now) = (Told::default(), Instant::now());
        let all = (1..=10_000).filter(|place| told.tell(*place, now).is_some());
        assert_eq!(all.count(), MOST + 1);
        assert!(told.places.len() <= MOST + 1);
    }

    #[test]
    fn stacks_are_taken_with_pauses() {
        let (mut told, now) = (Told::default(), Instant::now());
        assert!(told.may_look(now));
        assert!(!told.may_look(now));
        assert!(!told.may_look(now + PAUSE / 2));
        assert!(told.may_look(now + PAUSE));
    }
}
