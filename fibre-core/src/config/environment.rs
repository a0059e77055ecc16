//! The environment variables of the runtime: their names, and what each may be set to.
//!
//! [`check`] compares the whole environment with it before a cluster is started. So an invalid
//! value is an error of the builder, whatever the variable is for. The error has the variable's
//! name, its value, and what would have been right. Readers
//! ([`variable`](crate::internal::variable())) therefore treat an invalid value as "not set";
//! readers that may come before any cluster [`complain`] first.
//!
//! A program with more rights than its caller ignores all of them
//! ([`sys::environment`](crate::sys::environment)).
//!
//! An unknown `FIBRE_*` name is probably a typo. The runtime reports it once. It is not an error,
//! as programs may have such variables of their own.

use crate::choice::{NamedChoice, Names};
use crate::config::observation::{MixupSetting, MonitorSetting, ReportSetting};
use crate::config::policy::{Placement, Revival, StealOrder, Stealing};
use crate::config::pollers::POLLERS;
use crate::config::settings::{
    Moves, Nice, ProcessorCount, SpareCount, StackBytes, ThreadLocals, ZeroOrOne,
};
use crate::config::trace_setting::{TraceChoice, TraceSetting};
use crate::queue::QueueKind;
use crate::sys::{environment, stderr};
use crate::topology::{CpuSet, Pinning};
use std::ffi::OsStr;
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::num::{NonZeroU64, NonZeroUsize};
use std::panic::resume_unwind;
use std::str::FromStr;
use std::sync::Once;

/// The beginning of the names of all variables.
const PREFIX: &str = "FIBRE_";

/// How the name of a test's variable goes on; tests have some that mean nothing here.
const OF_TESTS: &str = "TEST_";

/// A variable.
struct Variable {
    /// The variable's name.
    name: &'static str,
    wanted: Wanted,
    /// Whether a text is a possible value.
    accepts: fn(&str) -> bool,
}

/// The possible values of a variable.
enum Wanted {
    /// In words.
    Words(&'static str),
    /// One of some.
    Names(Names),
}

impl fmt::Display for Wanted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Words(words) => f.write_str(words),
            Self::Names(names) => names.fmt(f),
        }
    }
}

/// A variable with the values of a type.
const fn of<T: FromStr>(name: &'static str, wanted: Wanted) -> Variable {
    Variable {
        name,
        wanted,
        accepts: |text| text.parse::<T>().is_ok(),
    }
}

/// A variable with the values of a type, in these words.
const fn number<T: FromStr>(name: &'static str, wanted: &'static str) -> Variable {
    of::<T>(name, Wanted::Words(wanted))
}

/// A variable that names a value of a choice.
const fn choice<T: NamedChoice>(name: &'static str) -> Variable {
    of::<T>(name, Wanted::Names(T::NAMES))
}

/// A variable that is 0 or 1.
const fn switch(name: &'static str) -> Variable {
    number::<ZeroOrOne>(name, "0 or 1")
}

/// A variable that means something to tests and tools only.
const fn foreign(name: &'static str) -> Variable {
    Variable {
        name,
        wanted: Wanted::Words("anything"),
        accepts: |_| true,
    }
}

