//! The call.

use crate::descriptors::with_own_descriptors;
use crate::form::{json, text, tree};
use crate::gather::gather_of;
use crate::report::Report;
use crate::stack::modules::Modules;
use fibre_core::internal::aside;
use fibre_core::{WaitKind, WaitObject, in_fibre, is_forked_child};
use std::io::{self, Write};
use std::time::Instant;

/// The form of a dump.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Format {
    /// Text, for people; without the runtime's own frames.
    #[default]
    Text,
    /// One JSON object in one line, for programs; with all frames.
    Json,
    /// Text, for people: each fibre below the one that has spawned it, if that is noted
    /// (`FIBRE_PARENTS`), and the groups that are cancelled together. Without stacks.
    Tree,
}

/// Writes all started fibres of the process: what each does or waits for, who holds that, and its
/// stack, with the names of functions. Fibres with equal stacks are reported together. `kill -QUIT`
/// writes the same.
///
/// One cluster after the other stands still while the dump looks at its fibres: some microseconds
/// for each fibre, and up to 20 ms, rarely 40, if some fibre does not switch. The stack of a
/// running fibre comes from its thread, which the dump asks with SIGPROF unless the thread is in a
/// system call. A call that the kernel does not restart after a signal (`nanosleep`, `poll`) may
/// then end with EINTR. The dump reads symbols when all clusters go on again, and writes the text
/// last.
///
/// Blocks the fibre, or the thread if the caller is not a fibre; writing blocks as the writer does.
/// It waits for no lock of the program, and for none of the runtime longer than 2 s: the dump says
/// what it could not read. It finds the times of waits and the holders of mutexes as
/// [`waits`](fibre_core::waits) does.
///
/// ```
/// use fibre::Format;
///
/// let sleeper = fibre::spawn(|| fibre::sleep(std::time::Duration::from_secs(3600)));
/// let mut text = Vec::new();
/// while !String::from_utf8_lossy(&text).contains("waits for time to pass") {
///     text.clear();
///     fibre::dump(&mut text, Format::Text)?;
/// }
/// drop(sleeper);
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// # Errors
///
/// The writer's; [`Unsupported`](io::ErrorKind::Unsupported) in a forked child; and if a fibre
/// calls and no thread can be started to look.
#[doc(alias("backtrace", "goroutine", "jstack"))]
pub fn dump(output: &mut impl Write, format: Format) -> io::Result<()> {
    let (content, _) = content(format)?;
    output.write_all(content.as_bytes())?;
    output.flush()
}

/// The text of [`dump`], and the number of fibres. For layers above. Blocks as that does, except
/// for the writing.
///
/// # Errors
///
/// As [`dump`], except the writer's.
pub fn content(format: Format) -> io::Result<(String, usize)> {
    if is_forked_child() {
        return Err(io::ErrorKind::Unsupported.into());
    }
    if !in_fibre() {
        return Ok(with_own_descriptors(move || make(format)));
    }
    // A fibre cannot let its own processor stand still, so a thread looks while it waits.
    let awaited = WaitObject::placeless(WaitKind::Other);
    let made = aside("fibre-dump", awaited, move || {
        with_own_descriptors(move || make(format))
    });
    made.ok_or(io::ErrorKind::OutOfMemory.into())
}

/// The text of [`dump`] with the fibres of the clusters with this name only. For layers above.
/// Blocks the thread, which must be no fibre's.
#[must_use]
pub fn content_of(cluster: &str) -> String {
    with_own_descriptors(|| make_of(Format::Text, Some(cluster))).0
}

/// The content of a dump, and how many fibres there are. Blocks the thread, which must be no
/// fibre's.
pub(crate) fn make(format: Format) -> (String, usize) {
    make_of(format, None)
}

/// The same, of all clusters with this name if there is one.
fn make_of(format: Format, cluster: Option<&str>) -> (String, usize) {
    let begun = Instant::now();
    let modules = Modules::read();
    let found = gather_of(&modules, cluster);
    let fibres = found.fibres.len() + found.omitted;
    let mut report = Report::new(found, &modules, begun);
    let mut content = String::new();
    // Writing to a string does not fail.
    let _ = match format {
        Format::Text => text::write(&mut report, &mut content),
        Format::Json => json::write(&mut report, &mut content),
        Format::Tree => tree::write(&report, &mut content),
    };
    (content, fibres)
}
