//! A copy of the calling program without its table of symbols, as `strip = true` makes them.

use std::fs::{self, File};
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::process::Command;

/// Runs the tests of this program that `arguments` name in a copy without a table of symbols;
/// fails if they fail, or if there are none.
pub fn pass_when_stripped(name: &str, arguments: &[&str]) {
    let folder = std::env::temp_dir().join(format!("fibre-{name}-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let stripped = folder.join("program");
    fs::copy(std::env::current_exe().unwrap(), &stripped).unwrap();
    fs::set_permissions(&stripped, PermissionsExt::from_mode(0o700)).unwrap();
    // No section, as the header has it: so there is no table.
    let file = File::options().write(true).open(&stripped).unwrap();
    file.write_all_at(&[0; 2], 0x3c).unwrap();
    drop(file);
    let output = Command::new(&stripped).args(arguments).output();
    fs::remove_dir_all(&folder).unwrap();
    let output = output.unwrap();
    let words = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    let passed = output.status.success() && !words.contains("running 0 tests");
    assert!(passed, "{words}\n{errors}");
}
