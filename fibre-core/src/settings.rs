//! Every choice of a cluster as a value, and the environment variables that set defaults.
//!
//! A builder begins with [`Settings::from_environment`] and changes what its methods are
//! called for; from then on the values are fixed. A variable that is set to nonsense is an
//! error with a clear word, never ignored.

use crate::stack::{DEFAULT_STACK_SIZE, round_size};
use std::num::NonZeroUsize;
use std::str::FromStr;

/// Room for so many processors, unless the user says otherwise.
const DEFAULT_MAX_PROCESSORS: usize = 64;

/// What the processors of a cluster have to know.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Usable bytes of stacks, unless a fibre says otherwise.
    pub stack_size: usize,
    /// How many processors there is room for.
    pub max_processors: usize,
    /// Whether each wake-up of a started fibre lands on another processor.
    pub force_migration: bool,
}

impl Settings {
    /// The defaults, as the environment has them.
    ///
    /// # Panics
    ///
    /// If a variable is set to something that it cannot mean.
    pub fn from_environment() -> Self {
        Self {
            stack_size: variable("FIBRE_STACK_SIZE", "a number of bytes")
                .map_or(DEFAULT_STACK_SIZE, round_size),
            max_processors: variable("FIBRE_MAX_PROCESSORS", "a positive number")
                .map_or(DEFAULT_MAX_PROCESSORS, NonZeroUsize::get),
            force_migration: false,
        }
    }
}

/// The value of an environment variable, if it is set; `wanted` says what it must be.
///
/// # Panics
///
/// If it is something else.
pub fn variable<T: FromStr>(name: &str, wanted: &str) -> Option<T> {
    let text = std::env::var_os(name)?;
    match text.to_str().map(str::parse) {
        Some(Ok(value)) => Some(value),
        _ => panic!("{name} must be {wanted}, not {text:?}"),
    }
}