/// All variables, as in docs/CONFIGURATION.md.
static VARIABLES: &[Variable] = &[
    number::<ProcessorCount>("FIBRE_PROCESSORS", "a number from 1 to 65534"),
    number::<ProcessorCount>("FIBRE_MAX_PROCESSORS", "a number from 1 to 65534"),
    number::<SpareCount>("FIBRE_MAX_SPARE", "a number from 0 to 1024"),
    Variable {
        name: "FIBRE_PIN",
        wanted: Wanted::Words("none, each, or sets of CPUs as in 0-3;4-7"),
        accepts: |text| match text.parse() {
            Ok(Pinning::Sets(sets)) => !sets.iter().any(CpuSet::is_empty),
            parsed => parsed.is_ok(),
        },
    },
    number::<StackBytes>("FIBRE_STACK_SIZE", "a number of bytes, 2^46 at most"),
    number::<NonZeroUsize>("FIBRE_MAX_FIBRES", "a positive number"),
    switch("FIBRE_WIPE_STACKS"),
    choice::<QueueKind>("FIBRE_QUEUE"),
    choice::<Placement>("FIBRE_PLACEMENT"),
    choice::<Revival>("FIBRE_REVIVAL"),
    switch("FIBRE_SHARING"),
    choice::<StealOrder>("FIBRE_STEAL_ORDER"),
    of::<Stealing>("FIBRE_STEALING", Wanted::Names(Stealing::FORMS)),
    choice::<Moves>("FIBRE_MOVES"),
    choice::<ThreadLocals>("FIBRE_THREAD_LOCALS"),
    number::<u64>("FIBRE_SPIN", "a number of microseconds"),
    number::<u64>("FIBRE_SLICE", "a number of microseconds"),
    number::<u64>("FIBRE_SEED", "a number"),
    Variable {
        name: "FIBRE_POLLER",
        wanted: Wanted::Names(POLLERS),
        accepts: |text| POLLERS.0.contains(&text),
    },
    switch("FIBRE_YIELD_BEFORE_READ"),
    switch("FIBRE_LAZY_REGISTRATION"),
    switch("FIBRE_BATCHED_UNBLOCKING"),
    Variable {
        name: "FIBRE_GUARD",
        wanted: Wanted::Words(GUARD_PROTECT),
        accepts: |text| text == GUARD_PROTECT,
    },
    number::<NonZeroUsize>("FIBRE_BLOCKING_THREADS", "a positive number"),
    number::<u64>("FIBRE_BLOCKING_IDLE", "a number of milliseconds"),
    number::<usize>("FIBRE_FILE_RING", "a number, 0 for none"),
    number::<ProcessorCount>("FIBRE_COMPUTE_PROCESSORS", "a number from 1 to 65534"),
    number::<Nice>("FIBRE_COMPUTE_NICE", "a number from 0 to 19"),
    switch("FIBRE_MAIN"),
    switch("FIBRE_LOCK_PROFILE"),
    switch("FIBRE_WAIT_TIMES"),
    switch("FIBRE_INITIALISERS"),
    switch("FIBRE_DETACHED"),
    switch("FIBRE_PARENTS"),
    Variable {
        name: "FIBRE_QUIT",
        wanted: Wanted::Names(QUIT_ACTIONS),
        accepts: |text| QUIT_ACTIONS.0.contains(&text),
    },
    number::<MonitorSetting>("FIBRE_MONITOR", MonitorSetting::WORDS),
    number::<ReportSetting>("FIBRE_DEADLOCK", ReportSetting::WORDS),
    number::<MixupSetting>("FIBRE_MIXUPS", MixupSetting::WORDS),
    Variable {
        name: "FIBRE_DUMP",
        wanted: Wanted::Words("the name of a file"),
        accepts: |text| !text.is_empty(),
    },
    switch("FIBRE_STATS"),
    number::<NonZeroU64>("FIBRE_SCHEDTRACE", "a positive number of milliseconds"),
    number::<SocketAddr>(
        "FIBRE_METRICS",
        "an address and a port as in 127.0.0.1:9464",
    ),
    number::<TraceChoice>("FIBRE_TRACE", TraceSetting::WORDS),
    Variable {
        name: "FIBRE_DEBUG",
        wanted: Wanted::Names(DEBUG_OUTPUTS),
        accepts: |text| DEBUG_OUTPUTS.0.contains(&text),
    },
    foreign("FIBRE_STRESS_SECONDS"),
    foreign("FIBRE_SHUTDOWNS"),
    foreign("FIBRE_TEST"),
    foreign("FIBRE_CAPI"),
];

/// The possible values of `FIBRE_QUIT`.
const QUIT_ACTIONS: Names = Names(&["dump", "abort", "off"]);

/// The possible values of `FIBRE_DEBUG`.
const DEBUG_OUTPUTS: Names = Names(&["config"]);

/// The possible values of `FIBRE_GUARD`.
const GUARD_PROTECT: &str = "mprotect";

/// What is wrong with the environment, in one line.
#[derive(Debug)]
struct Nonsense(String);

impl fmt::Display for Nonsense {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Nonsense {}

/// Looks at all variables of the environment; on its first call it reports those that are probably
/// misspelt on standard error.
///
/// # Errors
///
/// [`InvalidInput`](io::ErrorKind::InvalidInput) if some have values that they cannot have; it
/// names them.
pub(crate) fn check() -> io::Result<()> {
    let ours = environment::all().filter_map(|(name, value)| {
        let name = name.into_string().ok()?;
        name.starts_with(PREFIX).then_some((name, value))
    });
    let (mut wrong, mut unknown) = (Vec::new(), Vec::new());
    for (name, value) in ours {
        match find(&name) {
            Some(variable) => wrong.extend(complaint(variable, &value)),
            None if name[PREFIX.len()..].starts_with(OF_TESTS) => {}
            None => unknown.push(name),
        }
    }
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        for name in &unknown {
            stderr::warn(format_args!("{}", remark(name)));
        }
    });
    if wrong.is_empty() {
        return Ok(());
    }
    wrong.sort_unstable();
    let nonsense = Nonsense(wrong.join("; "));
    Err(io::Error::new(io::ErrorKind::InvalidInput, nonsense))
}

