//! Pages for `man`, out of the header: one for each family of calls, and for each call a file that
//! leads to its family's page.
//!
//! A call belongs to the family of the source file that defines it ([`FAMILIES`]). Its prototype
//! and what is said of it are the header's, so a page cannot say something else than the header
//! does.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use walkdir::WalkDir;

/// The families: the page, what it is about, and the files or folders below `src` with its calls.
const FAMILIES: [(&str, &str, &[&str]); 17] = [
    (
        "fibre_attr",
        "attributes of new fibres",
        &["attr.rs", "attr_stack.rs"],
    ),
    (
        "fibre_key",
        "values of which each fibre has its own",
        &["key.rs"],
    ),
    ("fibre_cancel", "cancellation of fibres", &["cancel.rs"]),
    (
        "fibre_signal",
        "signals and signal masks of fibres",
        &["signal.rs", "bsd_signal.rs", "sigmask.rs", "io/signals.rs"],
    ),
    ("fibre_cluster", "clusters of processors", &["cluster.rs"]),
    (
        "fibre_inspect",
        "dumps, metrics and event traces",
        &["dump.rs", "metrics.rs", "trace.rs"],
    ),
    ("fibre_mutex", "mutexes of fibres", &["sync/mutex.rs"]),
    (
        "fibre_cond",
        "condition variables of fibres",
        &["sync/cond.rs"],
    ),
    (
        "fibre_rwlock",
        "read-write locks of fibres",
        &["sync/rwlock.rs"],
    ),
    ("fibre_spin", "spin locks of fibres", &["sync/spin.rs"]),
    ("fibre_sem", "semaphores of fibres", &["sync/semaphore.rs"]),
    ("fibre_barrier", "barriers of fibres", &["sync/barrier.rs"]),
    (
        "fibre_once",
        "initialisation that happens once",
        &["sync/once.rs"],
    ),
    ("fibre_time", "sleeping", &["time.rs"]),
    (
        "fibre_float",
        "the floating-point environment and the locale of a fibre",
        &["float.rs", "locale.rs"],
    ),
    (
        "fibre_io",
        "input, output, programs and look-ups that block the fibre only",
        &["io/"],
    ),
    (
        "fibre_thread",
        "fibres: creating, joining, ending, naming",
        &[
            "thread.rs",
            "join.rs",
            "exit.rs",
            "attributes_of.rs",
            "label.rs",
            "main_fibre.rs",
            "errno.rs",
        ],
    ),
];

/// A call.
#[derive(Debug, PartialEq, Eq)]
struct Call {
    /// Its name.
    name: String,
    /// Its declaration, as the header has it.
    prototype: String,
    /// What the header says of it.
    words: String,
}

/// All files, by their names, for the library in this folder.
pub(super) fn files(library: &Path, version: &str) -> Result<BTreeMap<String, String>> {
    let header = fs::read_to_string(library.join("include/fibre.h"))?;
    let sources = read_sources(&library.join("src"))?;
    pages(&calls(&header), &sources, version)
}

/// The source files, by their paths below the folder.
fn read_sources(folder: &Path) -> Result<Vec<(String, String)>> {
    let mut sources = Vec::new();
    for entry in WalkDir::new(folder).sort_by_file_name() {
        let entry = entry?;
        if entry.path().extension().is_some_and(|kind| kind == "rs") {
            let path = entry.path().strip_prefix(folder)?.display().to_string();
            sources.push((path, fs::read_to_string(entry.path())?));
        }
    }
    Ok(sources)
}

/// The calls that a header declares, each with the comment above it.
fn calls(header: &str) -> Vec<Call> {
    let mut found = Vec::new();
    let mut pieces = header.split("/*\n").skip(1);
    for piece in &mut pieces {
        let Some((words, after)) = piece.split_once("*/\n") else {
            continue;
        };
        let Some((prototype, _)) = after.split_once(';') else {
            continue;
        };
        let before = prototype.split('(').next().unwrap_or_default();
        let name = before.rsplit([' ', '*']).next().unwrap_or_default();
        let declares = name.starts_with("fibre_") && !prototype.trim_start().starts_with("typedef");
        if declares && prototype.contains('(') {
            found.push(Call {
                name: name.to_owned(),
                prototype: format!("{};", prototype.trim()),
                words: words.trim_end().to_owned(),
            });
        }
    }
    found
}

/// All files of pages, by their names.
fn pages(
    calls: &[Call],
    sources: &[(String, String)],
    version: &str,
) -> Result<BTreeMap<String, String>> {
    let mut files = BTreeMap::new();
    let mut of_family: BTreeMap<&str, Vec<&Call>> = BTreeMap::new();
    for call in calls {
        let family = family(&call.name, sources);
        let family = family.with_context(|| format!("{} belongs to no page", call.name))?;
        of_family.entry(family).or_default().push(call);
        let leads = format!(".so man3/{family}.3\n");
        files.insert(format!("{}.3", call.name), leads);
    }
    for (name, about, _) in FAMILIES {
        let calls = of_family.get(name).map_or(&[][..], Vec::as_slice);
        ensure!(!calls.is_empty(), "the page {name} has no calls");
        // A family that has a call's name has the call's page, too.
        files.insert(format!("{name}.3"), page(name, about, calls, version));
    }
    Ok(files)
}

