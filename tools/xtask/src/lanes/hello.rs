//! `hello`: what the smallest server costs to build, with fibre and with its peers.
//!
//! Each program accepts a connection, writes a word, and reads it on the other side. It is a
//! package of its own below `target/hello`, as a newcomer would have it, built from nothing in
//! release. What is told of each: the packages that it is made of, the CPU time of its build and of
//! a second build after a change in it, and the size of the program without symbols. CPU time is
//! that of all processes of cargo: who shares the machine changes it less than the time on the
//! clock.
//!
//! Peers are not all in our lock file, so the registry is needed, and the lane is not in CI.

mod programs;

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use clap::Args;

use crate::commands::cannot_start;
use crate::steps::Steps;
use crate::workspace::{Workspace, cargo};
use programs::{PROGRAMS, Program};

/// Where the table is kept.
const REPORT: &str = "docs/results/hello.md";

/// The most packages of a program on fibres without what shows it.
const MOST_PACKAGES: usize = 20;

/// What to do with the table.
#[derive(Args)]
pub(crate) struct Options {
    /// Writes docs/results/hello.md
    #[arg(long)]
    report: bool,
}

/// What was found out about a program.
struct Row {
    /// What it is called in the table.
    title: &'static str,
    /// How many packages it is made of, with itself.
    packages: usize,
    /// Seconds of CPU time for a build from nothing.
    clean: f64,
    /// The same for one after a change in the program.
    again: f64,
    /// The size of the program, in bytes.
    size: u64,
}

/// Runs the lane.
pub(crate) fn run(workspace: &Workspace, steps: &mut Steps, options: &Options) -> Result<()> {
    let place = workspace.root().join(workspace.target_dir("hello"));
    let mut rows = Vec::new();
    for program in &PROGRAMS {
        steps.check(&format!("hello: {}", program.title), || {
            let row = measure(workspace.root(), &place, program)?;
            let remark = row.to_string();
            rows.push(row);
            Ok(remark)
        })?;
    }
    let table = table(&rows);
    println!("\n{table}");
    if options.report {
        let page = workspace.root().join(REPORT);
        steps.check("hello: report", || {
            fs::write(&page, report(&table)?)?;
            Ok(REPORT.to_owned())
        })?;
    }
    Ok(())
}

/// Builds a program twice and runs it.
fn measure(root: &Path, place: &Path, program: &Program) -> Result<Row> {
    let folder = place.join(program.name);
    let source = lay(root, &folder, program)?;
    let packages = packages(&folder)?;
    if program.is_small {
        ensure!(
            packages <= MOST_PACKAGES,
            "it is made of {packages} packages"
        );
    }
    let target = folder.join("target");
    if target.exists() {
        fs::remove_dir_all(&target)?;
    }
    let clean = build(&folder)?;
    let text = fs::read_to_string(&source)?;
    fs::write(&source, text + "\n// A change.\n")?;
    let again = build(&folder)?;
    let made = target.join("release").join(program.name);
    let said = Command::new(&made)
        .output()
        .with_context(|| made.display().to_string())?;
    ensure!(said.stdout == b"hello\n", "it says {said:?}");
    if program.is_small {
        let asked = Command::new(&made).env("FIBRE_STATS", "1").output()?;
        let told = String::from_utf8_lossy(&asked.stderr);
        ensure!(
            told.contains("FIBRE_STATS changes nothing"),
            "it says {told:?}"
        );
    }
    let size = fs::metadata(&made)?.len();
    fs::remove_dir_all(&target)?;
    Ok(Row {
        title: program.title,
        packages,
        clean,
        again,
        size,
    })
}

/// Writes the package; the file of its program.
fn lay(root: &Path, folder: &Path, program: &Program) -> Result<PathBuf> {
    fs::create_dir_all(folder.join("src"))?;
    let needs = program.needs.replace("ROOT", &root.display().to_string());
    let manifest = format!(
        "[package]\nname = \"{}\"\nedition = \"2024\"\n[workspace]\n[dependencies]\n{needs}\n\
         [profile.release]\nstrip = true\n",
        program.name
    );
    fs::write(folder.join("Cargo.toml"), manifest)?;
    // So that what is in our lock file is the same for all.
    fs::copy(root.join("Cargo.lock"), folder.join("Cargo.lock"))?;
    let source = folder.join("src/main.rs");
    fs::write(&source, program.source)?;
    Ok(source)
}

