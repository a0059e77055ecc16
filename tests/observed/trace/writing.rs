//! When a trace is written, where to, and what is said.

use super::reader::{END, RUN, START, Trace};
use crate::support::die;
use crate::support::process::{child, end_after, errors, no_core_file, plays, spawn_child};
use fibre::sync::Mutex;
use fibre::{Builder, trace};
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

/// The longest that anything here may take.
const LIMIT: Duration = Duration::from_secs(60);

/// A folder for the files of one test, which goes when this does.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        let name = thread::current().name().unwrap().replace(':', "-");
        let name = format!("fibre-traces-{}-{name}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&folder).unwrap();
        Self(folder)
    }

    /// The name of a file in it, for `FIBRE_TRACE`.
    fn file(&self) -> String {
        self.0.join("of.trace").to_str().unwrap().to_owned()
    }

    /// What is in it, in order.
    fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(&self.0).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<_> = names.collect();
        names.sort_unstable();
        names
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A process that records events.
struct Traced {
    child: Child,
    errors: BufReader<std::process::ChildStderr>,
}

impl Traced {
    /// Starts it, and waits until it is as the test wants it.
    fn start(mut command: Command) -> Self {
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        let mut lines = output.lines().map_while(Result::ok);
        assert!(lines.any(|line| line == "as wanted"), "it has ended");
        let errors = BufReader::new(child.stderr.take().unwrap());
        Self { child, errors }
    }

    /// Sends it SIGUSR2.
    fn ask(&self) {
        let process = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(process, rustix::process::Signal::USR2).unwrap();
    }

    /// The next line that it writes to standard error.
    fn line(&mut self) -> String {
        let mut line = String::new();
        self.errors.read_line(&mut line).unwrap();
        line
    }
}

impl Drop for Traced {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Tells the test that this process is as wanted, and stays.
fn stay() -> ! {
    println!("\nas wanted");
    std::io::stdout().flush().unwrap();
    loop {
        thread::park();
    }
}

/// Reads the file of a trace.
#[track_caller]
fn read(file: &str) -> Trace {
    Trace::read(&std::fs::read(file).unwrap())
}

/// Runs a process that prints what `trace::write` returns.
fn try_to_write() {
    end_after(LIMIT);
    fibre::spawn(|| trace::mark("nothing")).join().unwrap();
    let mut bytes = Vec::new();
    let written = trace::write(&mut bytes).map_err(|error| (error.kind(), error.to_string()));
    println!("\nsaid {written:?}, {} bytes", bytes.len());
}

#[test]
fn nothing_is_recorded_unless_asked_for() {
    if plays("writer") {
        return try_to_write();
    }
    for environment in [&[][..], &[("FIBRE_TRACE", "off")]] {
        let output = spawn_child("writer", environment);
        let text = String::from_utf8_lossy(&output.stdout);
        let kind = ErrorKind::Unsupported;
        assert!(
            text.contains(&format!("said Err(({kind:?}, \"no events are recorded")),
            "{text}"
        );
        assert!(text.contains(", 0 bytes"), "{text}");
        assert_eq!(errors(&output), "");
    }
}

#[test]
fn a_signal_has_it_written_again_and_again() {
    if plays("server") {
        end_after(LIMIT);
        fibre::spawn(|| ()).join().unwrap();
        stay();
    }
    let folder = Folder::new();
    let file = folder.file();
    let mut server = Traced::start(child("server", &[("FIBRE_TRACE", &file)]));
    for _ in 0..3 {
        server.ask();
        let line = server.line();
        assert!(line.starts_with("fibre: a trace of "), "{line}");
        assert!(line.contains(&format!("is in {file:?}")), "{line}");
        let trace = read(&file);
        assert_eq!(trace.process, server.child.id());
        assert!(trace.events().iter().any(|event| event.kind == START));
    }
}

/// Two fibres that never switch keep both processors; the writer needs none.
#[test]
fn it_is_written_though_every_processor_hangs() {
    if plays("hangs") {
        end_after(LIMIT);
        let hog = |name: &'static str| {
            let spins = move || {
                trace::mark(name);
                loop {
                    std::hint::spin_loop();
                }
            };
            Builder::new().name(name).spawn(spins).unwrap();
        };
        hog("first hog");
        hog("second hog");
        let begun = Instant::now();
        // Both have left their marks: the trace says so itself.
        loop {
            let mut bytes = Vec::new();
            trace::write(&mut bytes).unwrap();
            if Trace::read(&bytes).marks().len() == 2 {
                stay();
            }
            if begun.elapsed() > LIMIT {
                die(format_args!("the hogs do not run"));
            }
            thread::yield_now();
        }
    }
    let folder = Folder::new();
    let file = folder.file();
    let environment = [("FIBRE_TRACE", file.as_str()), ("FIBRE_PROCESSORS", "2")];
    let mut hangs = Traced::start(child("hangs", &environment));
    hangs.ask();
    assert!(hangs.line().starts_with("fibre: a trace of "));
    let trace = read(&file);
    for name in ["first hog", "second hog"] {
        let hog = trace.named(name);
        let events = trace.events();
        let its = events.iter().filter(|event| event.fibre() == hog);
        let starts = its.clone().filter(|event| event.kind == START).count();
        assert_eq!(starts, 1, "{name} runs");
        // The last event of its track is its own: it goes on.
        let track = its.clone().find(|event| event.kind == START).unwrap().track;
        let last = trace.tracks[track].events.last().unwrap();
        assert!(![END, RUN].contains(&last.kind), "{last:?}");
    }
}

