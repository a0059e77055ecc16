//! The settings that hold, and where each came from.
//!
//! If a setting differs from what the environment would give, the program chose it. Otherwise it
//! comes from the variable, if that is set, or else from the default. A program that chooses the
//! default value looks like one that chooses nothing.

use super::register;
use crate::config::settings::{Moves, Settings, ThreadLocals, default_processors, variable};
use crate::scheduler::domain::Domain;
use crate::sys::environment::environment_variable;
use crate::topology::Pinning;
use std::fmt::{self, Display};
use std::num::NonZeroUsize;

/// Where a setting came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// Nothing has been chosen.
    Default,
    /// Its environment variable.
    Variable,
    /// The program.
    Program,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Default => "default",
            Self::Variable => "variable",
            Self::Program => "program",
        })
    }
}

/// A setting that holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setting {
    /// The name of its environment variable.
    pub variable: &'static str,
    /// Its value, as the variable has it where that is possible.
    pub value: String,
    /// Where it came from.
    pub origin: Origin,
}

impl Setting {
    /// A setting with a value, where the environment and the defaults would have `expected`.
    pub fn new<T: Display>(variable: &'static str, value: T, expected: &T) -> Self {
        let value = value.to_string();
        let origin = if value != expected.to_string() {
            Origin::Program
        } else if environment_variable(variable).is_some() {
            Origin::Variable
        } else {
            Origin::Default
        };
        Self {
            variable,
            value,
            origin,
        }
    }
}

/// The settings of the first cluster that there is, its name, and the word that a layer above has
/// chosen for it. `None`: there is no cluster.
#[must_use]
pub fn effective_settings() -> Option<(String, Vec<Setting>, u32)> {
    let running = register::all().into_iter().next()?;
    let settings = &running.domain.settings;
    Some((settings.name.clone(), of(&running.domain), settings.above))
}

/// A switch as its variable has it.
fn switch(on: bool) -> u8 {
    u8::from(on)
}

/// The kind of thread-locals as its variable has it.
fn kind(settings: &Settings) -> ThreadLocals {
    match settings.own_thread_locals {
        true => ThreadLocals::Own,
        false => ThreadLocals::Shared,
    }
}

/// A limit as its variable has it.
fn limit(most: Option<NonZeroUsize>) -> String {
    most.map_or_else(|| "no limit".to_owned(), |most| most.to_string())
}

/// The settings of a cluster.
fn of(domain: &Domain) -> Vec<Setting> {
    let (held, told) = (&domain.settings, Settings::from_environment());
    let spare = |settings: &Settings| settings.max_spare.unwrap_or_default();
    // Unless a number has been chosen, it follows from others.
    let told_spare = told.max_spare.unwrap_or_else(|| spare(held));
    let moves = if !held.moves_started {
        Moves::Never
    } else if held.force_migration {
        Moves::Forced
    } else {
        Moves::Stolen
    };
    // A cluster has no moves if its builder has not allowed any, whatever the variable says.
    let told_moves = if held.moves_started {
        Moves::from_environment()
    } else {
        Moves::Never
    };
    let pinned_to = held.places.cpus();
    let pinning = |cpus: Option<usize>| match cpus {
        Some(cpus) => format!("to {cpus} CPUs"),
        None => "none".to_owned(),
    };
    let told_pinning = match variable::<Pinning>("FIBRE_PIN").unwrap_or_default() {
        Pinning::None => None,
        // What the machine has made of it.
        Pinning::Each | Pinning::Sets(_) => pinned_to,
    };
    let micros = |time: std::time::Duration| time.as_micros();
    let most = |settings: &Settings| settings.max_processors.max(domain.regular());
    let seed =
        |seed: Option<u64>| seed.map_or_else(|| "differs".to_owned(), |seed| seed.to_string());
    vec![
        Setting::new("FIBRE_PROCESSORS", domain.regular(), &default_processors()),
        Setting::new("FIBRE_MAX_PROCESSORS", most(held), &most(&told)),
        Setting::new("FIBRE_MAX_SPARE", spare(held), &told_spare),
        Setting::new("FIBRE_PIN", pinning(pinned_to), &pinning(told_pinning)),
        Setting::new("FIBRE_STACK_SIZE", held.stack_size, &told.stack_size),
        Setting::new(
            "FIBRE_MAX_FIBRES",
            limit(held.max_fibres),
            &limit(told.max_fibres),
        ),
        Setting::new(
            "FIBRE_WIPE_STACKS",
            switch(held.wipe_stacks),
            &switch(told.wipe_stacks),
        ),
        Setting::new("FIBRE_SPIN", micros(held.spin), &micros(told.spin)),
        Setting::new("FIBRE_SLICE", micros(held.slice), &micros(told.slice)),
        Setting::new("FIBRE_SEED", seed(held.seed), &seed(told.seed)),
        Setting::new("FIBRE_QUEUE", held.queue, &told.queue),
        Setting::new("FIBRE_PLACEMENT", held.placement, &told.placement),
        Setting::new("FIBRE_REVIVAL", held.revival, &told.revival),
        Setting::new("FIBRE_SHARING", switch(held.sharing), &switch(told.sharing)),
        Setting::new("FIBRE_STEAL_ORDER", held.steal_order, &told.steal_order),
        Setting::new("FIBRE_STEALING", held.stealing, &told.stealing),
        Setting::new("FIBRE_MOVES", moves, &told_moves),
        Setting::new("FIBRE_THREAD_LOCALS", kind(held), &kind(&told)),
    ]
}
