//! How dumps are asked for, and where they go; nothing about that holds up the program.

use super::victim::{END, Victim, be, victim, victim_with};
use crate::support::process::{child, end_after, errors, plays, spawn_child};
use crate::support::program::part_of;
use crate::support::{eventually, watched};
use fibre::{Format, sleep};
use serde_json::Value;
use std::fs;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

fibre::scoped_local!(static REQUEST: u64 = shown("request"));

/// A fibre that sleeps, for a time of its own: the compiler makes one function of equal ones.
fn sleeper() {
    let sleeps = || {
        fibre::label("conn", 42);
        fibre::label("peer", "\"bob\" ");
        sleep(Duration::from_secs(3607));
    };
    REQUEST.with(7, || {
        drop(fibre::Builder::new().name("sleeper").spawn(sleeps))
    });
}

/// A name for a file of this test's, which is not there.
fn fresh_file(ending: &str) -> std::path::PathBuf {
    let test = std::thread::current().name().unwrap().replace("::", "-");
    let path = std::env::temp_dir().join(format!("fibre-{test}-{}{ending}", std::process::id()));
    let _ = fs::remove_file(&path);
    path
}

/// Checks a dump in JSON: the sleeper is there, with its stack.
fn has_sleeper(dump: &Value) {
    let groups = dump["groups"].as_array().unwrap();
    let of = |group: &&Value| group["fibres"][0]["name"] == "sleeper";
    let group = groups.iter().find(of).unwrap();
    let labels = serde_json::json!({"conn": "42", "peer": "\"bob\" ", "request": "7"});
    assert_eq!(group["fibres"][0]["labels"], labels);
    assert_eq!(group["waits_for"], "time to pass");
    assert_eq!(
        (&group["state"], &group["end"]),
        (&"waits".into(), &"the fibre's entry".into())
    );
    let frames = group["stack"].as_array().unwrap();
    let names = frames
        .iter()
        .flat_map(|frame| frame["functions"].as_array().unwrap());
    let mut names = names.filter_map(|function| function["name"].as_str());
    assert!(names.any(|name| name.contains("write::sleeper")), "{group}");
    assert_eq!(
        dump["process"].as_u64(),
        dump["process"].as_u64().filter(|id| *id > 0)
    );
}

#[test]
fn json_goes_to_a_file_and_each_dump_is_a_line() {
    let file = fresh_file(".json");
    let mut victim = victim_with(&[("FIBRE_DUMP", file.to_str().unwrap())], 1, sleeper);
    for count in 1..=2 {
        victim.send(libc::SIGQUIT);
        let lines = || fs::read_to_string(&file).unwrap_or_default();
        eventually(|| lines().lines().count() == count && lines().ends_with('\n'));
        for line in lines().lines() {
            has_sleeper(&serde_json::from_str(line).unwrap());
        }
    }
    assert!(victim.lives());
    assert_eq!(victim.errors(), "");
    fs::remove_file(file).unwrap();
}

#[test]
fn calls_write_to_whatever_one_likes() {
    watched(|| {
        sleeper();
        let dump = || {
            let mut json = Vec::new();
            fibre::dump(&mut json, Format::Json).unwrap();
            serde_json::from_slice::<Value>(&json).unwrap()
        };
        eventually(|| fibre::waits().iter().any(|wait| wait.stuck.is_none()));
        has_sleeper(&dump());
        has_sleeper(&fibre::spawn(dump).join().unwrap());
        let full = &mut fs::OpenOptions::new()
            .write(true)
            .open("/dev/full")
            .unwrap();
        let error = fibre::dump(full, Format::Text).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::ENOSPC));
    });
}

#[test]
fn a_full_disk_is_reported() {
    let mut victim = victim_with(&[("FIBRE_DUMP", "/dev/full")], 1, sleeper);
    for count in 1..=2 {
        victim.send(libc::SIGQUIT);
        victim.wait_until(|errors| errors.matches("could not be written").count() == count);
    }
    assert!(
        victim
            .errors()
            .contains("fibre: a dump could not be written to \"/dev/full\": No space")
    );
    assert!(victim.lives());
}

