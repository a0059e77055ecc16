//! Fibres with thread-locals of their own: what gdb says of them, and of their thread-locals.

use crate::debugger::{NO_THREAD_DB, Said, Scratch, attach_with, look_with, run, run_with};
use crate::program::{LIMIT, stop, victim};
use crate::support::eventually;
use crate::support::process::{end_after, plays};
use fibre::sync::Event;
use std::cell::{Cell, RefCell};
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio, exit};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

thread_local! {
    /// A value that threads begin with.
    static NUMBER: Cell<u64> = const { Cell::new(7) };
    /// One that is made when it is first used, and has a destructor.
    static WORDS: RefCell<Vec<u64>> = RefCell::new(Vec::new());
}

/// How many fibres wait.
const WAITING: u64 = 3;

/// The variables of a program with these thread-locals.
const OWN: (&str, &str) = ("FIBRE_THREAD_LOCALS", "own");

/// Sets the caller's thread-locals.
fn set(number: u64) {
    NUMBER.set(number);
    WORDS.with_borrow_mut(|words| words.extend([number, number + 1]));
}

#[inline(never)]
fn spins(there: &AtomicUsize) {
    there.fetch_add(1, Ordering::Release);
    loop {
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

/// A program with fibres that wait, and two that keep their processors. It calls `ready` then.
fn keeps_values(set: impl Fn(u64) + Copy + Send + 'static, ready: impl FnOnce()) -> ! {
    end_after(LIMIT);
    set(1000);
    let there = Arc::new(AtomicUsize::new(0));
    for number in 1..=WAITING {
        spawn(&format!("waits {number}"), move || {
            set(100 + number);
            waits_for(&Event::new());
        });
    }
    eventually(|| fibre::waits().len() == WAITING as usize);
    for number in 1..=2 {
        let there = Arc::clone(&there);
        spawn(&format!("spins {number}"), move || {
            set(200 + number);
            spins(&there);
        });
    }
    eventually(|| there.load(Ordering::Acquire) == 2);
    ready();
    exit(0);
}

/// A command of gdb that has each fibre's `local` of this name printed.
fn locals(name: &str) -> String {
    format!(
        "python\nfor f in Fibres().all:\n print('LOCAL', f.name, end='|')\n gdb.execute('fibre %d local {name}' % f.id)"
    )
}

/// What gdb has printed for the fibre with this name.
#[track_caller]
fn local_of<'a>(said: &'a Said, fibre: &str) -> &'a str {
    let mut lines = said.text().lines();
    let begin = format!("LOCAL {fibre}|");
    let line = lines.find_map(|line| line.strip_prefix(&begin));
    line.unwrap_or_else(|| panic!("nothing of {fibre}:\n{}", said.text()))
}

/// Each fibre's name, and the number that it has set.
fn numbers() -> impl Iterator<Item = (String, u64)> {
    let waiting = (1..=WAITING).map(|number| (format!("waits {number}"), 100 + number));
    let spinning = (1..=2).map(|number| (format!("spins {number}"), 200 + number));
    waiting.chain(spinning)
}

/// Checks that each fibre has the number that it has set.
#[track_caller]
fn tells_numbers(said: &Said) {
    for (fibre, number) in numbers() {
        let local = local_of(said, &fibre);
        assert!(
            local.starts_with("gdb::thread_locals::NUMBER at 0x"),
            "{local}"
        );
        let end = format!(" = 8 bytes: {number:#x}");
        assert!(local.ends_with(&end), "{fibre}: {local}");
    }
}

/// Checks that it is said where fibres are.
#[track_caller]
fn tells_places(said: &Said) {
    for (fibre, _) in numbers() {
        let (does, place) = match fibre.starts_with("waits") {
            true => ("waits for the event at 0x", "waits_for"),
            false => ("runs on thread ", "spins"),
        };
        said.has(&[&format!("\"{fibre}\" {does}")]);
        let stack = said.stack_of(does);
        assert!(stack.contains(place), "{stack}");
        assert!(stack.ends_with("\n         the fibre's entry"), "{stack}");
    }
}

/// Settings of sessions: gdb as it is, and without libthread_db.
const SESSIONS: [&[&str]; 2] = [&[], &[NO_THREAD_DB]];

/// Whether gdb shows threads that the kernel does not have.
fn has_blocks_as_threads(said: &Said) -> bool {
    said.text().contains("(LWP 41943")
}

#[test]
fn values_of_each_fibre_are_read() {
    if plays("victim") {
        keeps_values(set, stop);
    }
    let numbers = locals("NUMBER");
    for settings in SESSIONS {
        let commands = ["fibres bt", &numbers, "info threads", "fibres"];
        let said = run_with(settings, &victim("victim", &[OWN]), &commands);
        tells_places(&said);
        tells_numbers(&said);
        said.has(&["\"fibre/0\"", "\"fibre/1\"", "5 fibres have started"]);
        assert!(!has_blocks_as_threads(&said), "{}", said.text());
        assert_eq!(said.has_thread_db(), settings.is_empty(), "{}", said.text());
    }
}

