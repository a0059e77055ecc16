//! No import cycle between the files of a crate.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::tidy::modules::Import;
use crate::tidy::source::{Source, Violation};

/// Reports one shortest cycle for every group of files that import each other.
pub(crate) fn check(sources: &[Source], imports: &[Import]) -> Vec<Violation> {
    let files: BTreeSet<usize> = imports.iter().map(|import| import.from).collect();
    let mut reported = BTreeSet::new();
    let mut violations = Vec::new();
    for file in files {
        if reported.contains(&file) {
            continue;
        }
        if let Some(cycle) = shortest_cycle(file, imports) {
            reported.extend(cycle.iter().map(|import| import.from));
            violations.push(violation(sources, &cycle));
        }
    }
    violations
}

/// The imports that lead from a file back to itself, the fewest possible.
fn shortest_cycle(start: usize, imports: &[Import]) -> Option<Vec<Import>> {
    let mut reached_by: BTreeMap<usize, Import> = BTreeMap::new();
    let mut queue = VecDeque::from([start]);
    while let Some(file) = queue.pop_front() {
        for import in imports.iter().filter(|import| import.from == file) {
            if reached_by.contains_key(&import.to) {
                continue;
            }
            reached_by.insert(import.to, *import);
            if import.to == start {
                return Some(way_back(start, &reached_by));
            }
            queue.push_back(import.to);
        }
    }
    None
}

/// The cycle through `start`, from the import that first reached each file.
fn way_back(start: usize, reached_by: &BTreeMap<usize, Import>) -> Vec<Import> {
    let mut cycle = vec![reached_by[&start]];
    while cycle[cycle.len() - 1].from != start {
        cycle.push(reached_by[&cycle[cycle.len() - 1].from]);
    }
    cycle.reverse();
    cycle
}

