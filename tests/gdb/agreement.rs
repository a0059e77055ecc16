//! Dumps and gdb: both see the same stacks of the same process.

use crate::debugger::{Scratch, run};
use crate::program::{KINDS, LIMIT, stop, victim};
use crate::support::eventually;
use crate::support::process::{end_after, plays};
use fibre::sync::{Barrier, Condvar, Event, Mutex, Notify, RwLock, Semaphore, WaitGroup};
use fibre::waits;
use serde_json::Value;
use std::collections::HashMap;
use std::hint::black_box;
use std::sync::Arc;
use std::time::Duration;

/// How deep a fibre calls itself that has more frames than a dump shows.
const DEEP: u32 = 400;

/// Has gdb print all stacks, as they are shown behind each of the threads, which are at all kinds
/// of places: a fibre's number, the addresses of its frames, and how they end.
const PRINT: &str = "python
def address(frames):
    outer = [frame for at, frame in enumerate(frames) if not at or not frames[at - 1].inlined]
    return ','.join('%#x' % frame.address for frame in outer)
for thread in gdb.selected_inferior().threads():
    thread.switch()
    for fibre in Fibres().all:
        stack = FibreStack(fibre)
        print('STACK', fibre.id, address(stack.frames), stack.end, sep='|')";

/// Calls itself so often, and then sleeps.
#[inline(never)]
fn calls_itself(times: u32) -> u32 {
    if times == 0 {
        fibre::sleep(Duration::from_secs(1 << 20));
        return 0;
    }
    black_box(calls_itself(black_box(times - 1)) + 1)
}

/// Sorts, by a function of the C library, and sleeps while it compares.
fn sleeps_below_c() {
    extern "C" fn compares(_: *const libc::c_void, _: *const libc::c_void) -> i32 {
        fibre::sleep(Duration::from_secs(1 << 20));
        0
    }
    let mut numbers = [2_u32, 1];
    // SAFETY: the array's length and the size of its elements.
    unsafe { libc::qsort(numbers.as_mut_ptr().cast(), 2, 4, Some(compares)) };
}

/// Fibres that wait for all kinds of things.
fn everybody() -> Vec<Box<dyn FnOnce() + Send>> {
    let long = Duration::from_secs(1 << 20);
    let held = Arc::new(Mutex::new(0));
    let read = Arc::new(RwLock::new(0));
    std::mem::forget(Arc::clone(&held).lock());
    std::mem::forget(Arc::clone(&read).write());
    let (again, also) = (Arc::clone(&held), Arc::clone(&read));
    let (sender, receiver) = fibre::channel::bounded::<u32>(1);
    std::mem::forget(sender);
    let listener = fibre::net::TcpListener::bind("127.0.0.1:0").unwrap();
    vec![
        Box::new(move || fibre::sleep(long)),
        Box::new(move || drop(black_box(held.lock()))),
        Box::new(move || drop(black_box(again.lock_timeout(long)))),
        Box::new(move || drop(black_box(read.read()))),
        Box::new(move || drop(black_box(also.write()))),
        Box::new(|| Semaphore::new(0).acquire()),
        Box::new(|| Event::new().wait()),
        Box::new(|| Notify::new().wait()),
        Box::new(|| {
            let _ = black_box(Barrier::new(2).wait());
        }),
        Box::new(|| {
            let (lock, condvar) = (Mutex::new(()), Condvar::new());
            condvar.wait(&mut lock.lock());
        }),
        Box::new(|| {
            let group = WaitGroup::new();
            group.add(1);
            group.wait();
        }),
        Box::new(move || {
            let _ = black_box(receiver.recv());
        }),
        Box::new(move || drop(black_box(listener.accept()))),
        Box::new(move || drop(black_box(fibre::spawn(move || fibre::sleep(long)).join()))),
        Box::new(move || fibre::scope(|scope| drop(scope.spawn(move || fibre::sleep(long))))),
        Box::new(|| {
            let _ = black_box(calls_itself(DEEP));
        }),
        Box::new(|| {
            fibre::on_big_stack(1 << 21, || {
                let _ = black_box(calls_itself(9));
            })
            .unwrap()
        }),
        Box::new(sleeps_below_c),
    ]
}

/// Waits for signals, in a frame of its own that is inlined into its caller's.
#[inline(always)]
fn pauses() {
    // SAFETY: a system call without arguments, which writes to no memory.
    unsafe {
        std::arch::asm!(
            "syscall",
            "nop",
            inlateout("rax") libc::SYS_pause => _,
            lateout("rcx") _,
            lateout("r11") _,
            options(nostack)
        );
    }
}

