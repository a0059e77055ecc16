//! Debug information: reads only the units with the requested addresses.
//!
//! addr2line reads the heads of all units of a file before it answers, and a program has thousands.
//! But `.debug_aranges` tells which unit has an address. So addr2line gets that unit alone: a
//! `.debug_info` with *holes* in place of all others. A hole looks like one unit of types, which is
//! skipped, and everything else stays in its place. Nobody touches a hole behind its head, so it
//! takes address space, but no memory.
//!
//! Units that `.debug_aranges` leaves out usually have no code, or come from a compiler that writes
//! no such table. They are read together.
//!
//! If the whole might say something else, this module returns [`Unclear`]: several units claim an
//! address, a name lies in a hole (link-time optimisation makes such references), or a separate
//! file describes functions.

use super::function::{Function, note_functions};
use addr2line::{Context, LookupResult};
use gimli::{
    CloneStableDeref, DebugArangesOffset, DwarfSections, EndianReader, LittleEndian, Section,
    SectionId, StableDeref, UnitType,
};
use memmap2::{Mmap, MmapOptions};
use object::{Object, ObjectSection};
use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::{Deref, Range};
use std::sync::Arc;

/// What reads debug information.
type Reader = EndianReader<LittleEndian, Bytes>;

/// Bytes of a file, or made of such.
#[derive(Debug, Clone)]
enum Bytes {
    /// A part of a file, or of memory of its own.
    Mapped(Arc<Mmap>, Range<usize>),
    /// What was compressed, or collected.
    Made(Arc<Vec<u8>>),
}

impl Deref for Bytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Self::Mapped(map, range) => &map[range.clone()],
            Self::Made(bytes) => bytes,
        }
    }
}

// SAFETY: neither a mapping nor a vector that nobody changes moves its bytes when it is moved.
unsafe impl StableDeref for Bytes {}
// SAFETY: a clone has the same bytes, which stay as long as one of them.
unsafe impl CloneStableDeref for Bytes {}

/// The debug information of a file.
pub(super) struct Units {
    /// The sections of the file.
    sections: DwarfSections<Reader>,
    /// Each unit of code.
    units: Vec<Unit>,
    /// The addresses of their code.
    stretches: Vec<Stretch>,
    /// What has been read: one unit by its number, or all that have no addresses.
    read: HashMap<Option<usize>, Option<Context<Reader>>>,
}

/// A unit of code.
struct Unit {
    /// Where it lies in `.debug_info`.
    place: Range<usize>,
    /// Where its addresses lie in `.debug_aranges`.
    tables: Vec<Range<usize>>,
}

/// A stretch of code.
struct Stretch {
    /// Its first address.
    start: u64,
    /// The address behind its last one.
    end: u64,
    /// The number of its unit.
    unit: usize,
}

/// It takes all units to say what an address belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Unclear;

impl Units {
    /// The units of a file. `None`: it tells the addresses of none, or not in a form that is known.
    pub(super) fn of(map: &Arc<Mmap>) -> Option<Self> {
        let object = object::File::parse(&***map).ok()?;
        if !object.is_little_endian() || object.kind() == object::ObjectKind::Relocatable {
            return None;
        }
        let section = |id: SectionId| {
            let bytes = section_of(map, &object, id.name())?;
            object::Result::Ok(EndianReader::new(bytes, LittleEndian))
        };
        let mut this = Self {
            sections: DwarfSections::load(section).ok()?,
            units: Vec::new(),
            stretches: Vec::new(),
            read: HashMap::new(),
        };
        this.list().ok()?;
        (!this.stretches.is_empty()).then_some(this)
    }

