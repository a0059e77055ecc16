//! The symbol table of a file: names for functions that debug information does not name.
//!
//! It chooses the same symbol as `object::SymbolMap`. But that sorts all symbols with their names,
//! which takes longer than anything else in a debug build; a dump asks for a few.

use memmap2::Mmap;
use object::read::{Symbol, SymbolTable as Table};
use object::{
    Object, ObjectSection, ObjectSymbol, ObjectSymbolTable, SymbolIndex, SymbolKind, SymbolScope,
};
use std::cmp::Reverse;
use std::sync::Arc;

/// The symbols of a file.
pub(super) struct SymbolTable {
    /// The file.
    map: Arc<Mmap>,
    /// The addresses of its functions and variables, and the place of each in the table.
    symbols: Vec<(u64, SymbolIndex)>,
}

impl SymbolTable {
    /// The symbols of a file; those for programs that load it, if the others have been stripped.
    pub(super) fn of(map: &Arc<Mmap>) -> Self {
        let mut symbols = Vec::new();
        if let Ok(object) = object::File::parse(&***map)
            && let Some(table) = table_of(&object)
        {
            for symbol in table.symbols() {
                if rank(&symbol).is_some() {
                    symbols.push((symbol.address(), symbol.index()));
                }
            }
        }
        Self {
            map: Arc::clone(map),
            symbols,
        }
    }

    /// The name of the symbol that an address belongs to. One without a size ends where the next
    /// one or a section does.
    pub(super) fn containing(&self, probe: u64) -> Option<&str> {
        let object = object::File::parse(&**self.map).ok()?;
        let table = table_of(&object)?;
        let mut start = self.last_start(probe)?;
        loop {
            if let Some((size, name)) = self.best_at(start, &table) {
                let end = |section: object::Section<'_, '_>| {
                    section.address().saturating_add(section.size())
                };
                let ends = |end| start < end && end <= probe;
                let is_in = match size {
                    0 => !object.sections().map(end).any(ends),
                    size => probe - start < size,
                };
                return is_in.then_some(name);
            }
            // Symbols without a name are left out.
            start = self.last_start(start.checked_sub(1)?)?;
        }
    }

    /// The last address up to `probe` where a symbol begins.
    fn last_start(&self, probe: u64) -> Option<u64> {
        let mut last = None;
        self.for_each(|start, _| {
            if start <= probe && (last.is_none() || last < Some(start)) {
                last = Some(start);
            }
        });
        last
    }

    /// Shows `f` the address and the place of each symbol. There are ten thousands, and programs
    /// that are not optimised take ten times as long for an iterator.
    fn for_each(&self, mut f: impl FnMut(u64, SymbolIndex)) {
        let symbols = self.symbols.as_slice();
        let mut number = 0;
        while number < symbols.len() {
            let (start, index) = symbols[number];
            f(start, index);
            number += 1;
        }
    }

    /// The size and the name of the symbol at an address that says most.
    fn best_at<'m>(&self, start: u64, table: &Table<'m, '_>) -> Option<(u64, &'m str)> {
        let mut here = Vec::new();
        self.for_each(|address, index| {
            if address == start {
                here.push(index);
            }
        });
        let named = here.into_iter().filter_map(|index| {
            let symbol = table.symbol_by_index(index).ok()?;
            let name = symbol.name().ok().filter(|name| !name.is_empty())?;
            Some((rank(&symbol)?, Reverse(index.0), symbol.size(), name))
        });
        let best = named.min_by_key(|&(rank, index, ..)| (rank, index));
        best.map(|(_, _, size, name)| (size, name))
    }
}

/// The table of a file.
fn table_of<'m, 'o>(object: &'o object::File<'m>) -> Option<Table<'m, 'o>> {
    let all = object.symbol_table();
    all.or_else(|| object.dynamic_symbol_table())
}

/// How little a symbol says among those at its address: what it is, whether it has a size, who can
/// see it. `None`: it is no place in the file.
fn rank(symbol: &Symbol<'_, '_>) -> Option<(bool, bool, u8)> {
    let is_known = match symbol.kind() {
        SymbolKind::Text | SymbolKind::Data => true,
        SymbolKind::Unknown => false,
        _ => return None,
    };
    let scope = match symbol.scope() {
        SymbolScope::Dynamic => 0,
        SymbolScope::Linkage => 1,
        SymbolScope::Compilation => 2,
        SymbolScope::Unknown => 3,
    };
    symbol
        .is_definition()
        .then_some((!is_known, symbol.size() == 0, scope))
}
