//! Signals by number and name.

use std::fmt;

/// A signal.
///
/// ```
/// use fibre::signal::{SIGTERM, Signal};
///
/// assert_eq!(SIGTERM.as_raw(), 15);
/// assert_eq!(Signal::from_raw(15), Some(SIGTERM));
/// assert_eq!(SIGTERM.to_string(), "SIGTERM");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Signal(i32);

/// The number of signals plus one, as the kernel counts from one.
pub const SIGNALS: usize = 65;

impl Signal {
    /// The signal of this number, 1 to 64.
    #[must_use]
    pub const fn from_raw(number: i32) -> Option<Self> {
        if 0 < number && number < SIGNALS as i32 {
            Some(Self(number))
        } else {
            None
        }
    }

    /// Its number.
    #[must_use]
    pub const fn as_raw(self) -> i32 {
        self.0
    }

    /// Its place in a table of [`SIGNALS`].
    pub(super) const fn index(self) -> usize {
        self.0.unsigned_abs() as usize
    }

    /// Its name, if it has one.
    #[must_use]
    pub fn name(self) -> Option<&'static str> {
        let named = NAMES.iter().find(|(signal, _)| *signal == self);
        named.map(|(_, name)| *name)
    }
}

impl fmt::Display for Signal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => f.write_str(name),
            None => write!(f, "signal {}", self.0),
        }
    }
}

impl fmt::Debug for Signal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Constants for signals, and a table of their names.
macro_rules! named {
    ($($name:ident: $meaning:literal,)*) => {
        $(
            #[doc = $meaning]
            pub const $name: Signal = Signal(libc::$name);
        )*

        /// All that have names.
        const NAMES: &[(Signal, &str)] = &[$(($name, stringify!($name)),)*];
    };
}

named! {
    SIGHUP: "The terminal is gone; to servers: read the configuration again.",
    SIGINT: "Ctrl-C.",
    SIGQUIT: "Ctrl-\\.",
    SIGUSR1: "For users.",
    SIGUSR2: "For users.",
    SIGPIPE: "A write that nobody can read.",
    SIGALRM: "A timer of `alarm` or `setitimer`.",
    SIGTERM: "A request to end.",
    SIGCHLD: "A child has ended or stopped.",
    SIGCONT: "Goes on after a stop.",
    SIGTSTP: "Ctrl-Z.",
    SIGTTIN: "A read from the terminal by a background process.",
    SIGTTOU: "A write to the terminal by a background process.",
    SIGURG: "Urgent data.",
    SIGXCPU: "Nearly out of CPU time.",
    SIGVTALRM: "A timer of the process' CPU time.",
    SIGPROF: "A timer of the process' and the kernel's CPU time.",
    SIGWINCH: "The terminal has another size.",
    SIGIO: "A descriptor is ready.",
    SIGPWR: "The power fails.",
    SIGKILL: "The end. It can be sent, not waited for.",
    SIGSTOP: "A stop. It can be sent, not waited for.",
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_names() {
        assert_eq!(SIGINT.name(), Some("SIGINT"));
        assert_eq!(
            [0, -1, 65, i32::MAX].map(Signal::from_raw),
            [None, None, None, None]
        );
        let last = Signal::from_raw(64);
        assert_eq!(
            last.map(|last| last.to_string()).as_deref(),
            Some("signal 64")
        );
        assert!(last.is_some_and(|last| last.index() < SIGNALS));
    }
}
