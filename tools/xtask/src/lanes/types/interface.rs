//! What a program can name of a library, and the types in it, out of rustdoc's JSON.
//!
//! An item has a number in its crate's document. What an item of another crate is called, the
//! document says in `paths`; the item itself is in that crate's document, under the same path.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use serde_json::Value;

/// Crates that every program has in one version.
const STANDARD: [&str; 4] = ["alloc", "core", "proc_macro", "std"];

/// The documents of our libraries.
#[derive(Default)]
pub(super) struct Interfaces {
    /// Each by the name of its library.
    documents: BTreeMap<String, Document>,
}

/// The document of a library.
struct Document {
    /// What rustdoc has written.
    json: Value,
    /// The numbers of its items, by their paths.
    items: BTreeMap<String, u64>,
}

/// An item: its library, and its number there.
type Item<'a> = (&'a str, u64);

impl Interfaces {
    /// Reads the document of a library.
    pub(super) fn read(&mut self, folder: &Path, library: &str) -> Result<()> {
        let file = folder.join(format!("{library}.json"));
        let text = fs::read(&file).with_context(|| format!("cannot read {}", file.display()))?;
        self.add(library, serde_json::from_slice(&text)?)
    }

    /// Adds a document.
    fn add(&mut self, library: &str, json: Value) -> Result<()> {
        let paths = json["paths"].as_object().context("there are no paths")?;
        let own = paths.iter().filter(|(_, path)| path["crate_id"] == 0);
        let items = own.filter_map(|(id, path)| Some((joined(path)?, id.parse().ok()?)));
        let items = items.collect();
        self.documents
            .insert(library.to_owned(), Document { json, items });
        Ok(())
    }

    /// The types of others that a library shows, each with the name of an item that has it.
    pub(super) fn foreign(&self, library: &str) -> Result<Vec<(String, String)>> {
        let document = self.documents.get_key_value(library);
        let (library, document) = document.with_context(|| format!("no document of {library}"))?;
        let root = document.json["root"].as_u64().context("it has no root")?;
        let mut left: Vec<Item> = vec![(library, root)];
        let (mut seen, mut shown) = (BTreeSet::new(), BTreeMap::new());
        while let Some(item) = left.pop() {
            if seen.insert(item) {
                self.visit(item, &mut left, &mut shown);
            }
        }
        Ok(shown.into_iter().collect())
    }

    /// Adds the types in an item to those that are shown, and what can be named by it to what is
    /// left.
    fn visit<'a>(
        &'a self,
        (library, id): Item<'a>,
        left: &mut Vec<Item<'a>>,
        shown: &mut BTreeMap<String, String>,
    ) {
        let json = &self.documents[library].json;
        let item = &json["index"][id.to_string()];
        let inner = &item["inner"];
        let of_compiler = |implementation: &Value| {
            implementation["is_synthetic"] == true || !implementation["blanket_impl"].is_null()
        };
        if inner.get("impl").is_some_and(of_compiler) {
            return;
        }
        let name = item["name"].as_str();
        let name = name.or_else(|| inner["use"]["name"].as_str());
        let name = name.or_else(|| inner["impl"]["for"]["resolved_path"]["path"].as_str());
        for named in references(inner) {
            let path = &json["paths"][named.to_string()];
            let Some(full) = joined(path).filter(|_| path["crate_id"] != 0) else {
                continue;
            };
            let of = full.split("::").next().unwrap_or_default();
            if !STANDARD.contains(&of) && !self.documents.contains_key(of) && !is_ours(of) {
                shown
                    .entry(full)
                    .or_insert_with(|| name.unwrap_or("an impl").to_owned());
            }
        }
        let members = members(inner).into_iter();
        left.extend(members.filter_map(|member| self.place(library, member)));
    }

    /// Where the item of this number in a document is itself.
    fn place<'a>(&'a self, library: &'a str, id: u64) -> Option<Item<'a>> {
        let json = &self.documents[library].json;
        if !json["index"][id.to_string()].is_null() {
            return Some((library, id));
        }
        let path = joined(&json["paths"][id.to_string()])?;
        let (library, document) = self.documents.get_key_value(path.split("::").next()?)?;
        Some((library, *document.items.get(&path)?))
    }
}

/// Whether a library is of this project.
fn is_ours(library: &str) -> bool {
    library == "fibre" || library.starts_with("fibre_")
}

