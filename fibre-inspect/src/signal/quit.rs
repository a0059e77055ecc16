//! SIGQUIT, and the thread `fibre-dump`, which answers it and the readers of the process's page.
//!
//! When the process starts its first cluster, the thread is started, and a handler is installed,
//! unless the program has one or has chosen to ignore the signal. A program that is started with
//! the signal ignored has not chosen that: shells without job control do so to their background
//! jobs. The initial setting is noted before `main`, as later both look the same. So a program that
//! was started with the signal ignored, and also ignores it itself, counts as not having chosen.
//! The thread sleeps on the page's notifier until the handler or a reader, `fibre-top`, wakes it.
//! It makes the dump, and waits for a reader of that for some seconds only. As long as somebody
//! reads the page, it updates the page [`OFTEN`].

use crate::descriptors::with_own_descriptors;
use crate::dump::{Format, make};
use crate::output::{Unwritten, can_write, standard_error, write_all, write_error};
use crate::page::snapshot::Snapshots;
use crate::page::writer::OwnPage;
use crate::signal::call::SignalCall;
use crate::signal::overflow;
use crate::stack::memory;
use fibre_core::internal::{environment_variable, variable, warn};
use fibre_core::is_forked_child;
use rustix::fs::{Mode, OFlags, open};
use std::os::fd::AsFd;
use std::str::FromStr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// The time between two texts for those that read the page.
const OFTEN: Duration = Duration::from_millis(250);

/// What SIGQUIT does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Action {
    /// It writes a dump, and the process goes on.
    Dump,
    /// It writes a dump, and the process aborts.
    Abort,
    /// What it does without fibre.
    Off,
}

impl FromStr for Action {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        match text {
            "dump" => Ok(Self::Dump),
            "abort" => Ok(Self::Abort),
            "off" => Ok(Self::Off),
            _ => Err(()),
        }
    }
}

/// The signal.
static QUIT: SignalCall = SignalCall::new(
    libc::SIGQUIT,
    "dump",
    ["looks at the fibres", "waits for a reader"],
);

/// Whether the process was started with the signal ignored.
static STARTED_IGNORED: AtomicBool = AtomicBool::new(false);

/// Notes it: the loader calls this before `main`, or when it loads the library.
#[used]
// SAFETY: the section holds the addresses of functions without arguments, as this is one.
#[unsafe(link_section = ".init_array")]
static NOTE: extern "C" fn() = {
    extern "C" fn note() {
        STARTED_IGNORED.store(QUIT.action() == libc::SIG_IGN, Ordering::Relaxed);
    }
    note
};

/// Has programs that call this have the note taken.
pub(crate) fn keep() {
    std::hint::black_box(&raw const NOTE);
}

/// Begins to listen. Without memory for the thread there will be no dump by signal, and no page.
pub(crate) fn begin() {
    let told = variable::<Action>("FIBRE_QUIT");
    let action = told.unwrap_or(Action::Dump);
    if is_forked_child() {
        return;
    }
    let ignored_too = told.is_some() || STARTED_IGNORED.load(Ordering::Relaxed);
    let handles = action != Action::Off && QUIT.is_unhandled(ignored_too);
    // What dumps need is taken while there are descriptors.
    memory::prepare();
    let page = OwnPage::new();
    if !handles && !page.is_shared() {
        return;
    }
    let handler: Option<extern "C" fn(i32)> = handles.then_some(on_quit);
    let notifier = page.notifier;
    if QUIT.begin("fibre-dump", notifier, handler, move || run(&page, action)) {
        overflow::begin_to_answer(notifier);
    }
}

/// The handler.
extern "C" fn on_quit(_signal: i32) {
    QUIT.on_signal();
}

/// The loop of the thread.
fn run(page: &OwnPage, action: Action) -> ! {
    let mut answered = 0;
    let mut snapshots = None;
    loop {
        let rung = page.notifier.rung();
        if rung != answered {
            answered = rung;
            if overflow::answer() {
                continue;
            }
            QUIT.answer(|| with_own_descriptors(|| answer(action)));
            continue;
        }
        let reader = page.is_read().then_some(OFTEN);
        match reader {
            Some(_) => {
                let snapshots = snapshots.get_or_insert_with(Snapshots::new);
                page.write(&with_own_descriptors(|| snapshots.next()));
            }
            None => snapshots = None,
        }
        page.notifier.sleep(answered, reader);
    }
}

/// Answers the signal.
fn answer(action: Action) {
    write_dump();
    if action == Action::Abort {
        std::process::abort();
    }
}

/// Writes a dump to where `FIBRE_DUMP` says, or else to standard error.
pub(crate) fn write_dump() {
    let file = environment_variable("FIBRE_DUMP").filter(|file| !file.is_empty());
    let Some(file) = file else {
        let (content, _) = make(Format::Text);
        QUIT.set_step(1);
        return write_error(&content);
    };
    let ends_with = |end| file.to_string_lossy().ends_with(end);
    let (content, _) = make(match (ends_with(".json"), ends_with(".tree")) {
        (true, _) => Format::Json,
        (_, true) => Format::Tree,
        _ => Format::Text,
    });
    QUIT.set_step(1);
    // A pipe that nobody reads is an error, and not to be waited for.
    let flags =
        OFlags::WRONLY | OFlags::CREATE | OFlags::APPEND | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let output = open(&*file, flags, Mode::RUSR | Mode::WUSR);
    let written = output
        .map_err(Unwritten::Error)
        .and_then(|output| write_all(output.as_fd(), content.as_bytes()));
    if let Err(reason) = written
        && can_write(standard_error(), Duration::ZERO)
    {
        let file = file.to_string_lossy();
        warn(format_args!(
            "a dump could not be written to {file:?}: {reason}"
        ));
    }
}
