//! The signal that asks for a trace, and the end of the process.

use super::file::{say_signal_is_handled, write_file};
use crate::notifier::Notifier;
use crate::signal::call::SignalCall;
use fibre_core::internal::trace_setting;
use fibre_core::is_forked_child;

/// The signal.
static ASKED: SignalCall = SignalCall::new(
    libc::SIGUSR2,
    "trace",
    ["is being written", "is being written"],
);

/// What the signal rings.
static NOTIFIER: Notifier = Notifier::new();

/// Begins to listen to SIGUSR2, if events are recorded; and has the trace written at the end of the
/// process, if its file has a name.
pub(crate) fn begin() {
    let Some(setting) = trace_setting() else {
        return;
    };
    if is_forked_child() {
        return;
    }
    if setting.file.is_some() {
        // SAFETY: a function that does not unwind. Without room for it there is no trace then.
        let _ = unsafe { libc::atexit(at_exit) };
    }
    if ASKED.is_unhandled(true) {
        let _ = ASKED.begin("fibre-trace", &NOTIFIER, Some(on_signal), run);
    } else {
        say_signal_is_handled();
    }
}

/// The loop of the thread.
fn run() {
    let mut answered = 0;
    loop {
        let rung = NOTIFIER.rung();
        if rung == answered {
            NOTIFIER.sleep(rung, None);
        } else {
            answered = rung;
            ASKED.answer(write_file);
        }
    }
}

/// The handler.
extern "C" fn on_signal(_signal: i32) {
    ASKED.on_signal();
}

/// Writes the trace when the process exits. Other threads may run meanwhile.
extern "C" fn at_exit() {
    if !is_forked_child() {
        write_file();
    }
}
