//! Process-wide switches for users that look for a fault.
//!
//! A switch has the value of an environment variable until a call changes it. Code off the fast
//! paths reads it with one relaxed load; the first read gets the variable.

use crate::config::environment;
use crate::config::settings::switch;
use std::sync::atomic::{AtomicU8, Ordering};

/// The variable has not been read yet.
const UNKNOWN: u8 = 0;
const OFF: u8 = 1;
const ON: u8 = 2;

/// A switch.
#[derive(Debug)]
pub struct DebugFlag {
    state: AtomicU8,
    /// The environment variable.
    variable: &'static str,
    /// Its value if the variable is not set.
    default: bool,
    /// The function that is called when the process exits, if the variable has switched it on.
    at_exit: Option<extern "C" fn()>,
}

impl DebugFlag {
    /// A switch that is off unless the variable is `1`.
    #[must_use]
    pub const fn new(variable: &'static str) -> Self {
        Self {
            state: AtomicU8::new(UNKNOWN),
            variable,
            default: false,
            at_exit: None,
        }
    }

    /// Turns it on by default in builds with debug assertions.
    #[must_use]
    pub const fn on_in_debug_builds(mut self) -> Self {
        self.default = cfg!(debug_assertions);
        self
    }

    /// Calls `report` when the process exits, if the environment has switched it on. Other threads
    /// may run meanwhile; and the exiting process may be a forked child.
    #[must_use]
    pub const fn with_report(mut self, report: extern "C" fn()) -> Self {
        self.at_exit = Some(report);
        self
    }

    /// Whether the switch is on. If the variable is neither `0` nor `1`, that is reported, and the
    /// switch has its default.
    #[inline]
    pub fn is_on(&'static self) -> bool {
        match self.state.load(Ordering::Relaxed) {
            UNKNOWN => self.ask(),
            state => state == ON,
        }
    }

    /// Whether the switch is on, if it has been asked before; else it counts as off.
    #[inline]
    pub fn is_known_to_be_on(&self) -> bool {
        self.state.load(Ordering::Relaxed) == ON
    }

    /// Sets the switch from now on, whatever the environment says.
    pub fn set(&self, on: bool) {
        self.state.store(state(on), Ordering::Relaxed);
    }

    /// Reads the variable.
    #[cold]
    fn ask(&'static self) -> bool {
        let told = switch(self.variable);
        if told.is_none() {
            environment::complain();
        }
        let on = told.unwrap_or(self.default);
        let asked =
            self.state
                .compare_exchange(UNKNOWN, state(on), Ordering::Relaxed, Ordering::Relaxed);
        match asked {
            Err(now) => now == ON,
            Ok(_) => {
                if told == Some(true)
                    && let Some(report) = self.at_exit
                {
                    // SAFETY: a function that does not unwind. If there is no room for it there is
                    // no report.
                    let _ = unsafe { libc::atexit(report) };
                }
                on
            }
        }
    }
}

/// The value of a switch that is on, or off.
fn state(on: bool) -> u8 {
    if on { ON } else { OFF }
}
