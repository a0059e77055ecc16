//! A program that loads the library while it runs, as interpreters load their extensions.

use std::env;
use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};

/// Loads the library that it is given, has a fibre change a number, and closes the library, which
/// stays: all of that twice.
const PROGRAM: &str = r#"#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
static void *run(void *number)
{
    ++*(int *)number;
    return 0;
}
int main(int count, char **arguments)
{
    int number = 0;
    for (int time = 0; time < 2; time++) {
        void *library = dlopen(arguments[count - 1], RTLD_NOW | RTLD_LOCAL);
        if (!library) {
            puts(dlerror());
            return 1;
        }
        int (*create)(void **, const void *, void *(*)(void *), void *);
        int (*join)(void *, void **);
        *(void **)&create = dlsym(library, "fibre_create");
        *(void **)&join = dlsym(library, "fibre_join");
        void *fibre;
        if (!create || !join || create(&fibre, 0, run, &number) || join(fibre, 0))
            return 2;
        dlclose(library);
    }
    printf("%d fibres\n", number);
    return number != 2;
}
"#;

/// Compiles the program beside the library, and runs it.
pub(super) fn check(library: &Path) -> Result<String> {
    let folder = library.parent().context("it lies nowhere")?;
    let (source, program) = (folder.join("loads.c"), folder.join("loads"));
    fs::write(&source, PROGRAM)?;
    let mut compile = Command::new(env::var_os("CC").unwrap_or_else(|| "cc".into()));
    compile.arg(&source).arg("-o").arg(&program).arg("-ldl");
    let compiled = compile.status();
    fs::remove_file(source)?;
    ensure!(compiled?.success(), "it does not compile");
    let mut runs = Command::new("timeout");
    let ended = runs.arg("60").arg(&program).arg(library).output()?;
    fs::remove_file(program)?;
    let said = String::from_utf8_lossy(&ended.stdout).trim().to_owned();
    ensure!(ended.status.success(), "{}: {said}", ended.status);
    Ok(said)
}
