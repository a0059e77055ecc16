//! The functions at an address, as addr2line says them.

use addr2line::FrameIter;

/// A function at an address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Function {
    /// Its name; `None`: unknown.
    pub name: Option<String>,
    /// Its file and line, if they are known.
    pub place: Option<(String, u32)>,
}

/// Notes what addr2line says, the innermost function first.
pub(super) fn note_functions<R: gimli::Reader>(
    mut frames: FrameIter<'_, R>,
    functions: &mut Vec<Function>,
) -> gimli::Result<()> {
    while let Some(frame) = frames.next()? {
        let name = frame.function.as_ref().and_then(|name| {
            let name = name.demangle().ok()?;
            Some(without_hash(&name).to_owned())
        });
        let place = frame
            .location
            .and_then(|place| Some((place.file?.to_owned(), place.line.unwrap_or(0))));
        functions.push(Function { name, place });
    }
    Ok(())
}

/// The name of a function without the hash that the compiler appends.
pub(super) fn without_hash(name: &str) -> &str {
    match name.rsplit_once("::h") {
        Some((name, hash)) if hash.len() == 16 && hash.bytes().all(|c| c.is_ascii_hexdigit()) => {
            name
        }
        _ => name,
    }
}
