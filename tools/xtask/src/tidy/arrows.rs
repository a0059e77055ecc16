//! The crates that each crate may depend on: a chain, and the arrows point down only.
//!
//! The arrows are drawn once more in [`DRAWN`]; a package that is not drawn there fails. Manifests
//! are checked in all their dependency tables, sources for the names of crates above.
//!
//! One arrow points up: examples in the documentation name the facade, so the crates below it need
//! it to test them. It must be a development dependency by path alone, which cargo leaves out of
//! what it publishes; and no test may use it, as behaviour is tested above, and models have no
//! facade.

use std::path::Path;

use anyhow::{Context, Result};
use toml::{Table, Value};

use crate::tidy::source::{Source, Violation};
use crate::workspace::{Workspace, read_manifest};

/// The package that users depend on.
const FACADE: &str = "fibre-rt";
/// The name that programs use it by.
const FACADE_NAME: &str = "fibre";

/// A program without a library, which no source can name; a C function has that name.
const NAMELESS: &str = "fibre-trace";

/// Every package of the workspace and those of its siblings that it may depend on.
const DRAWN: [(&str, &[&str]); 28] = [
    ("fibre-core", &[]),
    ("fibre-sync", &["fibre-core"]),
    ("fibre-io", &["fibre-core", "fibre-sync"]),
    // Its examples use the facade, which knows it.
    (
        "fibre-inspect",
        &["fibre-core", "fibre-sync", "fibre-io", FACADE],
    ),
    (
        FACADE,
        &["fibre-core", "fibre-sync", "fibre-io", "fibre-inspect"],
    ),
    // The facade's tests.
    ("fibre-tests", &["fibre-core", "fibre-sync", FACADE]),
    // Its tests and examples use the facade, which does not know it.
    ("fibre-actors", &["fibre-core", "fibre-sync", FACADE]),
    (
        "fibre-events",
        &["fibre-core", "fibre-io", "fibre-sync", FACADE],
    ),
    (
        "fibre-tasks",
        &["fibre-core", "fibre-io", "fibre-sync", FACADE],
    ),
    // The tests of the second one are served by the first.
    (
        "fibre-rustls",
        &["fibre-core", "fibre-io", "fibre-sync", FACADE],
    ),
    (
        "fibre-ureq",
        &[
            "fibre-core",
            "fibre-io",
            "fibre-rustls",
            "fibre-test",
            FACADE,
        ],
    ),
    // Its tests use the facade.
    (
        "fibre-libc",
        &["fibre-core", "fibre-io", "fibre-sync", FACADE],
    ),
    // Its tests and examples use the facade.
    (
        "fibre-test",
        &[
            "fibre-core",
            "fibre-inspect",
            "fibre-io",
            "fibre-sync",
            "fibre-test-macros",
            FACADE,
        ],
    ),
    ("fibre-test-macros", &[]),
    ("fibre-threads", &["fibre-libc"]),
    ("fibre-measure", &[]),
    // One of its examples measures.
    (
        "fibre-hyper",
        &[
            "fibre-core",
            "fibre-io",
            "fibre-sync",
            FACADE,
            "fibre-measure",
        ],
    ),
    (
        "fibre-capi",
        &["fibre-core", "fibre-sync", "fibre-io", "fibre-inspect"],
    ),
    // Its tests trace programs of the facade.
    ("fibre-trace", &[FACADE]),
    (
        "fibre-bench",
        &[
            FACADE,
            "fibre-actors",
            "fibre-events",
            "fibre-libc",
            "fibre-tasks",
            "fibre-measure",
        ],
    ),
    ("fibre-check", &[]),
    // The layout of the page that it reads; its tests are programs that use the facade.
    ("fibre-top", &["fibre-inspect", FACADE]),
    ("fibre-mcload", &[FACADE, "fibre-measure"]),
    (
        "fibre-examples",
        &[FACADE, "fibre-actors", "fibre-libc", "fibre-ureq"],
    ),
    (
        "fibre-services",
        &[
            FACADE,
            "fibre-hyper",
            "fibre-libc",
            "fibre-measure",
            "fibre-test",
        ],
    ),
    ("fibre-clients", &[FACADE, "fibre-libc", "fibre-measure"]),
    // The programs in its pages.
    (
        "fibre-guide",
        &[
            FACADE,
            "fibre-actors",
            "fibre-events",
            "fibre-hyper",
            "fibre-libc",
            "fibre-tasks",
            "fibre-test",
        ],
    ),
    ("xtask", &[]),
];

