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

/// Walks stacks, and names their functions.
#[derive(Default)]
pub(super) struct Stacks {
    /// Read when it is first needed.
    code: Option<Code>,
    /// How often that was read.
    readings: u32,
}

impl Stacks {
    /// The stack of a thread, in a line.
    pub(super) fn of(&mut self, thread: i32, root: Option<usize>) -> line::Line {
        memory::prepare();
        let mut fresh = false;
        loop {
            if self.code.is_none() {
                // It serves for as long as the process lives.
                let modules: &'static Modules = Box::leak(Box::new(Modules::read()));
                self.code = Some(Code {
                    walker: Walker::new(modules),
                    symbols: Symbols::new(modules),
                });
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
