//! Words to whoever runs the program, on standard error.
//!
//! `eprintln!` panics when standard error cannot be written to (closed, a full disk),
//! and a panic at these places would hide what is being reported.

use std::fmt::Arguments;
use std::io::Write;

/// Says something, if anybody listens.
pub fn say(words: Arguments<'_>) {
    let _ = writeln!(std::io::stderr(), "fibre: {words}");
}

/// Says something and ends the process.
pub fn die(words: Arguments<'_>) -> ! {
    say(words);
    std::process::abort()
}
