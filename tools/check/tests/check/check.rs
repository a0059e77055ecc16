//! What `fibre-check` says of small C objects, and whether header and documentation name all that
//! the system's headers declare.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeSet;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The mapping header.
const HEADER: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../fibre-capi/include/fibre_pthread.h"
);

/// A C program with a thread-local, a call that is mapped, one that is left to the system, and one
/// of neither kind.
const PROGRAM: &str = "
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <threads.h>
__thread long depth[3];
extern __thread int elsewhere;
int work(pthread_mutex_t *lock)
{
    depth[0] += elsewhere;
    pthread_mutex_lock(lock);
    thrd_yield();
    return puts(\"done\");
}
";

/// A folder for one test's files.
fn folder(test: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(test);
    fs::create_dir_all(&folder).unwrap();
    folder
}

/// Runs the C compiler with these arguments in a folder.
fn cc(folder: &Path, arguments: &[&str]) -> Output {
    let compiler = env::var("CC").unwrap_or_else(|_| "cc".into());
    let output = Command::new(compiler)
        .args(arguments)
        .current_dir(folder)
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "cc {arguments:?}: {errors}");
    output
}

/// An object of this source.
fn object(folder: &Path, source: &str, options: &[&str]) -> String {
    fs::write(folder.join("x.c"), source).unwrap();
    let mut arguments = vec!["-O1", "-c", "x.c", "-o", "x.o"];
    arguments.extend(options);
    cc(folder, &arguments);
    folder.join("x.o").to_str().unwrap().to_owned()
}

/// Exit code and output of the checker.
fn check(arguments: &[&str]) -> (i32, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_fibre-check"))
        .args(arguments)
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    (output.status.code().unwrap(), text)
}

#[test]
fn an_object_without_the_mapping_is_told_of() {
    let object = object(&folder("without"), PROGRAM, &[]);
    let (code, text) = check(&[&object]);
    assert_eq!(code, 1);
    assert!(text.contains("`depth`, 24 bytes"), "{text}");
    assert!(text.contains("`elsewhere`, defined elsewhere"), "{text}");
    assert!(
        text.contains("`pthread_mutex_lock` reaches the system's library, not `fibre_mutex_lock`"),
        "{text}"
    );
    assert!(text.contains("`thrd_yield` is the system's: C11"), "{text}");
    assert!(!text.contains("puts"), "{text}");
    assert!(
        text.ends_with(
            "2 thread-locals, 1 calls that were not mapped, 1 that are left to the system\n"
        ),
        "{text}"
    );
}

#[test]
fn the_mapping_leaves_only_what_it_says() {
    let object = object(&folder("with"), PROGRAM, &["-include", HEADER]);
    let (code, text) = check(&["--calls", &object]);
    assert_eq!(code, 1);
    assert!(!text.contains("pthread_mutex_lock"), "{text}");
    assert!(!text.contains("thread-local `"), "{text}");
    let (_, text) = check(&["--thread-locals", &object]);
    assert!(!text.contains("thrd_yield"), "{text}");
}

#[test]
fn an_object_with_nothing_to_tell_passes() {
    let source = "#include <unistd.h>\nlong f(char *b) { return read(0, b, 1); }\n";
    let folder = folder("nothing");
    let (code, text) = check(&[&object(&folder, source, &["-include", HEADER])]);
    assert_eq!(code, 0, "{text}");
    let (code, text) = check(&[&object(&folder, source, &[])]);
    assert_eq!(code, 1, "{text}");
}

#[test]
fn archives_and_stripped_programs_are_read() {
    let folder = folder("linked");
    object(&folder, PROGRAM, &[]);
    let archive = folder.join("x.a");
    // `ar` adds to what is there.
    let _ = fs::remove_file(&archive);
    Command::new("ar")
        .args(["rcs", "x.a", "x.o"])
        .current_dir(&folder)
        .status()
        .unwrap();
    let (code, text) = check(&[archive.to_str().unwrap()]);
    assert_eq!(code, 1);
    assert!(text.contains("x.a(x.o): thread-local `depth`"), "{text}");

    let main = "static __thread long kept[5]; int main(void) { return (int)kept[1]++; }\n";
    fs::write(folder.join("m.c"), main).unwrap();
    cc(&folder, &["-s", "m.c", "-o", "m"]);
    let (code, text) = check(&["--thread-locals", folder.join("m").to_str().unwrap()]);
    assert_eq!(code, 1);
    assert!(
        text.contains("40 bytes of thread-locals without names"),
        "{text}"
    );
}

