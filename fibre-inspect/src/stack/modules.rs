//! The program and its libraries: where they lie, and their unwind tables.
//!
//! `/proc/self/maps` says where. The loader knows it, too, but only tells under a lock that a
//! thread of the program may hold for ever. The tables are copied out of the process's memory, as a
//! library may be unloaded meanwhile, and the file on the disk may have been replaced by now.
//!
//! A program may map its own file a second time to read it, as symbolisers do, this crate's
//! included. If that copy lies before the loaded file, it looks like the file's beginning. So all
//! possible beginnings are kept. The program headers of the right one lead to the code.

use crate::stack::memory;
use fibre_core::internal::page_size;
use gimli::{BaseAddresses, EhFrameHdr, NativeEndian, Pointer};
use rustix::io::Errno;
use std::fs;
use std::ops::Range;

/// A loaded file.
#[derive(Debug)]
pub(crate) struct Module {
    /// The file's name, as the kernel has it.
    pub path: String,
    /// The addresses of its code.
    pub code: Vec<Range<usize>>,
    /// The distance of its addresses from those in the file.
    pub bias: usize,
    /// The unwind tables; `None`: it has no valid ones.
    pub tables: Option<Tables>,
}

/// The unwind tables of a loaded file.
#[derive(Debug)]
pub(crate) struct Tables {
    /// The section `.eh_frame_hdr`.
    pub index: Vec<u8>,
    /// The section `.eh_frame`, and perhaps what follows it.
    pub frames: Vec<u8>,
    /// The places of both.
    pub bases: BaseAddresses,
}

/// Kinds of program headers.
const LOAD: u32 = 1;
const EH_FRAME: u32 = 0x6474_e550;

/// The flag of a program header that says that it is of code.
const EXECUTABLE: u32 = 1;

/// What code may be executed, by its addresses.
#[derive(Debug, Default)]
pub(crate) struct Modules {
    /// The modules, in the order of their addresses.
    pub all: Vec<Module>,
    /// Why they could not be read.
    pub unread: Option<Errno>,
}

impl Modules {
    /// The modules that are loaded now. Allocates.
    pub(crate) fn read() -> Self {
        // Names may be any bytes.
        let (maps, unread) = match fs::read("/proc/self/maps") {
            Ok(maps) => (maps, None),
            Err(error) => (
                Vec::new(),
                Some(Errno::from_io_error(&error).unwrap_or(Errno::IO)),
            ),
        };
        let maps = String::from_utf8_lossy(&maps);
        let mut modules: Vec<(Vec<usize>, Module)> = Vec::new();
        for line in maps.lines() {
            let Some(mapping) = Mapping::parse(line) else {
                continue;
            };
            let begins = mapping.offset == 0 && is_elf(mapping.addresses.start);
            let is_last = |(_, last): &(_, Module)| last.path == mapping.path;
            let known = modules.last().is_some_and(is_last) && !mapping.path.starts_with('[');
            let start = mapping.addresses.start;
            if let Some((starts, _)) = modules.last_mut().filter(|_| begins && known) {
                starts.push(start);
            } else if begins {
                let module = Module {
                    path: mapping.path.to_owned(),
                    code: Vec::new(),
                    bias: 0,
                    tables: None,
                };
                modules.push((vec![start], module));
            }
            if let Some((_, last)) = modules.last_mut()
                && last.path == mapping.path
                && mapping.executable
            {
                last.code.push(mapping.addresses);
            }
        }
        modules.retain(|(_, module)| !module.code.is_empty());
        let complete = |(starts, mut module): (Vec<usize>, Module)| {
            let leads_to_code = |found: &&Headers| module.code.iter().any(|code| found.has(code));
            let found: Vec<_> = starts.into_iter().filter_map(Headers::read).collect();
            let its = found.iter().find(leads_to_code).or(found.first());
            if let Some(headers) = its {
                (module.bias, module.tables) = (headers.bias, headers.tables());
            }
            module
        };
        Self {
            all: modules.into_iter().map(complete).collect(),
            unread,
        }
    }

    /// The number of the module that an instruction belongs to.
    pub(crate) fn find(&self, address: usize) -> Option<usize> {
        let is_its = |module: &Module| module.code.iter().any(|code| code.contains(&address));
        self.all.iter().position(is_its)
    }
}

/// A line of the maps.
pub(crate) struct Mapping<'a> {
    /// Where it is.
    pub addresses: Range<usize>,
    /// Where it begins in the file.
    pub offset: usize,
    /// Whether it may be executed.
    executable: bool,
    /// The file's name.
    pub path: &'a str,
}

impl<'a> Mapping<'a> {
    /// Reads a line; `None` if it names no file. Async-signal-safe.
    pub(crate) fn parse(line: &'a str) -> Option<Self> {
        let mut parts = line.splitn(6, ' ');
        let (start, end) = parts.next()?.split_once('-')?;
        let access = parts.next()?;
        let hex = |text: &str| usize::from_str_radix(text, 16).ok();
        let offset = hex(parts.next()?)?;
        let path = parts.nth(2)?.trim_start();
        (!path.is_empty()).then_some(Self {
            addresses: hex(start)?..hex(end)?,
            offset,
            executable: access.contains('x'),
            path,
        })
    }
}

/// Whether a file in ELF's form lies at an address.
fn is_elf(address: usize) -> bool {
    let mut magic = [0; 4];
    memory::read(address, &mut magic) == 4 && &magic == b"\x7fELF"
}

