//! The scheduler's choices as the sources declare them.
//!
//! `named_choice!` lists the names of a choice's values once. The lanes that try all values, and
//! the rule that compares docs/CONFIGURATION.md with the sources, read them there.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};

use crate::tidy::source::{Source, Token};

/// A choice that an environment variable makes.
pub(crate) struct Choice {
    /// The variable.
    pub(crate) variable: &'static str,
    /// The enum.
    name: &'static str,
    /// The file that declares it.
    file: &'static str,
}

/// Which mechanism the queues have.
pub(crate) const QUEUE: Choice = Choice {
    variable: "FIBRE_QUEUE",
    name: "QueueKind",
    file: "fibre-core/src/queue/kind.rs",
};

/// Where new fibres go.
pub(crate) const PLACEMENT: Choice = Choice {
    variable: "FIBRE_PLACEMENT",
    name: "Placement",
    file: "fibre-core/src/config/policy.rs",
};

/// Which processor an idle one helps.
pub(crate) const STEAL_ORDER: Choice = Choice {
    variable: "FIBRE_STEAL_ORDER",
    name: "StealOrder",
    file: "fibre-core/src/config/steal_orders.rs",
};

/// Where activities go that are made ready again.
pub(crate) const REVIVAL: Choice = Choice {
    variable: "FIBRE_REVIVAL",
    name: "Revival",
    file: "fibre-core/src/config/policy.rs",
};

/// How started fibres move.
pub(crate) const MOVES: Choice = Choice {
    variable: "FIBRE_MOVES",
    name: "Moves",
    file: "fibre-core/src/config/settings.rs",
};

/// All choices.
pub(crate) const ALL: [&Choice; 5] = [&QUEUE, &PLACEMENT, &STEAL_ORDER, &REVIVAL, &MOVES];

impl Choice {
    /// The names of the values, in the order of the enum.
    pub(crate) fn names(&self, root: &Path) -> Result<Vec<String>> {
        let text = fs::read_to_string(root.join(self.file))
            .with_context(|| format!("cannot read {}", self.file))?;
        let names = names_of(self.name, &Source::parse(self.file, &text)?.tokens);
        if names.is_empty() {
            bail!("{} declares no values of {}", self.file, self.name);
        }
        Ok(names)
    }
}

/// The names that `named_choice!` gives the values of an enum: `pub enum Name, "what" { … }` has
/// rows `Value = "name",`. In a table there may be more in a row, behind the name.
fn names_of(choice: &str, tokens: &[Token]) -> Vec<String> {
    let declares = |pair: &[Token]| pair[0].text == "enum" && pair[1].text == choice;
    let start = tokens.windows(2).position(declares);
    let rows = tokens[start.unwrap_or(tokens.len())..].iter();
    let rows: Vec<&str> = rows
        .map(|token| token.text.as_str())
        .skip_while(|text| *text != "{")
        .take_while(|text| *text != "}")
        .collect();
    let named = rows.windows(2).filter(|pair| pair[0] == "=");
    named
        .map(|pair| pair[1].trim_matches('"').to_owned())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_the_rows() {
        let text = "named_choice! { pub enum A, \"an a\" { #[default] B = \"b\", } }\n\
            named_choice! { pub enum C, \"a c\" {\n/// D. = \"x\"\nD = \"d-e\",\nF = \"f\", } }\n";
        let source = Source::parse("a.rs", text).unwrap();
        assert_eq!(names_of("A", &source.tokens), ["b"]);
        assert_eq!(names_of("C", &source.tokens), ["d-e", "f"]);
        assert!(names_of("G", &source.tokens).is_empty());
        let table = "macro_rules! t { ($w:ident) => { $w! {\n\
            enum A { /// An a.\nA = \"a\", b::c; D = \"d\", e::f; } } } }\n";
        let source = Source::parse("a.rs", table).unwrap();
        assert_eq!(names_of("A", &source.tokens), ["a", "d"]);
    }

    #[test]
    fn every_choice_is_declared() {
        let workspace = crate::workspace::Workspace::find().unwrap();
        for choice in ALL {
            assert!(choice.names(workspace.root()).unwrap().len() > 1);
        }
    }
}
