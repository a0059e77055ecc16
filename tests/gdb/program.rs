//! Rust programs: what gdb says of one that hangs.

use crate::debugger::{Said, Scratch, look, run};
use crate::support::eventually;
use crate::support::process::{child, end_after, plays};
use fibre::sync::{Event, Mutex};
use fibre::{WaitKind, waits};
use std::process::{Command, exit};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// The longest that a process of these tests may take.
pub const LIMIT: Duration = Duration::from_secs(120);

/// What the program prints when it goes on.
const GOES_ON: &str = "the program goes on";

/// Whether the hog goes on.
static SPINNING: AtomicBool = AtomicBool::new(true);

#[inline(never)]
fn takes_both(first: &Mutex<u32>, second: &Mutex<u32>) {
    let mut first = first.lock();
    while !second.is_locked() {
        fibre::sleep(Duration::from_millis(1));
    }
    *first += *second.lock();
}

#[inline(never)]
fn spins() {
    while SPINNING.load(Ordering::Relaxed) {
        std::hint::spin_loop();
    }
}

#[inline(never)]
fn waits_for(event: &Event) {
    event.wait();
    std::hint::black_box(());
}

/// Spawns a fibre with a name.
fn spawn(name: &str, program: impl FnOnce() + Send + 'static) {
    let spawned = fibre::Builder::new().name(name.to_owned()).spawn(program);
    drop(spawned.unwrap());
}

/// Stops this process for the debugger.
pub fn stop() {
    // SAFETY: raises a signal; the debugger lets the process go on without it.
    assert_eq!(unsafe { libc::raise(libc::SIGTRAP) }, 0);
}

/// A program in which two fibres wait for each other, one keeps its processor, and others wait.
fn hangs() -> ! {
    end_after(LIMIT);
    let both = Arc::new((Mutex::new(1), Mutex::new(2)));
    let other = Arc::clone(&both);
    spawn("ab", move || takes_both(&both.0, &both.1));
    spawn("ba", move || takes_both(&other.1, &other.0));
    for _ in 0..25 {
        spawn("", || fibre::sleep(Duration::from_secs(1 << 20)));
    }
    fibre::scoped_local!(static REQUEST: u64 = shown("request"));
    REQUEST.with(7, || {
        spawn("eve", || {
            fibre::label("conn", 42);
            fibre::label("peer", "bob");
            waits_for(&Event::new());
        });
    });
    let are_there = |kind: WaitKind, count: usize| {
        let all = waits();
        all.iter()
            .filter(|wait| wait.awaited.kind() == kind)
            .count()
            == count
    };
    eventually(|| {
        are_there(WaitKind::Mutex, 2)
            && are_there(WaitKind::Event, 1)
            && are_there(WaitKind::Sleep, 25)
    });
    spawn("hog", spins);
    eventually(|| {
        let hog = waits().into_iter().find(|wait| wait.stuck.is_some());
        hog.is_some_and(|hog| hog.name.as_deref() == Some("hog"))
    });
    stop();
    println!("{GOES_ON}");
    stop();
    exit(0);
}

/// The kinds of thread-locals that fibres may have.
pub const KINDS: [(&str, &str); 2] = [
    ("FIBRE_THREAD_LOCALS", "shared"),
    ("FIBRE_THREAD_LOCALS", "own"),
];

/// The command that runs the calling test once more, as a program for gdb.
pub fn victim(role: &str, environment: &[(&str, &str)]) -> Command {
    let mut command = child(role, environment);
    command.env("FIBRE_PROCESSORS", "2");
    command
}

/// The commands that tell what hangs.
const COMMANDS: [&str; 4] = ["fibres", "fibres bt", "fibre locks", "fibre cycle"];

