//! In builds with debug assertions, tells the program's author of fibres that compute while others
//! wait for their processor: there is a call for such work.
//!
//! Nothing runs for this before there is something to report. The core's monitor, which looks at
//! the processors anyway, calls when one fibre has kept a processor for a fifth of a second of CPU
//! time while another fibre was ready there. Only then does a thread start, which takes the stack
//! and writes the line. It stays for the next one, as it has read the program's symbols.
//!
//! It reports each place once, and only a few places: it is not a log. `FIBRE_MONITOR=off` switches
//! it off, and `FIBRE_MONITOR` with a time makes the watch report instead, again and again.

use super::keeper::{Keeper, is_still_so};
use super::stacks::Stacks;
use crate::output::write_error;
use fibre_core::internal::{ProcessorState, has_addresses, on_computing, start_helper};
use std::collections::HashSet;
use std::sync::OnceLock;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;
use std::time::Duration;

/// The most places that are told.
const MOST: usize = 8;

/// The most stacks that are taken.
const MOST_STACKS: usize = 100;

/// The time between two stacks.
const PAUSE: Duration = Duration::from_secs(1);

/// A processor with a fibre that computes, and for how long it has.
type Computing = (ProcessorState, Duration);

/// The way to the thread that tells, or would if it could be started.
static TELLER: OnceLock<SyncSender<Computing>> = OnceLock::new();

/// Begins to listen to the monitor.
pub(super) fn begin() {
    on_computing(note);
}

/// Makes the thread look at a fibre that computes. If it looks at another one, this one is left
/// out.
fn note(state: ProcessorState, computed: Duration) {
    let teller = TELLER.get_or_init(|| {
        let (teller, told) = sync_channel(1);
        if has_addresses() {
            let _ = start_helper("fibre-watch".to_owned(), move || tell(&told));
        }
        teller
    });
    let _ = teller.try_send((state, computed));
}

/// The loop of the thread. It ends once enough has been told.
fn tell(all: &Receiver<Computing>) {
    let (mut stacks, mut told) = (Stacks::default(), HashSet::new());
    for (state, computed) in all.iter().take(MOST_STACKS) {
        if let Some(line) = line(&mut stacks, &mut told, state, computed) {
            write_error(&line);
        }
        if told.len() >= MOST {
            return;
        }
        thread::park_timeout(PAUSE);
        // What came meanwhile is over, or will come again.
        while all.try_recv().is_ok() {}
    }
}

/// The line about a fibre, if it still computes and its place has not been told.
fn line(
    stacks: &mut Stacks,
    told: &mut HashSet<u64>,
    state: ProcessorState,
    computed: Duration,
) -> Option<String> {
    let keeper = Keeper::of(state)?;
    let stack = stacks.of(state.thread, keeper.root);
    if !is_still_so(state) || !told.insert(stack.place) {
        return None;
    }
    let cluster = keeper.other_cluster();
    let cluster = cluster.map(|name| format!(" of cluster {name:?}"));
    Some(format!(
        "fibre: {keeper} has computed for {} ms at {}, while others wait for processor {}{}: \
         `fibre::compute` does such work beside them (FIBRE_MONITOR=off omits this)\n",
        computed.as_millis(),
        stack.text,
        state.index,
        cluster.unwrap_or_default(),
    ))
}
