//! A program that is built with `panic = "abort"`, in which nothing can be unwound.

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The program: does what its argument names.
const PROGRAM: &str = r#"
use fibre_core::{Cluster, cancellable, deadline, sleep, sleep_within, spawn, timeout};
use fibre_sync::channel::bounded;
use fibre_sync::{Group, Semaphore, select};
use std::time::{Duration, Instant};

const SHORT: Duration = Duration::from_millis(2);
const LONG: Duration = Duration::from_secs(3600);

fn run(what: &str) {
    let (_sender, receiver) = bounded::<()>(1);
    match what {
        "recv" => drop(timeout(SHORT, || receiver.recv())),
        "sleep" => drop(deadline(Instant::now() + SHORT, || sleep(LONG))),
        "select" => drop(timeout(SHORT, || select! { _ = receiver.recv_arm() => () })),
        "group" => drop(Group::builder().timeout(SHORT).run(|group| {
            group.spawn(|| {
                sleep(LONG);
                Ok::<_, ()>(())
            });
            Ok(())
        })),
        "panic" => panic!("a mistake"),
        "cancellable" => drop(cancellable(|| ())),
        "cancellable group" => {
            drop(Group::builder().cancellable(true).run(|_: &Group<'_, '_, (), ()>| Ok(())));
        }
        "what can fail" => {
            let late = timeout(SHORT, || sleep_within(LONG).is_err()).unwrap_err();
            assert_eq!(late.into_value(), Some(true));
            let late = timeout(SHORT, || Semaphore::new(0).acquire_within(LONG).is_err());
            assert!(late.is_err());
        }
        "stop" => {
            let cluster = Cluster::builder().processors(1).build().unwrap();
            cluster.spawn(|| sleep(LONG));
            cluster.spawn(move || receiver.recv());
            cluster.spawn(|| sleep_within(LONG));
            let left = cluster.stop_within(Duration::ZERO, 50 * SHORT).unwrap_err();
            assert_eq!(left.left.len(), 2);
        }
        "what is in time" => {
            assert_eq!(timeout(LONG, || sleep(SHORT)), Ok(()));
            assert_eq!(timeout(LONG, || 6 * 7), Ok(42));
        }
        _ => unreachable!(),
    }
}

fn main() {
    let what = std::env::args().nth(1).unwrap();
    spawn(move || run(&what)).join().unwrap();
    println!("ended");
}
"#;

/// Builds the program; returns its file.
fn program() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let place = Path::new(env!("CARGO_TARGET_TMPDIR")).join("aborting");
    fs::create_dir_all(place.join("src")).unwrap();
    let crates = ["fibre-core", "fibre-sync"].map(|name| {
        let path = root.join(name);
        format!("{name} = {{ path = {path:?} }}\n")
    });
    let manifest = format!(
        "[package]\nname = \"aborting\"\nedition = \"2024\"\n[workspace]\n[dependencies]\n{}\
         [profile.dev]\npanic = \"abort\"\ndebug = false\n",
        crates.concat()
    );
    fs::write(place.join("Cargo.toml"), manifest).unwrap();
    fs::write(place.join("src/main.rs"), PROGRAM).unwrap();
    fs::copy(root.join("Cargo.lock"), place.join("Cargo.lock")).unwrap();
    let built = Command::new(env!("CARGO"))
        // The other tests of this program run meanwhile, and some of them look at the clock.
        .args(["build", "--quiet", "--offline", "--jobs=1", "--target-dir=target"])
        .env_remove("RUSTFLAGS")
        .env_remove("CARGO_ENCODED_RUSTFLAGS")
        .env_remove("CARGO_BUILD_TARGET")
        .current_dir(&place)
        .status();
    assert!(built.unwrap().success(), "the program does not build");
    place.join("target/debug/aborting")
}

/// What cannot be unwound ends the process with words; what need not be is as ever.
#[test]
fn programs_that_cannot_unwind_say_so() {
    let program = program();
    let ends = [
        ("recv", "the call that waits in it cannot fail"),
        ("sleep", "the call that waits in it cannot fail"),
        ("select", "the call that waits in it cannot fail"),
        ("group", "the call that waits in it cannot fail"),
        ("cancellable", "`cancellable` has calls unwound"),
        ("cancellable group", "`cancellable` has calls unwound"),
    ];
    for (what, words) in ends {
        let output = Command::new(&program).arg(what).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(
            output.status.signal(),
            Some(libc::SIGABRT),
            "{what}: {said}"
        );
        assert!(
            said.contains(words) && said.contains("panic = \"abort\""),
            "{what}: {said}"
        );
    }
    // A panic ends it, with what the hook says, before anybody could join the fibre.
    let output = Command::new(&program).arg("panic").output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.signal(), Some(libc::SIGABRT), "{said}");
    assert!(
        said.contains("a mistake") && said.contains("src/main.rs"),
        "{said}"
    );
    assert_eq!(output.stdout, b"");
    for (what, words) in [
        ("what can fail", ""),
        ("what is in time", ""),
        (
            "stop",
            "no call was unwound, as the program is built with `panic = \"abort\"`",
        ),
    ] {
        let output = Command::new(&program).arg(what).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(
            output.status.success() && output.stdout == b"ended\n" && said.contains(words),
            "{what}: {said}"
        );
    }
}