/// The parts of a path as one.
fn joined(path: &Value) -> Option<String> {
    let parts = path["path"].as_array()?.iter();
    let parts: Vec<&str> = parts.filter_map(Value::as_str).collect();
    Some(parts.join("::"))
}

/// The numbers of what an item mentions: types, traits, and what it exports under another name.
fn references(inner: &Value) -> Vec<u64> {
    let mut found = Vec::new();
    let mut left = vec![inner];
    while let Some(value) = left.pop() {
        if value.get("path").or_else(|| value.get("source")).is_some() {
            found.extend(value["id"].as_u64());
        }
        match value {
            Value::Object(fields) => left.extend(fields.values()),
            Value::Array(elements) => left.extend(elements),
            _ => {}
        }
    }
    found
}

/// The numbers of what is named by an item: what a module has, fields, variants, methods, and what
/// is implemented.
fn members(inner: &Value) -> Vec<u64> {
    let mut found = Vec::new();
    let mut left = vec![inner];
    while let Some(value) = left.pop() {
        let Value::Object(fields) = value else {
            continue;
        };
        for (name, value) in fields {
            match (name.as_str(), value) {
                ("implementations" | "type" | "sig" | "generics", _) => {}
                ("items" | "impls" | "variants" | "fields" | "tuple", Value::Array(ids)) => {
                    found.extend(ids.iter().filter_map(Value::as_u64));
                }
                ("id", id) if fields.contains_key("source") => found.extend(id.as_u64()),
                (_, value) => left.push(value),
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// A type as rustdoc writes it.
    fn named(id: u64) -> Value {
        json!({"resolved_path": {"path": "T", "id": id, "args": null}})
    }

    /// A facade that shows a structure of the crate below it, and not what else that one has.
    fn interfaces() -> Interfaces {
        let facade = json!({
            "root": 0,
            "index": {
                "0": {"name": "fibre", "inner": {"module": {"items": [1]}}},
                "1": {"name": null, "inner": {"use":
                    {"source": "fibre_core::Shown", "name": "Shown", "id": 7, "is_glob": false}}},
            },
            "paths": {"7": {"crate_id": 1, "path": ["fibre_core", "Shown"]}},
        });
        let core = json!({
            "root": 0,
            "index": {
                "0": {"name": "fibre_core", "inner": {"module": {"items": [1, 2]}}},
                "1": {"name": "Shown", "inner": {"struct": {
                    "kind": {"plain": {"fields": [3]}}, "impls": [4, 6], "generics": {}}}},
                "2": {"name": "hidden", "inner": {"function": {"sig": {"output": named(9)}}}},
                "3": {"name": "field", "inner": {"struct_field": named(10)}},
                "4": {"name": null, "inner": {"impl": {"items": [5], "blanket_impl": null}}},
                "5": {"name": "method", "inner": {"function": {"sig": {"output": named(11)}}}},
                "6": {"name": null, "inner": {"impl": {
                    "items": [], "blanket_impl": {"generic": "T"}, "trait": named(12)}}},
            },
            "paths": {
                "1": {"crate_id": 0, "path": ["fibre_core", "Shown"]},
                "9": {"crate_id": 3, "path": ["libc", "off_t"]},
                "10": {"crate_id": 3, "path": ["std", "Vec"]},
                "11": {"crate_id": 3, "path": ["rustix", "Errno"]},
                "12": {"crate_id": 3, "path": ["others", "Blanket"]},
            },
        });
        let mut interfaces = Interfaces::default();
        interfaces.add("fibre", facade).unwrap();
        interfaces.add("fibre_core", core).unwrap();
        interfaces
    }

    #[test]
    fn what_the_facade_shows_of_others_is_found() {
        let interfaces = interfaces();
        let pair = |path: &str, by: &str| (path.to_owned(), by.to_owned());
        let shown = interfaces.foreign("fibre").unwrap();
        assert_eq!(shown, [pair("rustix::Errno", "method")]);
        let shown = interfaces.foreign("fibre_core").unwrap();
        let expected = [
            pair("libc::off_t", "hidden"),
            pair("rustix::Errno", "method"),
        ];
        assert_eq!(shown, expected);
        assert!(interfaces.foreign("fibre_io").is_err());
    }
}
