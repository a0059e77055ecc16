//! Ends a process that hangs, and says before what can be known of it: what its fibres wait for,
//! what its threads do, and their stacks if there is a debugger.

use std::fmt::Arguments;
use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;

/// The longest that one body may take.
pub const LIMIT: Duration = Duration::from_secs(60);

/// The variable that says how many times as long everything may take: a machine may be emulated.
const SLOWNESS: &str = "FIBRE_TEST_SLOWNESS";

/// What a watchdog counts. One that looked at the clock would bark when the whole process had been
/// stopped.
const TICK: Duration = Duration::from_millis(100);

/// The longest that the runtime may take to say what its fibres wait for: it may be what hangs.
const PATIENCE: Duration = Duration::from_secs(5);

/// What the debugger is told to do with the process.
const COMMANDS: [&str; 4] = [
    "set print frame-arguments none",
    "set print entry-values no",
    "set print address off",
    "thread apply all backtrace 14",
];

/// Runs `body`; if it takes longer than a minute, ends the process.
pub fn watched<R>(body: impl FnOnce() -> R) -> R {
    watched_for(LIMIT, "", body)
}

/// [`watched`] with a limit and a remark for the report.
pub fn watched_for<R>(limit: Duration, remark: &str, body: impl FnOnce() -> R) -> R {
    let (running, watchdog) = watch(limit, remark);
    let result = body();
    drop(running);
    watchdog.join().unwrap();
    result
}

/// Starts a watchdog, which ends when the sender does. It is not generic, as each test would
/// compile it anew.
fn watch(limit: Duration, remark: &str) -> (Sender<()>, thread::JoinHandle<()>) {
    let test = thread::current().name().unwrap_or("a test").to_owned();
    let remark = remark.to_owned();
    let limit = limit * slowness();
    let (running, ended) = channel::<()>();
    let watchdog = thread::spawn(move || {
        if hangs(&ended, limit) {
            die_hanging(format_args!(
                "watchdog: `{test}`{remark} hangs after {limit:?}"
            ));
        }
    });
    (running, watchdog)
}

/// What [`SLOWNESS`] says; 1 if it is not set.
fn slowness() -> u32 {
    std::env::var(SLOWNESS).map_or(1, |times| match times.parse() {
        Ok(times) => times,
        Err(error) => die(format_args!("{SLOWNESS} cannot be `{times}`: {error}")),
    })
}

/// Whether the other end of a channel is still there after `limit`.
pub fn hangs(ended: &Receiver<()>, limit: Duration) -> bool {
    let ticks = limit.div_duration_f64(TICK) as u32;
    (0..ticks).all(|_| ended.recv_timeout(TICK) == Err(RecvTimeoutError::Timeout))
}

/// Ends the process with these words, which are seen in any case: what `eprintln!` says is kept by
/// the test harness until the test has ended, which it then never does.
pub fn die(words: Arguments<'_>) -> ! {
    let _ = writeln!(std::io::stderr(), "{words}");
    std::process::abort()
}

/// Ends the process with these words, and with all that can be found out about what it does.
pub fn die_hanging(words: Arguments<'_>) -> ! {
    // At once, as what follows may not come to its end.
    let _ = writeln!(std::io::stderr(), "{words}{}{}", fibres(), threads());
    show_stacks();
    die(format_args!("{words}"))
}

/// A line for each fibre that waits or does not switch.
fn fibres() -> String {
    let (found, asked) = channel();
    let ask = move || {
        let _ = found.send(fibre::waits());
    };
    if thread::Builder::new().spawn(ask).is_err() {
        return "\n  its fibres: no thread can be started that looks at them".to_owned();
    }
    let Ok(waits) = asked.recv_timeout(PATIENCE) else {
        return "\n  its fibres: a look at them does not return".to_owned();
    };
    let mut lines = format!("\n  its fibres, of which {} wait:", waits.len());
    for wait in waits {
        let _ = write!(lines, "\n    {wait}");
    }
    lines
}

/// A line for each kernel thread.
fn threads() -> String {
    let tasks = fs::read_dir("/proc/self/task").into_iter().flatten();
    let lines = tasks.flatten().map(|task| state(&task.path()));
    format!("\n  its threads:{}", lines.collect::<String>())
}

/// What a kernel thread does, and how long it has run.
fn state(task: &Path) -> String {
    let text = |name: &str| fs::read_to_string(task.join(name)).unwrap_or_default();
    let status = text("status");
    let field = |name: &str| status.lines().find_map(|line| line.strip_prefix(name));
    let field = |name: &str| field(name).unwrap_or_default().trim();
    let ran = text("schedstat");
    let ran = ran.split(' ').next().and_then(|time| time.parse().ok());
    format!(
        "\n    {} {:?}: {}, ran for {:.1?}",
        field("Pid:"),
        field("Name:"),
        field("State:"),
        Duration::from_nanos(ran.unwrap_or(0)),
    )
}

/// Has the debugger show the stacks of all threads, if there is one, and if it may.
fn show_stacks() {
    // SAFETY: a call without memory. It allows any process, the debugger too, to look at this one.
    unsafe { libc::prctl(libc::PR_SET_PTRACER, libc::PR_SET_PTRACER_ANY, 0, 0, 0) };
    let mut debugger = Command::new("timeout");
    debugger.args(["60", "gdb", "-nx", "-batch"]);
    debugger.args(["-p", &std::process::id().to_string()]);
    debugger.args(COMMANDS.iter().flat_map(|command| ["-ex", command]));
    let shown = debugger.stdin(Stdio::null()).stderr(Stdio::null()).output();
    if let Ok(output) = shown {
        let _ = std::io::stderr().write_all(&output.stdout);
    }
}
