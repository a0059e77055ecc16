//! The script for gdb, in the section where gdb looks for scripts.
//!
//! gdb loads it with the program, or with the C library, if its `auto-load safe-path` allows that,
//! even if the file has been stripped. `#![debugger_visualizer]` would do the same, but only in
//! builds with debug information.

/// The script.
const SCRIPT: &str = include_str!("../gdb/fibre.py");

/// What comes before it: gdb's number for a script in Python, and the script's name.
const BEFORE: &str = "\x04fibre.py\n";

/// The bytes of the entry, the zero included that ends it.
const LENGTH: usize = BEFORE.len() + SCRIPT.len() + 1;

/// The entry in the section.
#[unsafe(link_section = ".debug_gdb_scripts")]
#[used]
static ENTRY: [u8; LENGTH] = entry();

/// Puts the entry together.
const fn entry() -> [u8; LENGTH] {
    let mut entry = [0; LENGTH];
    let (before, rest) = entry.split_at_mut(BEFORE.len());
    before.copy_from_slice(BEFORE.as_bytes());
    let (script, _) = rest.split_at_mut(SCRIPT.len());
    script.copy_from_slice(SCRIPT.as_bytes());
    entry
}

/// Has programs that call this have the script, and what it reads.
pub(crate) fn keep() {
    std::hint::black_box((&raw const ENTRY, fibre_core::internal::header()));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_last_byte_ends_the_entry() {
        assert_eq!(ENTRY.iter().position(|byte| *byte == 0), Some(LENGTH - 1));
        assert!(ENTRY.starts_with(b"\x04fibre.py\n\"\"\"Fibres in gdb"));
    }
}
