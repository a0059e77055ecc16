//! What debuggers need of a library, taken out of it: beside the shared one, away from the static
//! one.
//!
//! A debugger finds what lies beside by the name that the stripped file has in `.gnu_debuglink`, in
//! a folder `.debug` next to it, and by the build id that both share. Nothing of the kind exists
//! for archives. Theirs goes, and with it the bitcode of Rust's own library: only rustc would read
//! it, and only from its own kind of archive.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

/// The folder beside a library where debuggers look.
const BESIDE: &str = ".debug";
/// What only rustc reads.
const BITCODE: [&str; 2] = [".llvmbc", ".llvmcmd"];

/// The file beside `library` with what debuggers need of it.
pub(crate) fn beside(library: &Path) -> Result<PathBuf> {
    let folder = library.parent().context("it lies nowhere")?.join(BESIDE);
    let name = library.file_name().context("it has no name")?;
    let name = format!("{}.debug", name.to_string_lossy());
    Ok(folder.join(name))
}

/// Copies what debuggers need of a shared library.
pub(crate) fn keep(made: &Path, copy: &Path) -> Result<()> {
    let keep = ["--only-keep-debug", "--compress-debug-sections"];
    objcopy(&keep, made, copy)
}

/// Copies a shared library without what debuggers need, which lies `beside` the copy's later place.
pub(crate) fn strip(made: &Path, beside: &Path, copy: &Path) -> Result<()> {
    let link = format!("--add-gnu-debuglink={}", beside.display());
    objcopy(&["--strip-unneeded", &link], made, copy)
}

/// Copies a static library without what debuggers need.
pub(crate) fn strip_archive(made: &Path, copy: &Path) -> Result<()> {
    let bitcode = BITCODE.map(|section| format!("--remove-section={section}"));
    objcopy(&["--strip-debug", &bitcode[0], &bitcode[1]], made, copy)
}

/// Fails unless a debugger finds what belongs to a shared library, and nothing of it is in the
/// library itself. Says how large both are.
pub(crate) fn check_split(library: &Path) -> Result<String> {
    let beside = beside(library)?;
    let sections = sections(library)?;
    ensure!(
        !has_debug_info(&sections),
        "symbols are in the shared library"
    );
    let name = beside.file_name().context("it has no name")?;
    let link = readelf("--string-dump=.gnu_debuglink", library)?;
    ensure!(
        link.contains(&*name.to_string_lossy()),
        "the shared library does not name {}",
        name.display()
    );
    let id = build_id(library)?;
    ensure!(id == build_id(&beside)?, "the symbols are of another build");
    ensure!(
        has_debug_info(&self::sections(&beside)?),
        "no symbols beside"
    );
    Ok(format!(
        "{}, symbols {}",
        megabytes(library)?,
        megabytes(&beside)?
    ))
}

/// Fails if an archive has anything that only debuggers or rustc read. Says how large it is.
pub(crate) fn check_archive(archive: &Path) -> Result<String> {
    let sections = sections(archive)?;
    ensure!(
        !has_debug_info(&sections),
        "symbols are in the static library"
    );
    for section in BITCODE {
        ensure!(
            !sections.contains(section),
            "{section} is in the static library"
        );
    }
    megabytes(archive)
}

/// Whether a list of sections has one with types and lines.
fn has_debug_info(sections: &str) -> bool {
    sections.contains(".debug_info")
}

/// The build id of a library.
fn build_id(library: &Path) -> Result<String> {
    let notes = readelf("--notes", library)?;
    let id = notes
        .lines()
        .find_map(|line| line.split("Build ID: ").nth(1));
    let id = id.with_context(|| format!("{} has no build id", library.display()))?;
    Ok(id.trim().to_owned())
}

/// The sections of a file, or of all members of an archive.
fn sections(file: &Path) -> Result<String> {
    readelf("--section-headers", file)
}

/// What `readelf` says of a file.
fn readelf(option: &str, file: &Path) -> Result<String> {
    let mut command = Command::new("readelf");
    let output = command.args(["--wide", option]).arg(file).output();
    let output = output.context("cannot start readelf")?;
    ensure!(output.status.success(), "readelf failed");
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Makes a changed copy of a file.
fn objcopy(options: &[&str], from: &Path, to: &Path) -> Result<()> {
    let mut command = Command::new("objcopy");
    let status = command.args(options).args([from, to]).status();
    let status = status.context("cannot start objcopy")?;
    ensure!(status.success(), "objcopy {options:?} failed");
    Ok(())
}

/// The size of a file, for people.
fn megabytes(file: &Path) -> Result<String> {
    let tenths = fs::metadata(file)?.len() / 100_000;
    Ok(format!("{}.{} MB", tenths / 10, tenths % 10))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compiles a C function with symbols to a shared and a static library, and removes these after
    /// the test has run.
    fn with_libraries(name: &str, test: impl FnOnce(&Path, &Path)) {
        let folder = std::env::temp_dir().join(format!("{name}-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let source = folder.join("f.c");
        fs::write(&source, "int f(void) { return 1; }\n").unwrap();
        let (object, shared) = (folder.join("f.o"), folder.join("libf.so"));
        let archive = folder.join("libf.a");
        for (tool, options, to) in [
            ("cc", &["-g", "-c", "-o"][..], &object),
            ("cc", &["-g", "-shared", "-Wl,--build-id", "-o"], &shared),
        ] {
            let mut compile = Command::new(tool);
            let compiled = compile.args(options).args([to, &source]).status();
            assert!(compiled.unwrap().success());
        }
        let mut ar = Command::new("ar");
        let made = ar.arg("rcs").args([&archive, &object]).status();
        assert!(made.unwrap().success());
        test(&shared, &archive);
        fs::remove_dir_all(folder).unwrap();
    }

    /// What debuggers need of a library goes beside its copy.
    fn split(made: &Path, copy: &Path) -> Result<()> {
        let beside = beside(copy)?;
        fs::create_dir_all(beside.parent().context("it lies nowhere")?)?;
        keep(made, &beside)?;
        strip(made, &beside, copy)
    }

    #[test]
    fn what_is_split_is_found_again() {
        with_libraries("xtask-split", |shared, _| {
            let copy = shared.with_file_name("libg.so");
            split(shared, &copy).unwrap();
            check_split(&copy).unwrap();
        });
    }

    #[test]
    fn symbols_inside_or_of_another_build_fail() {
        with_libraries("xtask-unsplit", |shared, _| {
            assert!(check_split(shared).is_err());
            let copy = shared.with_file_name("libg.so");
            split(shared, &copy).unwrap();
            fs::remove_file(beside(&copy).unwrap()).unwrap();
            assert!(check_split(&copy).is_err());
        });
    }

    #[test]
    fn archives_lose_their_symbols() {
        with_libraries("xtask-archive", |_, archive| {
            assert!(check_archive(archive).is_err());
            let copy = archive.with_file_name("libg.a");
            strip_archive(archive, &copy).unwrap();
            check_archive(&copy).unwrap();
        });
    }
}