#[test]
fn a_file_is_written_at_the_end() {
    if plays("ends") {
        end_after(LIMIT);
        let fibre = Builder::new().name("the only one").spawn(|| ());
        fibre.unwrap().join().unwrap();
        std::process::exit(0);
    }
    let folder = Folder::new();
    let file = folder.file();
    let setting = format!("ring:128K,{file}");
    let output = spawn_child("ends", &[("FIBRE_TRACE", &setting)]);
    assert!(output.status.success());
    assert!(errors(&output).contains(&format!("is in {file:?}")));
    assert!(read(&file).named("the only one") > 0);
    // A ring without a file is for those who ask.
    let output = spawn_child("ends", &[("FIBRE_TRACE", "ring")]);
    assert_eq!(
        (output.status.success(), errors(&output).as_str()),
        (true, "")
    );
}

#[test]
fn without_a_name_the_file_has_the_number_of_the_process() {
    if plays("unnamed") {
        end_after(LIMIT);
        fibre::spawn(|| ()).join().unwrap();
        stay();
    }
    let folder = Folder::new();
    let mut command = child("unnamed", &[("FIBRE_TRACE", "ring:64K")]);
    command.current_dir(&folder.0);
    let mut server = Traced::start(command);
    server.ask();
    let name = format!("fibre-{}.trace", server.child.id());
    let line = server.line();
    assert!(line.contains(&name), "{line}");
    let trace = Trace::read(&std::fs::read(folder.0.join(name)).unwrap());
    assert_eq!(trace.process, server.child.id());
}

#[test]
fn a_full_disk_and_an_impossible_file_are_told() {
    if plays("full") {
        end_after(LIMIT);
        fibre::spawn(|| ()).join().unwrap();
        stay();
    }
    let full = Path::new("/dev/full");
    assert!(full.metadata().unwrap().file_type().is_char_device());
    for (file, reason) in [
        ("/dev/full", "No space left on device"),
        ("/nowhere/at.all", "No such file or directory"),
        ("/.", "Is a directory"),
    ] {
        let mut server = Traced::start(child("full", &[("FIBRE_TRACE", file)]));
        for _ in 0..2 {
            server.ask();
            let line = server.line();
            let words = format!("fibre: a trace could not be written to {file:?}: {reason}");
            assert!(line.starts_with(&words), "{line}");
        }
    }
}

/// A trace that cannot be written as a whole leaves the one before it, and nothing beside it.
#[test]
fn an_earlier_trace_stays_until_the_next_is_whole() {
    use rustix::process::{Pid, Resource, Rlimit, prlimit};
    if plays("limited") {
        end_after(LIMIT);
        // Writing more than it may then fails, and does not end the process.
        // SAFETY: no handler, and nothing else here uses the signal.
        unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
        fibre::spawn(|| ()).join().unwrap();
        stay();
    }
    let folder = Folder::new();
    let file = folder.file();
    let mut server = Traced::start(child("limited", &[("FIBRE_TRACE", &file)]));
    server.ask();
    assert!(server.line().contains(&format!("is in {file:?}")));
    let before = std::fs::read(&file).unwrap();
    let small = Rlimit {
        current: Some(40),
        maximum: None,
    };
    let process = Some(Pid::from_child(&server.child));
    prlimit(process, Resource::Fsize, small).unwrap();
    server.ask();
    let line = server.line();
    assert!(line.contains("could not be written"), "{line}");
    assert!(std::fs::read(&file).unwrap() == before, "it was touched");
    assert_eq!(folder.names(), ["of.trace"]);
}

