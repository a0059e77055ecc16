//! What came of the faults, as a page.

use std::fmt::Write as _;

use anyhow::Result;

use crate::kit::history::Unseen;
use crate::kit::trial::Verdict;

/// The page.
pub(crate) const PAGE: &str = "docs/results/kit.md";

/// A fault, and what came of it.
#[derive(Debug, Clone)]
pub(crate) struct Row {
    /// What is wrong.
    pub(crate) name: String,
    /// Where it is, or a test that has been there since it was mended.
    pub(crate) place: String,
    pub(crate) verdict: Verdict,
}

/// The three tables.
#[derive(Debug, Default)]
pub(crate) struct Tables {
    pub(crate) history: Vec<Row>,
    pub(crate) models: Vec<Row>,
    pub(crate) mutants: Vec<Row>,
}

/// The beginning of the page.
const INTRODUCTION: &str = include_str!("introduction.md");

/// Writes the page.
pub(crate) fn page(tables: &Tables, unseen: &[Unseen], seeds: u64) -> Result<String> {
    let mut page = INTRODUCTION.replace("SEEDS", &seeds.to_string());
    table(
        &mut page,
        "Faults of this project's past",
        "a test since then",
        &tables.history,
        unseen,
    )?;
    table(
        &mut page,
        "Faults that models plant",
        "about",
        &tables.models,
        unseen,
    )?;
    table(&mut page, "Mutants", "place", &tables.mutants, unseen)?;
    Ok(page)
}

/// How many were found, of how many.
pub(crate) fn found(rows: &[Row]) -> String {
    let found = rows
        .iter()
        .filter(|row| matches!(row.verdict, Verdict::Found(_)));
    format!("{} of {}", found.count(), rows.len())
}

/// Writes a table: those that were found, and those that were not.
fn table(
    page: &mut String,
    title: &str,
    place: &str,
    rows: &[Row],
    unseen: &[Unseen],
) -> Result<()> {
    writeln!(page, "\n## {title}\n\n{} found.\n", found(rows))?;
    writeln!(
        page,
        "| fault | {place} | scenario | schedule | schedules | failure |"
    )?;
    writeln!(page, "|---|---|---|---|---|---|")?;
    let mut rest = Vec::new();
    for row in rows {
        let Verdict::Found(found) = &row.verdict else {
            rest.push(row);
            continue;
        };
        let count = found
            .schedules
            .map_or_else(|| "?".to_owned(), |count| count.to_string());
        let cells = [
            &row.name,
            &row.place,
            &found.scenario,
            &found.schedule,
            &count,
            &found.words,
        ];
        let cells = cells.map(|cell| cell.replace('|', "\\|"));
        writeln!(page, "| {} |", cells.join(" | "))?;
    }
    if rest.is_empty() {
        return Ok(());
    }
    writeln!(
        page,
        "\nNot found:\n\n| fault | {place} | why |\n|---|---|---|"
    )?;
    for row in rest {
        let because = unseen.iter().find(|unseen| row.name.contains(&unseen.part));
        let fate = match (because, &row.verdict) {
            (Some(unseen), _) => unseen.because.clone(),
            (None, Verdict::NotReached) => "no scenario comes to it".to_owned(),
            (None, _) => "no schedule shows it".to_owned(),
        };
        let name = row.name.replace('|', "\\|");
        writeln!(page, "| {name} | {} | {fate} |", row.place)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kit::trial::Found;

    #[test]
    fn a_page_has_what_was_found_and_why_the_rest_was_not() {
        let row = |name: &str, verdict| Row {
            name: name.to_owned(),
            place: "a.rs".to_owned(),
            verdict,
        };
        let found = Verdict::Found(Found {
            scenario: "once".to_owned(),
            schedule: "POS".to_owned(),
            schedules: Some(12),
            words: "a | b".to_owned(),
        });
        let tables = Tables {
            history: vec![row("one", found), row("two", Verdict::NotFound(3))],
            models: vec![row("three", Verdict::NotReached)],
            mutants: Vec::new(),
        };
        let unseen = [Unseen {
            part: "tw".to_owned(),
            because: "it is inside".to_owned(),
        }];
        let page = page(&tables, &unseen, 77).unwrap();
        for part in [
            "1 of 2 found",
            "| one | a.rs | once | POS | 12 | a \\| b |",
            "| two | a.rs | it is inside |",
            "| three | a.rs | no scenario comes to it |",
            "0 of 0 found",
            "77",
        ] {
            assert!(page.contains(part), "no {part:?} in {page}");
        }
    }
}
