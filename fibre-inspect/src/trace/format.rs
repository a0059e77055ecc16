//! The form of a trace.
//!
//! ```text
//!   "fibretrc"   version: u32   then sections, to the end of the file:
//!   tag: 4 letters   length: u64   as many bytes
//!
//!   PROC   number of the process: u32   flags: u32   command: text
//!   TRCK   1 for a processor, else 0: u32   number of the cluster: u64
//!          number of the processor: u32   number of the thread: u32
//!          events lost before: u64   events dropped: u64   name of the cluster: text
//!          then events of two u64 each, to the end of the section
//!   NAME   for each name: number of the fibre: u64   text
//!   CLCK   the beginning, and the end: ticks: u64   CLOCK_MONOTONIC: u64   CLOCK_REALTIME: u64
//!   DONE   nothing: the trace is whole
//! ```
//!
//! All numbers are little-endian; a text is its length as a u32, and its bytes. A reader skips
//! sections that it does not know. Flag 1: the time stamp counter runs at one rate whatever the CPU
//! does. The core defines the events (`TraceKind`).

use crate::arch::has_steady_counter;
use fibre_core::internal::{TraceTrack, trace_clock, trace_names, trace_tracks};
use fibre_core::is_forked_child;
use std::io::{self, Write};

/// The first bytes.
const MAGIC: &[u8; 8] = b"fibretrc";

/// The version of the form.
const VERSION: u32 = 1;

/// What has been written.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Written {
    /// How many processors have a ring.
    pub(super) processors: usize,
    /// How many events there are.
    pub(super) events: usize,
}

/// Writes the newest events of all processors, which the tool `fibre-trace` reads. Blocks the
/// kernel thread for as long as the writer takes, but stops no processor.
///
/// ```no_run
/// let mut file = std::fs::File::create("server.trace")?;
/// fibre::trace::write(&mut file)?;
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// # Errors
///
/// [`Unsupported`](io::ErrorKind::Unsupported) if no events are recorded, because `FIBRE_TRACE` was
/// not set when the first cluster was started, or this is a forked child; and those of the writer.
pub fn write_trace(output: &mut impl Write) -> io::Result<()> {
    write(output).map(drop)
}

/// [`write_trace`]; returns what was written.
pub(super) fn write(output: &mut dyn Write) -> io::Result<Written> {
    if trace_clock().is_none() || is_forked_child() {
        return Err(io::Error::new(
            io::ErrorKind::Unsupported,
            "no events are recorded: FIBRE_TRACE asks for that",
        ));
    }
    output.write_all(MAGIC)?;
    output.write_all(&VERSION.to_le_bytes())?;
    section(output, b"PROC", &process())?;
    let mut written = Written::default();
    trace_tracks(|track| {
        let events = &track.copied.events;
        written.processors += usize::from(track.cluster.is_some());
        written.events += events.len();
        let head = head(&track);
        let length = head.len() + size_of_val(&events[..]);
        output.write_all(b"TRCK")?;
        output.write_all(&(length as u64).to_le_bytes())?;
        output.write_all(&head)?;
        write_events(output, events)
    })?;
    let mut names = Vec::new();
    for (fibre, name) in trace_names() {
        names.extend(fibre.to_le_bytes());
        put_text(&mut names, &name);
    }
    section(output, b"NAME", &names)?;
    let moments = trace_clock().into_iter().flatten();
    let words = moments.flat_map(|moment| [moment.ticks, moment.monotonic, moment.realtime]);
    let clocks: Vec<u8> = words.flat_map(u64::to_le_bytes).collect();
    section(output, b"CLCK", &clocks)?;
    section(output, b"DONE", &[])?;
    output.flush()?;
    Ok(written)
}

/// Writes a section.
fn section(output: &mut dyn Write, tag: &[u8; 4], content: &[u8]) -> io::Result<()> {
    output.write_all(tag)?;
    output.write_all(&(content.len() as u64).to_le_bytes())?;
    output.write_all(content)
}

/// What there is to know of the process.
fn process() -> Vec<u8> {
    let mut content = Vec::new();
    content.extend(std::process::id().to_le_bytes());
    content.extend(u32::from(has_steady_counter()).to_le_bytes());
    let command = std::env::args_os();
    let command: Vec<_> = command
        .map(|word| word.to_string_lossy().into_owned())
        .collect();
    put_text(&mut content, &command.join(" "));
    content
}

/// What there is to know of a track, before its events.
fn head(track: &TraceTrack) -> Vec<u8> {
    let mut head = Vec::new();
    head.extend(u32::from(track.cluster.is_some()).to_le_bytes());
    head.extend(track.number.to_le_bytes());
    head.extend(
        u32::try_from(track.processor)
            .unwrap_or(u32::MAX)
            .to_le_bytes(),
    );
    head.extend(track.thread.unsigned_abs().to_le_bytes());
    head.extend(track.copied.lost.to_le_bytes());
    head.extend(track.dropped.to_le_bytes());
    put_text(&mut head, track.cluster.as_deref().unwrap_or_default());
    head
}

/// Writes events, some hundreds at a time.
fn write_events(output: &mut dyn Write, events: &[[u64; 2]]) -> io::Result<()> {
    let mut bytes = Vec::new();
    for some in events.chunks(4096) {
        bytes.clear();
        bytes.extend(
            some.as_flattened()
                .iter()
                .flat_map(|word| word.to_le_bytes()),
        );
        output.write_all(&bytes)?;
    }
    Ok(())
}

/// Appends a text.
fn put_text(content: &mut Vec<u8>, text: &str) {
    let length = u32::try_from(text.len()).unwrap_or(u32::MAX);
    content.extend(length.to_le_bytes());
    content.extend(text.bytes().take(length as usize));
}
