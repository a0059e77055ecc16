//! The settings of I/O, from a cluster's builder or else the environment.
//!
//! With each cluster, fibre-core keeps one word for the layers above; this module defines its bits.
//! A field that is zero has not been chosen, and then the environment decides.

use fibre_core::ClusterBuilder;
use fibre_core::internal::{POLLERS, Setting, complain, io_config, switch, variable};
use std::fmt;
use std::str::FromStr;
use std::sync::OnceLock;

/// Makes [`Poller`] from fibre-core's table.
macro_rules! poller {
    ($($variant:ident, $name:literal, $_start:path, $about:literal;)*) => {
        /// The poller of a cluster, which waits in the kernel for its descriptors. Source: thesis,
        /// section 3.4.3, for all but the first two.
        ///
        /// The environment variable takes their names. docs/decisions/0020 compares their costs.
        ///
        /// ```
        /// use fibre::Poller;
        ///
        /// assert_eq!("thread-sleep".parse(), Ok(Poller::ThreadSleep));
        /// assert_eq!(Poller::default().to_string(), "processors");
        /// ```
        #[non_exhaustive]
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Poller {
            $(
                #[doc = concat!("`", $name, "`: ", $about)]
                $variant,
            )*
        }

        impl Poller {
            /// All pollers.
            pub const ALL: [Self; POLLERS.0.len()] = [$(Self::$variant),*];
        }
    };
}

fibre_core::pollers!(poller);

impl Default for Poller {
    fn default() -> Self {
        Self::Processors
    }
}

/// The error of a text that names no [`Poller`]; its message lists the names.
///
/// ```
/// let error = "epoll".parse::<fibre::Poller>().unwrap_err();
/// assert!(error.to_string().starts_with("a poller is processors, shared"));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnknownPoller;

impl fmt::Display for UnknownPoller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a poller is {POLLERS}")
    }
}

impl std::error::Error for UnknownPoller {}

impl fmt::Display for Poller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(POLLERS.0[*self as usize])
    }
}

impl FromStr for Poller {
    type Err = UnknownPoller;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let place = POLLERS.0.iter().position(|name| *name == text);
        place.map(|place| Self::ALL[place]).ok_or(UnknownPoller)
    }
}

/// The I/O settings of a cluster that is being built.
///
/// ```
/// use fibre::{IoChoices, Poller};
///
/// let builder = fibre::Cluster::builder().poller(Poller::Fibre);
/// let cluster = builder.yield_before_read(false).build()?;
/// cluster.stop();
/// # Ok::<(), std::io::Error>(())
/// ```
pub trait IoChoices: Sized {
    /// Which poller waits for descriptors. Default: [`Poller::Processors`], or the environment
    /// variable `FIBRE_POLLER`.
    #[must_use]
    fn poller(self, poller: Poller) -> Self;

    /// Whether a fibre lets others run before it reads. The data may have come when it runs again,
    /// and no reader keeps the processor for itself. Default: yes, or the environment variable
    /// `FIBRE_YIELD_BEFORE_READ` (`0` or `1`). Source: thesis, section 3.4.2.
    #[must_use]
    fn yield_before_read(self, yields: bool) -> Self;

    /// Whether a descriptor is registered with epoll only when a call first has to wait for it,
    /// not when it is first used. Default: yes, or the environment variable
    /// `FIBRE_LAZY_REGISTRATION` (`0` or `1`). Source: thesis, section 3.4.2.
    #[must_use]
    fn lazy_registration(self, lazy: bool) -> Self;

    /// Whether all fibres with events are queued before processors are woken for them. Default: no,
    /// or the environment variable `FIBRE_BATCHED_UNBLOCKING` (`0` or `1`). Source: thesis, section
    /// 3.4.2.
    #[must_use]
    fn batched_unblocking(self, batched: bool) -> Self;
}

impl IoChoices for ClusterBuilder {
    fn poller(self, poller: Poller) -> Self {
        self.io_config(|word| word & !POLLER | (poller as u32 + 1))
    }

    fn yield_before_read(self, yields: bool) -> Self {
        self.io_config(|word| YIELD.set(word, yields))
    }

    fn lazy_registration(self, lazy: bool) -> Self {
        self.io_config(|word| LAZY.set(word, lazy))
    }

    fn batched_unblocking(self, batched: bool) -> Self {
        self.io_config(|word| BATCHED.set(word, batched))
    }
}

/// The bits of the word with the poller's place in [`Poller::ALL`], counted from one.
const POLLER: u32 = 0xF;

/// Two bits of the word: 0 leaves the choice to the environment, 1 is no, 2 is yes.
#[derive(Clone, Copy)]
struct Field(u32);

