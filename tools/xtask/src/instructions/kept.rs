//! The file of counts.
//!
//! ```toml
//! tolerance = 0.02          # the share by which a count of Rust code may grow
//! libc_tolerance = 0.25     # the same for libc
//!
//! [recorded]                # the setting of the last update
//!
//! [paths.yield]
//! rust = 110.7              # and libc; both tolerances may stand here, too
//!
//! [paths.yield.functions]
//! "fibre_core::current::panicking (std)" = 6.0
//! ```
//!
//! Tolerances are a person's to set, and stay as they are when counts are written. All else is
//! written by `cargo xtask instructions --update` only.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use toml::{Table, Value};

use crate::instructions::counts::Counts;
use crate::instructions::setting::Setting;

/// What the file begins with.
const HEADING: &str = "\
# Instructions for one operation of each path of src/bin/paths.rs and src/bin/names.rs, and the
# functions that execute at least half a one. Written by `cargo xtask instructions --update`, but
# for the tolerances, which are set by hand, here or for one path. See
# docs/decisions/0007-count-instructions.md.

";

/// The share that counts may exceed the kept ones by.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Tolerance {
    /// The share for Rust code.
    pub(crate) rust: f64,
    /// The share for libc.
    pub(crate) libc: f64,
}

/// What a file without tolerances has.
const DEFAULT_TOLERANCE: Tolerance = Tolerance {
    rust: 0.02,
    libc: 0.25,
};

/// One path in the file.
#[derive(Debug, Clone, Default, PartialEq)]
struct KeptPath {
    /// Its count.
    counts: Counts,
    /// Its own tolerances, in place of the file's.
    rust_tolerance: Option<f64>,
    /// The same for libc.
    libc_tolerance: Option<f64>,
}

/// The file.
#[derive(Debug, PartialEq)]
pub(crate) struct Kept {
    /// The tolerances of paths without their own.
    tolerance: Tolerance,
    /// The setting of the last update; `None`: there has been none.
    pub(crate) recorded: Option<Setting>,
    /// The paths, by name.
    paths: BTreeMap<String, KeptPath>,
}

impl Kept {
    /// Reads the file; one that is missing has no paths.
    pub(crate) fn read(path: &Path) -> Result<Self> {
        if !path.exists() {
            return Self::from_table(&Table::new());
        }
        let text = fs::read_to_string(path)?;
        let table = text.parse().map_err(anyhow::Error::from);
        table
            .and_then(|table| Self::from_table(&table))
            .with_context(|| format!("cannot read {}", path.display()))
    }

    /// Writes the file.
    pub(crate) fn write(&self, path: &Path) -> Result<()> {
        fs::write(path, format!("{HEADING}{}", self.to_table()))
            .with_context(|| format!("cannot write {}", path.display()))
    }

    /// The names of all paths.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.paths.keys().map(String::as_str)
    }

    /// The count of a path.
    pub(crate) fn counts(&self, name: &str) -> Option<&Counts> {
        self.paths.get(name).map(|path| &path.counts)
    }

    /// What a path may exceed its count by.
    pub(crate) fn tolerance(&self, name: &str) -> Tolerance {
        let path = self.paths.get(name);
        let of = |own: fn(&KeptPath) -> Option<f64>| path.and_then(own);
        Tolerance {
            rust: of(|path| path.rust_tolerance).unwrap_or(self.tolerance.rust),
            libc: of(|path| path.libc_tolerance).unwrap_or(self.tolerance.libc),
        }
    }

    /// Keeps another count of a path.
    pub(crate) fn set_counts(&mut self, name: &str, counts: Counts) {
        self.paths.entry(name.to_owned()).or_default().counts = counts;
    }

    /// Forgets paths that `exists` does not know.
    pub(crate) fn retain(&mut self, exists: impl Fn(&str) -> bool) {
        self.paths.retain(|name, _| exists(name));
    }

    /// The file from its parsed form.
    fn from_table(table: &Table) -> Result<Self> {
        let recorded = table.get("recorded").and_then(Value::as_table);
        let mut paths = BTreeMap::new();
        for (name, path) in table
            .get("paths")
            .and_then(Value::as_table)
            .into_iter()
            .flatten()
        {
            let path = path.as_table().context("not a table");
            let path = path.and_then(KeptPath::from_table);
            paths.insert(name.clone(), path.with_context(|| format!("path {name}"))?);
        }
        Ok(Self {
            tolerance: Tolerance {
                rust: float(table, "tolerance").unwrap_or(DEFAULT_TOLERANCE.rust),
                libc: float(table, "libc_tolerance").unwrap_or(DEFAULT_TOLERANCE.libc),
            },
            recorded: recorded.map(Setting::from_table).transpose()?,
            paths,
        })
    }

    /// Its parsed form.
    fn to_table(&self) -> Table {
        let mut table = Table::new();
        table.insert("tolerance".into(), self.tolerance.rust.into());
        table.insert("libc_tolerance".into(), self.tolerance.libc.into());
        if let Some(recorded) = &self.recorded {
            table.insert("recorded".into(), recorded.to_table().into());
        }
        let paths = self.paths.iter();
        let paths: Table = paths
            .map(|(name, path)| (name.clone(), path.to_table().into()))
            .collect();
        table.insert("paths".into(), paths.into());
        table
    }
}

