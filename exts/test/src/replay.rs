//! The variable that repeats a failed run.
//!
//! | value | what is run |
//! |---|---|
//! | `7` | the seed |
//! | `7:9f3a…` | the seed; its run must have this number |
//! | `7:9f3a…:0.3-2,1.5-0` | the default order but for these switches, with all that is random besides from the seed |
//!
//! The last form is that of shortened runs, and of exhaustive schedules, where the seed does not
//! say enough.

use crate::schedule::switches::Switches;
use fibre_core::internal::environment_variable;
use std::thread;

/// The variable.
const VARIABLE: &str = "FIBRE_TEST";

/// A run to be repeated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Replay {
    pub(crate) seed: u64,
    /// The number of its trace, unless only the seed is given.
    hash: Option<u64>,
    /// Where it leaves the default order, unless a schedule decides.
    pub(crate) switches: Option<Switches>,
}

impl Replay {
    /// The run with this seed, this number of its trace, and these switches, or a schedule's.
    pub(crate) fn new(seed: u64, hash: u64, switches: Option<Switches>) -> Self {
        let hash = Some(hash);
        Self {
            seed,
            hash,
            switches,
        }
    }

    /// The one that the environment asks for.
    ///
    /// # Panics
    ///
    /// If the variable has another form.
    pub(crate) fn from_environment() -> Option<Self> {
        let text = environment_variable(VARIABLE)?;
        let replay = text.to_str().and_then(Self::parse);
        assert!(
            replay.is_some(),
            "fibre-test: {VARIABLE} is a seed, or seed:hash or seed:hash:switches as a failed run \
             has printed it, and not {text:?}"
        );
        replay
    }

    /// Reads `7:9f3a…:0.3-2`, `7:9f3a…`, or `7`.
    fn parse(text: &str) -> Option<Self> {
        let mut parts = text.splitn(3, ':');
        let seed = parts.next()?.parse().ok()?;
        let hash = match parts.next() {
            Some(hash) => Some(u64::from_str_radix(hash, 16).ok()?),
            None => None,
        };
        let switches = match parts.next() {
            Some(switches) => Some(Switches::parse(switches)?),
            None => None,
        };
        Some(Self {
            seed,
            hash,
            switches,
        })
    }

    /// What is said if the run has had another number than it should.
    pub(crate) fn difference(&self, hash: u64) -> Option<String> {
        let expected = self.hash.filter(|&expected| expected != hash)?;
        Some(format!(
            ", which is another run than {expected:016x}: the program has changed, or something is \
             not under the kit's control"
        ))
    }

    /// The line that a user repeats the run by.
    pub(crate) fn line(&self) -> String {
        let thread = thread::current();
        // Test harnesses name the thread after the test.
        let test = thread.name().filter(|name| *name != "main").unwrap_or("");
        format!("replay: {VARIABLE}={} cargo test {test}", self.value())
            .trim_end()
            .to_owned()
    }

    /// What the variable is set to.
    pub(crate) fn value(&self) -> String {
        let mut value = self.seed.to_string();
        if let Some(hash) = self.hash {
            value.push_str(&format!(":{hash:016x}"));
        }
        if let Some(switches) = &self.switches {
            value.push_str(&format!(":{switches}"));
        }
        value
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_it_writes() {
        let replay = Replay::new(417, 0x9f3a, None);
        let line = replay.line();
        let name = "replay::tests::reads_what_it_writes";
        assert_eq!(
            line,
            format!("replay: FIBRE_TEST=417:0000000000009f3a cargo test {name}")
        );
        let value = line.split(['=', ' ']).nth(2);
        assert_eq!(value.and_then(Replay::parse), Some(replay));
        assert_eq!(Replay::parse("7").map(|replay| replay.seed), Some(7));
        for value in [
            "7",
            "7:0000000000000001",
            "7:0000000000000001:-",
            "7:0000000000000001:0.3-2",
        ] {
            let replay = Replay::parse(value).map(|replay| replay.value());
            assert_eq!(replay.as_deref(), Some(value));
        }
        for nonsense in [
            "", "x", "7:", "7:g", ":1", "-1", "7:1:", "7:1:x", "7::0.3-2", "7:1:-:-",
        ] {
            assert_eq!(Replay::parse(nonsense), None, "{nonsense:?}");
        }
    }

    #[test]
    fn only_another_number_is_a_difference() {
        assert!(Replay::new(1, 2, None).difference(3).is_some());
        assert_eq!(Replay::new(1, 2, None).difference(2), None);
        let seed_only = Replay::parse("1").unwrap();
        assert_eq!(seed_only.difference(3), None);
    }
}
