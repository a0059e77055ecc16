//! `guide`: the guide as a book, its links, and its programs in C. Those in Rust are tests of the
//! package `fibre-guide`, which `test` runs with all others.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use clap::Args;

use crate::book;
use crate::lanes::capi;
use crate::markdown;
use crate::steps::Steps;
use crate::tidy::links::GUIDE;
use crate::workspace::{Workspace, require_program};

/// The folder of the book's manifest.
const BOOK: &str = "docs/guide";

/// What to say where mdBook is missing.
const ADVICE: &str = "pip install --require-hashes -r docs/guide/requirements.txt, \
    or cargo install --locked mdbook";

/// How to make it.
#[derive(Args, Default)]
pub(crate) struct Options {
    /// The C library is there already: does not build it
    #[arg(long)]
    built: bool,
    /// Only the book: leaves the programs in C alone
    #[arg(long)]
    book: bool,
    /// What mdBook calls: changes the book that comes as JSON, and does nothing else
    #[arg(long)]
    pub(crate) as_preprocessor: bool,
    /// What mdBook asks: whether the renderer is supported
    #[arg(requires = "as_preprocessor")]
    question: Vec<String>,
}

impl Options {
    /// Options that take the C library that is there.
    pub(crate) fn built() -> Self {
        Self {
            built: true,
            ..Self::default()
        }
    }
}

/// Answers mdBook: changes the book, or says that every renderer will do.
pub(crate) fn preprocess(options: &Options) -> Result<()> {
    if !options.question.is_empty() {
        return Ok(());
    }
    let mut input = String::new();
    io::stdin().read_to_string(&mut input)?;
    let book = book::preprocess(&input)?;
    Ok(io::stdout().write_all(book.as_bytes())?)
}

/// Runs the lane.
pub(crate) fn run(workspace: &Workspace, steps: &mut Steps, options: &Options) -> Result<()> {
    let place = std::path::absolute(workspace.target_dir("guide"))?;
    steps.check("guide: mdBook", || {
        require_program("mdbook", ADVICE)?;
        Ok("it is installed".into())
    })?;
    let mut build = Command::new("mdbook");
    build.args(["build", BOOK, "--dest-dir"]).arg(&place);
    steps.run("guide: book", build)?;
    steps.check("guide: links of the book", || check_book(&place))?;
    if options.book {
        return Ok(());
    }
    if !options.built {
        capi::run(workspace, steps, &capi::Options::default())?;
    }
    steps.check("guide: programs in C", || run_programs(workspace))
}

/// The pages of the book, by their paths in it.
fn read_book(place: &Path) -> Result<BTreeMap<PathBuf, String>> {
    let mut pages = BTreeMap::new();
    for entry in walkdir::WalkDir::new(place) {
        let path = entry?.into_path();
        if path.extension().is_some_and(|ending| ending == "html") {
            let text = fs::read_to_string(&path)?;
            pages.insert(path.strip_prefix(place)?.to_owned(), text);
        }
    }
    ensure!(!pages.is_empty(), "{} has no page", place.display());
    Ok(pages)
}

/// What stands in this attribute, in whatever tag.
fn attributes<'a>(page: &'a str, name: &str) -> Vec<&'a str> {
    let opening = format!(" {name}=\"");
    let tags = page.split('<').skip(1);
    let tags = tags.map(|rest| rest.split('>').next().unwrap_or(rest));
    let found = tags.filter_map(|tag| tag.split_once(&opening)?.1.split('"').next());
    found.collect()
}

