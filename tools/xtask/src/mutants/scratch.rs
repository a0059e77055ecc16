//! A copy of the workspace with all mutants woven in, and the test programs built of it.
//!
//! There are two builds: the models, under loom, and the tests. A mutant that does not compile is
//! left out: the compiler says where, and the copy is woven again.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

use crate::lanes::loom;
use crate::lanes::test::program_with;
use crate::mutants::find::find;
use crate::mutants::keys::Keys;
use crate::mutants::listed::Lists;
use crate::mutants::mutant::{Mutant, Woven, weave};
use crate::mutants::subjects::{MODELLED, MODELS, SUBJECTS, Subject};

/// No warnings, and no debug information.
pub(crate) const QUIET: &str = "--cap-lints=allow -Cdebuginfo=0";

/// How often the copy is woven again before that is given up.
const ATTEMPTS: usize = 40;

/// The question, as the copy answers it: the environment names the mutant that is to act, and a
/// file to mark each one in that is asked for.
pub(crate) const HOOK: &str = include_str!("hook.rs.txt");

/// The file that it is added to.
pub(crate) const QUESTION: &str = "fibre-core/src/sync/atomic.rs";

/// The one package among the documents: a member of the workspace.
const GUIDE: &str = "docs/guide/";

/// One file with its mutants.
pub(crate) struct File {
    pub(crate) subject: &'static Subject,
    /// Its text, as it is.
    pub(crate) text: String,
    pub(crate) mutants: Vec<Mutant>,
    /// What their results are kept by.
    pub(crate) keys: Vec<String>,
    /// The number of the first one.
    pub(crate) first: usize,
    /// The mutants that do not compile.
    pub(crate) out: BTreeSet<usize>,
}

/// The copy.
pub(crate) struct Scratch {
    /// Its root.
    pub(crate) root: PathBuf,
    pub(crate) files: Vec<File>,
}

/// A test program.
#[derive(Debug, Clone)]
pub(crate) struct Binary {
    /// What it is called: the crate's name for unit tests.
    pub(crate) name: String,
    /// What the names of its tests begin with, if only a module of the program is meant.
    pub(crate) module: Option<String>,
    pub(crate) path: PathBuf,
    /// Where it is to run.
    pub(crate) folder: PathBuf,
}

impl Binary {
    /// Its suites of these names, each as a program of its own.
    fn suites(&self, names: Option<&Vec<&str>>) -> Vec<Self> {
        let suite = |name: &&str| Self {
            name: (*name).to_owned(),
            module: Some(format!("suite_{name}::")),
            ..self.clone()
        };
        names.into_iter().flatten().map(suite).collect()
    }

    /// Its modules of models of these names, each as a program of its own.
    fn modules(&self, names: &BTreeSet<&&str>) -> Vec<Self> {
        let there = |name: &&&str| self.folder.join(format!("tests/loom/{name}.rs")).is_file();
        let module = |name: &&str| Self {
            name: format!("{MODELS}{name}"),
            module: Some(format!("{name}::")),
            ..self.clone()
        };
        names
            .iter()
            .copied()
            .filter(|name| there(name))
            .map(module)
            .collect()
    }
}

impl Scratch {
    /// Copies what git knows of the workspace and finds the mutants.
    pub(crate) fn make(workspace: &Path, root: &Path, lists: &Lists) -> Result<Self> {
        let mut scratch = Self {
            root: root.to_owned(),
            files: Vec::new(),
        };
        let is_woven = |name: &str| SUBJECTS.iter().any(|subject| subject.file == name);
        scratch.copy(workspace, is_woven, |name, mut content| {
            if name == QUESTION {
                content.extend_from_slice(HOOK.as_bytes());
            }
            Ok(content)
        })?;
        scratch.find_all(workspace, lists)?;
        Ok(scratch)
    }

