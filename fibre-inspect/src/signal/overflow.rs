//! Where a fibre has used up its stack.
//!
//! The fault handler may take no lock and no memory. So it hands the registers to the thread
//! `fibre-dump`, which walks the stack and names the functions, and waits up to [`TIMEOUT`] for
//! that. If there is no such thread, or it hangs, the handler itself says where the instruction
//! lies: the name of its file, and the address there. Then the process ends.

use crate::arch::{SAMPLED, code_of, sampled};
use crate::descriptors::with_own_descriptors;
use crate::form::text;
use crate::gather::walk_up;
use crate::notifier::Notifier;
use crate::output::write_error;
use crate::sample::{Sample, copy_of};
use crate::stack::memory;
use crate::stack::modules::{Mapping, Modules};
use crate::stack::unwind::{End, Frame, Walker};
use crate::symbols::Symbols;
use fibre_core::internal::on_stack_overflow;
use fibre_core::is_forked_child;
use rustix::thread::futex;
use std::fmt::Write as _;
use std::io::Write as _;
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

/// How long the handler waits for the names.
const TIMEOUT: Duration = Duration::from_secs(10);

/// The most lines that are written.
const LINES: usize = 24;

/// The most functions that call each other in turn and are written once.
const MAX_TURN: usize = 8;

/// Nobody has asked.
const IDLE: u32 = 0;
/// A handler writes the registers.
const CLAIMED: u32 = 1;
/// The registers are there.
const ASKED: u32 = 2;
/// The answer is being written.
const TAKEN: u32 = 3;
/// The answer has been written.
const DONE: u32 = 4;
/// The handler waits no longer.
const GIVEN_UP: u32 = 5;

/// How far it is: one of the above. It never goes back, as the process ends.
static STATE: AtomicU32 = AtomicU32::new(IDLE);

/// The registers, as [`SAMPLED`] lists them.
static VALUES: [AtomicU64; SAMPLED.len()] = [const { AtomicU64::new(0) }; SAMPLED.len()];

/// The notifier of the thread that answers; null: there is none.
static NOTIFIER: AtomicPtr<Notifier> = AtomicPtr::new(ptr::null_mut());

/// Has overflows told with their place, at least by an address. May be called before `main`.
pub(crate) fn begin() {
    on_stack_overflow(tell);
}

/// Reports them with names: whoever sleeps on the notifier [answers](answer).
pub(crate) fn begin_to_answer(notifier: &'static Notifier) {
    NOTIFIER.store(ptr::from_ref(notifier).cast_mut(), Ordering::Release);
}

/// Tells where the context of a fault is. Blocks the thread. Async-signal-safe.
fn tell(context: &libc::ucontext_t) {
    // SAFETY: the notifier stays for ever.
    let notifier = unsafe { NOTIFIER.load(Ordering::Acquire).as_ref() };
    let notifier = notifier.filter(|_| !is_forked_child());
    let is_first = || advance(IDLE, CLAIMED);
    match notifier {
        Some(notifier) if is_first() => {
            for ((_, place), value) in SAMPLED.into_iter().zip(&VALUES) {
                value.store(sampled(context, place) as u64, Ordering::Relaxed);
            }
            STATE.store(ASKED, Ordering::Release);
            notifier.ring();
            if await_answer() {
                return;
            }
        }
        // Another thread's stack has been used up at the same time, and the process is to end when
        // that has been told.
        Some(_) => {
            let _ = await_answer();
        }
        None => {}
    }
    tell_address(code_of(context));
}

/// Whether the state was `from`, and is `to` now.
fn advance(from: u32, to: u32) -> bool {
    let moved = STATE.compare_exchange(from, to, Ordering::Acquire, Ordering::Relaxed);
    moved.is_ok()
}

/// Waits for the answer; whether there is one. If not, none will be written any more.
fn await_answer() -> bool {
    for _ in 0..TIMEOUT.as_secs() {
        let now = STATE.load(Ordering::Acquire);
        if now == DONE {
            return true;
        }
        let second = rustix::time::Timespec {
            tv_sec: 1,
            tv_nsec: 0,
        };
        let _ = futex::wait(&STATE, futex::Flags::PRIVATE, now, Some(&second));
    }
    !advance(ASKED, GIVEN_UP) && STATE.load(Ordering::Acquire) != CLAIMED
}

/// Answers, if a handler has asked; whether one has. Blocks the thread.
pub(crate) fn answer() -> bool {
    if STATE.load(Ordering::Acquire) != ASKED {
        return false;
    }
    let text = with_own_descriptors(describe);
    if advance(ASKED, TAKEN) {
        write_error(&text);
        STATE.store(DONE, Ordering::Release);
        let _ = futex::wake(&STATE, futex::Flags::PRIVATE, u32::MAX);
    }
    true
}

/// The stack that was used up, in words.
fn describe() -> String {
    let mut frame = Frame::new(0, 0);
    for ((register, _), value) in SAMPLED.into_iter().zip(&VALUES) {
        frame.set(register, Some(value.load(Ordering::Relaxed) as usize));
    }
    memory::prepare();
    let modules = Modules::read();
    let mut walker = Walker::new(&modules);
    let stack = copy_of(frame.stack());
    let (frames, end) = walk_up(&mut walker, &Sample { frame, stack }, None);
    let mut symbols = Symbols::new(&modules);
    let mut lines = Vec::new();
    for (depth, address) in frames.into_iter().enumerate() {
        let code = symbols.look_up(address, depth > 0);
        for at in 0..code.functions.len() {
            let mut line = String::new();
            // A string takes it.
            let _ = text::write_function(address, &code, at, &mut line);
            lines.push(line);
        }
    }
    let mut text = String::from("fibre: the innermost calls:\n");
    let written = write_lines(&lines, &mut text);
    if written < lines.len() || end == End::TooDeep {
        text.push_str("    …\n");
    }
    text
}