/// Compilers may put off making machine code until a program is linked: such an object calls
/// nothing yet.
#[test]
fn objects_without_machine_code_are_an_error() {
    let folder = folder("lto");
    let thin = object(&folder, PROGRAM, &["-flto", "-fno-fat-lto-objects"]);
    assert_eq!(check(&[&thin]), (2, String::new()));
    let archive = folder.join("x.a");
    let _ = fs::remove_file(&archive);
    Command::new("ar")
        .args(["rcs", "x.a", "x.o"])
        .current_dir(&folder)
        .status()
        .unwrap();
    assert_eq!(check(&[archive.to_str().unwrap()]), (2, String::new()));
    let fat = object(&folder, PROGRAM, &["-flto", "-ffat-lto-objects"]);
    assert_eq!(check(&[&fat]).0, 1);
    // What clang makes instead.
    let bitcode = folder.join("b.o");
    fs::write(&bitcode, b"BC\xC0\xDE5").unwrap();
    let _ = fs::remove_file(&archive);
    Command::new("ar")
        .args(["rcs", "x.a", "b.o"])
        .current_dir(&folder)
        .stderr(std::process::Stdio::null())
        .status()
        .unwrap();
    assert_eq!(check(&[bitcode.to_str().unwrap()]).0, 2);
    assert_eq!(check(&[archive.to_str().unwrap()]).0, 2);
}

#[test]
fn what_is_no_object_is_an_error() {
    assert_eq!(check(&[HEADER]).0, 2);
    assert_eq!(check(&["/nowhere"]).0, 2);
    assert_eq!(check(&[]).0, 2);
    assert_eq!(check(&["--fast", "x.o"]).0, 2);
}

#[test]
fn a_library_without_our_functions_is_told_of() {
    let source = "int fibre_mutex_lock(void *m) { return m != 0; }\n";
    let object = object(&folder("library"), source, &[]);
    let (code, text) = check(&["--library", &object]);
    assert_eq!(code, 1);
    assert!(text.contains("no `fibre_mutex_unlock`"), "{text}");
    assert!(!text.contains("no `fibre_mutex_lock`"), "{text}");
}

/// Every name of threads and semaphores that the system's headers declare is mapped, or the
/// documentation says why not.
#[test]
fn no_name_of_the_system_is_forgotten() {
    let folder = folder("names");
    let includes =
        "#include <pthread.h>\n#include <semaphore.h>\n#include <signal.h>\n#include <threads.h>\n";
    fs::write(folder.join("names.c"), includes).unwrap();
    let text = cc(&folder, &["-E", "-P", "-D_GNU_SOURCE", "names.c"]).stdout;
    let names = declared(&String::from_utf8(text).unwrap());
    assert!(names.len() > 150, "{names:?}");
    let uses: Vec<_> = names.iter().map(|name| format!("&{name}")).collect();
    // An object that wants them all: the checker knows each of them.
    let source = format!(
        "#define _GNU_SOURCE\n{includes}void *all[] = {{ {} }};\n",
        uses.join(", ")
    );
    let (_, text) = check(&[
        "--calls",
        &object(&folder, &source, &["-Wno-deprecated-declarations"]),
    ]);
    assert!(!text.contains("not known"), "{text}");
    // With the header, only those are left that the table names. (These four are declared as other
    // names' symbols.)
    let source = source
        .replace("&pthread_yield", "0")
        .replace("&pthread_mutex_consistent_np", "0")
        .replace("&pthread_mutexattr_getrobust_np", "0")
        .replace("&pthread_mutexattr_setrobust_np", "0");
    let options = ["-Wno-deprecated-declarations", "-include", HEADER];
    let (_, text) = check(&["--calls", &object(&folder, &source, &options)]);
    assert!(!text.contains("reaches the system"), "{text}");
}

/// The functions of threads that a preprocessed text declares.
fn declared(text: &str) -> BTreeSet<String> {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    text.split(';')
        .filter(|declaration| declaration.contains("extern"))
        .flat_map(|declaration| declaration.split_inclusive('('))
        .filter_map(|part| part.strip_suffix('('))
        .map(|part| {
            part.trim_end()
                .rsplit(|c| !is_word(c))
                .next()
                .unwrap_or_default()
        })
        .filter(|name| {
            ["pthread_", "sem_", "thrd_", "mtx_", "cnd_", "tss_"]
                .iter()
                .any(|prefix| name.starts_with(prefix))
        })
        .map(str::to_owned)
        .collect()
}