/// gdb comes while fibres run: what it takes for their threads' thread-locals are the fibres'.
#[test]
fn values_are_read_by_who_comes_later() {
    if plays("attached") {
        keeps_values(set, || {
            // Where the kernel lets only parents trace, any process may trace this one.
            // SAFETY: a number, and no pointer.
            unsafe { libc::prctl(libc::PR_SET_PTRACER, libc::PR_SET_PTRACER_ANY) };
            println!("{READY}");
            loop {
                std::thread::park();
            }
        });
    }
    let numbers = locals("NUMBER");
    for settings in SESSIONS {
        let mut process = victim("attached", &[OWN])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(process.stdout.take().unwrap()).lines();
        let is_ready = |line: std::io::Result<String>| line.unwrap().ends_with(READY);
        assert!(lines.into_iter().any(is_ready));
        let commands = ["fibres bt", "fibres", &numbers, "info threads", "detach"];
        let said = attach_with(settings, process.id(), &commands);
        process.kill().unwrap();
        process.wait().unwrap();
        tells_places(&said);
        tells_numbers(&said);
        said.has(&["\"fibre/0\"", "\"fibre/1\""]);
        assert!(!has_blocks_as_threads(&said), "{}", said.text());
        assert_eq!(said.has_thread_db(), settings.is_empty(), "{}", said.text());
    }
}

/// What a process says when gdb may come.
const READY: &str = "ready for gdb";

/// In a core file libthread_db tells gdb of the fibres' blocks as of threads. The commands do not
/// mind, and say so.
#[test]
fn values_are_read_from_a_core_file() {
    if plays("victim") {
        keeps_values(set, stop);
    }
    let core = Scratch::new(".core");
    let write = format!("generate-core-file {}", core.name());
    let program = victim("victim", &[OWN, ("FIBRE_GUARD", "mprotect")]);
    run(&program, &[&write, "kill"]).has(&["Saved corefile"]);
    let numbers = locals("NUMBER");
    // Nothing can be shown behind a thread that the kernel does not have.
    let behind = "python\nthreads = gdb.selected_inferior().threads()\n\
        blocks = [t for t in threads if t.ptid[1] >= (1 << 22)]\n\
        for block in blocks[:1]:\n block.switch()\n\
        try:\n  gdb.execute('fibre %d bt' % min(f.id for f in Fibres().all if f.pointer))\n\
        except gdb.error as e:\n  print(e)";
    for settings in SESSIONS {
        let commands = ["fibres bt", &numbers, "fibres", "info threads", behind];
        let path = program.get_program().as_ref();
        let said = look_with(settings, path, &core.0, &commands);
        tells_places(&said);
        tells_numbers(&said);
        let blocks = "5 of gdb's threads are none of the kernel's";
        let refused = "is none of the kernel's, but the thread-locals of a fibre: select another";
        let asks = settings.is_empty();
        assert_eq!(said.has_thread_db(), asks, "{}", said.text());
        assert_eq!(has_blocks_as_threads(&said), asks, "{}", said.text());
        for words in [blocks, refused] {
            assert_eq!(
                said.text().contains(words),
                asks,
                "{words}: {}",
                said.text()
            );
        }
    }
}

/// Fibres without thread-locals of their own have those of their processors' threads.
#[test]
fn fibres_that_share_are_told_so() {
    if plays("victim") {
        keeps_values(set, stop);
    }
    let print = locals("NUMBER");
    let program = victim("victim", &[("FIBRE_THREAD_LOCALS", "shared")]);
    let said = run(&program, &[&print]);
    for (fibre, number) in numbers() {
        let (all, value) = local_of(&said, &fibre).split_once(" = ").unwrap();
        assert!(all.ends_with(", of all fibres of its processor"), "{all}");
        if fibre.starts_with("spins") {
            assert_eq!(value, format!("8 bytes: {number:#x}"), "{fibre}");
        }
    }
}

/// The variable with the library that a program loads.
const LIBRARY: &str = "LIBRARY_TO_LOAD";

/// A function of the library, which sets the caller's thread-locals.
fn loaded() -> impl Fn(u64) + Copy + Send + 'static {
    let name = std::ffi::CString::new(std::env::var(LIBRARY).unwrap()).unwrap();
    // SAFETY: the library is one of those below: it runs nothing when it is loaded, stays, and has
    // such a function.
    let set = unsafe {
        let library = libc::dlopen(name.as_ptr(), libc::RTLD_NOW);
        assert!(!library.is_null());
        let set = libc::dlsym(library, c"set".as_ptr());
        assert!(!set.is_null());
        std::mem::transmute::<*mut libc::c_void, extern "C" fn(u64)>(set)
    };
    // One fibre leaves them alone.
    move |number| {
        if number != 103 {
            set(number);
        }
    }
}