/// How many packages a program is made of, procedural macros and itself included.
fn packages(folder: &Path) -> Result<usize> {
    let mut tree = cargo([
        "tree",
        "--edges=normal,build",
        "--prefix=none",
        "--no-dedupe",
    ]);
    tree.current_dir(folder).stderr(Stdio::inherit());
    let listed = tree.output().with_context(|| cannot_start(&tree))?;
    ensure!(listed.status.success(), "cargo tree fails");
    Ok(distinct(&String::from_utf8(listed.stdout)?))
}

/// How many different packages a list names: one a line, name and version first.
fn distinct(list: &str) -> usize {
    let mut names: Vec<Vec<&str>> = list
        .lines()
        .map(|line| line.split_whitespace().take(2).collect())
        .collect();
    names.sort();
    names.dedup();
    names.retain(|name| !name.is_empty());
    names.len()
}

/// Builds in release; the CPU time of it in seconds.
fn build(folder: &Path) -> Result<f64> {
    let mut shell = Command::new("bash");
    let cargo = cargo([]).get_program().to_owned();
    shell.args([
        "-c",
        "TIMEFORMAT='cpu %U %S'; time \"$0\" build --release --quiet",
    ]);
    shell
        .arg(cargo)
        .current_dir(folder)
        .env_remove("CARGO_TARGET_DIR");
    let said = shell.output().with_context(|| cannot_start(&shell))?;
    let said_last = String::from_utf8_lossy(&said.stderr);
    ensure!(said.status.success(), "it does not build: {said_last}");
    cpu_time(&said_last).with_context(|| format!("no time in {said_last:?}"))
}

/// The sum of the seconds in the line that `time` has written.
fn cpu_time(said: &str) -> Option<f64> {
    let line = said
        .lines()
        .rev()
        .find_map(|line| line.strip_prefix("cpu "))?;
    let seconds: Option<Vec<f64>> = line.split(' ').map(|part| part.parse().ok()).collect();
    Some(seconds?.iter().sum())
}

impl std::fmt::Display for Row {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let kilobytes = self.size / 1000;
        write!(
            f,
            "{} packages, {:.1} s and {:.1} s, {kilobytes} kB",
            self.packages, self.clean, self.again
        )
    }
}

/// The rows as a table.
fn table(rows: &[Row]) -> String {
    let mut table =
        "| program | packages | first build (CPU s) | after a change (CPU s) | size (kB) |\n\
        |---|---:|---:|---:|---:|\n"
            .to_owned();
    for row in rows {
        let Row {
            title,
            packages,
            clean,
            again,
            size,
        } = row;
        // A string takes it.
        let _ = writeln!(
            table,
            "| {title} | {packages} | {clean:.1} | {again:.1} | {} |",
            size / 1000
        );
    }
    table
}

/// The page with the table.
fn report(table: &str) -> Result<String> {
    let said = |program: &str, arguments: &[&str]| -> Result<String> {
        let output = Command::new(program).args(arguments).output()?;
        Ok(String::from_utf8(output.stdout)?.trim().to_owned())
    };
    let compiler = said("rustc", &["--version"])?;
    let commit = said("git", &["rev-parse", "--short", "HEAD"])?;
    Ok(format!(
        "# What the smallest server costs to build\n\n\
         Written by `cargo xtask hello --report`; nobody edits it by hand. Commit {commit}, {compiler}.\n\n\
         Each program accepts a connection and writes a word, which it reads on the other side. It is built \
         in release. Packages\ninclude the program and procedural macros. CPU time is that of all processes \
         of cargo; the size is that of the stripped\nprogram.\n\n{table}"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_are_counted_once() {
        let list = "hello v0.0.0 (/x)\nfibre-rt v0.1.0 (/y)\nlibc v0.2.1\n\nlibc v0.2.1\n";
        assert_eq!(distinct(list), 3);
    }

    #[test]
    fn times_are_added() {
        assert_eq!(cpu_time("warning: x\ncpu 1.50 0.25\n"), Some(1.75));
        assert_eq!(cpu_time("nothing"), None);
        assert_eq!(cpu_time("cpu one two"), None);
    }

    #[test]
    fn rows_become_a_table() {
        let row = Row {
            title: "fibre",
            packages: 17,
            clean: 9.96,
            again: 0.5,
            size: 812_345,
        };
        assert!(table(&[row]).ends_with("| fibre | 17 | 10.0 | 0.5 | 812 |\n"));
    }
}