    /// Copies what git knows of the workspace, but for what is woven, and `changed`, which gets
    /// each file's name and content.
    pub(crate) fn copy(
        &self,
        workspace: &Path,
        is_woven: impl Fn(&str) -> bool,
        changed: impl Fn(&str, Vec<u8>) -> Result<Vec<u8>>,
    ) -> Result<()> {
        let output = Command::new("git")
            .args(["ls-files", "--cached", "--others", "--exclude-standard"])
            .current_dir(workspace)
            .output()?;
        ensure!(output.status.success(), "git does not list the files");
        let names = String::from_utf8(output.stdout)?;
        let is_page = |name: &str| name.starts_with("docs/") && !name.starts_with(GUIDE);
        let names = names.lines().filter(|name| !is_page(name));
        for name in names {
            let from = workspace.join(name);
            if from.is_file() && !is_woven(name) {
                write(&self.root.join(name), &changed(name, fs::read(&from)?)?)?;
            }
        }
        Ok(())
    }

    /// Finds the mutants of all files.
    fn find_all(&mut self, workspace: &Path, lists: &Lists) -> Result<()> {
        let (mut keys, none) = (Keys::default(), Default::default());
        for subject in SUBJECTS {
            let text = fs::read_to_string(workspace.join(subject.file))?;
            let mutants = find(&text, lists.get(subject.file).unwrap_or(&none))
                .with_context(|| format!("cannot read {}", subject.file))?;
            self.add(subject, text, mutants, &mut keys);
        }
        Ok(())
    }

    /// Adds a file. Its mutants have the next numbers.
    pub(crate) fn add(
        &mut self,
        subject: &'static Subject,
        text: String,
        mutants: Vec<Mutant>,
        keys: &mut Keys,
    ) {
        self.files.push(File {
            subject,
            text,
            first: self.count(),
            keys: keys.of(&mutants),
            mutants,
            out: BTreeSet::new(),
        });
    }

    /// The number after the last one. The first one is 1.
    pub(crate) fn count(&self) -> usize {
        let last = self.files.last();
        last.map_or(1, |file| file.first + file.mutants.len())
    }

    /// Writes the woven files.
    fn weave(&self) -> Result<BTreeMap<&'static str, Woven>> {
        let mut all = BTreeMap::new();
        for file in &self.files {
            let hook = (file.subject.hook(), file.first);
            let woven = weave(&file.text, &file.mutants, &file.out, hook);
            write(&self.root.join(file.subject.file), woven.text.as_bytes())?;
            all.insert(file.subject.file, woven);
        }
        Ok(all)
    }

    /// Builds the test programs by this command, without the mutants that do not compile.
    pub(crate) fn build(&mut self, command: impl Fn() -> Command) -> Result<Vec<Binary>> {
        for _ in 0..ATTEMPTS {
            let woven = self.weave()?;
            let (binaries, errors) = compile(command(), &self.root)?;
            if errors.is_empty() {
                return Ok(binaries);
            }
            let mut out = 0;
            for file in &mut self.files {
                let own = errors.iter().filter(|(path, _)| path == file.subject.file);
                let blamed =
                    own.flat_map(|(_, byte)| woven[file.subject.file].blamed(&file.mutants, *byte));
                let before = file.out.len();
                file.out.extend(blamed);
                out += file.out.len() - before;
            }
            println!("{out} mutants do not compile");
            if out == 0 {
                bail!("an error that no mutant is to blame for: {errors:?}");
            }
        }
        bail!("there are ever more mutants that do not compile")
    }

    /// Builds the models of these files.
    pub(crate) fn build_models(
        &mut self,
        target: &Path,
        subjects: &[&Subject],
    ) -> Result<Vec<Binary>> {
        let names: BTreeSet<_> = subjects.iter().flat_map(|file| file.models).collect();
        if names.is_empty() {
            return Ok(Vec::new());
        }
        let root = self.root.clone();
        let programs = self.build(|| {
            let mut command = test_command(&root, target);
            command.args(["--release", "--test", "loom"]);
            MODELLED.iter().for_each(|package| {
                command.args(["--package", package]);
            });
            command.env("RUSTFLAGS", format!("{QUIET} {}", loom::FLAGS));
            command
        })?;
        Ok(programs
            .iter()
            .flat_map(|program| program.modules(&names))
            .collect())
    }

    /// Builds the unit tests of the crates that have these files.
    pub(crate) fn build_units(
        &mut self,
        target: &Path,
        subjects: &[&Subject],
    ) -> Result<Vec<Binary>> {
        let root = self.root.clone();
        let packages: BTreeSet<_> = subjects.iter().map(|file| file.package()).collect();
        self.build(|| {
            let mut command = test_command(&root, target);
            command.arg("--lib");
            packages.iter().for_each(|package| {
                command.args(["--package", package]);
            });
            command
        })
    }

    /// Builds the suites of these files.
    pub(crate) fn build_suites(
        &mut self,
        target: &Path,
        subjects: &[&Subject],
    ) -> Result<Vec<Binary>> {
        let root = self.root.clone();
        let suites: BTreeSet<_> = subjects.iter().flat_map(|file| file.suites).collect();
        if suites.is_empty() {
            return Ok(Vec::new());
        }
        let mut programs = BTreeMap::<_, Vec<_>>::new();
        for suite in suites {
            let program = program_with(&root, suite);
            let program = program.with_context(|| format!("no program has the suite {suite}"))?;
            programs.entry(program).or_default().push(*suite);
        }
        let built = self.build(|| {
            let mut command = test_command(&root, target);
            command.args(["--package", "fibre-tests"]);
            programs.keys().for_each(|program| {
                command.args(["--test", program]);
            });
            command
        })?;
        let its = |binary: &Binary| binary.suites(programs.get(&binary.name));
        Ok(built.iter().flat_map(its).collect())
    }
}

