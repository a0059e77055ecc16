//! Documentation says what users can paste: the facade's names, not those of the crates behind it.
//!
//! What the facade re-exports is read from its root. Whatever a doc comment (or a `#[doc = …]`) of
//! the crates behind it names by one of their paths must not be re-exported, with one exception: a
//! link's target, which users do not see.

use syn::{Item, ItemMod};

use crate::tidy::mentions::Mentions;
use crate::tidy::source::{Source, Violation};

/// The root of the facade.
const FACADE: &str = "src/lib.rs";
/// The crates behind it: their folders, and their names in sources.
const BEHIND: [(&str, &str); 7] = [
    ("fibre-core/src", "fibre_core"),
    ("fibre-sync/src", "fibre_sync"),
    ("fibre-io/src", "fibre_io"),
    ("fibre-inspect/src", "fibre_inspect"),
    ("exts/actors/src", "fibre_actors"),
    ("exts/events/src", "fibre_events"),
    ("exts/tasks/src", "fibre_tasks"),
];

/// Checks the documentation of the crates behind the facade.
pub(crate) fn check(sources: &[Source]) -> Vec<Violation> {
    let exports = exports(sources);
    if exports.is_empty() {
        return vec![Violation {
            place: FACADE.into(),
            line: 0,
            text: "the facade re-exports nothing".into(),
        }];
    }
    let is_behind = |source: &&Source| BEHIND.iter().any(|(folder, _)| source.is_below(folder));
    let mut violations = Vec::new();
    for source in sources.iter().filter(is_behind) {
        for (index, line) in source
            .text
            .lines()
            .enumerate()
            .filter(|(_, line)| is_doc(line))
        {
            let paths = paths_of_crates(line);
            let bad = paths.iter().filter(|path| is_exported(path, &exports));
            violations.extend(bad.map(|path| {
                let text = format!("documentation names `{path}`; users say `fibre::…`");
                source.violation(index + 1, text)
            }));
        }
    }
    violations
}

/// All paths that the facade re-exports, those of whole modules included.
fn exports(sources: &[Source]) -> Vec<String> {
    let facade = sources.iter().find(|source| source.path == FACADE);
    let mut exports = Vec::new();
    if let Some(facade) = facade {
        add_exports(&facade.syntax.items, &mut exports);
    }
    exports
}

/// Adds what these items re-export, also inside modules.
fn add_exports(items: &[Item], exports: &mut Vec<String>) {
    let uses = Mentions::of(items).uses.into_iter();
    exports.extend(
        uses.filter(|import| import.is_public)
            .map(|import| import.path.join("::")),
    );
    for item in items {
        if let Item::Mod(ItemMod {
            content: Some((_, items)),
            ..
        }) = item
        {
            add_exports(items, exports);
        }
    }
}

/// Whether the path is re-exported, or leads into something that is.
fn is_exported(path: &str, exports: &[String]) -> bool {
    exports.iter().any(|export| {
        let rest = path.strip_prefix(export.as_str());
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
    })
}

/// Whether the line is documentation.
fn is_doc(line: &str) -> bool {
    let line = line.trim_start();
    line.starts_with("///") || line.starts_with("//!") || line.starts_with("#[doc")
}

/// The paths in this line that start with a crate behind the facade, groups in braces resolved,
/// targets of links left out.
fn paths_of_crates(line: &str) -> Vec<String> {
    let mut paths = Vec::new();
    for (_, name) in BEHIND {
        for (start, _) in line.match_indices(&format!("{name}::")) {
            if !line[..start].ends_with("](") {
                add_paths(&line[start..], &mut paths);
            }
        }
    }
    paths
}

/// Adds the paths that `text` starts with: one, or one for each name of the group at its end.
fn add_paths(text: &str, paths: &mut Vec<String>) {
    let is_in_path = |c: char| c.is_alphanumeric() || c == '_' || c == ':';
    let (path, rest) = text.split_at(text.find(|c| !is_in_path(c)).unwrap_or(text.len()));
    let stem = path.trim_end_matches(':');
    let group = rest
        .strip_prefix('{')
        .and_then(|rest| rest.split('}').next());
    let Some(group) = group.filter(|_| path.ends_with("::")) else {
        return paths.push(stem.to_owned());
    };
    let names = group.split(',').map(str::trim);
    paths.extend(
        names
            .filter(|name| !name.is_empty())
            .map(|name| match name {
                "self" => stem.to_owned(),
                name => format!("{stem}::{name}"),
            }),
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The lines that break the rule in a file of fibre-io with this text.
    fn lines(text: &str) -> Vec<usize> {
        let facade = "//! D.\npub use fibre_core::{Cluster, spawn};\nuse fibre_core::park_until;\n\
            pub mod io { pub use fibre_io::pipe::pipe; }\npub use fibre_io::net;\n\
            pub mod channel { pub use fibre_sync::channel::*; }\n";
        let sources = [(FACADE, facade), ("fibre-io/src/a.rs", text)];
        let sources = sources.map(|(path, text)| Source::parse(path, text).unwrap());
        check(&sources).iter().map(|found| found.line).collect()
    }

    #[test]
    fn what_users_cannot_paste_fails() {
        let text = "//! D.\n/// fibre_core::spawn(|| 1);\n/// use fibre_core::{Limit, Cluster};\n\
            /// use fibre_io::pipe::pipe;\n/// use fibre_io::net::{self, TcpStream};\n\
            /// [`fibre_sync::channel::Sender`]\n#[doc = \"fibre_core::Cluster::builder()\"]\nfn f() {}\n";
        assert_eq!(lines(text), [2, 3, 4, 5, 5, 6, 7]);
    }

    #[test]
    fn what_is_not_for_users_passes() {
        let text = "//! D.\n/// fibre_core::park_until, fibre_core::spawner, fibre_io::pipe\n\
            /// use fibre_core::{Limit, WallTime};\n/// [`Cluster`](fibre_core::Cluster), fibre::spawn\n\
            // fibre_core::spawn\nfn f() { fibre_core::spawn(g); }\n";
        assert_eq!(lines(text), [0; 0]);
    }

    #[test]
    fn a_facade_that_is_not_found_fails() {
        let source = Source::parse("fibre-io/src/a.rs", "//! D.\n").unwrap();
        assert_eq!(check(&[source]).len(), 1);
    }
}