/// Whoever may write to the folder can foresee the name.
#[test]
fn a_link_of_the_default_name_is_not_followed() {
    if plays("linked") {
        end_after(LIMIT);
        fibre::spawn(|| ()).join().unwrap();
        stay();
    }
    let folder = Folder::new();
    let mut command = child("linked", &[("FIBRE_TRACE", "ring:64K")]);
    command.current_dir(&folder.0);
    let mut server = Traced::start(command);
    let name = format!("fibre-{}.trace", server.child.id());
    std::fs::write(folder.0.join("dear"), "dear").unwrap();
    std::os::unix::fs::symlink("dear", folder.0.join(&name)).unwrap();
    server.ask();
    let line = server.line();
    assert!(line.contains(&format!("is in {name:?}")), "{line}");
    assert_eq!(std::fs::read(folder.0.join("dear")).unwrap(), b"dear");
    let is_plain = folder.0.join(&name).symlink_metadata().unwrap().is_file();
    assert!(is_plain, "the trace took the link's place");
    read(folder.0.join(&name).to_str().unwrap());
}

/// A link that the user has named leads to where the trace is to be.
#[test]
fn a_link_by_name_is_followed() {
    if plays("follows") {
        end_after(LIMIT);
        fibre::spawn(|| ()).join().unwrap();
        stay();
    }
    let folder = Folder::new();
    let file = folder.file();
    std::os::unix::fs::symlink("elsewhere", &file).unwrap();
    let mut server = Traced::start(child("follows", &[("FIBRE_TRACE", &file)]));
    server.ask();
    assert!(server.line().contains(&format!("is in {file:?}")));
    assert_eq!(folder.names(), ["elsewhere", "of.trace"]);
    read(folder.0.join("elsewhere").to_str().unwrap());
}

/// Keeps a processor, and then another one by other code: a place that has been told is not told
/// again within a minute.
#[inline(never)]
fn keep_until_the_folder_is_there() {
    let file = std::env::var("FIBRE_TRACE").unwrap();
    let folder = Path::new(&file).parent().unwrap();
    while !folder.exists() {
        std::hint::spin_loop();
    }
    fibre::spawn(keep_for_long);
}

/// Keeps a processor.
#[inline(never)]
fn keep_for_long() {
    thread::sleep(LIMIT);
}

/// A report whose trace could not be written does not use up the minute.
#[test]
fn a_failed_trace_is_tried_again_at_the_next_report() {
    if plays("retries") {
        end_after(LIMIT);
        fibre::spawn(keep_until_the_folder_is_there);
        stay();
    }
    let folder = Folder::new();
    let late = folder.0.join("late");
    let file = late.join("of.trace").to_str().unwrap().to_owned();
    let (two, often) = (("FIBRE_PROCESSORS", "2"), ("FIBRE_MONITOR", "10ms"));
    let environment = [("FIBRE_TRACE", file.as_str()), two, often];
    let mut server = Traced::start(child("retries", &environment));
    let mut until = |words: &str| {
        loop {
            let line = server.line();
            assert!(!line.is_empty(), "it has ended");
            if line.contains(words) {
                break;
            }
        }
    };
    until("could not be written");
    std::fs::create_dir(&late).unwrap();
    until(&format!("is in {file:?}"));
    read(&file);
}

/// The reader of a pipe takes its time; two more signals come meanwhile, and nothing hangs.
#[test]
fn a_slow_reader_holds_up_nobody() {
    if plays("piped") {
        end_after(LIMIT);
        let pinger = || {
            loop {
                fibre::sleep(Duration::from_millis(1));
            }
        };
        fibre::spawn(pinger);
        stay();
    }
    let folder = Folder::new();
    let pipe = folder.file();
    rustix::fs::mknodat(
        rustix::fs::CWD,
        &pipe,
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR,
        0,
    )
    .unwrap();
    let mut server = Traced::start(child("piped", &[("FIBRE_TRACE", &pipe)]));
    // Nobody reads: that is an error at once.
    server.ask();
    let line = server.line();
    assert!(line.contains("could not be written"), "{line}");
    // Somebody has it open.
    let reading = rustix::fs::OFlags::RDONLY | rustix::fs::OFlags::NONBLOCK;
    let reader = rustix::fs::open(&pipe, reading, rustix::fs::Mode::empty()).unwrap();
    let mut reader = std::fs::File::from(reader);
    (0..3).for_each(|_| server.ask());
    let begun = Instant::now();
    let mut bytes = Vec::new();
    // One trace at least is whole, whatever became of the others.
    while !bytes.windows(12).any(|end| end == b"DONE\0\0\0\0\0\0\0\0") {
        match reader.read_to_end(&mut bytes) {
            Err(error) if error.kind() == ErrorKind::WouldBlock => thread::yield_now(),
            result => drop(result),
        }
        assert!(begun.elapsed() < LIMIT, "{} bytes", bytes.len());
    }
    assert!(bytes.starts_with(b"fibretrc"));
    assert!(server.child.try_wait().unwrap().is_none());
}

