//! What an ELF file says of itself: its thread-locals, and the functions that it wants from others.
//!
//! A linked program or library without a symbol table still has the segment of its thread-locals.
//! Its size is all that is then known. What a program has linked in from the static library cannot
//! be told from its own: look at its objects.
//!
//! Objects for optimisation at link time may be no machine code yet. Of these nothing can be told,
//! and that is an error.

use std::collections::BTreeSet;
use std::error::Error;
use std::path::Path;

use object::read::archive::ArchiveFile;
use object::read::elf::{ElfFile64, ProgramHeader};
use object::{Object, ObjectSymbol, SymbolKind, elf};

/// A symbol of gcc's objects that are not machine code.
const SLIM: &str = "__gnu_lto_slim";

/// What clang's begin with, bare and wrapped.
const BITCODE: [[u8; 4]; 2] = [*b"BC\xC0\xDE", *b"\xDE\xC0\x17\x0B"];

/// What is said of both.
const NO_CODE: &str = "it was compiled for optimisation at link time (-flto) and is no machine code: nothing can be told of its \
    calls. Compile without that, or with -ffat-lto-objects";

/// A thread-local variable.
pub(crate) struct ThreadLocal {
    /// Its symbol.
    pub(crate) name: String,
    /// Its size in bytes; 0 if another file defines it.
    pub(crate) size: u64,
    /// Whether this file defines it.
    pub(crate) defined: bool,
}

/// One object, library or program.
pub(crate) struct Survey {
    /// The file, and the member if it is an archive.
    pub(crate) name: String,
    /// Its thread-locals.
    pub(crate) thread_locals: Vec<ThreadLocal>,
    /// Bytes of thread-locals in its segment, if it is linked.
    pub(crate) segment: u64,
    /// The functions that others must have for it.
    pub(crate) wanted: BTreeSet<String>,
    /// The functions that it has for others.
    pub(crate) offered: BTreeSet<String>,
}

/// Looks into a file: one survey, or one for each member of an archive.
pub(crate) fn look(path: &Path) -> Result<Vec<Survey>, Box<dyn Error>> {
    let data = std::fs::read(path)?;
    let name = path.display().to_string();
    if !data.starts_with(b"!<arch>\n") {
        return Ok(vec![survey(name, &data)?]);
    }
    let archive = ArchiveFile::parse(&*data)?;
    let mut surveys = Vec::new();
    for member in archive.members() {
        let member = member?;
        let member_name = String::from_utf8_lossy(member.name());
        let bytes = member.data(&*data)?;
        // Archives of Rust have a member that is no object.
        if bytes.starts_with(&elf::ELFMAG) || is_bitcode(bytes) {
            let within = |error| format!("{member_name}: {error}");
            surveys.push(survey(format!("{name}({member_name})"), bytes).map_err(within)?);
        }
    }
    Ok(surveys)
}

/// Whether this is code of clang's own.
fn is_bitcode(data: &[u8]) -> bool {
    BITCODE.iter().any(|magic| data.starts_with(magic))
}

/// Looks into one object.
fn survey(name: String, data: &[u8]) -> Result<Survey, Box<dyn Error>> {
    if is_bitcode(data) {
        return Err(NO_CODE.into());
    }
    let file = ElfFile64::<object::Endianness>::parse(data)?;
    let mut survey = Survey {
        name,
        thread_locals: Vec::new(),
        segment: 0,
        wanted: BTreeSet::new(),
        offered: BTreeSet::new(),
    };
    for segment in file.elf_program_headers() {
        if segment.p_type(file.endian()) == elf::PT_TLS {
            survey.segment = segment.p_memsz(file.endian());
        }
    }
    let mut seen = BTreeSet::new();
    for symbol in file.symbols().chain(file.dynamic_symbols()) {
        let symbol_name = symbol.name()?;
        // Static symbols of executables have their version behind them.
        let symbol_name = symbol_name.split('@').next().unwrap_or_default();
        if symbol_name.is_empty() {
            continue;
        }
        if symbol_name == SLIM {
            return Err(NO_CODE.into());
        }
        let is_thread_local = symbol.kind() == SymbolKind::Tls;
        if is_thread_local && seen.insert((symbol_name.to_owned(), symbol.address())) {
            survey.thread_locals.push(ThreadLocal {
                name: symbol_name.to_owned(),
                size: symbol.size(),
                defined: !symbol.is_undefined(),
            });
        } else if symbol.is_undefined() && !is_thread_local {
            survey.wanted.insert(symbol_name.to_owned());
        } else if symbol.is_definition() {
            survey.offered.insert(symbol_name.to_owned());
        }
    }
    Ok(survey)
}