/// Names every import of the cycle with its place.
fn violation(sources: &[Source], cycle: &[Import]) -> Violation {
    let arrow = |import: &Import| {
        let (from, to) = (&sources[import.from].path, &sources[import.to].path);
        format!("\n    {from}:{} imports {to}", import.line)
    };
    let arrows: String = cycle.iter().map(arrow).collect();
    sources[cycle[0].from].violation(cycle[0].line, format!("import cycle:{arrows}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::modules;

    /// The cycles of a crate of these files, each as the files in it.
    fn cycles(files: &[(&str, &str)]) -> Vec<Vec<String>> {
        let sources: Vec<Source> = files
            .iter()
            .map(|(path, text)| Source::parse(&format!("a/src/{path}"), text).unwrap())
            .collect();
        let crates = modules::imports(&sources, "a");
        assert_eq!(crates.len(), 1);
        let cycles = check(&sources, &crates[0]);
        let files = |cycle: Violation| {
            let lines = cycle.text.lines().skip(1).map(str::trim);
            let names = lines.filter_map(|line| line.split_once(':'));
            names
                .map(|(path, _)| path.replacen("a/src/", "", 1))
                .collect()
        };
        cycles.into_iter().map(files).collect()
    }

    #[test]
    fn a_chain_passes() {
        let files = [
            ("lib.rs", "mod a; mod b; pub use a::A; pub use b::B;"),
            ("a.rs", "use crate::b::B; pub struct A(B);"),
            ("b.rs", "use std::fmt; pub struct B;"),
        ];
        assert!(cycles(&files).is_empty());
    }

    #[test]
    fn two_files_that_import_each_other_fail() {
        let files = [
            ("lib.rs", "mod a; mod b;"),
            ("a.rs", "use crate::b::B; pub struct A;"),
            ("b.rs", "pub struct B; fn f(_: super::a::A) {}"),
        ];
        assert_eq!(cycles(&files), [["a.rs", "b.rs"]]);
    }

    #[test]
    fn a_long_cycle_through_folders_and_groups_fails() {
        let files = [
            ("lib.rs", "mod a; mod q; mod c;"),
            ("a.rs", "use crate::{c, q::n::{self, N}};"),
            ("c.rs", "use std::mem;"),
            ("q/mod.rs", "pub(crate) mod n; mod m;"),
            ("q/n.rs", "use super::m::M as Other; pub struct N;"),
            ("q/m.rs", "pub struct M; fn f() { crate::a::f() }"),
        ];
        assert_eq!(cycles(&files), [["a.rs", "q/n.rs", "q/m.rs"]]);
    }

    #[test]
    fn a_file_that_imports_itself_fails() {
        let files = [
            ("lib.rs", "mod a;"),
            ("a.rs", "use crate::a::A; pub struct A;"),
        ];
        assert_eq!(cycles(&files), [["a.rs"]]);
    }

    #[test]
    fn names_are_followed_through_a_parent_that_re_exports_them() {
        let siblings = [
            ("lib.rs", "mod q;"),
            ("q/mod.rs", "mod m; mod n; pub use m::*; pub use n::N;"),
            ("q/m.rs", "use super::N; pub struct M;"),
            ("q/n.rs", "pub struct N;"),
        ];
        assert!(cycles(&siblings).is_empty());
        let mut mutual = siblings;
        mutual[3].1 = "use crate::q::M; pub struct N;";
        assert_eq!(cycles(&mutual), [["q/m.rs", "q/n.rs"]]);
    }

    #[test]
    fn a_parent_that_needs_a_child_which_needs_the_parent_fails() {
        let shown = [
            ("lib.rs", "mod q;"),
            ("q/mod.rs", "mod n; pub use n::N; pub struct Link;"),
            ("q/n.rs", "use super::Link; pub struct N;"),
        ];
        assert!(cycles(&shown).is_empty());
        for parent in [
            "mod n; pub use n::N; pub struct Link; fn f(_: N) {}",
            "mod n; pub use n::N; pub struct Link; fn f() { assert!(N::new()) }",
            "mod n; use n::N; pub struct Link;",
            "mod n; pub struct Link; fn f(_: n::N) {}",
        ] {
            let mut needed = shown;
            needed[1].1 = parent;
            assert_eq!(cycles(&needed), [["q/mod.rs", "q/n.rs"]], "{parent}");
        }
    }

    #[test]
    fn tests_and_modules_inside_a_file_do_not_count() {
        let files = [
            ("lib.rs", "mod a; mod b; #[cfg(test)] mod suite;"),
            (
                "a.rs",
                "use crate::b::B; mod inside { use super::*; } pub struct A;",
            ),
            (
                "b.rs",
                "pub struct B; #[cfg(test)] mod tests { use crate::a::A; }",
            ),
            ("suite.rs", "use crate::a::A;"),
        ];
        assert!(cycles(&files).is_empty());
    }

    #[test]
    fn a_module_in_another_folder_is_read_there() {
        let files = [
            (
                "bin/one/main.rs",
                "#[path = \"../../shared/mod.rs\"] mod shared; mod a;",
            ),
            ("bin/one/a.rs", "use crate::shared::b::B; pub struct A(B);"),
            ("shared/mod.rs", "pub mod b; pub mod c;"),
            ("shared/b.rs", "pub struct B;"),
            ("shared/c.rs", "use super::b::B; pub struct C(B);"),
        ];
        assert!(cycles(&files).is_empty());
        let mut mutual = files;
        mutual[3].1 = "use super::c::C; pub struct B;";
        assert_eq!(cycles(&mutual), [["shared/b.rs", "shared/c.rs"]]);
    }

    #[test]
    fn twins_under_opposite_conditions_are_both_read() {
        let files = [
            (
                "lib.rs",
                "#[cfg(x)] mod a; #[cfg(not(x))] #[path = \"none.rs\"] mod a; mod b;",
            ),
            ("a.rs", "pub struct A;"),
            ("none.rs", "use crate::b::B; pub struct A;"),
            ("b.rs", "use crate::a::A; pub struct B;"),
        ];
        assert_eq!(cycles(&files), [["none.rs", "b.rs"]]);
    }
}
