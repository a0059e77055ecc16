//! Faults that fibre once had: `tools/xtask/kit.toml`.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use toml::{Table, Value};

/// Where they are described.
const LIST: &str = "tools/xtask/kit.toml";

/// What the file says.
#[derive(Debug)]
pub(crate) struct History {
    pub(crate) history: Vec<Past>,
    /// Why some faults are not found.
    pub(crate) unseen: Vec<Unseen>,
}

/// One fault.
#[derive(Debug)]
pub(crate) struct Past {
    pub(crate) name: String,
    /// A test that has been there since.
    pub(crate) test: String,
    /// The fault of a model that is the same one.
    planted: Option<String>,
    edits: Vec<Edit>,
}

/// A change of a file.
#[derive(Debug)]
struct Edit {
    file: String,
    right: String,
    wrong: String,
}

/// Why a fault is not found, by a part of its name.
#[derive(Debug)]
pub(crate) struct Unseen {
    pub(crate) part: String,
    pub(crate) because: String,
}

/// The tables of an array, by its name.
fn tables<'a>(table: &'a Table, name: &str) -> impl Iterator<Item = &'a Table> + use<'a> {
    let array = table.get(name).and_then(Value::as_array);
    array.into_iter().flatten().filter_map(Value::as_table)
}

/// A word of a table.
fn word(table: &Table, name: &str) -> Result<String> {
    let word = table.get(name).and_then(Value::as_str);
    word.map(str::to_owned)
        .with_context(|| format!("{LIST}: no {name} in {table}"))
}

impl Past {
    /// The name that plants it.
    pub(crate) fn planted_by(&self) -> String {
        let own = || format!("history: {}", self.name);
        self.planted.clone().unwrap_or_else(own)
    }
}

impl History {
    /// Reads the list.
    pub(crate) fn read(workspace: &Path) -> Result<Self> {
        Self::of(&fs::read_to_string(workspace.join(LIST))?)
    }

    /// Reads the text of a list.
    fn of(text: &str) -> Result<Self> {
        let table: Table = text.parse().with_context(|| format!("{LIST} is no TOML"))?;
        let edit = |edit: &Table| {
            Ok(Edit {
                file: word(edit, "file")?,
                right: word(edit, "right")?,
                wrong: word(edit, "wrong")?,
            })
        };
        let past = |past: &Table| {
            Ok(Past {
                name: word(past, "name")?,
                test: word(past, "test")?,
                planted: word(past, "planted").ok(),
                edits: tables(past, "edit").map(edit).collect::<Result<_>>()?,
            })
        };
        let unseen = |unseen: &Table| {
            Ok(Unseen {
                part: word(unseen, "part")?,
                because: word(unseen, "because")?,
            })
        };
        Ok(Self {
            history: tables(&table, "history").map(past).collect::<Result<_>>()?,
            unseen: tables(&table, "unseen")
                .map(unseen)
                .collect::<Result<_>>()?,
        })
    }

    /// The text of a file with all its faults in it. Each asks whether it is to act.
    pub(crate) fn plant(&self, file: &str, text: &str) -> Result<String> {
        let mut planted = text.to_owned();
        for past in &self.history {
            let question = format!("{}({:?})", question(file), past.planted_by());
            for edit in past.edits.iter().filter(|edit| edit.file == file) {
                let count = planted.matches(&edit.right).count();
                ensure!(
                    count == 1,
                    "{file}: the right text of {:?} is there {count} times",
                    past.name
                );
                let wrong = edit.wrong.replace('§', &question);
                planted = planted.replace(&edit.right, &wrong);
            }
        }
        Ok(planted)
    }
}

/// The function that is asked, as a file names it.
fn question(file: &str) -> &'static str {
    match file.starts_with("fibre-core/") {
        true => "crate::sync::planted",
        false => "fibre_core::sync::planted",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace::Workspace;
    use std::collections::BTreeSet;

    /// Each is still a change of the sources, which can be read with all of them.
    #[test]
    fn all_can_be_planted() {
        let workspace = Workspace::find().unwrap();
        let history = History::read(workspace.root()).unwrap();
        assert!(history.history.len() >= 20);
        let edits = history.history.iter().flat_map(|past| &past.edits);
        let files: BTreeSet<_> = edits.map(|edit| edit.file.as_str()).collect();
        for file in files {
            let text = fs::read_to_string(workspace.root().join(file)).unwrap();
            let planted = history.plant(file, &text).unwrap();
            assert!(planted.contains("history: "), "{file}");
            assert!(syn::parse_file(&planted).is_ok(), "{file}");
        }
    }

    #[test]
    fn a_text_that_is_not_there_is_an_error() {
        let text = "[[history]]\nname = 'a'\ntest = ''\n[[history.edit]]\nfile = 'x/y.rs'\nright = 'b'\nwrong = '§ c'";
        let history = History::of(text).unwrap();
        let planted = history.plant("x/y.rs", "a b c").unwrap();
        assert_eq!(planted, "a fibre_core::sync::planted(\"history: a\") c c");
        assert!(history.plant("x/y.rs", "a b b c").is_err());
        assert!(history.plant("x/y.rs", "").is_err());
        assert_eq!(history.plant("x/z.rs", "").unwrap(), "");
    }
}