/// A closed standard error costs the words, not the trace.
#[test]
fn nobody_need_listen() {
    if plays("deaf") {
        end_after(LIMIT);
        fibre::spawn(|| ()).join().unwrap();
        stay();
    }
    let folder = Folder::new();
    let file = folder.file();
    let mut server = Traced::start(child("deaf", &[("FIBRE_TRACE", &file)]));
    // From now on its standard error has no reader.
    let mut other = Command::new("true");
    let mut other = other.stderr(Stdio::piped()).spawn().unwrap();
    server.errors = BufReader::new(other.stderr.take().unwrap());
    other.wait().unwrap();
    server.ask();
    let begun = Instant::now();
    let is_whole =
        || std::fs::read(&file).is_ok_and(|bytes| bytes.ends_with(b"DONE\0\0\0\0\0\0\0\0"));
    while !is_whole() {
        assert!(begun.elapsed() < LIMIT);
        thread::yield_now();
    }
    assert!(server.child.try_wait().unwrap().is_none());
}

/// A program's own handler of SIGUSR2 stays, and is told of.
#[test]
fn a_handler_of_the_program_is_left_alone() {
    if plays("handles") {
        end_after(LIMIT);
        let signals = signal_hook::iterator::Signals::new([signal_hook::consts::SIGUSR2]);
        let mut signals = signals.unwrap();
        fibre::spawn(|| ()).join().unwrap();
        thread::spawn(move || {
            for _ in signals.forever() {
                eprintln!("the program's own");
            }
        });
        stay();
    }
    let folder = Folder::new();
    let file = folder.file();
    let mut server = Traced::start(child("handles", &[("FIBRE_TRACE", &file)]));
    let line = server.line();
    assert!(line.contains("the program handles SIGUSR2"), "{line}");
    server.ask();
    assert_eq!(server.line(), "the program's own\n");
    assert!(!Path::new(&file).exists());
}

/// Without `FIBRE_TRACE`, SIGUSR2 does what it always did: it ends the process.
#[test]
fn the_signal_is_the_programs_unless_asked_for() {
    use std::os::unix::process::ExitStatusExt;
    if plays("plain") {
        no_core_file();
        end_after(LIMIT);
        fibre::spawn(|| ()).join().unwrap();
        stay();
    }
    let mut server = Traced::start(child("plain", &[]));
    server.ask();
    let status = server.child.wait().unwrap();
    assert_eq!(status.signal(), Some(libc::SIGUSR2));
}

/// After a report the trace is there without a signal.
#[test]
fn reports_come_with_a_trace() {
    if plays("reported") {
        end_after(LIMIT);
        match std::env::var("FIBRE_DEADLOCK") {
            Ok(_) => {
                let locks = Arc::new((Mutex::new(()), Mutex::new(())));
                let both = |first: bool| {
                    let locks = Arc::clone(&locks);
                    move || {
                        let (one, other) = if first {
                            (&locks.0, &locks.1)
                        } else {
                            (&locks.1, &locks.0)
                        };
                        let _one = one.lock();
                        // Both have one: nobody could go on.
                        until_waiting_or_locked(other);
                        let _other = other.lock();
                    }
                };
                fibre::spawn(both(true));
                fibre::spawn(both(false));
            }
            Err(_) => {
                fibre::spawn(|| {
                    loop {
                        std::hint::spin_loop();
                    }
                });
            }
        }
        stay();
    }
    let folder = Folder::new();
    let file = folder.file();
    for setting in [("FIBRE_DEADLOCK", "report"), ("FIBRE_MONITOR", "10ms")] {
        if setting.0 == "FIBRE_DEADLOCK" && !cfg!(debug_assertions) {
            // The owners of locks are not known.
            continue;
        }
        let environment = [
            ("FIBRE_TRACE", file.as_str()),
            ("FIBRE_PROCESSORS", "2"),
            setting,
        ];
        let mut server = Traced::start(child("reported", &environment));
        loop {
            let line = server.line();
            assert!(!line.is_empty(), "it has ended");
            if line.contains(&format!("is in {file:?}")) {
                break;
            }
        }
        assert!(read(&file).events().iter().any(|event| event.kind == START));
        std::fs::remove_file(&file).unwrap();
    }
}

/// Waits, by yields, until somebody has the lock.
fn until_waiting_or_locked(lock: &Mutex<()>) {
    while lock.try_lock().is_some() {
        fibre::yield_now();
    }
}
