//! What a library for AddressSanitizer has to show: a right program passes, a wrong one is
//! reported. The plain library shows the same under valgrind.
//!
//! The right one throws and catches exceptions in fibres, also of spare processors. There the
//! sanitizer cleans its notes of the stack that unwinds, and without a word from the library it
//! takes that of the kernel thread for it. A *canary* reads what another fibre has freed.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use anyhow::{Result, ensure};

use crate::workspace::require_program;

/// The program that is right.
const RIGHT: &str = "fibre-capi/sanitizer/throws.cpp";

/// The program that is wrong.
const CANARY: &str = "fibre-capi/sanitizer/freed.cpp";

/// What programs need: docs/c/debugging.md says why.
const OPTIONS: &str =
    "detect_stack_use_after_return=0:detect_leaks=0:use_sigaltstack=0:handle_segv=0";

/// What asks the compiler for AddressSanitizer.
const ADDRESS: &str = "-fsanitize=address";

/// How often the right program runs on each number of processors.
const RUNS: usize = 2;

/// An installed library, for programs that are to be linked with it.
pub(super) struct Installed {
    /// The workspace, where the programs' texts are.
    pub(super) root: PathBuf,
    /// The header that maps names.
    pub(super) mapping: PathBuf,
    /// What links a program to the shared library.
    pub(super) shared: Vec<String>,
    /// What links it to the static one.
    pub(super) archive: Vec<String>,
    /// Where compiled programs go.
    pub(super) program: PathBuf,
}

/// Compiles both programs, with the shared and the static library, and runs them.
pub(super) fn check(place: &Installed) -> Result<String> {
    for library in [&place.shared, &place.archive] {
        let right = compile(place, RIGHT, ADDRESS, library)?;
        for processors in ["1", "2", "4"] {
            for _ in 0..RUNS {
                let ended = run(&right, processors)?;
                let said = String::from_utf8_lossy(&ended.stderr);
                ensure!(
                    ended.status.success() && !said.contains("ASan") && !said.contains("Sanitizer"),
                    "{RIGHT} on {processors} processors: {}\n{said}",
                    ended.status
                );
            }
        }
        let canary = run(&compile(place, CANARY, ADDRESS, library)?, "1")?;
        let said = String::from_utf8_lossy(&canary.stderr);
        ensure!(
            !canary.status.success() && said.contains("heap-use-after-free"),
            "a planted use after free was not reported:\n{said}"
        );
    }
    Ok("exceptions pass, a planted use after free is reported".into())
}

/// Runs both programs with the shared library under valgrind's memcheck.
pub(super) fn check_with_valgrind(place: &Installed) -> Result<String> {
    require_program("valgrind", "Debian: apt-get install valgrind")?;
    let mut found = Vec::new();
    for (source, is_right) in [(RIGHT, true), (CANARY, false)] {
        let program = compile(place, source, "-Wall", &place.shared)?;
        let ended = Command::new("timeout")
            .args(["120", "valgrind", "--quiet", "--error-exitcode=9"])
            .arg(&program)
            .env("FIBRE_PROCESSORS", "2")
            .output()?;
        let said = String::from_utf8_lossy(&ended.stderr).into_owned();
        let code = ended.status.code();
        let is_as_wanted = code == Some(if is_right { 0 } else { 9 });
        ensure!(is_as_wanted, "{source}: {}\n{said}", ended.status);
        ensure!(!said.contains("Syscall param"), "{source}:\n{said}");
        found.push(said.contains("Invalid read"));
    }
    ensure!(
        found == [false, true],
        "a planted use after free was not reported"
    );
    Ok("exceptions pass, a planted use after free is reported".into())
}

/// Compiles a program; returns where it lies.
fn compile(place: &Installed, source: &str, flag: &str, library: &[String]) -> Result<PathBuf> {
    let compiled = Command::new(std::env::var_os("CXX").unwrap_or_else(|| "c++".into()))
        .args(["-g", "-O1", flag, "-include"])
        .arg(&place.mapping)
        .arg(place.root.join(source))
        .args(library)
        .arg("-o")
        .arg(&place.program)
        .status()?;
    ensure!(compiled.success(), "{source} does not compile");
    Ok(place.program.clone())
}

/// Runs a program for a minute at most.
fn run(program: &Path, processors: &str) -> Result<Output> {
    Ok(Command::new("timeout")
        .arg("60")
        .arg(program)
        .env("ASAN_OPTIONS", OPTIONS)
        .env("FIBRE_PROCESSORS", processors)
        .output()?)
}