/// The page of a call.
fn family(call: &str, sources: &[(String, String)]) -> Option<&'static str> {
    let defined = format!("fn {call}(");
    // Some are made by macros, which are told the name.
    let named = |text: &str| {
        text.split(|c: char| !c.is_alphanumeric() && c != '_')
            .any(|word| word == call)
    };
    let file = sources.iter().find(|(_, text)| text.contains(&defined));
    let (file, _) = file.or_else(|| sources.iter().find(|(_, text)| named(text)))?;
    let mut families = FAMILIES.iter();
    let of_file = |files: &[&str]| {
        files
            .iter()
            .any(|own| file == own || own.ends_with('/') && file.starts_with(own))
    };
    families
        .find(|(_, _, files)| of_file(files))
        .map(|(name, _, _)| *name)
}

/// A page.
fn page(name: &str, about: &str, calls: &[&Call], version: &str) -> String {
    let mut page = format!(
        ".TH {} 3 \"\" \"fibre {version}\" \"C library of fibre\"\n.SH NAME\n{name} \\- {about}\n\
         .SH LIBRARY\nC library of fibre (\\fIlibfibre\\-rt\\fR, \\fI\\-lfibre\\-rt\\fR)\n\
         .SH SYNOPSIS\n.nf\n.B #include <fibre\\-rt/fibre.h>\n.PP\n",
        name.to_uppercase()
    );
    for call in calls {
        // A string takes it.
        let _ = writeln!(page, "{}", escaped(&call.prototype));
    }
    page.push_str(".fi\n.SH DESCRIPTION\nEach call has the signature, the result and the error numbers of its model in POSIX.\n");
    for call in calls {
        let _ = write!(
            page,
            ".SS {}\n{}",
            escaped(&call.name),
            formatted(&call.words)
        );
    }
    let _ = writeln!(page, ".SH SEE ALSO\n{}", see_also(name));
    page
}

/// The other pages.
fn see_also(name: &str) -> String {
    let others = FAMILIES.iter().filter(|(other, ..)| *other != name);
    let others: Vec<String> = others
        .map(|(other, ..)| format!(".BR {other} (3)"))
        .collect();
    others.join(" ,\n").replace(" (3) ,", " (3),")
}

/// A comment as `man` formats it: paragraphs, lists, and names in bold.
fn formatted(words: &str) -> String {
    let mut text = String::new();
    for line in words.lines().map(str::trim) {
        if line.is_empty() {
            text.push_str(".PP\n");
        } else if let Some(item) = line.strip_prefix("* ") {
            text.push_str(".IP \\(bu 2\n");
            text.push_str(&(bold(item) + "\n"));
        } else if let Some(head) = line.strip_prefix("# ") {
            text.push_str(&format!(".PP\n.I {}\n.PP\n", escaped(head)));
        } else {
            text.push_str(&(bold(line) + "\n"));
        }
    }
    text
}

/// A line with what is between backticks in bold.
fn bold(line: &str) -> String {
    let line = line.replace("[`", "`").replace("`]", "`");
    let mut parts = line.split('`');
    let mut text = escaped(parts.next().unwrap_or_default());
    for (index, part) in parts.enumerate() {
        let font = if index % 2 == 0 { "\\fB" } else { "\\fR" };
        text.push_str(font);
        text.push_str(&escaped(part));
    }
    // A name that goes on in the next line ends here.
    if line.matches('`').count() % 2 == 1 {
        text.push_str("\\fR");
    }
    match text.starts_with(['.', '\'']) {
        true => format!("\\&{text}"),
        false => text,
    }
}

/// Text without what has a meaning for `man`.
fn escaped(text: &str) -> String {
    text.replace('\\', "\\e").replace('-', "\\-")
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: &str = "/*\n A type.\n */\ntypedef uint64_t fibre_t;\n\n/*\n `sleep`: waits -- \
        see [`fibre_usleep`].\n .dot\n */\nunsigned int fibre_sleep(unsigned int seconds);\n\n\
        /*\n Locks.\n */\nint *fibre_mutex_lock(struct m *mutex,\n    int x);\n";

    #[test]
    fn calls_are_found_with_their_words() {
        let calls = calls(HEADER);
        let names: Vec<&str> = calls.iter().map(|call| call.name.as_str()).collect();
        assert_eq!(names, ["fibre_sleep", "fibre_mutex_lock"]);
        assert_eq!(
            calls[0].prototype,
            "unsigned int fibre_sleep(unsigned int seconds);"
        );
        let words = formatted(&calls[0].words);
        let expected = "\\fBsleep\\fR: waits \\-\\- see \\fBfibre_usleep\\fR.\n\\&.dot\n";
        assert_eq!(words, expected);
    }

    #[test]
    fn a_call_without_a_page_fails() {
        let source = |path: &str, text: &str| (path.to_owned(), text.to_owned());
        let sources = [
            source("time.rs", "fn fibre_sleep("),
            source("other.rs", "fn fibre_x("),
        ];
        assert_eq!(family("fibre_sleep", &sources), Some("fibre_time"));
        assert_eq!(family("fibre_x", &sources), None, "its file has no page");
        assert_eq!(family("fibre_y", &sources), None, "it is nowhere");
        let made = [source("cluster.rs", "setter!(fibre_config_set_x, x);")];
        assert_eq!(family("fibre_config_set_x", &made), Some("fibre_cluster"));
        let error = pages(&calls(HEADER), &sources, "0").unwrap_err();
        assert_eq!(error.to_string(), "fibre_mutex_lock belongs to no page");
    }

    #[test]
    fn each_call_of_the_library_has_a_page() {
        let workspace = crate::workspace::Workspace::find().unwrap();
        let files = files(&workspace.root().join("fibre-capi"), "0.1.0").unwrap();
        assert!(files.len() > 300, "{}", files.len());
        assert_eq!(files["fibre_mutex_lock.3"], ".so man3/fibre_mutex.3\n");
        let page = &files["fibre_mutex.3"];
        assert!(page.contains(".SS fibre_mutex_lock\n"), "{page}");
    }
}