/// Compiles a library from this source, by this compiler, with these arguments.
fn compiled(compiler: &str, arguments: &[&str], source: &str, end: &str) -> Scratch {
    let (file, library) = (Scratch::new(end), Scratch::new(".so"));
    std::fs::write(&file.0, source).unwrap();
    let mut compile = Command::new(compiler);
    compile
        .args(arguments)
        .arg("-o")
        .arg(&library.0)
        .arg(&file.0);
    assert!(compile.status().unwrap().success(), "{compile:?}");
    library
}

/// Has gdb carry out these commands in a program that has loaded this library.
fn run_loaded(library: &Scratch, commands: &[&str]) -> Said {
    run(
        &victim("victim", &[OWN, (LIBRARY, library.name())]),
        commands,
    )
}

/// The thread-locals of a library that was loaded later have types where debug information says so,
/// and commands may go on with them.
#[test]
fn values_of_loaded_libraries_in_c_are_read() {
    const SOURCE: &str = "#include <stdint.h>
        static __thread struct point { int32_t x, y; } point;
        void set(uint64_t number) { point.x = number; point.y = -number; }";
    if plays("victim") {
        keeps_values(loaded(), stop);
    }
    let library = compiled("cc", &["-g", "-shared", "-fPIC"], SOURCE, ".c");
    let first = "python gdb.execute('fibre %d local point' % Fibres().all[0].id)";
    let commands = [&*locals("point"), first, "print $local.x - $local.y"];
    let said = run_loaded(&library, &commands);
    for (fibre, number) in numbers().filter(|(_, number)| *number != 103) {
        let value = local_of(&said, &fibre);
        // By the language that gdb takes the program to be written in.
        let whole = [
            format!("x = {number}, y = -{number}"),
            format!("x: {number}, y: -{number}"),
        ];
        let is_there = whole.iter().any(|whole| value.contains(whole));
        assert!(is_there, "{fibre}: {value}");
    }
    let unused = local_of(&said, "waits 3");
    let is_told = unused.starts_with("point: fibre ") && unused.ends_with("has not used it");
    assert!(is_told, "{unused}");
    said.has(&["$1 = 202"]);
}

/// The same for Rust, without what std puts around a value.
#[test]
fn values_of_loaded_libraries_in_rust_are_read() {
    const SOURCE: &str = "use std::cell::{Cell, RefCell};
        thread_local! {
            static COUNT: Cell<u64> = const { Cell::new(5) };
            static LIST: RefCell<Vec<u64>> = RefCell::new(Vec::new());
        }
        #[unsafe(no_mangle)]
        pub extern \"C\" fn set(number: u64) {
            COUNT.set(number);
            if number != 102 {
                LIST.with_borrow_mut(|list| list.push(number));
            }
        }";
    if plays("victim") {
        keeps_values(loaded(), stop);
    }
    let compiler = std::env::var("RUSTC").unwrap_or_else(|_| "rustc".to_owned());
    let arguments = "--edition 2024 -g --crate-type cdylib --crate-name later";
    let arguments: Vec<_> = arguments.split(' ').collect();
    let library = compiled(&compiler, &arguments, SOURCE, ".rs");
    let said = run_loaded(&library, &[&locals("later::COUNT")]);
    for (fibre, number) in numbers().filter(|(_, number)| *number != 103) {
        let value = local_of(&said, &fibre);
        assert!(value.starts_with("later::COUNT at 0x"), "{value}");
        let number = format!("value: {number}");
        assert!(value.contains(&number), "{fibre}: {value}");
    }
    let said = run_loaded(&library, &[&locals("LIST")]);
    let list = local_of(&said, "spins 1");
    assert!(list.contains(" = core::cell::RefCell<"), "{list}");
    assert!(list.contains("len: 1"), "{list}");
    let unused = local_of(&said, "waits 2");
    assert!(
        unused.ends_with(" = not made yet, or destroyed"),
        "{unused}"
    );
}

/// The page has each form of the commands that `help` tells.
#[test]
fn the_page_has_all_commands() {
    const SCRIPT: &str = include_str!("../../fibre-inspect/gdb/fibre.py");
    const PAGE: &str = include_str!("../../docs/INSIDE.md");
    let (_, help) = SCRIPT.split_once("Look at one fibre: ").unwrap();
    let (help, _) = help.split_once("\"\"\"").unwrap();
    let forms = help.lines().filter(|line| line.starts_with("fibre "));
    let forms: Vec<_> = forms.map(|line| line.split("  ").next().unwrap()).collect();
    assert!(
        forms.len() >= 6 && forms.contains(&"fibre N local NAME"),
        "{forms:?}"
    );
    for form in forms.into_iter().chain(["fibres", "fibres bt"]) {
        let quoted = format!("`{form}`");
        assert!(PAGE.contains(&quoted), "{quoted} is not on the page");
    }
}