/// What the program headers of a file say that begins at some address.
struct Headers {
    /// The distance of its addresses from those in the file.
    bias: usize,
    /// The addresses in the file of what is loaded.
    loaded: Vec<Range<usize>>,
    /// The addresses of the code among it.
    code: Vec<Range<usize>>,
    /// The addresses of the index of its unwind tables.
    index: Option<Range<usize>>,
}

impl Headers {
    /// Reads the headers of the file that begins there.
    fn read(start: usize) -> Option<Self> {
        let header = memory::bytes(start, 64)?;
        let number = |bytes: &[u8], at: usize, length: usize| {
            let mut word = [0; 8];
            word[..length].copy_from_slice(bytes.get(at..at + length)?);
            usize::try_from(u64::from_le_bytes(word)).ok()
        };
        let (place, count) = (number(&header, 0x20, 8)?, number(&header, 0x38, 2)?);
        let table = memory::bytes(start.checked_add(place)?, count * 56)?;
        let (mut loaded, mut code, mut index) = (Vec::new(), Vec::new(), None);
        for entry in table.chunks_exact(56) {
            let (address, size) = (number(entry, 0x10, 8)?, number(entry, 0x28, 8)?);
            let range = address..address.checked_add(size)?;
            match number(entry, 0, 4)? as u32 {
                LOAD => {
                    let is_code = number(entry, 4, 4)? as u32 & EXECUTABLE != 0;
                    code.extend(is_code.then(|| range.clone()));
                    loaded.push(range);
                }
                EH_FRAME => index = Some(range),
                _ => {}
            }
        }
        let first = loaded.iter().map(|range| range.start).min()? & !(page_size() - 1);
        Some(Self {
            bias: start.wrapping_sub(first),
            loaded,
            code,
            index,
        })
    }

    /// Whether a mapping is of its code.
    fn has(&self, mapping: &Range<usize>) -> bool {
        let begin = |code: &Range<usize>| self.bias.wrapping_add(code.start) & !(page_size() - 1);
        self.code.iter().any(|code| begin(code) == mapping.start)
    }

    /// The unwind tables; `None`: there are none that make sense.
    fn tables(&self) -> Option<Tables> {
        tables(self.bias, self.index.as_ref()?, &self.loaded)
    }
}

/// The tables of a module, by the place of their index in the file's addresses.
fn tables(bias: usize, index: &Range<usize>, loaded: &[Range<usize>]) -> Option<Tables> {
    let bytes = memory::bytes(bias.wrapping_add(index.start), index.len())?;
    let place = bias.wrapping_add(index.start) as u64;
    let bases = BaseAddresses::default().set_eh_frame_hdr(place);
    let parsed = EhFrameHdr::new(&bytes, NativeEndian)
        .parse(&bases, 8)
        .ok()?;
    let Pointer::Direct(frames) = parsed.eh_frame_ptr() else {
        return None;
    };
    let inside = (frames as usize).wrapping_sub(bias);
    let segment = loaded.iter().find(|range| range.contains(&inside))?;
    let mut content = vec![0; segment.end - inside];
    let length = memory::read(frames as usize, &mut content);
    content.truncate(length);
    Some(Tables {
        index: bytes,
        frames: content,
        bases: bases.set_eh_frame(frames),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_program_is_found_with_its_tables() {
        let modules = Modules::read();
        let here = this_program_is_found_with_its_tables as *const () as usize;
        let module = &modules.all[modules.find(here).unwrap()];
        let name = std::env::current_exe().unwrap();
        assert_eq!(module.path, name.to_str().unwrap());
        assert!(module.tables.is_some());
        let c = libc::getpid as *const () as usize;
        assert!(modules.all[modules.find(c).unwrap()].path.contains("libc"));
        assert_eq!(modules.find(8), None);
    }

    /// A copy that somebody reads may lie before the loaded file, with nothing in between.
    #[test]
    fn a_copy_that_is_read_is_not_the_module() {
        let getpid = libc::getpid as *const () as usize;
        let libc_of = |modules: &Modules| {
            let module = &modules.all[modules.find(getpid).unwrap()];
            (module.path.clone(), module.bias, module.tables.is_some())
        };
        let expected = libc_of(&Modules::read());
        let file = fs::File::open(&expected.0).unwrap();
        let length = file.metadata().unwrap().len() as usize;
        // The kernel puts each below the one before it: one comes to lie right below the library.
        let copies: Vec<_> = (0..64)
            .map(|_| {
                use std::os::fd::AsRawFd;
                let (read, private) = (libc::PROT_READ, libc::MAP_PRIVATE);
                let (null, file) = (std::ptr::null_mut(), file.as_raw_fd());
                // SAFETY: a new mapping, which nobody else knows.
                let copy = unsafe { libc::mmap(null, length, read, private, file, 0) };
                assert_ne!(copy, libc::MAP_FAILED);
                copy
            })
            .collect();
        assert_eq!(libc_of(&Modules::read()), expected);
        // SAFETY: those of above.
        copies.iter().for_each(|copy| unsafe {
            libc::munmap(*copy, length);
        });
    }

    #[test]
    fn names_with_blanks_are_whole() {
        let line = "7f00-7f10 r-xp 00001000 fd:01 1234     /a b/c (deleted)";
        let mapping = Mapping::parse(line).unwrap();
        assert_eq!(mapping.path, "/a b/c (deleted)");
        assert_eq!((mapping.offset, mapping.executable), (0x1000, true));
        assert_eq!(mapping.addresses, 0x7f00..0x7f10);
        assert!(Mapping::parse("7f00-7f10 rw-p 00000000 00:00 0 ").is_none());
    }
}
