//! The stack of a thread that runs a fibre, in a line.

use super::line;
use crate::gather::stack_of;
use crate::stack::memory;
use crate::stack::modules::Modules;
use crate::stack::unwind::{End, Walker};
use crate::symbols::Symbols;

/// How often the code of the process is read anew at most.
const READINGS: u32 = 16;

/// What is needed to name the functions of a stack.
struct Code {
    walker: Walker<'static>,
    symbols: Symbols<'static>,
}

impl Code {
    /// Reads it; it serves for as long as the process lives.
    fn read() -> Self {
        let modules: &'static Modules = Box::leak(Box::new(Modules::read()));
        Self {
            walker: Walker::new(modules),
            symbols: Symbols::new(modules),
        }
    }
}

/// Walks stacks, and names their functions.
#[derive(Default)]
pub(super) struct Stacks {
    /// Read when it is first needed.
    code: Option<Code>,
    /// How often that was read.
    readings: u32,
}

impl Stacks {
    /// Reads the code of the process, and what names the functions of the program: the first line
    /// is not to wait for that.
    pub(super) fn prepare(&mut self) {
        let code = self.code.get_or_insert_with(|| {
            self.readings += 1;
            Code::read()
        });
        let _ = code
            .symbols
            .look_up(Self::prepare as *const () as usize, false);
    }

    /// The stack of a thread, in a line.
    pub(super) fn of(&mut self, thread: i32, root: Option<usize>) -> line::Line {
        memory::prepare();
        let mut fresh = false;
        loop {
            if self.code.is_none() {
                self.code = Some(Code::read());
                self.readings += 1;
                fresh = true;
            }
            let Some(code) = &mut self.code else {
                unreachable!("made above")
            };
            let (frames, end) = stack_of(&mut code.walker, thread, root);
            let unknown = matches!(end, End::NoTable(_));
            if unknown && !fresh && self.readings < READINGS {
                // It may be that of a library that has been loaded since.
                self.code = None;
                continue;
            }
            return line::of(&frames, end, &mut code.symbols);
        }
    }
}