/// What the manifest of a package says.
pub(crate) struct Package {
    /// Its name.
    pub(crate) name: String,
    /// Its folder relative to the root, empty for the root package.
    pub(crate) folder: String,
    /// All packages it depends on, in whatever table; the facade is left out where only examples
    /// need it.
    dependencies: Vec<String>,
}

impl Package {
    /// Reads what matters here from a parsed manifest.
    fn from_manifest(folder: &str, manifest: &Table) -> Result<Self> {
        let name = manifest
            .get("package")
            .and_then(|package| package.get("name"))
            .and_then(Value::as_str)
            .with_context(|| format!("the manifest in `{folder}` names no package"))?;
        let mut dependencies = dependencies(manifest);
        let targets = manifest.get("target").and_then(Value::as_table);
        for target in targets.into_iter().flat_map(Table::values) {
            dependencies.extend(
                target
                    .as_table()
                    .map(self::dependencies)
                    .unwrap_or_default(),
            );
        }
        Ok(Self {
            name: name.to_owned(),
            folder: folder.to_owned(),
            dependencies,
        })
    }

    /// Whether the file belongs to this package; the root package owns what no other does.
    fn owns(&self, source: &Source, all: &[Self]) -> bool {
        if !self.folder.is_empty() {
            return source.is_below(&self.folder);
        }
        let others = all.iter().filter(|package| !package.folder.is_empty());
        !others
            .into_iter()
            .any(|other| source.is_below(&other.folder))
    }
}

/// Reads the manifests of all packages.
pub(crate) fn read_packages(workspace: &Workspace) -> Result<Vec<Package>> {
    let read = |folder: &Path| {
        let manifest = read_manifest(&workspace.root().join(folder).join("Cargo.toml"))?;
        let folder = folder.to_string_lossy();
        Package::from_manifest(folder.trim_start_matches('.'), &manifest)
    };
    workspace
        .packages()?
        .iter()
        .map(|folder| read(folder))
        .collect()
}

/// Checks manifests and sources against the drawn arrows.
pub(crate) fn check(packages: &[Package], sources: &[Source]) -> Vec<Violation> {
    let mut violations = Vec::new();
    for package in packages {
        let drawn = DRAWN.iter().find(|(name, _)| *name == package.name);
        let Some((_, allowed)) = drawn else {
            violations.push(manifest_violation(
                package,
                "not drawn among the crate arrows",
            ));
            continue;
        };
        let forbidden: Vec<&str> = packages
            .iter()
            .map(|other| other.name.as_str())
            .filter(|other| *other != package.name && !allowed.contains(other))
            .collect();
        for other in package
            .dependencies
            .iter()
            .filter(|other| forbidden.contains(&other.as_str()))
        {
            let text = format!("{} must not depend on {other}", package.name);
            violations.push(manifest_violation(package, &text));
        }
        for source in sources
            .iter()
            .filter(|source| package.owns(source, packages))
        {
            violations.extend(forbidden_names(source, &forbidden));
        }
    }
    violations
}

/// Uses of forbidden crates in a file. The facade's name may be anything in a source, such as a
/// module, so it counts only where a path in an integration test starts with it.
fn forbidden_names(source: &Source, forbidden: &[&str]) -> Vec<Violation> {
    let name = |package: &&str| match *package {
        FACADE => FACADE_NAME.to_owned(),
        package => package.replace('-', "_"),
    };
    let named = forbidden.iter().filter(|package| **package != NAMELESS);
    let names: Vec<String> = named.map(name).collect();
    let tokens = &source.tokens;
    let uses = tokens.iter().enumerate().filter(|(index, token)| {
        let starts_path = source.path.contains("/tests/")
            && tokens.get(index + 1).is_some_and(|next| next.text == ":")
            && tokens.get(index + 2).is_some_and(|next| next.text == ":");
        names.contains(&token.text) && (token.text.contains('_') || starts_path)
    });
    uses.map(|(_, token)| {
        source.violation(
            token.line,
            format!("`{}` lies above this crate", token.text),
        )
    })
    .collect()
}

/// The packages named in the dependency tables of a manifest or of one of its targets.
fn dependencies(table: &Table) -> Vec<String> {
    let mut found = Vec::new();
    for kind in ["dependencies", "dev-dependencies", "build-dependencies"] {
        let table = table.get(kind).and_then(Value::as_table);
        for (key, value) in table.into_iter().flatten() {
            let renamed = value.get("package").and_then(Value::as_str);
            let name = renamed.unwrap_or(key);
            if !(kind == "dev-dependencies" && name == FACADE && is_path_alone(value)) {
                found.push(name.to_owned());
            }
        }
    }
    found
}

