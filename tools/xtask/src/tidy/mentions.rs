//! What the code of one module defines and mentions, not yet resolved to files.
//!
//! Not seen: names that macros make, and paths inside macro calls other than their single names.

use std::collections::BTreeSet;

use proc_macro2::{TokenStream, TokenTree};
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{Item, ItemUse, UseTree, Visibility};

use crate::tidy::source::{is_test_only, item_attributes};

/// What one module defines and which paths it mentions.
#[derive(Default)]
pub(crate) struct Mentions {
    /// The names of its items.
    pub(crate) items: BTreeSet<String>,
    /// The names its code needs, from wherever.
    pub(crate) names: BTreeSet<String>,
    /// Its `use` declarations, one per name.
    pub(crate) uses: Vec<Use>,
    /// Paths of two or more segments elsewhere, with their line.
    pub(crate) paths: Vec<(Vec<String>, usize)>,
}

/// One name brought in by a `use` declaration.
pub(crate) struct Use {
    /// The name it has here, `None` for `*`.
    pub(crate) name: Option<String>,
    /// The path it stands for.
    pub(crate) path: Vec<String>,
    /// Whether others see the name through this module.
    pub(crate) is_public: bool,
    /// The line of the declaration.
    pub(crate) line: usize,
}

impl Mentions {
    /// What these items define and mention, the insides of modules left out.
    pub(crate) fn of(items: &[Item]) -> Self {
        let mut mentions = Self::default();
        for item in items.iter().filter(|item| !matches!(item, Item::Mod(_))) {
            mentions.items.extend(defined_name(item));
            mentions.visit_item(item);
        }
        mentions
    }

    /// Whether it defines this name or brings it in.
    pub(crate) fn knows(&self, name: &str) -> bool {
        let mut uses = self.uses.iter();
        self.items.contains(name) || uses.any(|import| import.name.as_deref() == Some(name))
    }

    /// Enters the names of one `use` tree below the path of `prefix`, which knows the rest.
    fn add_use(&mut self, tree: &UseTree, prefix: &Use) {
        let joined = |name: &dyn ToString| {
            let mut path = prefix.path.clone();
            let name = name.to_string();
            if name != "self" || path.is_empty() {
                path.push(name);
            }
            path
        };
        let (name, path) = match tree {
            UseTree::Path(tree) => {
                return self.add_use(&tree.tree, &prefix.with(None, joined(&tree.ident)));
            }
            UseTree::Group(group) => {
                let trees = group.items.iter();
                return trees.for_each(|tree| self.add_use(tree, prefix));
            }
            UseTree::Name(tree) => {
                let path = joined(&tree.ident);
                (path.last().cloned(), path)
            }
            UseTree::Rename(tree) => (Some(tree.rename.to_string()), joined(&tree.ident)),
            UseTree::Glob(_) => (None, prefix.path.clone()),
        };
        if !path.is_empty() {
            self.uses.push(prefix.with(name, path));
        }
    }
}

impl Use {
    /// Another name of the same declaration.
    fn with(&self, name: Option<String>, path: Vec<String>) -> Self {
        Self {
            name,
            path,
            is_public: self.is_public,
            line: self.line,
        }
    }
}

impl<'ast> Visit<'ast> for Mentions {
    fn visit_item(&mut self, item: &'ast Item) {
        if !is_test_only(item_attributes(item)) {
            visit::visit_item(self, item);
        }
    }

    fn visit_item_use(&mut self, item: &'ast ItemUse) {
        let prefix = Use {
            name: None,
            path: Vec::new(),
            is_public: !matches!(item.vis, Visibility::Inherited),
            line: item.span().start().line,
        };
        if item.leading_colon.is_none() {
            self.add_use(&item.tree, &prefix);
        }
    }

    /// `pub(in path)` imports nothing.
    fn visit_visibility(&mut self, _: &'ast Visibility) {}

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let names = path
            .segments
            .iter()
            .map(|segment| segment.ident.to_string());
        let names: Vec<String> = names.collect();
        self.names.insert(names[0].clone());
        if names.len() > 1 && path.leading_colon.is_none() {
            self.paths.push((names, path.span().start().line));
        }
        visit::visit_path(self, path);
    }

    /// What a macro does with its tokens is not known; all names among them count as needed.
    fn visit_macro(&mut self, call: &'ast syn::Macro) {
        add_names(call.tokens.clone(), &mut self.names);
        visit::visit_macro(self, call);
    }
}

/// Adds all identifiers of the stream.
fn add_names(stream: TokenStream, names: &mut BTreeSet<String>) {
    for tree in stream {
        match tree {
            TokenTree::Group(group) => add_names(group.stream(), names),
            TokenTree::Ident(ident) => {
                names.insert(ident.to_string());
            }
            TokenTree::Punct(_) | TokenTree::Literal(_) => {}
        }
    }
}

/// The name an item defines in its module.
fn defined_name(item: &Item) -> Option<String> {
    let ident = match item {
        Item::Const(item) => &item.ident,
        Item::Enum(item) => &item.ident,
        Item::Fn(item) => &item.sig.ident,
        Item::Macro(item) => item.ident.as_ref()?,
        Item::Static(item) => &item.ident,
        Item::Struct(item) => &item.ident,
        Item::Trait(item) => &item.ident,
        Item::Type(item) => &item.ident,
        Item::Union(item) => &item.ident,
        _ => return None,
    };
    Some(ident.to_string())
}
