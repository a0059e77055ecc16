//! Maps that hold: the lists of modules in the stories.
//!
//! A crate's root has a table. The first column names its rooms in backticks, lowest first: every
//! room stands in one row, and imports from rows above its own, or from its own. The `mod.rs` of a
//! folder tells what each of its files is, in backticks or as a link; but the files of a folder
//! `variants` are told by its table and by their own stories. And the code map of
//! docs/ARCHITECTURE.md names every room.

use std::collections::BTreeMap;

use syn::Item;

use crate::tidy::page;
use crate::tidy::rooms::Rooms;
use crate::tidy::source::{Source, Violation, is_test_only};
use crate::workspace::package_in;

/// Checks the maps of the crate in this folder.
pub(crate) fn check(folder: &str, sources: &[Source], rooms: &Rooms<'_>) -> Vec<Violation> {
    let inside = format!("{folder}/src");
    let mut violations = Vec::new();
    for source in sources.iter().filter(|source| source.is_below(&inside)) {
        if source.path == format!("{inside}/lib.rs") {
            violations.extend(check_table(source, rooms));
        } else if source.path.ends_with("/mod.rs") && !source.path.ends_with("/variants/mod.rs") {
            violations.extend(check_story(source));
        }
    }
    violations
}

/// What the section of another crate begins with.
const NEXT: &str = "\nfibre-";

/// The code map, which this is the text of, against the rooms of one crate.
pub(crate) fn check_code_map(text: &str, folder: &str, rooms: &Rooms<'_>) -> Vec<Violation> {
    let name = package_in(folder);
    let begin = text.find(&format!("\n{name}"));
    let section = begin.map_or("", |begin| {
        let section = &text[begin + 1..];
        &section[..section.find(NEXT).unwrap_or(section.len())]
    });
    let lacking = rooms.arrows().map(|(room, _)| room);
    lacking
        .filter(|room| !section.contains(&format!("`{room}`")))
        .map(|room| Violation {
            place: page::ARCHITECTURE_PATH.into(),
            line: 0,
            text: format!("the code map of {name} lacks `{room}`"),
        })
        .collect()
}

/// The table of a crate's root against its rooms.
fn check_table(root: &Source, rooms: &Rooms<'_>) -> Vec<Violation> {
    let mut rows: BTreeMap<&str, usize> = BTreeMap::new();
    let mut violations = Vec::new();
    for (index, line) in story(root) {
        let Some(row) = line.strip_prefix("| `") else {
            continue;
        };
        let names = row.split('|').next().unwrap_or_default().split('`');
        for name in names.filter(|name| is_name(name)) {
            if rows.insert(name, index).is_some() {
                violations.push(root.violation(index, format!("`{name}` has two rows")));
            }
        }
    }
    for (from, below) in rooms.arrows() {
        let Some(row) = rows.get(from) else {
            violations.push(root.violation(1, format!("the map lacks `{from}`")));
            continue;
        };
        let wrong = below.filter(|to| rows.get(to).is_some_and(|above| above > row));
        violations.extend(wrong.map(|to| {
            root.violation(
                *row,
                format!("`{from}` imports from `{to}`, which comes later"),
            )
        }));
    }
    let known: Vec<&str> = rooms.arrows().map(|(room, _)| room).collect();
    let gone = rows.iter().filter(|(name, _)| !known.contains(name));
    violations.extend(gone.map(|(name, row)| {
        root.violation(*row, format!("the map has `{name}`, and the crate has not"))
    }));
    violations
}

/// The story of a folder against the files it declares.
fn check_story(folder: &Source) -> Vec<Violation> {
    let told: String = story(folder).map(|(_, line)| format!("{line}\n")).collect();
    let files = folder.syntax.items.iter().filter_map(|item| match item {
        Item::Mod(file) if file.content.is_none() && !is_test_only(&file.attrs) => {
            Some(file.ident.to_string())
        }
        _ => None,
    });
    let untold = files.filter(|file| !told.contains(&format!("`{file}`")));
    untold
        .map(|file| folder.violation(1, format!("the story does not say what `{file}` is")))
        .collect()
}

