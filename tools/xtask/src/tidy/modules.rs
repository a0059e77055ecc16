//! The module tree of a crate and the imports between its files.
//!
//! The tree is read from the `mod` declarations, beginning at each crate root; modules written
//! inside a file belong to that file, and whatever is under `#[cfg(test)]` is left out. An *import*
//! is a `use` or a written-out path with a name that is defined in another file.
//!
//! Declaring a child is no import, and neither is re-exporting its names while nothing else in the
//! file needs them. A name is followed through such declarations to the file that defines it. Hence
//! a `mod.rs` may define what its children share and show their names; but a child that uses what
//! its `mod.rs` defines, and is used there, makes a cycle.

use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};

use syn::{Attribute, Expr, Item, ItemMod, Lit, Meta};

use crate::tidy::mentions::{Mentions, Use};
use crate::tidy::source::{Source, is_test_only};

/// How many re-exports a name is followed through.
const MAX_DEPTH: usize = 16;

/// One file imports from another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Import {
    /// The importing file, as an index into the sources.
    pub(crate) from: usize,
    /// The file that defines the name.
    pub(crate) to: usize,
    /// The line of the import.
    pub(crate) line: usize,
}

/// The imports of each crate of the package in this folder: library, programs, examples, tests.
pub(crate) fn imports(sources: &[Source], folder: &str) -> Vec<Vec<Import>> {
    let in_package = |source: &Source| {
        let path = Path::new(&source.path).strip_prefix(folder).ok()?;
        is_crate_root(path).then(|| Path::new(folder).join(path))
    };
    let roots = sources.iter().filter_map(in_package);
    roots.map(|root| imports_of_crate(sources, &root)).collect()
}

/// Whether cargo makes a crate of the file at this path of a package.
fn is_crate_root(path: &Path) -> bool {
    let path = path.to_string_lossy();
    let parts: Vec<&str> = path.split('/').collect();
    match parts[..] {
        ["src", "lib.rs" | "main.rs"] => true,
        ["src", "bin", _] | ["src", "bin", _, "main.rs"] => true,
        [folder, _] | [folder, _, "main.rs"] => ["examples", "tests", "benches"].contains(&folder),
        _ => false,
    }
}

/// The imports of the crate that begins with this file.
fn imports_of_crate(sources: &[Source], root: &Path) -> Vec<Import> {
    let mut tree = Tree {
        sources,
        modules: Vec::new(),
    };
    let folder = root.parent().unwrap_or(Path::new(""));
    if let Some(source) = tree.source_at(root) {
        tree.add(source, &sources[source].syntax.items, None, folder);
    }
    tree.imports()
}

/// The modules of one crate.
struct Tree<'a> {
    /// All files of the workspace.
    sources: &'a [Source],
    /// The modules, the root first.
    modules: Vec<Module>,
}

/// One module, a file of its own or a part of one.
struct Module {
    /// Its file.
    source: usize,
    /// The module around it, `None` for the root.
    parent: Option<usize>,
    /// The modules it declares. Two may share a name under opposite conditions.
    children: Vec<(String, usize)>,
    /// What it mentions.
    mentions: Mentions,
}