#[test]
fn a_second_signal_gives_a_second_dump() {
    let mut victim = victim(2, 1, sleeper);
    victim.dump();
    for _ in 0..20 {
        victim.send(libc::SIGQUIT);
    }
    victim.wait_until(|errors| errors.matches(END).count() >= 2);
    assert!(victim.lives());
}

#[test]
fn a_closed_error_output_ends_nothing() {
    if plays("victim") {
        be(1, sleeper);
    }
    let file = fresh_file(".txt");
    for closed in [true, false] {
        let mut command = child("victim", &[]);
        command.stdout(Stdio::piped());
        drop(Victim::stop_reading(&mut command));
        if closed {
            // SAFETY: async-signal-safe.
            unsafe {
                command.pre_exec(|| {
                    libc::close(2);
                    Ok(())
                })
            };
        }
        let mut victim = Victim::begin(command);
        for _ in 0..3 {
            victim.send(libc::SIGQUIT);
            std::thread::sleep(Duration::from_millis(100));
        }
        assert!(victim.lives());
    }
    let _ = fs::remove_file(file);
}

#[test]
fn an_error_output_that_nobody_reads_holds_up_nobody() {
    if plays("victim") {
        be(2000, || {
            (0..2000).for_each(|_| sleeper());
            // What shows that the program goes on, also while a dump waits for its reader.
            let file = std::env::var("COUNT_FILE").unwrap();
            drop(fibre::spawn(move || {
                for count in 0.. {
                    fs::write(&file, format!("{count}")).unwrap();
                    sleep(Duration::from_millis(5));
                }
            }));
        });
    }
    let file = fresh_file(".count");
    let mut command = child("victim", &[("COUNT_FILE", file.to_str().unwrap())]);
    command.stdout(Stdio::piped());
    let reader = Victim::stop_reading(&mut command);
    let mut victim = Victim::begin(command);
    for _ in 0..3 {
        victim.send(libc::SIGQUIT);
        let count = || fs::read_to_string(&file).ok()?.parse::<u64>().ok();
        let before = count().unwrap_or(0);
        eventually(|| count().is_some_and(|count| count > before + 3));
    }
    assert!(victim.lives());
    drop((reader, fs::remove_file(file)));
}

/// Signals come all the time while the process exits; it ends, and as it wanted to.
#[test]
fn a_dump_does_not_keep_a_process_from_its_end() {
    /// The status with which the process exits.
    const STATUS: i32 = 7;
    if plays("victim") {
        be(200, || {
            (0..200).for_each(|_| sleeper());
            std::thread::spawn(|| {
                let _ = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
                std::process::exit(STATUS);
            });
        });
    }
    for signals in 0..10 {
        let mut command = child("victim", &[]);
        let piped = [Stdio::piped(), Stdio::piped(), Stdio::piped()];
        let [input, output, errors] = piped;
        command.stdin(input).stdout(output).stderr(errors);
        let mut victim = Victim::begin(command);
        for _ in 0..signals {
            victim.send(libc::SIGQUIT);
            std::thread::sleep(Duration::from_millis(1));
        }
        victim.hang_up();
        while victim.lives() {
            victim.send(libc::SIGQUIT);
            std::thread::sleep(Duration::from_millis(1));
        }
        let status = victim.end();
        assert_eq!(status.code(), Some(STATUS), "{status}: {}", victim.errors());
    }
}

#[test]
fn abort_dumps_and_aborts() {
    crate::support::process::no_core_file();
    let mut victim = victim_with(&[("FIBRE_QUIT", "abort")], 1, sleeper);
    victim.send(libc::SIGQUIT);
    assert_eq!(victim.end().signal(), Some(libc::SIGABRT));
    victim.wait_until(|errors| errors.contains(END) && errors.contains("\"sleeper\""));
}

#[test]
fn off_leaves_the_signal_alone() {
    crate::support::process::no_core_file();
    let mut victim = victim_with(&[("FIBRE_QUIT", "off")], 1, sleeper);
    victim.send(libc::SIGQUIT);
    assert_eq!(victim.end().signal(), Some(libc::SIGQUIT));
    assert_eq!(victim.errors(), "");
}