/// Builds test programs of the copy, and runs none.
fn test_command(root: &Path, target: &Path) -> Command {
    let mut command = Command::new("cargo");
    command.current_dir(root).arg("test").arg("--no-run");
    command.args(["--message-format=json", "--target-dir"]);
    command.arg(target);
    command.env("RUSTFLAGS", QUIET);
    command
}

/// A file and a byte of it.
type Spot = (String, usize);

/// Runs a build; returns the test programs, and where the errors are.
fn compile(mut command: Command, root: &Path) -> Result<(Vec<Binary>, Vec<Spot>)> {
    let mut child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()?;
    let output = child.stdout.take().context("no output")?;
    let (mut binaries, mut errors) = (Vec::new(), Vec::new());
    for line in BufReader::new(output).lines() {
        let message: Value = serde_json::from_str(&line?)?;
        match message["reason"].as_str() {
            Some("compiler-artifact") => binaries.extend(binary(&message)),
            Some("compiler-message") if message["message"]["level"] == "error" => {
                errors.extend(spots(&message["message"], root));
            }
            _ => {}
        }
    }
    ensure!(
        child.wait()?.success() || !errors.is_empty(),
        "the build fails, and says nothing"
    );
    Ok((binaries, errors))
}

/// The test program that an artifact is.
fn binary(message: &Value) -> Option<Binary> {
    let path = message["executable"].as_str()?;
    let manifest = Path::new(message["manifest_path"].as_str()?);
    Some(Binary {
        name: message["target"]["name"].as_str()?.to_owned(),
        module: None,
        path: path.into(),
        folder: manifest.parent()?.to_owned(),
    })
}

/// Where an error is.
fn spots(message: &Value, root: &Path) -> Vec<Spot> {
    let spans = message["spans"].as_array().into_iter().flatten();
    let main = spans.filter(|span| span["is_primary"] == true);
    main.filter_map(|span| {
        let file = Path::new(span["file_name"].as_str()?);
        let file = file.strip_prefix(root).unwrap_or(file);
        let byte = span["byte_start"].as_u64()? as usize;
        Some((file.to_string_lossy().into_owned(), byte))
    })
    .collect()
}

/// Writes a file, unless it is the same already: a new one would be compiled again.
fn write(path: &Path, content: &[u8]) -> Result<()> {
    if fs::read(path).is_ok_and(|there| there == content) {
        return Ok(());
    }
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    fs::write(path, content).with_context(|| format!("cannot write {}", path.display()))
}