impl Tree<'_> {
    /// Adds a module and all below it; `folder` is where the files of its children lie.
    fn add(
        &mut self,
        source: usize,
        items: &[Item],
        parent: Option<usize>,
        folder: &Path,
    ) -> usize {
        let this = self.modules.len();
        self.modules.push(Module {
            source,
            parent,
            children: Vec::new(),
            mentions: Mentions::of(items),
        });
        for item in items {
            if let Item::Mod(item) = item
                && !is_test_only(&item.attrs)
            {
                self.add_child(this, item, folder);
            }
        }
        this
    }

    /// Adds the module that `parent` declares by this item, if its file is there.
    fn add_child(&mut self, parent: usize, item: &ItemMod, folder: &Path) {
        let name = item.ident.to_string();
        let mut below = folder.join(&name);
        let child = if let Some((_, items)) = &item.content {
            self.add(self.modules[parent].source, items, Some(parent), &below)
        } else {
            let Some(source) = self.child_file(item, &name, folder) else {
                return;
            };
            if path_attribute(&item.attrs).is_some() {
                // Its children lie beside it.
                below = parent_of(&self.sources[source].path);
            }
            let sources = self.sources;
            self.add(source, &sources[source].syntax.items, Some(parent), &below)
        };
        self.modules[parent].children.push((name, child));
    }

    /// The file of a declared module.
    fn child_file(&self, item: &ItemMod, name: &str, folder: &Path) -> Option<usize> {
        if let Some(path) = path_attribute(&item.attrs) {
            return self.source_at(&without_steps_up(&folder.join(path)));
        }
        self.source_at(&folder.join(format!("{name}.rs")))
            .or_else(|| self.source_at(&folder.join(name).join("mod.rs")))
    }

    /// The source at this path.
    fn source_at(&self, path: &Path) -> Option<usize> {
        self.sources
            .iter()
            .position(|source| Path::new(&source.path) == path)
    }

    /// All imports between files, each once.
    fn imports(&self) -> Vec<Import> {
        let mut found = BTreeSet::new();
        for (index, module) in self.modules.iter().enumerate() {
            for (path, line, is_use) in module.importing_paths() {
                let own = is_use && path[0] == "crate";
                let targets = self.resolve(index, path, 0);
                let counted = targets.into_iter().filter(|to| own || *to != module.source);
                found.extend(counted.map(|to| Import {
                    from: module.source,
                    to,
                    line,
                }));
            }
        }
        found.into_iter().collect()
    }

    /// The files that define what the path means in this module; none if it leads out of the crate.
    fn resolve(&self, module: usize, path: &[String], depth: usize) -> BTreeSet<usize> {
        let Some((first, rest)) = path.split_first() else {
            return BTreeSet::new();
        };
        match first.as_str() {
            _ if depth > MAX_DEPTH => BTreeSet::new(),
            "crate" => self.walk(0, rest, depth),
            "self" | "super" => self.walk(module, path, depth),
            name if self.modules[module].knows(name) => self.walk(module, path, depth),
            _ => BTreeSet::new(),
        }
    }

    /// The files that define the name at the end of the path, going down from this module.
    fn walk(&self, at: usize, path: &[String], depth: usize) -> BTreeSet<usize> {
        let module = &self.modules[at];
        let Some((name, rest)) = path.split_first() else {
            return BTreeSet::from([module.source]);
        };
        match name.as_str() {
            "self" => return self.walk(at, rest, depth),
            "super" => return self.walk(module.parent.unwrap_or(at), rest, depth),
            _ => {}
        }
        let mut children = module
            .children
            .iter()
            .filter(|(child, _)| child == name)
            .peekable();
        if children.peek().is_some() {
            return children
                .flat_map(|(_, child)| self.walk(*child, rest, depth))
                .collect();
        }
        if module.mentions.items.contains(name) {
            return BTreeSet::from([module.source]);
        }
        let follow = |import: &Use, rest: &[String]| {
            let whole = [import.path.as_slice(), rest].concat();
            self.resolve(at, &whole, depth + 1)
        };
        let uses = &module.mentions.uses;
        let mut named = uses
            .iter()
            .filter(|import| import.name.as_ref() == Some(name))
            .peekable();
        if named.peek().is_some() {
            return named.flat_map(|import| follow(import, rest)).collect();
        }
        let globs = uses.iter().filter(|import| import.name.is_none());
        let mut found: BTreeSet<usize> = globs.flat_map(|import| follow(import, path)).collect();
        if found.is_empty() {
            found.insert(module.source);
        }
        found
    }
}

impl Module {
    /// Whether it declares a module of this name.
    fn has_child(&self, name: &str) -> bool {
        self.children.iter().any(|(child, _)| child == name)
    }

    /// Whether a path in this module may begin with this name.
    fn knows(&self, name: &str) -> bool {
        self.has_child(name) || self.mentions.knows(name)
    }

    /// Whether the declaration only shows a child's name to others, and nothing here needs it.
    fn merely_shows(&self, import: &Use) -> bool {
        let of_child = import.path[0] == "self" || self.has_child(&import.path[0]);
        let needed = import
            .name
            .as_ref()
            .is_some_and(|name| self.mentions.names.contains(name));
        import.is_public && of_child && !needed
    }

    /// Every path that makes an import, with its line and whether it stands in a `use`.
    fn importing_paths(&self) -> impl Iterator<Item = (&[String], usize, bool)> {
        let uses = self
            .mentions
            .uses
            .iter()
            .filter(|import| !self.merely_shows(import));
        let uses = uses.map(|import| (import.path.as_slice(), import.line, true));
        let paths = self.mentions.paths.iter();
        uses.chain(paths.map(|(path, line)| (path.as_slice(), *line, false)))
    }
}

/// The folder of a file.
fn parent_of(path: &str) -> PathBuf {
    Path::new(path).parent().unwrap_or(Path::new("")).into()
}

/// A path without `..`; each of these takes the folder before it away.
fn without_steps_up(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(plain.pop()),
            part => plain.push(part),
        }
    }
    plain
}

/// The file named by `#[path = "…"]`.
fn path_attribute(attributes: &[Attribute]) -> Option<PathBuf> {
    attributes.iter().find_map(|attribute| {
        let Meta::NameValue(meta) = &attribute.meta else {
            return None;
        };
        let Expr::Lit(value) = &meta.value else {
            return None;
        };
        let Lit::Str(path) = &value.lit else {
            return None;
        };
        meta.path.is_ident("path").then(|| path.value().into())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crate_roots_are_what_cargo_builds() {
        for path in [
            "src/lib.rs",
            "src/bin/a.rs",
            "examples/web/main.rs",
            "tests/net.rs",
        ] {
            assert!(is_crate_root(Path::new(path)), "{path}");
        }
        for path in [
            "src/a.rs",
            "examples/web/http.rs",
            "tests/common/mod.rs",
            "a/src/lib.rs",
        ] {
            assert!(!is_crate_root(Path::new(path)), "{path}");
        }
    }
}