#[test]
fn nonsense_is_an_error() {
    if plays("nonsense") {
        end_after(super::victim::LIMIT);
        let error = fibre::Cluster::builder().build().unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::InvalidInput);
        eprintln!("{error}");
        return;
    }
    let output = spawn_child("nonsense", &[("FIBRE_QUIT", "dmup")]);
    assert!(output.status.success());
    let errors = errors(&output);
    assert!(
        errors.contains("FIBRE_QUIT") && errors.contains("dump, abort or off"),
        "{errors}"
    );
}

static QUITS: AtomicUsize = AtomicUsize::new(0);

extern "C" fn count_quit(_: i32) {
    QUITS.fetch_add(1, Ordering::Relaxed);
}

#[test]
fn a_handler_of_the_program_is_left_alone() {
    let mut victim = victim(1, 1, || {
        // SAFETY: the handler adds to a number.
        unsafe { libc::signal(libc::SIGQUIT, count_quit as *const () as libc::sighandler_t) };
        sleeper();
        std::thread::spawn(|| {
            eventually(|| QUITS.load(Ordering::Relaxed) == 1);
            eprintln!("its own handler");
        });
    });
    victim.send(libc::SIGQUIT);
    victim.wait_until(|errors| errors.contains("its own handler"));
    assert!(!victim.errors().contains(END));
    assert!(victim.lives());
}

#[test]
fn who_ignores_the_signal_gets_no_dump() {
    if plays("victim") {
        // SAFETY: no handler.
        unsafe { libc::signal(libc::SIGQUIT, libc::SIG_IGN) };
        be(1, sleeper);
    }
    for (wanted, environment) in [(false, vec![]), (true, vec![("FIBRE_QUIT", "dump")])] {
        let mut command = child("victim", &environment);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut victim = Victim::begin(command);
        victim.send(libc::SIGQUIT);
        if wanted {
            victim.wait_until(|errors| errors.contains(END));
        }
        assert!(victim.lives());
        assert_eq!(victim.errors().contains(END), wanted);
    }
}

/// As a script's `server &` is.
#[test]
fn who_is_started_with_the_signal_ignored_gets_dumps() {
    if plays("victim") {
        be(1, sleeper);
    }
    for (handled, environment) in [(true, vec![]), (false, vec![("FIBRE_QUIT", "off")])] {
        let mut command = child("victim", &environment);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut victim = Victim::begin_with(command, libc::SIG_IGN);
        victim.send(libc::SIGQUIT);
        if handled {
            victim.wait_until(|errors| errors.contains(END));
        }
        assert!(victim.lives());
        assert_eq!(victim.errors().contains(END), handled);
    }
}

/// Later than the first cluster's start the program's will is what it was.
#[test]
fn who_ignores_the_signal_later_gets_no_dump() {
    let mut victim = victim(1, 1, || {
        sleeper();
        eventually(|| !fibre::waits().is_empty());
        // SAFETY: no handler.
        unsafe { libc::signal(libc::SIGQUIT, libc::SIG_IGN) };
    });
    victim.send(libc::SIGQUIT);
    std::thread::sleep(Duration::from_millis(200));
    assert!(victim.lives());
    assert_eq!(victim.errors(), "");
}

/// Runs a tool of the linker's.
fn run_tool(tool: &str, arguments: &[&str]) {
    let status = std::process::Command::new(tool).args(arguments).status();
    assert!(status.unwrap().success(), "{tool} {arguments:?}");
}

/// A fibre that sleeps in a frame of its own in optimised builds, too.
fn framed_sleeper() {
    drop(fibre::Builder::new().name("sleeper").spawn(sleeper_waits));
}

/// What it does.
#[inline(never)]
fn sleeper_waits() {
    sleep(Duration::from_secs(3613));
    std::hint::black_box("awake");
}

