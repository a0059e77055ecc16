//! The program's symbol table: which functions and thread-locals lie where.
//!
//! It is in the program's file, as 64-bit ELF, unless it was stripped; it is not loaded with the
//! program. An unreadable or invalid table counts as missing. This module ignores libraries that
//! the program has loaded.

use crate::sys::modules;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::ops::Range;

/// A section header's bytes.
const SECTION: usize = 64;

/// A symbol's bytes.
const SYMBOL: usize = 24;

/// The kind of the section that has all symbols.
const SYMBOL_TABLE: u64 = 2;

/// The kind of symbols that are functions.
const FUNCTION: u8 = 2;

/// The kind of symbols that are thread-locals.
const THREAD_LOCAL: u8 = 6;

/// The program's functions with one of the words in their names, and a kind by `kind_of`: their
/// addresses, in order, and their kinds.
pub(super) fn functions<K>(
    words: &[&str],
    kind_of: impl Fn(&[u8]) -> Option<K>,
) -> Vec<(Range<usize>, K)> {
    let symbols = Symbols::read();
    let mut functions = symbols
        .and_then(|symbols| symbols.functions(words, kind_of))
        .unwrap_or_default();
    functions.sort_by_key(|(code, _)| code.start);
    functions
}

/// The program's thread-locals: their places from the beginning of its block of them, in order, and
/// their names as linkers have them.
pub(super) fn thread_locals() -> Vec<(Range<usize>, String)> {
    let symbols = Symbols::read();
    let mut all = symbols.map_or_else(Vec::new, |symbols| symbols.thread_locals());
    all.sort_by_key(|(place, _)| place.start);
    all
}

/// The longest name of a thread-local that is read whole.
const MAX_NAME: u64 = 1024;

/// The table, and where the names are that its entries point to.
struct Symbols {
    /// The program.
    file: File,
    /// The entries.
    table: Vec<u8>,
    /// The part of the file with the names, each with a zero behind it.
    names: Range<u64>,
}

impl Symbols {
    /// Reads the table of the program, if it has one.
    fn read() -> Option<Self> {
        let file = File::open("/proc/self/exe").ok()?;
        let header = bytes(&file, 0, 64)?;
        let sections = bytes(
            &file,
            number(&header, 0x28, 8)?,
            number(&header, 0x3c, 2)? * SECTION as u64,
        )?;
        let is_table = |section: &&[u8]| number(section, 4, 4) == Some(SYMBOL_TABLE);
        let table = sections.chunks_exact(SECTION).find(is_table)?;
        let names = number(table, 0x28, 4)? as usize;
        let names = sections.chunks_exact(SECTION).nth(names)?;
        let content = |section| {
            let begin = number(section, 0x18, 8)?;
            Some(begin..begin.checked_add(number(section, 0x20, 8)?)?)
        };
        let (table, names) = (content(table)?, content(names)?);
        let table = bytes(&file, table.start, table.end - table.start)?;
        Some(Self { file, table, names })
    }

    /// The functions with one of these words in their names, and a kind, in no order.
    fn functions<K>(
        &self,
        words: &[&str],
        kind_of: impl Fn(&[u8]) -> Option<K>,
    ) -> Option<Vec<(Range<usize>, K)>> {
        let names = bytes(
            &self.file,
            self.names.start,
            self.names.end - self.names.start,
        )?;
        let (base, wanted) = (base(), wanted(words, &names));
        let function = |symbol: &[u8]| {
            // Nearly all symbols are not ours, and there may be very many: this test comes first,
            // and is kept plain.
            let begin = u32::from_le_bytes([symbol[0], symbol[1], symbol[2], symbol[3]]) as usize;
            wanted.binary_search(&begin).ok()?;
            if symbol[4] & 0xf != FUNCTION {
                return None;
            }
            let kind = kind_of(first_name(names.get(begin..)?)?)?;
            let place = place(symbol)?;
            Some((base + place.start..base + place.end, kind))
        };
        let all = self.table.chunks_exact(SYMBOL).filter_map(function);
        Some(all.collect())
    }

