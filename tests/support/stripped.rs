//! A copy of the calling program without its table of symbols, as `strip = true` makes them.

use std::fs::{self, File};
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::process::{Command, Output};

/// Runs such a copy, whose file is called `program`, with what `prepare` adds to the command.
pub fn run_stripped(name: &str, prepare: impl FnOnce(&mut Command)) -> Output {
    let folder = std::env::temp_dir().join(format!("fibre-{name}-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let stripped = folder.join("program");
    fs::copy(std::env::current_exe().unwrap(), &stripped).unwrap();
    fs::set_permissions(&stripped, PermissionsExt::from_mode(0o700)).unwrap();
    // No section, as the header has it: so there is no table.
    let file = File::options().write(true).open(&stripped).unwrap();
    file.write_all_at(&[0; 2], 0x3c).unwrap();
    drop(file);
    let mut command = Command::new(&stripped);
    prepare(&mut command);
    let output = command.output();
    fs::remove_dir_all(&folder).unwrap();
    output.unwrap()
}

/// Runs the tests of this program that `arguments` name in such a copy; fails if they fail, or if
/// there are none.
pub fn pass_when_stripped(name: &str, arguments: &[&str]) {
    let output = run_stripped(name, |command| {
        command.args(arguments);
    });
    let words = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    let passed = output.status.success() && !words.contains("running 0 tests");
    assert!(passed, "{words}\n{errors}");
}
