//! `FIBRE_DEBUG=config`: what holds, and where it came from.

use super::alone;
use fibre::{Cluster, IoChoices, Poller};
use std::time::Duration;

/// The names of all variables that mean something to programs, by the document that lists them.
fn variables() -> Vec<String> {
    let document = include_str!("../../../docs/CONFIGURATION.md");
    let rows = document
        .lines()
        .filter_map(|line| line.strip_prefix("| `FIBRE_"));
    rows.map(|row| format!("FIBRE_{}", row.split_once('`').unwrap().0))
        .collect()
}

/// The value and the origin that are told of a variable.
#[track_caller]
fn told<'a>(errors: &'a str, variable: &str) -> (&'a str, &'a str) {
    let lines = errors.lines().filter_map(|line| line.strip_prefix("  "));
    let mut its = lines.filter(|line| line.split(' ').next() == Some(variable));
    let line = its
        .next()
        .unwrap_or_else(|| panic!("{variable} is missing: {errors}"));
    assert_eq!(its.next(), None, "{variable} comes twice");
    let (value, origin) = line[variable.len()..].trim().rsplit_once(' ').unwrap();
    (value.trim(), origin)
}

#[test]
fn defaults_are_told() {
    let environment = [
        ("FIBRE_DEBUG", "config"),
        ("FIBRE_PROCESSORS", "1"),
        // The lane `test` has set it.
        ("FIBRE_MIXUPS", "off"),
    ];
    let Some(errors) = alone(&environment, || fibre::spawn(|| ()).join().unwrap()) else {
        return;
    };
    assert!(
        errors.contains("fibre: settings of cluster \"fibre\"\n"),
        "{errors}"
    );
    for variable in variables() {
        let (value, origin) = told(&errors, &variable);
        let set = environment.iter().find(|(name, _)| *name == variable);
        let wanted = if set.is_some() { "variable" } else { "default" };
        assert_eq!(origin, wanted, "{variable}");
        assert!(set.is_none_or(|(_, is)| *is == value), "{variable} {value}");
    }
    for (variable, value) in [
        ("FIBRE_QUEUE", "nemesis"),
        ("FIBRE_STACK_SIZE", "262144"),
        ("FIBRE_SPIN", "20"),
        ("FIBRE_POLLER", "processors"),
        ("FIBRE_MAX_FIBRES", "no limit"),
        ("FIBRE_MOVES", "never"),
        ("FIBRE_BLOCKING_THREADS", "512"),
        ("FIBRE_FILE_RING", "8"),
        ("FIBRE_QUIT", "dump"),
    ] {
        assert_eq!(told(&errors, variable).0, value, "{variable}");
    }
}

#[test]
fn choices_of_program_and_environment_are_told_apart() {
    let environment = [
        ("FIBRE_DEBUG", "config"),
        ("FIBRE_SPIN", "5"),
        ("FIBRE_SLICE", "7"),
        ("FIBRE_POLLER", "shared"),
        ("FIBRE_BLOCKING_THREADS", "3"),
        ("FIBRE_MAX_SPARE", "2"),
        ("FIBRE_PIN", "each"),
    ];
    let program = || {
        let builder = Cluster::builder().name("mine").processors(3).max_fibres(9);
        let builder = builder
            .slice(Duration::from_micros(11))
            .poller(Poller::Fibre);
        builder.build().unwrap().stop();
    };
    let Some(errors) = alone(&environment, program) else {
        return;
    };
    assert!(
        errors.contains("fibre: settings of cluster \"mine\"\n"),
        "{errors}"
    );
    for (variable, value, origin) in [
        ("FIBRE_PROCESSORS", "3", "program"),
        ("FIBRE_MAX_FIBRES", "9", "program"),
        ("FIBRE_SLICE", "11", "program"),
        ("FIBRE_POLLER", "fibre", "program"),
        ("FIBRE_SPIN", "5", "variable"),
        ("FIBRE_BLOCKING_THREADS", "3", "variable"),
        ("FIBRE_MAX_SPARE", "2", "variable"),
        ("FIBRE_LAZY_REGISTRATION", "1", "default"),
    ] {
        assert_eq!(told(&errors, variable), (value, origin), "{variable}");
    }
    assert_eq!(told(&errors, "FIBRE_PIN").1, "variable");
}
