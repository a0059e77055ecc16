//! `FIBRE_DEBUG=config`: the settings in force, and where each came from.

use crate::output::write_error_within;
use fibre_core::internal::{
    Setting, blocking_defaults, compute_defaults, effective_settings, environment_variable,
    variable,
};
use fibre_io::io_settings;
use std::fmt::Write;
use std::time::Duration;

/// How long standard error may take a piece.
const TIMEOUT: Duration = Duration::from_secs(1);

/// What the variables of the whole process stand for that are not set; those that are not here are
/// of a cluster, of I/O, or say themselves what happens.
const DEFAULTS: [(&str, &str); 14] = [
    ("FIBRE_FILE_RING", "8"),
    ("FIBRE_GUARD", "the best there is"),
    ("FIBRE_MAIN", "1"),
    ("FIBRE_LOCK_PROFILE", "0"),
    ("FIBRE_PARENTS", "0"),
    ("FIBRE_QUIT", "dump"),
    ("FIBRE_DUMP", "standard error"),
    ("FIBRE_MONITOR", "off"),
    ("FIBRE_DEADLOCK", "off"),
    ("FIBRE_TRACE", "off"),
    ("FIBRE_STATS", "0"),
    ("FIBRE_SCHEDTRACE", "off"),
    ("FIBRE_METRICS", "off"),
    ("FIBRE_DEBUG", "off"),
];

/// The variables with a default that depends on the build.
const BY_BUILD: [&str; 3] = ["FIBRE_WAIT_TIMES", "FIBRE_INITIALISERS", "FIBRE_DETACHED"];

/// Writes the settings of the first cluster and of the process to standard error, if `FIBRE_DEBUG`
/// asks for them. The environment has been checked.
pub(crate) fn begin() {
    if variable::<String>("FIBRE_DEBUG").is_none() {
        return;
    }
    if let Some((cluster, mut settings, word)) = effective_settings() {
        settings.extend(io_settings(word));
        let mut text = table(&format!("settings of cluster {cluster:?}"), &settings);
        text.push_str(&table("settings of the process", &of_process()));
        write_error_within(&text, TIMEOUT);
    }
}

/// The settings of the whole process.
fn of_process() -> Vec<Setting> {
    let (threads, idle) = blocking_defaults();
    let (processors, nice) = compute_defaults();
    let build = u8::from(cfg!(debug_assertions)).to_string();
    let mixups = if cfg!(debug_assertions) {
        "report"
    } else {
        "off"
    };
    let numbers = [
        ("FIBRE_BLOCKING_THREADS", threads.to_string()),
        ("FIBRE_BLOCKING_IDLE", idle.as_millis().to_string()),
        ("FIBRE_COMPUTE_PROCESSORS", processors.to_string()),
        ("FIBRE_COMPUTE_NICE", nice.to_string()),
        ("FIBRE_MIXUPS", mixups.to_owned()),
    ];
    let words = DEFAULTS.map(|(name, default)| (name, default.to_owned()));
    let by_build = BY_BUILD.map(|name| (name, build.clone()));
    let all = numbers.into_iter().chain(words).chain(by_build);
    all.map(|(variable, default)| {
        // The environment has been checked: what is set is possible.
        let value = environment_variable(variable)
            .and_then(|value| value.into_string().ok())
            .unwrap_or(default);
        let same = value.clone();
        Setting::new(variable, value, &same)
    })
    .collect()
}

/// A table with a line for each setting.
fn table(head: &str, settings: &[Setting]) -> String {
    let mut text = format!("fibre: {head}\n");
    for setting in settings {
        let Setting {
            variable,
            value,
            origin,
            ..
        } = setting;
        // A string takes it.
        let _ = writeln!(text, "  {variable:<26} {value:<20} {origin}");
    }
    text
}
