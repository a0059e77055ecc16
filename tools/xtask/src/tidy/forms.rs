//! Every call that waits has its forms, as the guide says.
//!
//! `x`, `try_x`, `x_timeout` and `x_within` are methods, or functions, of one file. In the files of
//! [`PLACES`], which are about locks and counters, one that has `try_x` or `x_within` beside `x`
//! must have all of them. In all files of [`CRATES`], a call with one of the limited forms has the
//! other one, and a call that says that it blocks the fibre has both. In fibre-io, `x_until` may
//! stand for `x_within`. What has no such forms is listed in [`WITHOUT`], for a reason.

use std::collections::BTreeMap;

use syn::{Attribute, Expr, ImplItem, Item, Lit, Meta, Visibility};

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

/// The crates with calls that wait.
const CRATES: [&str; 6] = [
    "fibre-core/src",
    "fibre-sync/src",
    "fibre-io/src",
    "exts/actors/src",
    "exts/events/src",
    "exts/tasks/src",
];

/// Calls, or all calls of a file or folder (`*`), that lack a form, and why.
const WITHOUT: &[(&str, &str, &str)] = &[
    // Not waits of one thing.
    (
        "fibre-core/src/api/scope.rs",
        "scope",
        "limits are for groups",
    ),
    ("fibre-sync/src/group", "*", "a group has its limits"),
    ("fibre-sync/src/members.rs", "*", "a group has its limits"),
    (
        "exts/tasks/src/finish.rs",
        "*",
        "all tasks of a finish end in it",
    ),
    (
        "fibre-core/src/cluster/waits.rs",
        "waits",
        "tells what others wait for",
    ),
    (
        "fibre-core/src/cluster/stop.rs",
        "stop",
        "a stop within limits has two",
    ),
    (
        "exts/actors/src/actors.rs",
        "stop",
        "a stop within limits has two",
    ),
    (
        "exts/tasks/src/tasks.rs",
        "stop",
        "a stop within limits has two",
    ),
    // They run a closure, and leave it to itself when the limit comes: `io::Result` says so.
    (
        "fibre-core/src/api/compute.rs",
        "compute",
        "left to itself within a limit",
    ),
    (
        "exts/events/src/events.rs",
        "call",
        "a time-out around the call ends it",
    ),
    (
        "exts/tasks/src/emitter.rs",
        "deliver",
        "callbacks run to their ends",
    ),
    (
        "fibre-sync/src/block_on.rs",
        "block_on",
        "a future can be given a limit",
    ),
    // For a moment, while another one has the value.
    (
        "fibre-sync/src/channel/watch.rs",
        "send",
        "readers are short",
    ),
    (
        "fibre-sync/src/channel/watch.rs",
        "read",
        "writers are short",
    ),
    // What these crates are built of, and what C programs call: a limit is an argument there.
    ("fibre-core/src/api/embed.rs", "wait", "for C programs"),
    (
        "fibre-core/src/park/wait.rs",
        "park",
        "a limit is an argument",
    ),
    ("fibre-core/src/wait", "*", "a limit is an argument"),
    ("fibre-sync/src/raw", "*", "for C programs"),
    (
        "fibre-sync/src/raw_rw_lock.rs",
        "*",
        "the contract of locks",
    ),
    (
        "fibre-sync/src/wait_list.rs",
        "in_list",
        "a limit is part of the wait",
    ),
    ("fibre-io/src/gate", "*", "a limit is an argument"),
    ("fibre-io/src/source.rs", "*", "a limit is an argument"),
    // Sockets have time-outs and deadlines for all their calls; files are always ready.
    ("fibre-io/src/copy", "*", "the sockets' own"),
    ("fibre-io/src/net", "*", "the sockets' own"),
    ("fibre-io/src/pollable.rs", "*", "what is called has them"),
    ("fibre-io/src/fs", "*", "files are always ready"),
    ("fibre-io/src/stdio.rs", "read_line", "the lock has them"),
    (
        "fibre-io/src/process/command.rs",
        "*",
        "`spawn`, and wait for the child",
    ),
    (
        "fibre-io/src/process/child.rs",
        "wait_with_output",
        "`Command::output_timeout`",
    ),
    ("fibre-io/src/signal/mod.rs", "ctrl_c", "`Signals` has them"),
];

/// How a call says that it waits.
const BLOCKS: [&str; 2] = [
    "Blocks the fibre, or the thread if the caller is not a fibre",
    "Blocks the fibre (or thread)",
];

