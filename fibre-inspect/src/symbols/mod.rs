//! Which functions and lines addresses belong to.
//!
//! Functions (`function`) come from the debug information of a module's file, with those that were
//! inlined, or else from its table of symbols (`symbol_table`). Both may have been stripped, and
//! lie in another file (`debug_file`). Each file is a `source` of both. Only the units of debug
//! information with the requested addresses are read (`units`). A file is read at the first request
//! for one of its addresses, after the standstill. The loaded file may have been replaced by now:
//! the program itself is read through `/proc/self/exe`, which stays the same.

mod debug_file;
mod function;
mod source;
mod symbol_table;
mod units;

use self::debug_file::debug_file_of;
pub(crate) use self::function::Function;
use self::source::Source;
use crate::stack::modules::Modules;
use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap};
use std::path::Path;
use std::sync::Arc;

/// What is known of the code at an address.
#[derive(Debug)]
pub(crate) struct Code {
    /// The functions there, the innermost inlined one first. At least one.
    pub functions: Vec<Function>,
    /// The name of the module's file, and the address in it.
    pub module: Option<(String, usize)>,
}

/// What is known of code: by its address, and whether it goes on there behind a call.
pub(crate) type Known = HashMap<(usize, bool), Arc<Code>>;

/// The symbols of all modules.
pub(crate) struct Symbols<'m> {
    modules: &'m Modules,
    /// The files that say something of a module: that with what was stripped from it first.
    sources: HashMap<usize, Vec<Source>>,
    known: Known,
    /// Whether files are read.
    reads: bool,
    /// The modules that lack names of functions, or lines.
    lacking: BTreeSet<String>,
}

impl<'m> Symbols<'m> {
    /// The symbols of these modules.
    pub(crate) fn new(modules: &'m Modules) -> Self {
        Self {
            modules,
            sources: HashMap::new(),
            known: HashMap::new(),
            reads: true,
            lacking: BTreeSet::new(),
        }
    }

    /// Lets no file be read from now on, which may take seconds: code has addresses only.
    pub(crate) fn read_nothing(&mut self) {
        self.reads = false;
    }

    /// Takes over what was known before of code in the same places.
    pub(crate) fn recall(&mut self, known: Known) {
        self.known = known;
    }

    /// What is known now.
    pub(crate) fn into_known(self) -> Known {
        self.known
    }

    /// What is known of the code at an address; `called`: it goes on there behind a call.
    pub(crate) fn look_up(&mut self, address: usize, called: bool) -> Arc<Code> {
        if let Some(known) = self.known.get(&(address, called)) {
            return Arc::clone(known);
        }
        let code = Arc::new(self.read(address - usize::from(called), address));
        self.known.insert((address, called), Arc::clone(&code));
        code
    }

    /// What the reports lack, in words: by module.
    pub(crate) fn lacking(&self) -> impl Iterator<Item = &str> {
        self.lacking.iter().map(String::as_str)
    }

    /// Looks into the module's file for the instruction at `probe`.
    fn read(&mut self, probe: usize, shown: usize) -> Code {
        let unknown = Function {
            name: None,
            place: None,
        };
        let number = self.modules.find(probe);
        let Some(number) = number.filter(|_| self.reads) else {
            return Code {
                functions: vec![unknown],
                module: None,
            };
        };
        let module = &self.modules.all[number];
        let sources = self.sources.entry(number);
        let sources = sources.or_insert_with(|| sources_of(&module.path));
        let inside = probe.wrapping_sub(module.bias) as u64;
        let mut functions = sources
            .iter_mut()
            .map(|source| source.functions_at(inside))
            .find(|functions| functions.iter().any(|function| function.name.is_some()))
            .unwrap_or_default();
        let short = module.path.rsplit('/').next().unwrap_or(&module.path);
        if functions.iter().all(|function| function.name.is_none()) {
            self.lacking
                .insert(format!("{short} names no functions: it has been stripped"));
            functions = vec![unknown];
        } else if functions.iter().all(|function| function.place.is_none())
            && !sources.iter().any(Source::has_lines)
        {
            self.lacking.insert(format!(
                "{short} has no lines: it was built without debug = \"line-tables-only\""
            ));
        }
        Code {
            functions,
            module: Some((short.to_owned(), shown.wrapping_sub(module.bias))),
        }
    }
}

/// The files that say something of a module, by the kernel's name for it.
fn sources_of(path: &str) -> Vec<Source> {
    let Some(file) = file_of(path) else {
        return Vec::new();
    };
    let debug = debug_file_of(Path::new(path), Path::new(&*file));
    let sources = [
        debug.as_deref().map(Source::open),
        Some(Source::open(Path::new(&*file))),
    ];
    sources.into_iter().flatten().flatten().collect()
}

/// The file to read for a module, by the kernel's name for it.
fn file_of(path: &str) -> Option<Cow<'_, str>> {
    let own = std::fs::read_link("/proc/self/exe").ok();
    if own.is_some_and(|own| own.to_string_lossy() == path) {
        return Some(Cow::Borrowed("/proc/self/exe"));
    }
    let is_file = path.starts_with('/') && !path.ends_with(" (deleted)");
    is_file.then_some(Cow::Borrowed(path))
}
