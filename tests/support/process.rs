//! Tests that need a process of their own: they start their own executable again.

use std::path::Path;
use std::process::{Command, Output};
use std::thread;
use std::time::Duration;

/// Set in the environment of a child.
const ROLE: &str = "FIBRE_TEST_ROLE";

/// Whether this process is the child of a test that plays `role`.
pub fn plays(role: &str) -> bool {
    std::env::var(ROLE).is_ok_and(|value| value == role)
}

/// Runs the calling test once more, in a process of its own that plays `role`.
pub fn spawn_child(role: &str, environment: &[(&str, &str)]) -> Output {
    child(role, environment).output().unwrap()
}

/// The command that runs the calling test once more, in another role.
pub fn child(role: &str, environment: &[(&str, &str)]) -> Command {
    child_of(&std::env::current_exe().unwrap(), role, environment)
}

/// The command that has a copy of this program run the calling test once more, in another role.
pub fn child_of(program: &Path, role: &str, environment: &[(&str, &str)]) -> Command {
    let test = thread::current().name().unwrap().to_owned();
    let mut command = Command::new(program);
    command
        .args(["--exact", &test, "--nocapture", "--test-threads=1"])
        .env(ROLE, role)
        .env_remove("RUST_BACKTRACE")
        .envs(environment.iter().copied());
    command
}

/// Ends this process after `limit`; for children that nobody watches.
pub fn end_after(limit: Duration) {
    thread::spawn(move || {
        thread::sleep(limit);
        super::die_hanging(format_args!("a child has not ended after {limit:?}"));
    });
}

/// What a process has written to its error output.
pub fn errors(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Keeps a process that is about to crash from writing a core file.
pub fn no_core_file() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = Rlimit {
        current: Some(0),
        maximum: getrlimit(Resource::Core).maximum,
    };
    setrlimit(Resource::Core, limit).unwrap();
}
