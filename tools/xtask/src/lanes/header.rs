//! `header`: `fibre.h` from the Rust sources of the C library.
//!
//! What stands in `fibre-capi/include/fibre.h` is made by cbindgen, with what macros have to say,
//! which is written by hand, in `fibre-capi/header/`. `--check` fails if the file is not what would
//! be made.
//!
//! What programs are compiled with is also kept as a list of declarations ([`interface`]). One that
//! is gone, or has another form, fails: programs that have been compiled would break, and the
//! shared library would need another name.

mod interface;

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use clap::Args;

use crate::steps::Steps;
use crate::workspace::Workspace;

/// Where the library's sources lie.
const LIBRARY: &str = "fibre-capi";
/// The header, below it.
const HEADER: &str = "include/fibre.h";
/// What programs are compiled with, below it.
const HEADERS: [&str; 2] = [HEADER, "include/fibre_pthread.h"];
/// The list of declarations, below it.
const INTERFACE: &str = "interface.txt";

/// What to do about it.
#[derive(Args)]
pub(crate) struct Options {
    /// Only say whether the file is current
    #[arg(long)]
    check: bool,
    /// Takes declarations off the list that are gone or have another form. Then the version of the
    /// interface in `lanes/capi.rs` has to rise, once there has been a release
    #[arg(long, conflicts_with = "check")]
    breaks: bool,
}

/// Runs the lane.
pub(crate) fn run(workspace: &Workspace, steps: &mut Steps, options: &Options) -> Result<()> {
    let library = workspace.root().join(LIBRARY);
    if options.check {
        return check(workspace, steps);
    }
    steps.check("header", || {
        let text = generate(&library)?;
        fs::write(library.join(HEADER), &text)?;
        let (kept, now) = declarations(&library)?;
        let gone = interface::gone(&kept, &now);
        if !gone.is_empty() && !options.breaks {
            bail!(
                "programs would break, and --breaks is not given: {}",
                gone.join("; ")
            );
        }
        fs::write(library.join(INTERFACE), interface::write(&now))?;
        Ok(remark(&text))
    })
}

/// The declarations on the list, and those of the headers.
fn declarations(library: &Path) -> Result<(Vec<String>, Vec<String>)> {
    let kept = fs::read_to_string(library.join(INTERFACE)).unwrap_or_default();
    let mut now = Vec::new();
    for header in HEADERS {
        now.extend(interface::declarations(&fs::read_to_string(
            library.join(header),
        )?));
    }
    Ok((interface::read(&kept), now))
}

/// Fails if the file is stale.
pub(crate) fn check(workspace: &Workspace, steps: &mut Steps) -> Result<()> {
    let library = workspace.root().join(LIBRARY);
    steps.check("header: current", || {
        let text = generate(&library)?;
        let there = fs::read_to_string(library.join(HEADER))?;
        if let Some(line) = first_difference(&there, &text) {
            bail!("{LIBRARY}/{HEADER}, line {line}, is stale: run `cargo xtask header`");
        }
        Ok(remark(&text))
    })?;
    steps.check("header: interface", || {
        let (kept, now) = declarations(&library)?;
        let [gone, new] = [interface::gone(&kept, &now), interface::gone(&now, &kept)];
        if !gone.is_empty() {
            bail!("compiled programs would break: {}", gone.join("; "));
        }
        if !new.is_empty() {
            bail!(
                "{INTERFACE} lacks {}: run `cargo xtask header`",
                new.join("; ")
            );
        }
        Ok(format!("{} declarations", now.len()))
    })
}

/// The header.
fn generate(library: &Path) -> Result<String> {
    let mut config = cbindgen::Config::from_file(library.join("cbindgen.toml"))
        .map_err(|error| anyhow::anyhow!("cbindgen.toml: {error}"))?;
    let part = |name| {
        let path = library.join("header").join(name);
        fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))
    };
    config.header = Some(part("begin.h")?);
    config.after_includes = Some(part("middle.h")?);
    let bindings = cbindgen::Builder::new()
        .with_crate(library)
        .with_config(config)
        .generate()?;
    let mut text = Vec::new();
    bindings.write(&mut text);
    // The oldest C knows no such comments.
    let text = String::from_utf8(text)?
        .replace("// __cplusplus", "/* __cplusplus */")
        .replace("// extern \"C\"", "/* extern \"C\" */");
    ensure!(functions(&text) > 0, "no function was found");
    Ok(text)
}

/// How many functions it declares.
fn functions(header: &str) -> usize {
    let declares = |line: &&str| line.contains(" fibre_") || line.contains(" *fibre_");
    let ends = |line: &&str| line.ends_with(';') || line.ends_with(',') || line.ends_with('(');
    header
        .lines()
        .filter(|line| !line.starts_with([' ', '/', '#']) && line.contains('('))
        .filter(|line| !line.starts_with("typedef"))
        .filter(declares)
        .filter(ends)
        .count()
}

/// What the summary says.
fn remark(header: &str) -> String {
    format!("{} functions", functions(header))
}

/// The first line where two texts differ.
fn first_difference(one: &str, other: &str) -> Option<usize> {
    if one == other {
        return None;
    }
    let same = one.lines().zip(other.lines()).take_while(|(a, b)| a == b);
    Some(same.count() + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_are_counted() {
        let header = "int fibre_join(fibre_t t,\n               void **r);\nfibre_t fibre_self(void);\n\
            typedef void *(*fibre_start)(void*);\n// int fibre_x(void);\nint *fibre_errno_location(void);\n";
        assert_eq!(functions(header), 3);
    }

    #[test]
    fn a_stale_line_is_named() {
        assert_eq!(first_difference("a\nb\n", "a\nb\n"), None);
        assert_eq!(first_difference("a\nb\n", "a\nc\n"), Some(2));
        assert_eq!(first_difference("a\n", "a\nc\n"), Some(2));
    }
}