/// Checks that they have told it.
fn tells_all(said: &Said, has_names: bool) {
    said.has(&["\"ab\" waits for the mutex at 0x", "29 fibres have started"]);
    said.has(&[
        "\"eve\" [conn=42 peer=bob request=7] waits for the event at 0x",
        "\"hog\" runs on thread ",
    ]);
    said.has(&["of cluster \"fibre\"", "25 fibres with this stack: "]);
    if cfg!(debug_assertions) {
        said.has(&[
            "\"ab\" -> fibre ",
            "\"ba\" -> fibre ",
            "they wait for each other: ",
        ]);
        said.has(&["\"ab\" waits for it", ", held by fibre "]);
    }
    for (title, place) in [
        ("\"ab\" waits", "takes_both"),
        ("\"ba\" waits", "takes_both"),
        ("\"eve\" [conn=42 peer=bob request=7] waits", "waits_for"),
        ("\"hog\" runs", "spins"),
    ] {
        let stack = said.stack_of(title);
        let whole = stack.ends_with("\n         the fibre's entry");
        assert!(whole, "{title}: {stack}\n{}", said.text());
        assert_eq!(stack.contains(place), has_names, "{title}: {stack}");
    }
}

/// What a fibre has saved may be zero, and is no sign that its stack is not there.
#[test]
fn a_fibre_that_has_saved_a_zero_is_read() {
    if plays("victim") {
        hangs();
    }
    let said = run(
        &victim("victim", &[]),
        &[
            "python eve = next(f for f in Fibres().all if f.name == 'eve')",
            "python gdb.selected_inferior().write_memory(eve.pointer, bytes(8))",
            "python print('saved:', FibreMemory.word(eve.pointer))",
            "fibres bt",
        ],
    );
    said.has(&["saved: 0"]);
    let stack = said.stack_of("\"eve\" [conn=42 peer=bob request=7] waits");
    assert!(stack.contains("waits_for"), "{stack}");
}

#[test]
fn a_live_process_is_read_and_goes_on_as_it_was() {
    if plays("victim") {
        hangs();
    }
    let named = |command: &str| {
        format!(
            "python gdb.execute('fibre %d {command}' % next(f.id for f in Fibres().all if f.name == 'ab'))"
        )
    };
    let (frames, select, locals) = (named("bt all"), named(""), named("info frame"));
    let mut commands = vec![
        "python gdb.execute('thread 1')",
        "python before = gdb.execute('info registers', to_string=True)",
    ];
    commands.extend(COMMANDS);
    commands.extend([
        &*frames,
        &select,
        "bt",
        "fibre",
        "fibre off",
        &locals,
        "fibre",
    ]);
    commands.extend([
        "python print('registers stay:', before == gdb.execute('info registers', to_string=True))",
        "fibre 1234567",
        "continue",
    ]);
    // What a command complains of ends a session, so the complaint is caught.
    let wrong = "python\ntry:\n gdb.execute('fibre 1234567')\nexcept gdb.error as e:\n print(e)";
    commands
        .iter_mut()
        .filter(|c| **c == "fibre 1234567")
        .for_each(|c| *c = wrong);
    for kind in KINDS {
        let said = run(&victim("victim", &[kind]), &commands);
        tells_all(&said, true);
        said.has(&["suspend at fibre-core/src/stack/context.rs:"]);
        said.has(&[
            "#1 ",
            "\"ab\" is shown",
            "no fibre is shown",
            "Stack level 1, frame at",
        ]);
        said.has(&["registers stay: True", "there is no fibre 1234567", GOES_ON]);
    }
}

#[test]
fn a_core_file_says_the_same() {
    if plays("victim") {
        hangs();
    }
    for kind in KINDS {
        let core = Scratch::new(".core");
        let write = format!("generate-core-file {}", core.name());
        // Of stacks with other guards gdb writes no whole core file.
        let program = victim("victim", &[kind, ("FIBRE_GUARD", "mprotect")]);
        let said = run(&program, &[&write, "kill"]);
        said.has(&["Saved corefile"]);
        let said = look(program.get_program().as_ref(), &core.0, &COMMANDS);
        tells_all(&said, true);
    }
}

#[test]
fn a_stripped_program_lacks_only_names() {
    if plays("victim") {
        hangs();
    }
    let stripped = Scratch::new(".stripped");
    let program = victim("victim", &[]);
    let strip = Command::new("strip")
        .args(["--strip-all", "-o", stripped.name()])
        .arg(program.get_program())
        .status();
    assert!(strip.expect("binutils are installed").success());
    let mut bare = Command::new(&stripped.0);
    bare.args(program.get_args());
    bare.envs(
        program
            .get_envs()
            .filter_map(|(name, value)| Some((name, value?))),
    );
    tells_all(&run(&bare, &COMMANDS), false);
}