    /// Lists the units and their addresses.
    fn list(&mut self) -> gimli::Result<()> {
        let mut numbers = HashMap::new();
        let mut headers = self.sections.debug_info.units();
        while let Some(header) = headers.next()? {
            let is_code = match header.type_() {
                UnitType::Compilation | UnitType::Skeleton(_) | UnitType::SplitCompilation(_) => {
                    true
                }
                UnitType::Type { .. } | UnitType::SplitType { .. } | UnitType::Partial => false,
            };
            if let Some(start) = header.debug_info_offset().filter(|_| is_code) {
                numbers.insert(start, self.units.len());
                self.units.push(Unit {
                    place: start.0..start.0 + header.length_including_self(),
                    tables: Vec::new(),
                });
            }
        }
        let whole = self.sections.debug_aranges.reader().len();
        let mut tables = self.sections.debug_aranges.headers();
        let mut next = tables.next()?;
        while let Some(table) = next {
            next = tables.next()?;
            let DebugArangesOffset(start) = table.offset();
            let end = next.as_ref().map_or(whole, |next| next.offset().0);
            let Some(&number) = numbers.get(&table.debug_info_offset()) else {
                continue;
            };
            self.units[number].tables.push(start..end);
            let mut entries = table.entries();
            while let Some(entry) = entries.next().transpose() {
                // An entry that ends beyond all addresses has no code.
                if let Ok(entry) = entry
                    && entry.length() != 0
                {
                    self.stretches.push(Stretch {
                        start: entry.address(),
                        end: entry.range().end,
                        unit: number,
                    });
                }
            }
        }
        Ok(())
    }

    /// The functions at an address, the innermost inlined one first; none if nothing is known.
    pub(super) fn functions_at(&mut self, probe: u64) -> Result<Vec<Function>, Unclear> {
        let unit = self.unit_at(probe)?;
        let mut found = self.functions_in(None, probe)?;
        if unit.is_some() {
            if !found.is_empty() {
                return Err(Unclear);
            }
            found = self.functions_in(unit, probe)?;
        }
        Ok(found)
    }

    /// The number of the unit that has the code at an address.
    fn unit_at(&self, probe: u64) -> Result<Option<usize>, Unclear> {
        // A program of 70 MB has 50,000 stretches, and programs that are not optimised take ten
        // times as long for an iterator.
        let stretches = self.stretches.as_slice();
        let (mut number, mut found) = (0, None);
        while number < stretches.len() {
            let it = &stretches[number];
            if it.start <= probe && probe < it.end {
                match found {
                    Some(unit) if unit != it.unit => return Err(Unclear),
                    _ => found = Some(it.unit),
                }
            }
            number += 1;
        }
        Ok(found)
    }

    /// What a unit, or all that have no addresses, say of an address.
    fn functions_in(
        &mut self,
        number: Option<usize>,
        probe: u64,
    ) -> Result<Vec<Function>, Unclear> {
        if !self.read.contains_key(&number) {
            let context = self.context(number)?;
            self.read.insert(number, context);
        }
        let mut functions = Vec::new();
        let Some(Some(context)) = self.read.get(&number) else {
            return Ok(functions);
        };
        let LookupResult::Output(frames) = context.find_frames(probe) else {
            return Err(Unclear);
        };
        let noted = frames.and_then(|frames| note_functions(frames, &mut functions));
        noted.map_or(Err(Unclear), |()| Ok(functions))
    }

    /// Reads a unit, or all that have no addresses, if there are any.
    fn context(&self, number: Option<usize>) -> Result<Option<Context<Reader>>, Unclear> {
        let chosen: Vec<_> = match number {
            Some(number) => vec![&self.units[number]],
            None => {
                let units = self.units.iter();
                units.filter(|unit| unit.tables.is_empty()).collect()
            }
        };
        if chosen.is_empty() {
            return Ok(None);
        }
        let mut dwarf = self.sections.borrow(Clone::clone);
        let places = chosen.iter().map(|unit| &unit.place);
        let info = self.sections.debug_info.reader();
        dwarf.debug_info = with_holes(info.bytes(), places).ok_or(Unclear)?.into();
        let tables = self.sections.debug_aranges.reader().bytes();
        let places = chosen.iter().flat_map(|unit| &unit.tables);
        let chosen = places.filter_map(|place| tables.get(place.clone()));
        dwarf.debug_aranges = made(chosen.flatten().copied().collect()).into();
        Context::from_dwarf(dwarf).map_or(Err(Unclear), |context| Ok(Some(context)))
    }

    /// How many units there are, and how many of them have been read.
    #[cfg(test)]
    pub(super) fn counts(&self) -> (usize, usize) {
        let read = self.read.keys().map(|number| match number {
            Some(_) => 1,
            None => self
                .units
                .iter()
                .filter(|unit| unit.tables.is_empty())
                .count(),
        });
        (self.units.len(), read.sum())
    }
}