/// Reports what is wrong with the environment, once, for callers that cannot return an error.
pub fn complain() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        if let Err(error) = check() {
            stderr::warn(format_args!("{error}"));
        }
    });
}

/// Whether an error is about nonsense in the environment.
pub fn is_nonsense(error: &io::Error) -> bool {
    error.get_ref().is_some_and(|inner| inner.is::<Nonsense>())
}

/// Ends a call that was to start the default cluster, and that cannot return an error, if the error
/// is about nonsense in the environment. That is no fault of the program, and a backtrace would
/// only lead there: one line reports it, and the panic hook is left out.
pub(crate) fn end_on_nonsense(error: &io::Error) {
    if is_nonsense(error) {
        let words = format!("cannot start the default cluster: {error}");
        stderr::warn(format_args!("{words}"));
        resume_unwind(Box::new(words));
    }
}

/// The entry of a variable in the table.
fn find(name: &str) -> Option<&'static Variable> {
    VARIABLES.iter().find(|variable| variable.name == name)
}

/// The complaint about a variable with this value, if it cannot have that.
fn complaint(variable: &Variable, value: &OsStr) -> Option<String> {
    let accepted = value.to_str().is_some_and(variable.accepts);
    let Variable { name, wanted, .. } = variable;
    (!accepted).then(|| format!("{name} must be {wanted}, not {value:?}"))
}

/// The complaint about an unknown name.
fn remark(name: &str) -> String {
    let names = VARIABLES.iter().map(|variable| variable.name);
    let nearest = names.min_by_key(|known| distance(name, known));
    match nearest.filter(|known| distance(name, known) <= name.len() / 4) {
        Some(known) => format!("{name} means nothing: is {known} meant?"),
        None => format!("{name} means nothing: docs/CONFIGURATION.md lists the variables that do"),
    }
}

/// How many letters must be changed, put in or left out to turn one word into the other
/// (Levenshtein).
fn distance(one: &str, other: &str) -> usize {
    // The distances of the seen part of `one` from all beginnings of `other`.
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (seen, letter) in one.bytes().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], seen + 1);
        for (place, wanted) in other.bytes().enumerate() {
            let changed = diagonal + usize::from(letter != wanted);
            diagonal = row[place + 1];
            row[place + 1] = changed.min(diagonal + 1).min(row[place] + 1);
        }
    }
    row[other.len()]
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::ffi::OsStrExt;

    #[test]
    fn what_a_value_must_be_is_said() {
        let of = |name, value: &[u8]| complaint(find(name)?, OsStr::from_bytes(value));
        assert_eq!(of("FIBRE_SPIN", b"20"), None);
        assert_eq!(
            of("FIBRE_GUARD", b"none").as_deref(),
            Some("FIBRE_GUARD must be mprotect, not \"none\"")
        );
        assert!(of("FIBRE_SPIN", b"2\xff").is_some());
    }

    #[test]
    fn the_nearest_name_is_suggested() {
        for (typed, meant) in [
            ("PROCESORS", Some("PROCESSORS")),
            ("STACKSIZE", Some("STACK_SIZE")),
            ("MAX_PROCESSOR", Some("MAX_PROCESSORS")),
            ("BLOCKING_THREAD", Some("BLOCKING_THREADS")),
            ("", None),
            ("COLOUR_OF_THE_SHED", None),
        ] {
            let said = remark(&format!("{PREFIX}{typed}"));
            assert_eq!(said.contains("meant?"), meant.is_some(), "{said}");
            assert!(said.contains(meant.unwrap_or(typed)), "{said}");
        }
    }

    #[test]
    fn distances_are_counted_in_letters() {
        for (one, other, letters) in [
            ("", "", 0),
            ("abc", "", 3),
            ("abc", "axcd", 2),
            ("ab", "ba", 2),
        ] {
            assert_eq!(distance(one, other), letters);
            assert_eq!(distance(other, one), letters);
        }
    }
}
