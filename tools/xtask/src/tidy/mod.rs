//! `tidy`: the source rules that no compiler checks.
//!
//! Each rule is a function from parsed sources to [`Violation`]s, and each has a test that shows it
//! can fail.
//!
//! * [`page`]: how a file looks. Module docs first, sizes, nothing unfinished.
//! * [`vocabulary`]: words that a crate must not know, and the hazards that may stand in named
//!   files only.
//! * [`arrows`]: the crates that each crate may depend on.
//! * [`cycles`]: no import cycle between the modules of a crate; [`modules`] finds the imports,
//!   [`mentions`] what one module names. [`rooms`]: none between the folders of a crate either.
//! * [`maps`]: the lists of modules in the stories are complete and in order.
//! * [`glossary`]: names consist of words of the field, or of words that docs/GLOSSARY.md explains.
//! * [`pasted`]: examples in the documentation say what users can paste.
//! * [`configuration`]: every environment variable stands in the table of docs/CONFIGURATION.md,
//!   a choice with the names of all its values.
//! * [`decisions`]: the index of docs/decisions lists each record once, as that calls itself.
//! * [`faults`]: the files and tests that docs/FAULTS.md names exist, and each row has a test.
//! * [`forms`]: what waits for a lock or a permit has its four forms.
//! * [`links`]: links between pages lead to files and headings that exist; the guide is complete.
//! * [`prose`]: sentences name their actor, and lines of documentation what they are about.
//! * [`phrases`]: turns of phrase that have to be read twice, each with a limit that only falls.
//! * [`quotes`]: pages quote figures as the stored reports have them.
//! * [`compiler`]: the oldest compiler that is promised is the one that CI builds with.
//! * [`commits`]: the shape of commit subjects.
//!
//! [`figures`] is no rule: it counts what the libraries amount to.

mod arrows;
mod commits;
mod compiler;
mod configuration;
mod cycles;
mod decisions;
mod faults;
mod figures;
mod forms;
mod glossary;
pub(crate) mod links;
mod maps;
mod mentions;
mod modules;
mod page;
mod pasted;
mod phrases;
mod prose;
mod rooms;
pub(crate) mod source;
mod vocabulary;

use std::fs;
use std::path::Path;

use anyhow::{Result, bail};

use crate::choices;
use crate::quotes;
use crate::workspace::{Workspace, package_in};
use arrows::Package;
use glossary::Words;
use rooms::Rooms;
use source::{Source, Violation};

/// Checks all rules, prints what breaks them; returns a remark, or an error if anything does.
pub(crate) fn check(workspace: &Workspace) -> Result<String> {
    let sources = source::read_all(workspace.root())?;
    let packages = arrows::read_packages(workspace)?;
    let mut violations = Vec::new();
    violations.extend(page::check(&sources));
    violations.extend(page::sealed(&sources));
    for (path, most) in page::BOUNDED {
        violations.extend(page::bounded(path, &read(workspace, path), most));
    }
    violations.extend(vocabulary::check(&sources));
    violations.extend(vocabulary::errno(
        &sources,
        &read(workspace, vocabulary::ERRNO_ALLOWED),
    ));
    let document = read(workspace, configuration::PATH);
    violations.extend(configuration::check(&sources, &document));
    for choice in choices::ALL {
        let names = choice.names(workspace.root())?;
        violations.extend(configuration::check_row(choice.variable, &names, &document));
    }
    violations.extend(faults::check(&sources, &read(workspace, faults::PATH)));
    violations.extend(forms::check(&sources));
    violations.extend(pasted::check(&sources));
    violations.extend(links::check(&links::read_all(workspace.root())?));
    violations.extend(english(workspace, &sources)?);
    violations.extend(quotes::check(workspace.root())?);
    let records = decisions::read_all(&workspace.root().join(decisions::FOLDER))?;
    violations.extend(decisions::check(
        &records,
        &read(workspace, decisions::INDEX),
    ));
    violations.extend(arrows::check(&packages, &sources));
    violations.extend(import_cycles(&packages, &sources));
    let architecture = read(workspace, page::ARCHITECTURE_PATH);
    let words = Words::new(
        &read(workspace, glossary::FIELD),
        &read(workspace, glossary::PATH),
    );
    violations.extend(glossary::bounded(&read(workspace, glossary::PATH)));
    violations.extend(words.check_types(&sources));
    for (folder, most) in rooms::DRAWN {
        let rooms = rooms_of(folder, &sources);
        violations.extend(words.check_rooms(folder, &rooms));
        violations.extend(rooms.check(most, &sources));
        violations.extend(maps::check(folder, &sources, &rooms));
        violations.extend(maps::check_code_map(&architecture, folder, &rooms));
    }
    violations.extend(compiler::check(workspace)?);
    let (subjects, commit_remark) = commits::subjects(workspace.root())?;
    violations.extend(commits::check(&subjects));

    for violation in &violations {
        println!("{violation}");
    }
    if violations.is_empty() {
        return Ok(format!("{} files, {commit_remark}", sources.len()));
    }
    bail!("{} violations of the source rules", violations.len())
}

/// The rules about the English of comments and pages.
fn english(workspace: &Workspace, sources: &[Source]) -> Result<Vec<Violation>> {
    let pages = prose::read_all(workspace.root())?;
    let mut violations = prose::openings(&pages);
    violations.extend(phrases::check(&pages, &read(workspace, phrases::LIMITS)));
    violations.extend(prose::headless(sources));
    Ok(violations)
}

/// Draws the rooms of the crates; says how many there are.
pub(crate) fn draw(workspace: &Workspace) -> Result<()> {
    let sources = source::read_all(workspace.root())?;
    let pictures = workspace.root().join(workspace.target_dir(rooms::FOLDER));
    fs::create_dir_all(&pictures)?;
    for (folder, _) in rooms::DRAWN {
        let rooms = rooms_of(folder, &sources);
        let graph = rooms.graph();
        println!(
            "{}",
            graph
                .lines()
                .next()
                .unwrap_or_default()
                .replace("//", folder)
        );
        fs::write(pictures.join(format!("{}.dot", package_in(folder))), graph)?;
    }
    Ok(())
}

/// Lowers the limits of phrases to what is left of them.
pub(crate) fn lower_phrases(workspace: &Workspace) -> Result<()> {
    let pages = prose::read_all(workspace.root())?;
    let list = phrases::lowered(&pages, &read(workspace, phrases::LIMITS));
    fs::write(workspace.root().join(phrases::LIMITS), list)?;
    Ok(())
}

/// Prints what the libraries of the checkout at this root amount to.
pub(crate) fn print_figures(root: &Path) -> Result<()> {
    print!("{}", figures::table(&source::read_all(root)?));
    Ok(())
}

/// The rooms of the library in this folder.
fn rooms_of<'a>(folder: &'a str, sources: &'a [Source]) -> Rooms<'a> {
    let library = modules::imports(sources, folder).into_iter();
    // Examples and tests of the package are crates of their own.
    let imports: Vec<_> = library.flatten().collect();
    Rooms::new(folder, sources, &imports)
}

/// The import cycles of every package, each package by itself.
fn import_cycles(packages: &[Package], sources: &[Source]) -> Vec<Violation> {
    packages
        .iter()
        .flat_map(|package| modules::imports(sources, &package.folder))
        .flat_map(|imports| cycles::check(sources, &imports))
        .collect()
}

/// The text of a file the rules speak of, empty if there is none.
fn read(workspace: &Workspace, path: &str) -> String {
    fs::read_to_string(workspace.root().join(path)).unwrap_or_default()
}
