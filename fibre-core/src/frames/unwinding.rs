//! Whether a panic could come from the caller as far as a frame below.
//!
//! It could not if a frame in between aborts instead: one that runs a destructor because its stack
//! unwinds already, or that of a function that is called from C. The tables say so by which the
//! unwinder finds its way: for each call of a function, whether a panic passes, is caught, or is
//! refused. So this tells a fibre that unwinds from one whose kernel thread is panicking only
//! because another fibre unwinds.
//!
//! Source of the tables' form: "Exception Frames" of the Linux Standard Base, and
//! `gcc_except_table` as LLVM writes it.

use crate::frames::walk::{self, Frame};

/// How a number is written that is left out.
const OMITTED: u8 = 0xff;

/// Whether a panic could come from the caller as far as the frame that this address lies in.
/// `false` if that is not known.
#[cold]
#[inline(never)]
pub(crate) fn can_reach(place: usize) -> bool {
    let mut inner = usize::MAX;
    let reached = walk::first(|frame| {
        let here = frame.stack_pointer();
        // The frame before this one lies from its stack pointer up to this one's.
        if (inner..here).contains(&place) {
            return Some(true);
        }
        inner = here;
        (!lets_pass(frame)).then_some(false)
    });
    reached == Some(true)
}

/// Whether a panic passes the call that the frame is in, or is caught there. `false` if it aborts,
/// or the table is of an unknown form.
fn lets_pass(frame: &Frame) -> bool {
    let table = frame.language_data();
    // The address is that after the call, which may be the last instruction of its range.
    let offset = frame.address() - 1 - frame.function();
    // SAFETY: the table that the unwinder has for this function.
    table.is_null() || unsafe { action_at(Reader(table), offset) }.is_some_and(Action::passes)
}

/// What becomes of a panic at a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Action {
    /// It passes, with something to tidy up or nothing.
    Passes,
    /// It is caught.
    Catches,
    /// The process aborts.
    Refuses,
}

impl Action {
    /// Whether it does not abort.
    fn passes(self) -> bool {
        self != Self::Refuses
    }
}

/// Looks a call up, by its offset in its function. `None`: the table is of an unknown form.
///
/// # Safety
///
/// The reader is at the beginning of a function's table.
unsafe fn action_at(mut table: Reader, offset: usize) -> Option<Action> {
    // SAFETY: in the order in which a table has these.
    unsafe {
        if table.byte() != OMITTED {
            return None;
        }
        if table.byte() != OMITTED {
            // The length of all, up to the types.
            table.number();
        }
        let encoding = table.byte();
        let length = table.number();
        let actions = Reader(table.0.wrapping_add(length));
        while table.0 < actions.0 {
            let begin = table.encoded(encoding)?;
            let size = table.encoded(encoding)?;
            let pad = table.encoded(encoding)?;
            let action = table.number();
            if offset < begin {
                break;
            }
            if offset - begin < size {
                return Some(match (pad, action) {
                    (0, _) | (_, 0) => Action::Passes,
                    _ => Reader(actions.0.wrapping_add(action - 1)).action(),
                });
            }
        }
    }
    // A call that has no entry does not unwind.
    Some(Action::Refuses)
}

/// A place in a table.
struct Reader(*const u8);

impl Reader {
    /// Reads a byte.
    ///
    /// # Safety
    ///
    /// There is one; here and below.
    unsafe fn byte(&mut self) -> u8 {
        // SAFETY: the caller's promise.
        let byte = unsafe { self.0.read() };
        self.0 = self.0.wrapping_add(1);
        byte
    }

    /// Reads a number of any length (ULEB128).
    unsafe fn number(&mut self) -> usize {
        let (mut number, mut shift) = (0, 0);
        loop {
            // SAFETY: the caller's promise.
            let byte = unsafe { self.byte() };
            number |= usize::from(byte & 0x7f).checked_shl(shift).unwrap_or(0);
            shift += 7;
            if byte & 0x80 == 0 {
                return number;
            }
        }
    }

    /// Reads a number that is written so; `None` if that is unknown.
    unsafe fn encoded(&mut self, encoding: u8) -> Option<usize> {
        let bytes = match encoding {
            // SAFETY: the caller's promise.
            0x01 => return Some(unsafe { self.number() }),
            0x02 => 2,
            0x03 => 4,
            0x04 => 8,
            _ => return None,
        };
        // SAFETY: the caller's promise.
        let byte = |place: u32| usize::from(unsafe { self.byte() }) << (8 * place);
        Some((0..bytes).map(byte).sum())
    }

    /// Reads the first part of what is done about a panic: the number of a type (SLEB128), whose
    /// sign is what counts. Types are few, so a number has one byte; longer ones are seen by their
    /// last.
    unsafe fn action(&mut self) -> Action {
        loop {
            // SAFETY: the caller's promise.
            let byte = unsafe { self.byte() };
            match byte {
                0 => return Action::Passes,
                0x01..0x40 => return Action::Catches,
                0x40..0x80 => return Action::Refuses,
                _ => {}
            }
        }
    }
}