/// A section of a file, empty if it has none of this name.
fn section_of(map: &Arc<Mmap>, object: &object::File<'_>, name: &str) -> object::Result<Bytes> {
    let Some(section) = object.section_by_name(name) else {
        return Ok(Bytes::Made(Arc::default()));
    };
    Ok(match section.uncompressed_data()? {
        Cow::Borrowed(bytes) => {
            let start = bytes.as_ptr().addr() - map.as_ptr().addr();
            Bytes::Mapped(Arc::clone(map), start..start + bytes.len())
        }
        Cow::Owned(bytes) => Bytes::Made(Arc::new(bytes)),
    })
}

/// What reads these bytes.
fn made(bytes: Vec<u8>) -> Reader {
    EndianReader::new(Bytes::Made(Arc::new(bytes)), LittleEndian)
}

/// The head of a hole behind the length: version 5, a unit of types, addresses of eight bytes. Its
/// other fields are zero, and read by nobody.
const HOLE: [u8; 4] = [5, 0, 2, 8];

/// The size of all of the head, with the length.
const HOLE_HEAD: usize = 24;

/// A copy of `.debug_info` up to the last of these units, which are in order, with holes for the
/// others. `None`: a hole would be too small or too large for a head, or there is no memory.
fn with_holes<'u>(
    info: &[u8],
    units: impl Iterator<Item = &'u Range<usize>> + Clone,
) -> Option<Reader> {
    let size = units.clone().map(|unit| unit.end).max()?;
    // Zeros. The kernel makes pages of them when they are written to.
    let map = MmapOptions::new().len(size).no_reserve_swap().map_anon();
    let mut copy = map.ok()?;
    let mut end = 0;
    for unit in units {
        if end < unit.start {
            let hole = &mut copy[end..unit.start];
            let length = u32::try_from(hole.len() - size_of::<u32>()).ok();
            let length =
                length.filter(|&length| hole.len() >= HOLE_HEAD && length < 0xffff_fff0)?;
            let (first, rest) = hole.split_at_mut(size_of::<u32>());
            first.copy_from_slice(&length.to_le_bytes());
            rest[..HOLE.len()].copy_from_slice(&HOLE);
        }
        copy[unit.clone()].copy_from_slice(info.get(unit.clone())?);
        end = unit.end;
    }
    let copy = Bytes::Mapped(Arc::new(copy.make_read_only().ok()?), 0..size);
    Some(EndianReader::new(copy, LittleEndian))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;
    use gimli::{DebugInfo, DebugInfoOffset};

    /// A unit of version 4 of this size, with nothing in it.
    fn unit(size: u8) -> Vec<u8> {
        let mut unit = vec![size - 4, 0, 0, 0, 4, 0, 0, 0, 0, 0, 8];
        unit.resize(size.into(), 0);
        unit
    }

    #[test]
    fn holes_are_skipped_and_move_nothing() {
        let units = [unit(30), unit(40), unit(50), unit(60)];
        let info = units.concat();
        let info = with_holes(&info, [30..70, 120..180].iter()).unwrap();
        assert_eq!(info.bytes().len(), 180);
        let mut headers = DebugInfo::from(info).units();
        let mut found = Vec::new();
        while let Some(header) = headers.next().unwrap() {
            let is_hole = matches!(header.type_(), UnitType::Type { .. });
            let DebugInfoOffset(start) = header.debug_info_offset().unwrap();
            found.push((start, header.length_including_self(), is_hole));
        }
        assert_eq!(
            found,
            [
                (0, 30, true),
                (30, 40, false),
                (70, 50, true),
                (120, 60, false)
            ]
        );
    }

    #[test]
    fn a_hole_needs_a_head() {
        let info = [unit(HOLE_HEAD as u8 - 1), unit(40)].concat();
        assert!(with_holes(&info, std::iter::once(&(23..63))).is_none());
        assert!(with_holes(&info, std::iter::once(&(0..23))).is_some());
        assert!(
            with_holes(&info, std::iter::once(&(40..90))).is_none(),
            "behind the end"
        );
    }
}