/// What was stripped from the program lies beside it, as packages have it.
#[test]
fn names_come_from_the_file_with_what_was_stripped() {
    if plays("victim") {
        be(1, framed_sleeper);
    }
    for below in ["", ".debug/"] {
        let folder = fresh_file("");
        fs::create_dir_all(folder.join(".debug")).unwrap();
        let path = |name: &str| folder.join(name).to_str().unwrap().to_owned();
        let program = path("program");
        let debug = path(&format!("{below}program.debug"));
        fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
        run_tool("objcopy", &["--only-keep-debug", &program, &debug]);
        run_tool("strip", &["--strip-all", &program]);
        run_tool(
            "objcopy",
            &[&format!("--add-gnu-debuglink={debug}"), &program],
        );
        let like = child("victim", &[]);
        let mut command = std::process::Command::new(&program);
        command.args(like.get_args());
        command.envs(
            like.get_envs()
                .filter_map(|(name, value)| Some((name, value?))),
        );
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let dump = Victim::begin(command).dump();
        fs::remove_dir_all(&folder).unwrap();
        let part = part_of(&dump, "sleeper").unwrap();
        let has = |words| part.contains(words);
        assert!(
            has("sleeper_waits") && has("tests/observed/dump/write.rs:"),
            "{dump}"
        );
    }
}

#[test]
fn a_forked_child_does_not_wake_the_parent() {
    let mut victim = victim(1, 1, || {
        sleeper();
        eventually(|| !fibre::waits().is_empty());
        // SAFETY: the child only waits for its end.
        let child = unsafe { libc::fork() };
        if child == 0 {
            loop {
                // SAFETY: async-signal-safe.
                unsafe { libc::pause() };
            }
        }
        let mut status = 0;
        // SAFETY: a child of this process, and room for its status.
        unsafe {
            libc::kill(child, libc::SIGQUIT);
            libc::waitpid(child, &raw mut status, 0);
        }
        assert_eq!(libc::WTERMSIG(status), libc::SIGQUIT);
    });
    assert_eq!(victim.errors(), "");
    victim.dump();
}

static SPINNING: AtomicBool = AtomicBool::new(true);

#[inline(never)]
fn spins_left() {
    while SPINNING.load(Ordering::Relaxed) {
        std::hint::black_box("left");
    }
}

#[inline(never)]
fn spins_right() {
    while SPINNING.load(Ordering::Relaxed) {
        std::hint::black_box(4711);
    }
}

/// What a dump says of a fibre. Where other tests have made clusters, too, it says of which one the
/// fibre is.
fn section<'a>(dump: &'a str, name: &str) -> Option<&'a str> {
    part_of(dump, name).filter(|part| part.contains(" runs, "))
}

/// Threads are asked for their stacks one after the other, whoever asks.
#[test]
fn dumps_at_the_same_time_mix_no_stacks() {
    // On a busy machine a thread may have no CPU to answer on: then the dump says so. Any dump will
    // do that has the stack of a hog.
    let seen = [AtomicBool::new(false), AtomicBool::new(false)];
    let dump_until_seen = || {
        for round in 0.. {
            let mut dump = Vec::new();
            fibre::dump(&mut dump, Format::Text).unwrap();
            let dump = String::from_utf8(dump).unwrap();
            let of = |name| section(&dump, name).unwrap_or_default();
            let (left, right) = (of("left hog"), of("right hog"));
            assert!(!left.contains("spins_right"), "{dump}");
            assert!(!right.contains("spins_left"), "{dump}");
            seen[0].fetch_or(left.contains("spins_left"), Ordering::Relaxed);
            seen[1].fetch_or(right.contains("spins_right"), Ordering::Relaxed);
            if round > 0 && seen.iter().all(|seen| seen.load(Ordering::Relaxed)) {
                return;
            }
        }
    };
    watched(|| {
        let cluster = fibre::Cluster::builder().processors(2).build().unwrap();
        let spawn = |name: &str, f: fn()| {
            let fibre = fibre::Builder::new().name(name);
            fibre.spawn_in(&cluster, f).unwrap()
        };
        let hogs = [
            spawn("left hog", spins_left),
            spawn("right hog", spins_right),
        ];
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(dump_until_seen);
            }
        });
        SPINNING.store(false, Ordering::Relaxed);
        hogs.into_iter().for_each(|hog| hog.join().unwrap());
        cluster.stop();
    });
}
