//! A file that says which functions and lines its addresses belong to.

use super::function::{Function, note_functions, without_hash};
use super::symbol_table::SymbolTable;
use super::units::Units;
use addr2line::{Loader, demangle_auto};
use memmap2::Mmap;
use object::Object;
use std::borrow::Cow;
use std::cell::OnceCell;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A file that says something of a module.
pub(super) struct Source {
    /// Its name.
    path: PathBuf,
    /// Its content.
    map: Arc<Mmap>,
    /// Its debug information by units; `None`: by the whole only.
    units: Option<Units>,
    /// All of its debug information, for what units do not tell; `None`: it cannot be read.
    whole: OnceCell<Option<Loader>>,
    /// Its table of symbols.
    names: OnceCell<SymbolTable>,
}

impl Source {
    /// Opens a file; `None` if that cannot be read, or has no form that is known.
    pub(super) fn open(path: &Path) -> Option<Self> {
        let file = File::open(path).ok()?;
        // SAFETY: nobody writes to a file that is executed, nor to one that was stripped from it: a
        // new one takes the place of the old one, which stays mapped.
        let map = Arc::new(unsafe { Mmap::map(&file) }.ok()?);
        object::File::parse(&**map).ok()?;
        Some(Self {
            path: path.to_owned(),
            units: Units::of(&map),
            map,
            whole: OnceCell::new(),
            names: OnceCell::new(),
        })
    }

    /// Whether it has the lines of any code.
    pub(super) fn has_lines(&self) -> bool {
        self.has_section(".debug_line")
    }

    /// Whether it has a section of this name.
    fn has_section(&self, name: &str) -> bool {
        let object = object::File::parse(&**self.map);
        object.is_ok_and(|object| object.section_by_name(name).is_some())
    }

    /// The functions at an address, the innermost inlined one first; none if nothing is known.
    pub(super) fn functions_at(&mut self, probe: u64) -> Vec<Function> {
        let by_units = self.units.as_mut().map(|units| units.functions_at(probe));
        let mut functions = match by_units {
            Some(Ok(functions)) => functions,
            _ => self.functions_by_whole(probe),
        };
        let has_name = functions.iter().any(|function| function.name.is_some());
        let names = || self.names.get_or_init(|| SymbolTable::of(&self.map));
        if !has_name && let Some(symbol) = names().containing(probe) {
            let name = demangle_auto(Cow::Borrowed(symbol), None);
            let name = Some(without_hash(&name).to_owned());
            let place = functions.pop().and_then(|function| function.place);
            functions = vec![Function { name, place }];
        }
        functions
    }

    /// What all of the debug information says of an address, as far as it can be read.
    fn functions_by_whole(&self, probe: u64) -> Vec<Function> {
        let whole = self.whole.get_or_init(|| {
            let has_any = self.has_section(".debug_info");
            has_any.then(|| Loader::new(&self.path).ok()).flatten()
        });
        let mut functions = Vec::new();
        if let Some(Ok(frames)) = whole.as_ref().map(|whole| whole.find_frames(probe)) {
            // What has been noted before an error is right.
            let _ = note_functions(frames, &mut functions);
        }
        functions
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;
    use object::{ObjectSymbol, SymbolKind};

    /// This program.
    fn own() -> Source {
        Source::open(&std::env::current_exe().unwrap()).unwrap()
    }

    /// The first address of each function of a file, and an address in it.
    fn functions(source: &Source) -> Vec<(u64, u64)> {
        let object = object::File::parse(&**source.map).unwrap();
        let functions = object
            .symbols()
            .filter(|symbol| symbol.kind() == SymbolKind::Text);
        let with_code = functions.filter(|symbol| symbol.is_definition() && symbol.size() > 0);
        let mut all: Vec<_> = with_code
            .map(|symbol| (symbol.address(), symbol.address() + symbol.size() / 2))
            .collect();
        all.sort_unstable();
        all.dedup();
        all
    }

    /// Some functions from all parts of the program.
    fn some<T: Copy>(all: &[T]) -> impl Iterator<Item = T> {
        all.iter().copied().step_by((all.len() / 100).max(1))
    }

    #[test]
    fn units_say_what_the_whole_says() {
        let mut own = own();
        let (mut known, mut tried) = (0, 0);
        for (start, inside) in some(&functions(&own)) {
            for probe in [start, inside] {
                tried += 1;
                let whole = own.functions_by_whole(probe);
                let by_units = own.units.as_mut().unwrap().functions_at(probe);
                if let Ok(by_units) = by_units {
                    assert_eq!(by_units, whole, "at {probe:#x}");
                    known += usize::from(!by_units.is_empty());
                }
            }
        }
        // Functions of libraries that were built without line tables have no unit.
        assert!(
            tried >= 200 && known > tried / 4,
            "only {known} of {tried} addresses were known by their units"
        );
    }

    #[test]
    fn symbols_are_those_of_a_sorted_map() {
        let own = own();
        let object = object::File::parse(&**own.map).unwrap();
        let (map, table) = (object.symbol_map(), SymbolTable::of(&own.map));
        let functions = functions(&own);
        assert!(functions.len() > 100, "{} functions", functions.len());
        for (start, inside) in some(&functions) {
            for probe in [start - 1, start, inside, 2 * inside - start] {
                let expected = map.containing(probe).map(|symbol| symbol.name());
                assert_eq!(table.containing(probe), expected, "at {probe:#x}");
            }
        }
        assert_eq!(table.containing(0), None);
        assert_eq!(
            table.containing(u64::MAX),
            map.containing(u64::MAX).map(|it| it.name())
        );
    }

    /// The first look-up reads one unit, and another one in the same unit reads nothing.
    #[test]
    fn only_the_units_asked_for_are_read() {
        let mut own = own();
        let functions = functions(&own);
        let units = own.units.as_mut().unwrap();
        let named = |&&(start, _): &&(u64, u64)| {
            units
                .functions_at(start)
                .is_ok_and(|functions| !functions.is_empty())
        };
        let &(start, inside) = functions.iter().find(named).unwrap();
        // That may have read many. This one has read none.
        let mut own = super::tests::own();
        let units = own.units.as_mut().unwrap();
        let _ = units.functions_at(inside).unwrap();
        let (all, read) = units.counts();
        let again = units.functions_at(start).unwrap();
        assert!(!again.is_empty());
        assert_eq!(units.counts(), (all, read));
        // Of an optimised program `.debug_aranges` leaves most units out. They are read together.
        if cfg!(debug_assertions) {
            assert!(read * 4 < all, "{read} of {all} units were read");
        }
    }
}