/// Whether a dependency is given by a path and nothing else.
fn is_path_alone(value: &Value) -> bool {
    let table = value.as_table();
    table.is_some_and(|table| table.len() == 1 && table.contains_key("path"))
}

/// A violation in the manifest of a package.
fn manifest_violation(package: &Package, text: &str) -> Violation {
    Violation {
        place: Path::new(&package.folder)
            .join("Cargo.toml")
            .to_string_lossy()
            .into_owned(),
        line: 0,
        text: text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A package with these lines in its manifest, below its name.
    fn package(name: &str, rest: &str) -> Package {
        let manifest = format!("[package]\nname = \"{name}\"\n{rest}")
            .parse()
            .unwrap();
        let folder = if name == FACADE { "" } else { name };
        Package::from_manifest(folder, &manifest).unwrap()
    }

    /// What the rule says of one package among its siblings.
    fn violations(name: &str, rest: &str) -> usize {
        let others = ["fibre-core", "fibre-sync", "fibre-io", FACADE];
        let others = others.iter().filter(|other| **other != name);
        let mut packages: Vec<Package> = others.map(|other| package(other, "")).collect();
        packages.push(package(name, rest));
        check(&packages, &[]).len()
    }

    #[test]
    fn drawn_arrows_pass() {
        let down = "[dependencies]\nfibre-core.workspace = true\nlibc = \"0.2\"\n";
        assert_eq!(violations("fibre-sync", down), 0);
        assert_eq!(violations(FACADE, down), 0);
    }

    #[test]
    fn arrows_up_fail_in_every_table() {
        assert_eq!(
            violations("fibre-core", "[dependencies]\nfibre-sync = {}\n"),
            1
        );
        assert_eq!(
            violations("fibre-core", "[dev-dependencies]\nfibre-io = {}\n"),
            1
        );
        assert_eq!(
            violations(
                "fibre-sync",
                "[target.'cfg(loom)'.dependencies]\nfibre-io = {}\n"
            ),
            1
        );
        let renamed = "[dependencies]\nbelow = { package = \"fibre-io\" }\n";
        assert_eq!(violations("fibre-sync", renamed), 1);
    }

    #[test]
    fn only_examples_may_need_the_facade() {
        let in_table = |table: &str, value: &str| {
            violations("fibre-core", &format!("[{table}]\nfibre-rt = {value}\n"))
        };
        assert_eq!(in_table("dev-dependencies", "{ path = \"..\" }"), 0);
        let outside_models = "target.'cfg(not(loom))'.dev-dependencies";
        assert_eq!(in_table(outside_models, "{ path = \"..\" }"), 0);
        let published = "{ path = \"..\", version = \"0.1.0\" }";
        assert_eq!(in_table("dev-dependencies", published), 1);
        assert_eq!(in_table("dev-dependencies", "{ workspace = true }"), 1);
        assert_eq!(in_table("dependencies", "{ path = \"..\" }"), 1);
    }

    #[test]
    fn a_package_that_is_not_drawn_fails() {
        assert_eq!(violations("fibre-stranger", ""), 1);
    }

    #[test]
    fn uses_of_crates_above_fail() {
        let packages = [
            package("fibre-core", ""),
            package("fibre-io", ""),
            package(FACADE, ""),
        ];
        let text = "//! About fibre_io.\n\nfn f() { fibre_io::poll(); }\n";
        let above = Source::parse("fibre-core/src/idle/set.rs", text).unwrap();
        let own = Source::parse("tests/net.rs", text).unwrap();
        let found = check(&packages, &[above, own]);
        assert_eq!(found.len(), 1);
        assert_eq!(
            (found[0].place.as_str(), found[0].line),
            ("fibre-core/src/idle/set.rs", 3)
        );
    }

    #[test]
    fn code_below_the_facade_that_uses_it_fails() {
        let packages = [package("fibre-core", ""), package(FACADE, "")];
        let text = "//! D.\nuse fibre::spawn;\nfn f(fibre: u8) -> u8 { g(fibre) }\n";
        let below = Source::parse("fibre-core/tests/turns.rs", text).unwrap();
        let above = Source::parse("tests/spawn.rs", text).unwrap();
        let found = check(&packages, &[below, above]);
        assert_eq!(found.len(), 1);
        assert_eq!(
            (found[0].place.as_str(), found[0].line),
            ("fibre-core/tests/turns.rs", 2)
        );
    }
}