/// Writes lines, those that come in turn once; returns how many of them that stands for.
fn write_lines(lines: &[String], out: &mut String) -> usize {
    let (mut at, mut written) = (0, 0);
    while at < lines.len() && written < LINES {
        let rest = &lines[at..];
        let turns = |length: usize| {
            let next = |turn: &usize| {
                let turn = turn * length;
                rest.get(turn..turn + length) == Some(&rest[..length])
            };
            (1..).take_while(next).count()
        };
        let lengths = 1..=MAX_TURN.min(rest.len());
        let longest = lengths.map(|length| (length, turns(length)));
        let found = longest.clone().find(|(_, more)| *more > 1);
        let (length, more) = found.unwrap_or((1, 0));
        for line in &rest[..length] {
            let _ = writeln!(out, "    {line}");
        }
        if more > 0 {
            let again = if length == 1 { "that" } else { "these" };
            let _ = writeln!(out, "    … {again} {more} times more");
        }
        at += length * (more + 1);
        written += length + usize::from(more > 0);
    }
    at
}

/// Says where an instruction lies, without memory or locks.
fn tell_address(code: usize) {
    let mut text = [0; 512];
    let mut rest = &mut text[..];
    let _ = write!(rest, "fibre: the innermost call: {code:#x}");
    with_mapping(code, &mut |path, offset| {
        let file = path.rsplit('/').next().unwrap_or(path);
        let _ = write!(rest, " in {file}+{offset:#x}");
    });
    let _ = rest.write_all(b"\n");
    let unused = rest.len();
    let length = text.len() - unused;
    // SAFETY: a plain write of initialised bytes.
    unsafe { libc::write(2, text.as_ptr().cast(), length) };
}

/// Hands over the name of the file that has the instruction, and the address there. Without memory
/// or locks.
fn with_mapping(code: usize, found: &mut dyn FnMut(&str, usize)) {
    let path = c"/proc/self/maps".as_ptr();
    // SAFETY: a path that ends with a zero. If no descriptor is free the thread, which is about to
    // end with the process, forgets the others' table.
    let file = unsafe {
        let flags = libc::O_RDONLY | libc::O_CLOEXEC;
        let file = libc::open(path, flags);
        if file < 0 && crate::descriptors::leave_descriptors() {
            libc::open(path, flags)
        } else {
            file
        }
    };
    if file < 0 {
        return;
    }
    let (mut line, mut length, mut begin) = ([0_u8; 512], 0, 0);
    let mut piece = [0_u8; 512];
    loop {
        // SAFETY: room for so many bytes.
        let read = unsafe { libc::read(file, piece.as_mut_ptr().cast(), piece.len()) };
        let Ok(read @ 1..) = usize::try_from(read) else {
            return;
        };
        for byte in &piece[..read] {
            if *byte != b'\n' {
                // What a line has too much of is the end of a name.
                if length < line.len() {
                    line[length] = *byte;
                    length += 1;
                }
                continue;
            }
            let text = std::str::from_utf8(&line[..length]).unwrap_or_default();
            length = 0;
            let Some(mapping) = Mapping::parse(text) else {
                continue;
            };
            if mapping.offset == 0 {
                begin = mapping.addresses.start;
            }
            if mapping.addresses.contains(&code) {
                return found(mapping.path, code - bias(begin));
            }
        }
    }
}

/// The distance of the addresses of a file that begins there from those that it has itself.
fn bias(begin: usize) -> usize {
    /// Where a file says what it is: a program that lies where it is linked to, or not.
    const KIND: usize = 16;
    let mut kind = [0; 2];
    let is_fixed = memory::read(begin + KIND, &mut kind) == 2 && u16::from_le_bytes(kind) == 2;
    if is_fixed { 0 } else { begin }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is written of calls that are named by letters, the spaces left out.
    fn written(calls: &str) -> String {
        let lines: Vec<String> = calls.chars().map(String::from).collect();
        let mut text = String::new();
        let written = write_lines(&lines, &mut text);
        assert!(written <= lines.len());
        text.lines().map(str::trim).collect::<Vec<_>>().join(",")
    }

    #[test]
    fn calls_in_turn_are_written_once() {
        assert_eq!(written("abc"), "a,b,c");
        assert_eq!(written("aaaab"), "a,… that 3 times more,b");
        assert_eq!(written("xababababc"), "x,a,b,… these 3 times more,c");
        assert_eq!(written("abcabcabc"), "a,b,c,… these 2 times more");
        assert_eq!(written(""), "");
    }

    #[test]
    fn an_instruction_has_a_file_and_an_address_there() {
        let code = an_instruction_has_a_file_and_an_address_there as *const () as usize;
        let mut seen = None;
        with_mapping(code, &mut |path, offset| {
            seen = Some((path.to_owned(), offset))
        });
        let modules = Modules::read();
        let module = &modules.all[modules.find(code).unwrap()];
        assert_eq!(seen, Some((module.path.clone(), code - module.bias)));
    }
}