/// The lines of the story at the top of a file, with their numbers.
fn story(source: &Source) -> impl Iterator<Item = (usize, &str)> {
    let lines = source.text.lines().enumerate();
    let story = lines.map_while(|(index, line)| Some((index + 1, line.strip_prefix("//!")?)));
    story.map(|(index, line)| (index, line.trim_start()))
}

/// Whether this is the name of a module.
fn is_name(text: &str) -> bool {
    !text.is_empty()
        && text
            .bytes()
            .all(|byte| byte.is_ascii_lowercase() || byte == b'_')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::modules;

    /// What is wrong with the maps of a crate with this root and the story of its folder `low`.
    fn wrong(table: &str, told: &str) -> Vec<String> {
        wrong_beside(table, told, "# Map\nfibre-a: `low`, then `top`.\n")
    }

    /// The same, with this code map.
    fn wrong_beside(table: &str, told: &str, map: &str) -> Vec<String> {
        let root = format!("{table}mod low; mod top;");
        let folder = format!("{told}pub mod first; mod second; #[cfg(test)] mod tests;");
        let files = [
            ("lib.rs", root.as_str()),
            ("low/mod.rs", &folder),
            ("low/first.rs", "pub struct First;"),
            ("low/second.rs", ""),
            ("low/tests.rs", ""),
            ("top.rs", "use crate::low::first::First;"),
        ];
        let sources: Vec<Source> = files
            .iter()
            .map(|(path, text)| Source::parse(&format!("a/src/{path}"), text).unwrap())
            .collect();
        let rooms = Rooms::new("a", &sources, &modules::imports(&sources, "a")[0]);
        let mut found = check("a", &sources, &rooms);
        found.extend(check_code_map(map, "a", &rooms));
        found.into_iter().map(|violation| violation.text).collect()
    }

    /// A map that holds.
    const TABLE: &str =
        "//! | room | idea |\n//! |---|---|\n//! | `low` | a |\n//! | `top` | b |\n";
    /// A story that does.
    const TOLD: &str = "//! `first` is the one, [`second`] the other.\n";

    #[test]
    fn maps_that_hold_pass() {
        assert!(wrong(TABLE, TOLD).is_empty());
        assert!(wrong("//! | `low`, `top` | in one row |\n", TOLD).is_empty());
    }

    #[test]
    fn a_room_that_is_missing_or_too_many_fails() {
        let missing = TABLE.replace("//! | `low` | a |\n", "");
        assert_eq!(wrong(&missing, TOLD), ["the map lacks `low`"]);
        let gone = format!("{TABLE}//! | `attic` | c |\n");
        assert_eq!(wrong(&gone, TOLD).len(), 1);
        let twice = format!("{TABLE}//! | `top` | c |\n");
        assert_eq!(wrong(&twice, TOLD), ["`top` has two rows"]);
    }

    #[test]
    fn a_code_map_without_a_room_fails() {
        let lacks = |map| wrong_beside(TABLE, TOLD, map);
        assert_eq!(
            lacks("`top`\nfibre-a: `low`.\n"),
            ["the code map of fibre-a lacks `top`"]
        );
        assert_eq!(lacks("").len(), 2);
        assert_eq!(lacks("\nfibre-a: `low`.\n\nfibre-b: `top`.\n").len(), 1);
    }

    #[test]
    fn an_arrow_to_a_later_row_fails() {
        let turned = "//! | `top` | b |\n//! | `low` | a |\n";
        let found = wrong(turned, TOLD);
        assert_eq!(found, ["`top` imports from `low`, which comes later"]);
    }

    #[test]
    fn a_file_of_which_nothing_is_told_fails() {
        let found = wrong(TABLE, "//! `first` is the only one.\n");
        assert_eq!(found, ["the story does not say what `second` is"]);
    }
}
