//! The rooms of a crate: its folders, and the files beside its root, with the imports between them.
//!
//! A file below `src/processor/` is in the room `processor`, and so is `src/processor.rs`. Rooms
//! have an order without cycles, as files have; a crate that is a handful of rooms can be
//! learnt. `tidy --graph` draws a picture of each crate into `target/rooms`.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use crate::tidy::modules::Import;
use crate::tidy::source::{Source, Violation};

/// The folder of the pictures.
pub(crate) const FOLDER: &str = "rooms";

/// The crates with drawn rooms, and how many rooms each may have.
pub(crate) const DRAWN: [(&str, usize); 13] = [
    ("fibre-core", 21),
    ("fibre-sync", 30),
    ("fibre-io", 30),
    ("fibre-inspect", 23),
    ("exts/actors", 25),
    ("exts/events", 25),
    ("exts/tasks", 20),
    ("exts/hyper", 10),
    ("exts/rustls", 10),
    ("exts/ureq", 10),
    ("exts/libc", 17),
    ("exts/test", 16),
    ("fibre-capi", 60),
];

/// The rooms of one crate.
pub(crate) struct Rooms<'a> {
    /// The crate's folder.
    folder: &'a str,
    /// Each room, with the rooms it imports from and one import that does.
    arrows: BTreeMap<&'a str, BTreeMap<&'a str, Import>>,
}

impl<'a> Rooms<'a> {
    /// The rooms of the crate in this folder.
    pub(crate) fn new(folder: &'a str, sources: &'a [Source], imports: &[Import]) -> Self {
        let room = |file: usize| room_of(folder, &sources[file].path);
        let mut arrows: BTreeMap<_, BTreeMap<_, _>> = BTreeMap::new();
        let files = 0..sources.len();
        for room in files.filter_map(room) {
            arrows.entry(room).or_default();
        }
        for import in imports {
            let (Some(from), Some(to)) = (room(import.from), room(import.to)) else {
                continue;
            };
            if from != to {
                let arrows = arrows.entry(from).or_default();
                arrows.entry(to).or_insert(*import);
            }
        }
        Self { folder, arrows }
    }

    /// What is wrong with these rooms. There may be so many.
    pub(crate) fn check(&self, most: usize, sources: &[Source]) -> Vec<Violation> {
        let mut violations = Vec::new();
        if self.arrows.len() > most {
            violations.push(Violation {
                place: format!("{}/src", self.folder),
                line: 0,
                text: format!("{} rooms, at most {most}", self.arrows.len()),
            });
        }
        for (from, arrows) in &self.arrows {
            let round = arrows
                .iter()
                .filter(|(to, _)| self.below(to).contains(from));
            violations.extend(round.map(|(to, import)| {
                let text =
                    format!("`{from}` imports from `{to}`, and both lie on a cycle of rooms");
                sources[import.from].violation(import.line, text)
            }));
        }
        violations
    }

    /// All rooms that a room imports from, directly or by others.
    fn below(&self, room: &str) -> BTreeSet<&'a str> {
        let mut found = BTreeSet::new();
        let mut left: Vec<&str> = self.arrows[room].keys().copied().collect();
        while let Some(next) = left.pop() {
            if found.insert(next) {
                left.extend(self.arrows[next].keys());
            }
        }
        found
    }

    /// Each room, and those it imports from.
    pub(crate) fn arrows(&self) -> impl Iterator<Item = (&'a str, impl Iterator<Item = &'a str>)> {
        let arrows = self.arrows.iter();
        arrows.map(|(from, below)| (*from, below.keys().copied()))
    }

    /// The rooms by floor, the lowest first: each imports from floors below it only. What lies on a
    /// cycle or above one has no floor.
    fn floors(&self) -> Vec<Vec<&'a str>> {
        let mut left: BTreeSet<&str> = self.arrows.keys().copied().collect();
        let mut floors = Vec::new();
        loop {
            let stands = |room: &&str| !self.arrows[room].keys().any(|below| left.contains(below));
            let floor: Vec<&str> = left.iter().copied().filter(stands).collect();
            if floor.is_empty() {
                return floors;
            }
            left.retain(|room| !floor.contains(room));
            floors.push(floor);
        }
    }

    /// The picture, as Graphviz reads it.
    pub(crate) fn graph(&self) -> String {
        let floors = self.floors();
        let mut text = format!(
            "// {} rooms on {} floors with {} arrows; written by `cargo xtask tidy --graph`.\n\
             digraph \"{}\" {{\n    rankdir = BT;\n    node [shape = box];\n",
            self.arrows.len(),
            floors.len(),
            self.arrows.values().map(BTreeMap::len).sum::<usize>(),
            self.folder,
        );
        for floor in floors {
            let _ = write!(text, "    {{ rank = same;");
            for room in floor {
                let _ = write!(text, " \"{room}\";");
            }
            text.push_str(" }\n");
        }
        for (from, arrows) in &self.arrows {
            for to in arrows.keys() {
                let _ = writeln!(text, "    \"{from}\" -> \"{to}\";");
            }
        }
        text.push_str("}\n");
        text
    }
}

/// The room of a file of the crate in this folder; `None` for the crate's root and for other
/// crates.
fn room_of<'a>(folder: &str, path: &'a str) -> Option<&'a str> {
    let inside = path.strip_prefix(folder)?.strip_prefix("/src/")?;
    let first = inside.split('/').next()?;
    let room = first.strip_suffix(".rs").unwrap_or(first);
    (room != "lib" && room != "bin").then_some(room)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::modules;

    /// What is seen in the rooms of a crate of these files.
    fn see<T>(files: &[(&str, &str)], look: impl Fn(&Rooms<'_>, &[Source]) -> T) -> T {
        let sources: Vec<Source> = files
            .iter()
            .map(|(path, text)| Source::parse(&format!("a/src/{path}"), text).unwrap())
            .collect();
        let crates = modules::imports(&sources, "a");
        look(&Rooms::new("a", &sources, &crates[0]), &sources)
    }

    /// A crate with an order of its files, whatever `low` imports in its second file.
    fn files(second: &str) -> [(&str, &str); 5] {
        [
            ("lib.rs", "mod low; mod top; mod alone;"),
            ("low/mod.rs", "pub mod first; pub mod second;"),
            ("low/first.rs", "pub struct First;"),
            ("low/second.rs", second),
            ("top.rs", "use crate::low::first::First; pub struct Top;"),
        ]
    }

    #[test]
    fn rooms_stand_on_floors() {
        let floors = see(&files(""), |rooms, _| {
            rooms
                .floors()
                .iter()
                .map(|f| f.join(" "))
                .collect::<Vec<_>>()
        });
        assert_eq!(floors, ["low", "top"]);
    }

    #[test]
    fn folders_that_import_each_other_fail_though_their_files_do_not() {
        let second = "use crate::top::Top; pub struct Second;";
        let found = see(&files(second), |rooms, sources| rooms.check(9, sources));
        let places: Vec<&str> = found.iter().map(|found| found.place.as_str()).collect();
        assert_eq!(places, ["a/src/low/second.rs", "a/src/top.rs"]);
        assert!(see(&files(""), |rooms, sources| rooms.check(9, sources)).is_empty());
    }

    #[test]
    fn too_many_rooms_fail() {
        let found = see(&files(""), |rooms, sources| rooms.check(1, sources));
        assert_eq!(found.len(), 1);
    }
}