    /// The thread-locals, in no order. There are few, so their names are read one by one.
    fn thread_locals(&self) -> Vec<(Range<usize>, String)> {
        let (table, mut at, mut found) = (self.table.as_slice(), 0, Vec::new());
        // Kept plain: builds with debug assertions are seldom optimised.
        while at + SYMBOL <= table.len() {
            if table[at + 4] & 0xf == THREAD_LOCAL {
                found.extend(self.thread_local(&table[at..at + SYMBOL]));
            }
            at += SYMBOL;
        }
        found
    }

    /// The place and the name of a thread-local.
    fn thread_local(&self, symbol: &[u8]) -> Option<(Range<usize>, String)> {
        let begin = self.names.start.checked_add(number(symbol, 0, 4)?)?;
        let length = self.names.end.checked_sub(begin)?.min(MAX_NAME);
        let name = bytes(&self.file, begin, length)?;
        let name = String::from_utf8_lossy(first_name(&name)?).into_owned();
        Some((place(symbol)?, name))
    }
}

/// The name that these bytes begin with.
fn first_name(names: &[u8]) -> Option<&[u8]> {
    let end = names.iter().position(|byte| *byte == 0)?;
    Some(&names[..end])
}

/// A symbol's value, and that with its size added.
fn place(symbol: &[u8]) -> Option<Range<usize>> {
    let start = number(symbol, 8, 8)? as usize;
    Some(start..start.checked_add(number(symbol, 0x10, 8)? as usize)?)
}

/// The positions of the names that contain one of the words, in order.
fn wanted(words: &[&str], names: &[u8]) -> Vec<usize> {
    let mut wanted = Vec::new();
    for word in words {
        let mut from = 0;
        while let Some(found) = find(&names[from..], word) {
            let inside = from + found;
            let before = names[..inside].iter().rposition(|byte| *byte == 0);
            wanted.push(before.map_or(0, |zero| zero + 1));
            from = inside + word.len();
        }
    }
    wanted.sort_unstable();
    wanted
}

/// The first position of a word. The C library looks, as it is quick in every build.
fn find(text: &[u8], word: &str) -> Option<usize> {
    let (from, wanted) = (text.as_ptr(), word.as_ptr());
    // SAFETY: two slices.
    let found = unsafe { libc::memmem(from.cast(), text.len(), wanted.cast(), word.len()) };
    (!found.is_null()).then(|| found.addr() - from.addr())
}

/// `N` bytes of a file, if there are so many.
fn bytes(mut file: &File, offset: u64, count: u64) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    bytes.try_reserve_exact(usize::try_from(count).ok()?).ok()?;
    // Not into zeros: without optimisation it takes longer to write these than to read.
    file.seek(SeekFrom::Start(offset)).ok()?;
    let read = file.take(count).read_to_end(&mut bytes).ok()?;
    (read as u64 == count).then_some(bytes)
}

/// A number of so many bytes, the lowest first.
fn number(bytes: &[u8], offset: usize, count: usize) -> Option<u64> {
    let bytes = bytes.get(offset..offset + count)?;
    let next = |number, byte: &u8| number << 8 | u64::from(*byte);
    Some(bytes.iter().rev().fold(0, next))
}

/// The distance of the program from the addresses that its file has.
fn base() -> usize {
    modules::find(|program| Some(program.base())).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_of_a_file_is_read_whole_or_not_at_all() {
        let file = File::open("/proc/self/exe").unwrap();
        let length = file.metadata().unwrap().len();
        assert_eq!(bytes(&file, 0, 4).unwrap(), b"\x7fELF");
        assert_eq!(bytes(&file, 1, 3).unwrap(), b"ELF");
        assert_eq!(bytes(&file, length - 2, 2).unwrap().len(), 2);
        assert_eq!(bytes(&file, length - 2, 3), None);
        assert_eq!(bytes(&file, length + 1, 1), None);
        assert_eq!(bytes(&file, 0, u64::MAX), None);
    }
}