/// See [`IoChoices::yield_before_read`].
const YIELD: Field = Field(4);
/// See [`IoChoices::lazy_registration`].
const LAZY: Field = Field(6);
/// See [`IoChoices::batched_unblocking`].
const BATCHED: Field = Field(8);

impl Field {
    /// Changes the field in a word.
    fn set(self, word: u32, on: bool) -> u32 {
        word & !(3 << self.0) | (1 + u32::from(on)) << self.0
    }

    /// Reads the field; `default` where it has not been chosen.
    #[inline]
    fn get(self, word: u32, default: fn(&Defaults) -> bool) -> bool {
        match word >> self.0 & 3 {
            0 => default(Defaults::get()),
            chosen => chosen == 2,
        }
    }
}

/// The choices that the environment makes.
struct Defaults {
    poller: Poller,
    yields: bool,
    lazy: bool,
    batched: bool,
}

impl Defaults {
    /// Reads the environment once.
    #[inline]
    fn get() -> &'static Self {
        static DEFAULTS: OnceLock<Defaults> = OnceLock::new();
        DEFAULTS.get_or_init(|| {
            complain();
            Self {
                poller: variable("FIBRE_POLLER").unwrap_or_default(),
                yields: switch("FIBRE_YIELD_BEFORE_READ").unwrap_or(true),
                lazy: switch("FIBRE_LAZY_REGISTRATION").unwrap_or(true),
                batched: switch("FIBRE_BATCHED_UNBLOCKING").unwrap_or(false),
            }
        })
    }
}

/// The poller that a word chooses.
pub(crate) fn poller_of(word: u32) -> Poller {
    match (word & POLLER).checked_sub(1) {
        Some(place) => Poller::ALL[place as usize],
        None => Defaults::get().poller,
    }
}

/// Whether a word chooses batched unblocking.
pub(crate) fn is_batched(word: u32) -> bool {
    BATCHED.get(word, |defaults| defaults.batched)
}

/// Whether the caller's cluster yields before reads.
#[inline]
pub(crate) fn yields_before_read() -> bool {
    YIELD.get(io_config(), |defaults| defaults.yields)
}

/// Whether the caller's cluster registers descriptors only when a call has to wait.
#[inline]
pub(crate) fn registers_lazily() -> bool {
    LAZY.get(io_config(), |defaults| defaults.lazy)
}

/// The choices about I/O that hold in a cluster with this word, and where each came from. For
/// reports.
#[doc(hidden)]
#[must_use]
pub fn io_settings(word: u32) -> Vec<Setting> {
    let told = Defaults::get();
    let number = |field: Field, default: fn(&Defaults) -> bool| {
        (u8::from(field.get(word, default)), u8::from(default(told)))
    };
    let [yields, lazy, batched] = [
        number(YIELD, |defaults| defaults.yields),
        number(LAZY, |defaults| defaults.lazy),
        number(BATCHED, |defaults| defaults.batched),
    ];
    vec![
        Setting::new("FIBRE_POLLER", poller_of(word), &told.poller),
        Setting::new("FIBRE_YIELD_BEFORE_READ", yields.0, &yields.1),
        Setting::new("FIBRE_LAZY_REGISTRATION", lazy.0, &lazy.1),
        Setting::new("FIBRE_BATCHED_UNBLOCKING", batched.0, &batched.1),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_means_its_poller() {
        for (place, poller) in Poller::ALL.into_iter().enumerate() {
            assert_eq!(poller.to_string().parse(), Ok(poller));
            assert_eq!(poller as usize, place);
        }
        assert_eq!("Fibre".parse::<Poller>(), Err(UnknownPoller));
    }

    #[test]
    fn choices_do_not_disturb_each_other() {
        let word = YIELD.set(LAZY.set(Poller::ThreadTimeout as u32 + 1, false), true);
        assert_eq!(poller_of(word), Poller::ThreadTimeout);
        assert!(YIELD.get(word, |_| false) && !LAZY.get(word, |_| true));
        assert!(BATCHED.get(word, |_| true) && !BATCHED.get(word, |_| false));
        let word = BATCHED.set(YIELD.set(word, false), true);
        assert!(!YIELD.get(word, |_| true) && !LAZY.get(word, |_| true));
        assert!(BATCHED.get(word, |_| false));
        assert_eq!(poller_of(word), Poller::ThreadTimeout);
        let shown = io_settings(word);
        let values = shown.iter().map(|setting| setting.value.as_str());
        assert!(values.eq(["thread-timeout", "0", "0", "1"]), "{shown:?}");
    }
}
