//! The file with what was stripped from another one: names of functions, and lines.
//!
//! The search is gdb's: by the build number below `/usr/lib/debug/.build-id`, and by the name that
//! the stripped file gives (`.gnu_debuglink`): beside it, in a folder `.debug` there, and below
//! `/usr/lib/debug`. A file of that name from another build does not count.

use object::{Object, ReadCache};
use std::ffi::OsStr;
use std::fmt::Write;
use std::fs::File;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Where systems keep such files.
const SYSTEM: &str = "/usr/lib/debug";

/// The file for a module that lies at `path` and is read from `file`; `None`: it has its lines
/// itself, or there is none.
pub(super) fn debug_file_of(path: &Path, file: &Path) -> Option<PathBuf> {
    let cache = ReadCache::new(File::open(file).ok()?);
    let object = object::File::parse(&cache).ok()?;
    if object.section_by_name(".debug_line").is_some() {
        return None;
    }
    let build = object.build_id().ok().flatten();
    let of_build = build.and_then(path_of_build);
    if let Some(found) = of_build.filter(|found| is_of_build(found, build)) {
        return Some(found);
    }
    let (name, checksum) = object.gnu_debuglink().ok().flatten()?;
    let (name, folder) = (OsStr::from_bytes(name), path.parent()?);
    let below_system = Path::new(SYSTEM).join(folder.strip_prefix("/").ok()?);
    let candidates = [folder.to_owned(), folder.join(".debug"), below_system];
    let mut candidates = candidates.into_iter().map(|folder| folder.join(name));
    candidates.find(|candidate| {
        candidate != path && (is_of_build(candidate, build) || has_checksum(candidate, checksum))
    })
}

/// Where systems keep the file of a build.
fn path_of_build(build: &[u8]) -> Option<PathBuf> {
    let (first, rest) = build.split_first()?;
    let mut name = String::new();
    for byte in rest {
        // A string takes it.
        let _ = write!(name, "{byte:02x}");
    }
    Some(format!("{SYSTEM}/.build-id/{first:02x}/{name}.debug").into())
}

/// Whether a file is of this build.
fn is_of_build(path: &Path, build: Option<&[u8]>) -> bool {
    let (Some(build), Ok(file)) = (build, File::open(path)) else {
        return false;
    };
    let cache = ReadCache::new(file);
    let object = object::File::parse(&cache);
    object.is_ok_and(|object| object.build_id() == Ok(Some(build)))
}

/// Whether a file has this checksum, that of `.gnu_debuglink`.
fn has_checksum(path: &Path, checksum: u32) -> bool {
    let mut content = Vec::new();
    let read = File::open(path).and_then(|mut file| file.read_to_end(&mut content));
    read.is_ok() && crc32(&content) == checksum
}

/// The checksum of Ethernet and of `.gnu_debuglink`.
fn crc32(bytes: &[u8]) -> u32 {
    /// The polynomial, its lowest power first.
    const POLYNOMIAL: u32 = 0xedb8_8320;
    let step = |rest: u32| (rest >> 1) ^ (POLYNOMIAL * (rest & 1));
    let table: [u32; 256] =
        std::array::from_fn(|byte| (0..8).fold(byte as u32, |rest, _| step(rest)));
    let rest = bytes.iter().fold(u32::MAX, |rest, byte| {
        (rest >> 8) ^ table[usize::from((rest as u8) ^ byte)]
    });
    !rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checksums_and_paths_are_those_of_others() {
        assert_eq!(crc32(b"123456789"), 0xcbf4_3926);
        assert_eq!(crc32(b""), 0);
        assert_eq!(
            path_of_build(&[0xab, 0x01, 0xcd]).unwrap().to_str(),
            Some("/usr/lib/debug/.build-id/ab/01cd.debug")
        );
        assert_eq!(path_of_build(&[]), None);
    }
}
