//! Every call of a lock or a counter that waits has its four forms, as the guide says.
//!
//! `x`, `try_x`, `x_timeout` and `x_within` are methods of one file. A file that has `try_x` or
//! `x_within` beside `x` must have all of them.

use std::collections::BTreeMap;

use syn::{ImplItem, Item, Visibility};

use crate::tidy::source::{Source, Violation};

/// The files of what is taken, and may be there at once. What only waits for others to do something
/// has no form that tries.
const PLACES: [&str; 6] = [
    "fibre-sync/src/mutex.rs",
    "fibre-sync/src/owned.rs",
    "fibre-sync/src/permit.rs",
    "fibre-sync/src/rw_lock.rs",
    "fibre-sync/src/semaphore.rs",
    "fibre-sync/src/binary_semaphore.rs",
];

/// Checks the files of [`PLACES`].
pub(crate) fn check(sources: &[Source]) -> Vec<Violation> {
    let mut violations = Vec::new();
    for place in PLACES {
        let Some(source) = sources.iter().find(|source| source.path == place) else {
            let text = "is named by the rule of the four forms, and is not there".into();
            violations.push(Violation {
                place: place.into(),
                line: 0,
                text,
            });
            continue;
        };
        violations.extend(missing(source));
    }
    violations
}

/// The forms that a file lacks.
fn missing(source: &Source) -> Vec<Violation> {
    let methods = methods(source);
    let mut violations = Vec::new();
    for (base, line) in &methods {
        let forms = [
            format!("try_{base}"),
            format!("{base}_timeout"),
            format!("{base}_within"),
        ];
        let has = |form: &String| methods.contains_key(form);
        if forms.iter().any(has) {
            let absent = forms.iter().filter(|form| !has(form));
            violations.extend(absent.map(|form| {
                source.violation(*line, format!("`{base}` has other forms, but no `{form}`"))
            }));
        }
    }
    // A form of a call that does not exist is a slip of the pen.
    for (name, line) in &methods {
        let of = name.strip_prefix("try_");
        let base = of.or_else(|| name.strip_suffix("_within"));
        let base = base.or_else(|| name.strip_suffix("_timeout"));
        if let Some(base) = base.filter(|base| !methods.contains_key(*base)) {
            let text = format!("`{name}` is a form of `{base}`, which is not there");
            violations.push(source.violation(*line, text));
        }
    }
    violations
}

/// The public methods of a file, with their lines.
fn methods(source: &Source) -> BTreeMap<String, usize> {
    let mut methods = BTreeMap::new();
    for item in &source.syntax.items {
        let Item::Impl(implementation) = item else {
            continue;
        };
        for item in &implementation.items {
            if let ImplItem::Fn(method) = item
                && matches!(method.vis, Visibility::Public(_))
            {
                let name = &method.sig.ident;
                methods.insert(name.to_string(), name.span().start().line);
            }
        }
    }
    methods
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;

    /// What is missing in a file with these methods.
    fn texts(methods: &[&str]) -> Vec<String> {
        let methods = methods
            .iter()
            .map(|name| format!("pub fn {name}(&self) {{}}\n"));
        let text = format!("//! D.\nimpl X {{\n{}}}\n", methods.collect::<String>());
        let source = Source::parse(PLACES[0], &text).unwrap();
        missing(&source)
            .into_iter()
            .map(|found| found.text)
            .collect()
    }

    #[test]
    fn a_form_that_is_missing_fails() {
        let all = ["lock", "try_lock", "lock_timeout", "lock_within"];
        assert_eq!(texts(&all), [""; 0]);
        for left_out in 0..all.len() {
            let others: Vec<_> = (0..4)
                .filter(|at| *at != left_out)
                .map(|at| all[at])
                .collect();
            assert!(!texts(&others).is_empty(), "{others:?}");
        }
    }

    #[test]
    fn calls_that_do_not_wait_need_no_forms() {
        assert_eq!(texts(&["new", "release"]), [""; 0]);
    }

    #[test]
    fn a_file_that_is_not_found_fails() {
        assert_eq!(check(&[]).len(), PLACES.len());
    }
}