/// Checks all sources.
pub(crate) fn check(sources: &[Source]) -> Vec<Violation> {
    let mut violations = limited(sources, WITHOUT);
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

/// The limited forms that are lacking, but for those that are listed, and the lines of the list
/// that are about nothing.
fn limited(sources: &[Source], without: &[(&str, &str, &str)]) -> Vec<Violation> {
    let mut violations = Vec::new();
    let mut used = vec![false; without.len()];
    let waiting = |source: &&Source| CRATES.iter().any(|folder| source.is_below(folder));
    for source in sources.iter().filter(waiting) {
        for (line, name, text) in lacks_limit(source) {
            let known = without.iter().position(|(place, call, _)| {
                source.is_below(place) && (*call == "*" || *call == name)
            });
            match known {
                Some(at) => used[at] = true,
                None => violations.push(source.violation(line, text)),
            }
        }
    }
    for ((place, call, _), used) in without.iter().zip(used) {
        if !used {
            violations.push(Violation {
                place: (*place).into(),
                line: 0,
                text: format!("`{call}` is listed as without a form, and lacks none"),
            });
        }
    }
    violations
}

/// The calls of a file that lack a limited form: where they are, their names, and what is lacking.
fn lacks_limit(source: &Source) -> Vec<(usize, String, String)> {
    let calls = calls(source);
    let is_io = source.is_below("fibre-io/src");
    let mut lacking = Vec::new();
    for (name, (line, blocks)) in &calls {
        let has = |form: &str| calls.contains_key(&format!("{name}_{form}"));
        let timeout = has("timeout");
        let within = has("within") || is_io && has("until");
        let is_form = ["_timeout", "_within", "_until", "_arm"]
            .iter()
            .any(|end| name.ends_with(end));
        if is_form || !(timeout || within || *blocks) {
            continue;
        }
        for (form, there) in [("timeout", timeout), ("within", within)] {
            if !there {
                let text = format!("`{name}` waits, and there is no `{name}_{form}`");
                lacking.push((*line, name.clone(), text));
            }
        }
    }
    lacking
}

/// The public methods and functions of a file, with their lines, and whether they say that they
/// block.
fn calls(source: &Source) -> BTreeMap<String, (usize, bool)> {
    let mut calls = BTreeMap::new();
    let mut add = |visibility: &Visibility, ident: &syn::Ident, attributes: &[Attribute]| {
        if matches!(visibility, Visibility::Public(_)) {
            let text = documentation(attributes);
            let blocks = BLOCKS.iter().any(|words| text.contains(words));
            let line = ident.span().start().line;
            let call = calls.entry(ident.to_string()).or_insert((line, false));
            call.1 |= blocks;
        }
    };
    for item in &source.syntax.items {
        match item {
            Item::Fn(function) => add(&function.vis, &function.sig.ident, &function.attrs),
            Item::Impl(implementation) => {
                for item in &implementation.items {
                    if let ImplItem::Fn(method) = item {
                        add(&method.vis, &method.sig.ident, &method.attrs);
                    }
                }
            }
            _ => {}
        }
    }
    calls
}

/// The text of a comment, its lines joined.
fn documentation(attributes: &[Attribute]) -> String {
    let mut text = String::new();
    for attribute in attributes {
        if let Meta::NameValue(pair) = &attribute.meta
            && pair.path.is_ident("doc")
            && let Expr::Lit(literal) = &pair.value
            && let Lit::Str(line) = &literal.lit
        {
            text.push_str(line.value().trim());
            text.push(' ');
        }
    }
    text
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
        let found = check(&[]);
        assert_eq!(found.len(), PLACES.len() + WITHOUT.len());
    }

    /// What is found in a file with this text.
    fn limited_texts(text: &str, without: &[(&str, &str, &str)]) -> Vec<String> {
        let source = Source::parse("exts/tasks/src/x.rs", &format!("//! D.\n{text}")).unwrap();
        let found = limited(&[source], without);
        found.into_iter().map(|found| found.text).collect()
    }

    #[test]
    fn a_limited_form_without_the_other_one_fails() {
        let both = "pub fn x() {}\npub fn x_timeout() {}\npub fn x_within() {}\n";
        assert_eq!(limited_texts(both, &[]), [""; 0]);
        for form in ["timeout", "within"] {
            let text = both.replace(&format!("pub fn x_{form}() {{}}\n"), "");
            let expected = format!("`x` waits, and there is no `x_{form}`");
            assert_eq!(limited_texts(&text, &[]), [expected]);
        }
    }

    #[test]
    fn a_call_that_blocks_and_has_no_limit_fails() {
        for words in BLOCKS {
            let (one, other) = words.split_at(words.find(" fibre").unwrap());
            let text =
                format!("struct A;\nimpl A {{\n/// D. {one}\n/// {other}.\npub fn x() {{}}\n}}\n");
            assert_eq!(limited_texts(&text, &[]).len(), 2, "{text}");
            let listed = [("exts/tasks/src/x.rs", "x", "a reason")];
            assert_eq!(limited_texts(&text, &listed), [""; 0]);
            assert_eq!(limited_texts("pub fn x() {}\n", &listed).len(), 1);
        }
    }
}
