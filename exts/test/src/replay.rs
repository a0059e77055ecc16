//! The variable that repeats a failed run.

use fibre_core::internal::environment_variable;
use std::thread;

/// The variable.
const VARIABLE: &str = "FIBRE_TEST";

/// A run to be repeated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Replay {
    pub(crate) seed: u64,
    /// The number of its trace, unless only the seed is given.
    hash: Option<u64>,
}

impl Replay {
    /// The run with this seed and this number of its trace.
    pub(crate) fn new(seed: u64, hash: u64) -> Self {
        let hash = Some(hash);
        Self { seed, hash }
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
            "fibre-test: {VARIABLE} is a seed, or seed:hash as a failed run has printed it, and not \
             {text:?}"
        );
        replay
    }

    /// Reads `7:9f3a…`, or `7`.
    fn parse(text: &str) -> Option<Self> {
        let (seed, hash) = match text.split_once(':') {
            Some((seed, hash)) => (seed, Some(u64::from_str_radix(hash, 16).ok()?)),
            None => (text, None),
        };
        let seed = seed.parse().ok()?;
        Some(Self { seed, hash })
    }

    /// What is said if the run has had another number than it should.
    pub(crate) fn difference(self, hash: u64) -> Option<String> {
        let expected = self.hash.filter(|&expected| expected != hash)?;
        Some(format!(
            ", which is another run than {expected:016x}: the program has changed, or something is \
             not under the kit's control"
        ))
    }

    /// The line that a user repeats the run by.
    pub(crate) fn line(self) -> String {
        let thread = thread::current();
        // Test harnesses name the thread after the test.
        let test = thread.name().filter(|name| *name != "main").unwrap_or("");
        let Self { seed, hash } = self;
        let hash = hash.map_or(String::new(), |hash| format!(":{hash:016x}"));
        format!("replay: {VARIABLE}={seed}{hash} cargo test {test}")
            .trim_end()
            .to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_it_writes() {
        let replay = Replay::new(417, 0x9f3a);
        let line = replay.line();
        let name = "replay::tests::reads_what_it_writes";
        assert_eq!(
            line,
            format!("replay: FIBRE_TEST=417:0000000000009f3a cargo test {name}")
        );
        let value = line.split(['=', ' ']).nth(2);
        assert_eq!(value.and_then(Replay::parse), Some(replay));
        assert_eq!(Replay::parse("7").map(|replay| replay.seed), Some(7));
        for nonsense in ["", "x", "7:", "7:g", ":1", "-1"] {
            assert_eq!(Replay::parse(nonsense), None, "{nonsense:?}");
        }
    }

    #[test]
    fn only_another_number_is_a_difference() {
        assert!(Replay::new(1, 2).difference(3).is_some());
        assert_eq!(Replay::new(1, 2).difference(2), None);
        let seed_only = Replay::parse("1").unwrap();
        assert_eq!(seed_only.difference(3), None);
    }
}