/// A program in which fibres wait, that dumps itself, and then stops for gdb.
fn dumps_itself(file: &str) -> ! {
    end_after(LIMIT);
    let all = everybody();
    // Two of them spawn another one.
    let count = all.len() + 2;
    for program in all {
        drop(fibre::spawn(program));
    }
    // gdb shows a frame for each function that is inlined at the place where this thread is.
    std::thread::spawn(|| {
        loop {
            pauses();
        }
    });
    eventually(|| {
        let waiting = waits();
        waiting.len() == count && waiting.iter().all(|wait| wait.stuck.is_none())
    });
    for dumps in 1.. {
        // SAFETY: a signal for this process, which dumps when it comes.
        assert_eq!(unsafe { libc::kill(libc::getpid(), libc::SIGQUIT) }, 0);
        let lines = || std::fs::read_to_string(file).unwrap_or_default();
        eventually(|| lines().ends_with("}\n") && lines().lines().count() == dumps);
        // On a busy machine a processor may have had no CPU to stand still on.
        if of_dump(lines().lines().next_back().unwrap()).is_some_and(|all| all.len() == count) {
            break;
        }
    }
    stop();
    std::process::exit(0);
}

/// The frames of a fibre, the innermost first, and how they end.
type Stack = (Vec<String>, String);

/// The stacks of all fibres in a dump, unless one of them does not wait.
fn of_dump(line: &str) -> Option<HashMap<u64, Stack>> {
    let dump: Value = serde_json::from_str(line).unwrap();
    let mut found = HashMap::new();
    for group in dump["groups"].as_array().unwrap() {
        if group["state"] != "waits" {
            return None;
        }
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let frames = group["stack"].as_array().unwrap();
        let frames = frames.iter().map(|frame| text(&frame["address"]));
        let stack = (frames.collect::<Vec<_>>(), text(&group["end"]));
        for fibre in group["fibres"].as_array().unwrap() {
            found.insert(fibre["id"].as_u64().unwrap(), stack.clone());
        }
    }
    Some(found)
}

/// The same, as gdb has printed it, which is the same for each thread.
fn of_gdb(text: &str) -> HashMap<u64, Stack> {
    let mut found = HashMap::new();
    let lines = text.lines().filter_map(|line| line.strip_prefix("STACK|"));
    for line in lines {
        let parts: Vec<&str> = line.split('|').collect();
        let frames = parts[1].split(',').map(str::to_owned).collect();
        let stack = (frames, parts[2].to_owned());
        let before = found.insert(parts[0].parse().unwrap(), stack.clone());
        assert!(before.is_none_or(|before| before == stack), "{text}");
    }
    found
}

#[test]
fn each_stack_of_a_dump_is_what_gdb_sees() {
    if plays("victim") {
        dumps_itself(&std::env::var("FIBRE_DUMP").unwrap());
    }
    KINDS.into_iter().for_each(agree);
}

/// The body of the test above.
fn agree(kind: (&str, &str)) {
    let file = Scratch::new(".json");
    let program = victim(
        "victim",
        &[kind, ("FIBRE_DUMP", file.name()), ("FIBRE_QUIT", "dump")],
    );
    let said = run(&program, &[PRINT]);
    let dump = std::fs::read_to_string(&file.0).unwrap();
    let dump = of_dump(dump.lines().next_back().unwrap()).unwrap();
    let gdb = of_gdb(said.text());
    let mut deep = 0;
    assert_eq!(dump.len(), everybody().len() + 2, "{dump:?}");
    assert_eq!(gdb.len(), dump.len(), "{}", said.text());
    for (id, (frames, end)) in &dump {
        let (seen, last) = &gdb[id];
        assert_eq!(last, "the fibre's entry", "fibre {id}: {seen:?}");
        match &**end {
            "the fibre's entry" => assert_eq!(frames, seen, "fibre {id}"),
            "cut off: there are more frames" => {
                assert!(seen.len() > DEEP as usize, "fibre {id}: {seen:?}");
                assert_eq!(frames[..], seen[..frames.len()], "fibre {id}");
                deep += 1;
            }
            other => panic!("fibre {id}: {other}: {frames:?}, but gdb sees {seen:?}"),
        }
    }
    assert_eq!(deep, 1, "{dump:?}");
}