/// Checks that each link within the book leads to a file of it, and to an element there.
fn check_book(place: &Path) -> Result<String> {
    let pages = read_book(place)?;
    let mut bad = Vec::new();
    let mut links = 0;
    // What mdBook makes of all pages together, and of none.
    let made = ["print.html", "404.html", "toc.html"];
    for (path, text) in pages
        .iter()
        .filter(|(path, _)| made.iter().all(|m| !path.ends_with(m)))
    {
        for link in attributes(text, "href") {
            if link.contains("://") || link.starts_with("data:") {
                continue;
            }
            links += 1;
            let (file, anchor) = link.split_once('#').unwrap_or((link, ""));
            let folder = path.parent().unwrap_or(Path::new(""));
            let target = if file.is_empty() {
                place.join(path)
            } else {
                place.join(folder).join(file)
            };
            let there = fs::canonicalize(&target).ok();
            let page = there
                .as_deref()
                .and_then(|there| there.strip_prefix(place).ok());
            let has_anchor = |page: &Path| {
                anchor.is_empty()
                    || pages
                        .get(page)
                        .is_some_and(|p| attributes(p, "id").contains(&anchor))
            };
            if !page.is_some_and(has_anchor) {
                bad.push(format!("{}: {link}", path.display()));
            }
        }
    }
    ensure!(
        bad.is_empty(),
        "links that lead nowhere: {}",
        bad.join(", ")
    );
    Ok(format!("{} pages, {links} links", pages.len()))
}

/// Compiles each program in C of the guide with the header that maps its calls, runs it, and looks
/// for what it prints in its page.
fn run_programs(workspace: &Workspace) -> Result<String> {
    let prefix = workspace.target_dir("capi");
    let folder = workspace.target_dir("guide-c");
    fs::create_dir_all(&folder)?;
    let mut programs = 0;
    for entry in walkdir::WalkDir::new(workspace.root().join(GUIDE)).sort_by_file_name() {
        let path = entry?.into_path();
        if path.extension().is_none_or(|ending| ending != "md") {
            continue;
        }
        let page = fs::read_to_string(&path)?;
        for program in markdown::code(&page, "c") {
            let said = run_program(&program, &folder, &prefix)
                .with_context(|| format!("{}", path.display()))?;
            ensure!(
                !said.is_empty() && page.contains(&format!("`{said}`")),
                "{}: its program prints `{said}`, which the page does not say",
                path.display()
            );
            programs += 1;
        }
    }
    ensure!(programs > 0, "the guide has no program in C");
    Ok(format!("{programs} programs"))
}

/// Compiles and runs a program; says what it has printed.
fn run_program(program: &str, folder: &Path, prefix: &Path) -> Result<String> {
    let (source, compiled) = (folder.join("program.c"), folder.join("program"));
    fs::write(&source, program)?;
    let mut cc = Command::new("cc");
    cc.args(["-O2", "-Wall", "-Wextra", "-Werror", "-include"]);
    cc.arg(prefix.join(capi::INCLUDE).join("fibre_pthread.h"));
    cc.arg(&source).arg("-o").arg(&compiled);
    cc.arg("-L").arg(prefix.join("lib")).arg(capi::LINK);
    ensure!(cc.status().context("cc")?.success(), "cc fails");
    let mut run = Command::new(std::path::absolute(&compiled)?);
    run.env("LD_LIBRARY_PATH", std::path::absolute(prefix.join("lib"))?);
    let output = run.output()?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        bail!("the program ends with {}: {said}", output.status);
    }
    Ok(String::from_utf8(output.stdout)?.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A book of these pages.
    fn book(name: &str, pages: &[(&str, &str)]) -> Result<String> {
        let place = std::env::temp_dir().join(format!("xtask-{name}-{}", std::process::id()));
        fs::create_dir_all(place.join("c"))?;
        let place = fs::canonicalize(place)?;
        for (path, text) in pages {
            fs::write(place.join(path), text)?;
        }
        let result = check_book(&place);
        fs::remove_dir_all(place)?;
        result
    }

    #[test]
    fn links_within_a_book_pass() {
        let a = "<h1 id=\"x\"></h1><a href=\"#x\"> <a href=\"c/b.html\"> <a href=\"http://d\">&lt;a href=\"e\"&gt;";
        let b = "<a class=\"y\" href=\"../a.html#x\">";
        let said = book("whole", &[("a.html", a), ("c/b.html", b)]).unwrap();
        assert_eq!(said, "2 pages, 3 links");
    }

    #[test]
    fn links_out_of_a_book_fail() {
        for link in ["b.html", "#y", "../../README.html", "c/b.html#x"] {
            let a = format!("<h1 id=\"x\"></h1><a href=\"{link}\">");
            let pages = [("a.html", &*a), ("c/b.html", "<p>")];
            assert!(book("broken", &pages).is_err(), "{link}");
        }
    }
}