impl KeptPath {
    /// A path from its parsed form.
    fn from_table(table: &Table) -> Result<Self> {
        let functions = table.get("functions").and_then(Value::as_table);
        let functions = functions.context("no functions")?;
        Ok(Self {
            counts: Counts {
                rust: float(table, "rust").context("no number under `rust`")?,
                libc: float(table, "libc").context("no number under `libc`")?,
                functions: functions
                    .keys()
                    .filter_map(|name| Some((name.clone(), float(functions, name)?)))
                    .collect(),
            },
            rust_tolerance: float(table, "tolerance"),
            libc_tolerance: float(table, "libc_tolerance"),
        })
    }

    /// Its parsed form.
    fn to_table(&self) -> Table {
        let functions = self.counts.functions.iter();
        let functions: Table = functions
            .map(|(name, count)| (name.clone(), tenths(*count).into()))
            .collect();
        let mut table = Table::new();
        table.insert("rust".into(), tenths(self.counts.rust).into());
        table.insert("libc".into(), tenths(self.counts.libc).into());
        table.insert("functions".into(), functions.into());
        let tolerances = [
            ("tolerance", self.rust_tolerance),
            ("libc_tolerance", self.libc_tolerance),
        ];
        for (key, tolerance) in tolerances {
            table.extend(tolerance.map(|value| (key.to_owned(), value.into())));
        }
        table
    }
}

/// The number under a key.
fn float(table: &Table, key: &str) -> Option<f64> {
    let value = table.get(key)?;
    value
        .as_float()
        .or_else(|| Some(value.as_integer()? as f64))
}

/// A count as precise as it is repeatable, and no negative zero.
fn tenths(count: f64) -> f64 {
    (count * 10.0).round() / 10.0 + 0.0
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A count of so much Rust code, most of it in `f`.
    fn counts(rust: f64) -> Counts {
        Counts {
            rust,
            libc: 0.1,
            functions: [("a::f (src/a.rs)".to_owned(), rust - 0.5)].into(),
        }
    }

    /// What comes back after writing to a file.
    fn reread(kept: &Kept) -> Kept {
        let text = format!("{HEADING}{}", kept.to_table());
        Kept::from_table(&text.parse().unwrap()).unwrap()
    }

    #[test]
    fn an_update_changes_counts_and_leaves_tolerances() {
        let text = "tolerance = 0.03\n[paths.lock]\nrust = 11\nlibc = 0\nlibc_tolerance = 1\n\
            [paths.lock.functions]\n";
        let mut kept = Kept::from_table(&text.parse().unwrap()).unwrap();
        kept.set_counts("lock", counts(12.0));
        kept.set_counts("yield", counts(110.5));
        let kept = reread(&kept);
        assert_eq!(kept.counts("lock"), Some(&counts(12.0)));
        assert_eq!(kept.counts("yield"), Some(&counts(110.5)));
        let of = |rust, libc| Tolerance { rust, libc };
        assert_eq!(kept.tolerance("lock"), of(0.03, 1.0));
        assert_eq!(kept.tolerance("yield"), of(0.03, 0.25));
    }

    #[test]
    fn counts_are_kept_in_tenths() {
        let mut kept = Kept::from_table(&Table::new()).unwrap();
        kept.set_counts("yield", counts(110.685));
        assert_eq!(reread(&kept).counts("yield").unwrap().rust, 110.7);
        assert!(tenths(-0.01).is_sign_positive());
    }

    #[test]
    fn paths_that_are_gone_are_forgotten() {
        let mut kept = Kept::from_table(&Table::new()).unwrap();
        kept.set_counts("old", counts(1.0));
        kept.set_counts("new", counts(1.0));
        kept.retain(|name| name == "new");
        assert_eq!(kept.names().collect::<Vec<_>>(), ["new"]);
    }

    #[test]
    fn a_file_with_a_hole_is_an_error() {
        let broken = |text: &str| Kept::from_table(&text.parse().unwrap()).is_err();
        assert!(broken(
            "[paths.yield]\nrust = 1.0\n[paths.yield.functions]\n"
        ));
        assert!(broken("[paths.yield]\nrust = 1.0\nlibc = 1.0\n"));
        assert!(broken("[recorded]\nrustc = \"1.95\"\n"));
    }
}
