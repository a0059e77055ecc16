//! Walking up a stack that does not run, by the unwind tables of its code.
//!
//! `gimli` reads the tables; the walk uses nothing else. Guesses, such as frame pointers, would go
//! on beyond the tables, and show callers that never called: so a walk ends there, and says so. The
//! walk allocates nothing once the walker is made.

use crate::arch::{CODE, KEPT, REGISTERS, RETURN, STACK, plain_address};
use crate::stack::modules::{Modules, Tables};
use gimli::{
    CfaRule, EhFrame, EhFrameHdr, Encoding, EndianSlice, Evaluation, EvaluationResult,
    EvaluationStorage, Format, Location, NativeEndian, ParsedEhFrameHdr, Piece, Register,
    RegisterRule, UnwindContext, UnwindExpression, UnwindSection, Value,
};
use std::collections::HashMap;

/// The most frames of a walk.
pub(crate) const DEEPEST: usize = 192;

/// The most rules that are remembered.
const REMEMBERED: usize = 16384;

/// Why a walk ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum End {
    /// The first frame of the fibre was reached.
    Entry,
    /// The first frame of a thread was reached.
    Thread,
    /// The code at this address has no unwind table.
    NoTable(usize),
    /// A table needs memory at this address, which is not on the stack.
    Unreadable(usize),
    /// A table needs an unknown register.
    NoRegister(u16),
    /// A frame is not above the one that it has called.
    Astray,
    /// There are more frames than a walk has.
    TooDeep,
    /// There was no room left for it.
    NoRoom,
    /// Why the stack could not be read.
    Missing(&'static str),
}

/// The registers of a frame, as far as they are known.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Frame([Option<usize>; REGISTERS]);

impl Frame {
    /// A frame without any known register.
    pub(crate) fn new(code: usize, stack: usize) -> Self {
        let mut frame = Self([None; REGISTERS]);
        frame.set(CODE, Some(code));
        frame.set(STACK, Some(stack));
        frame
    }

    /// Sets a register.
    pub(crate) fn set(&mut self, register: Register, value: Option<usize>) {
        if let Some(place) = self.0.get_mut(usize::from(register.0)) {
            *place = value;
        }
    }

    /// A register, if it is known.
    fn get(&self, register: Register) -> Option<usize> {
        *self.0.get(usize::from(register.0))?
    }

    /// A register that a table wants.
    fn want(&self, register: Register) -> Result<usize, End> {
        self.get(register).ok_or(End::NoRegister(register.0))
    }

    /// The address where the frame goes on.
    pub(crate) fn code(&self) -> usize {
        self.get(CODE).unwrap_or(0)
    }

    /// The lowest address that the frame uses.
    pub(crate) fn stack(&self) -> usize {
        self.get(STACK).unwrap_or(0)
    }
}

/// How a frame's value is found.
#[derive(Debug, Clone, Copy)]
enum Rule {
    /// As in the called frame.
    Same,
    /// It is not known.
    Lost,
    /// At this distance from the frame's address.
    At(i64),
    /// This distance from the frame's address.
    Is(i64),
    /// In a register.
    In(Register),
    /// At the address that this gives.
    AtResult(UnwindExpression<usize>),
    /// What this gives.
    Result(UnwindExpression<usize>),
}

/// What the tables say of an instruction: how to find its frame's caller.
#[derive(Debug, Clone, Copy)]
struct Row {
    /// The frame's address, by a register or a computation.
    cfa: Rule,
    /// The offset from that register.
    offset: i64,
    /// The registers that the function keeps, in the order of [`KEPT`].
    kept: [Rule; KEPT.len()],
    /// Whether the frame was interrupted: its code goes on with the instruction itself.
    interrupts: bool,
    /// The number of the module.
    module: usize,
}

/// Reads a word of the stack at an address, if it lies there.
pub(crate) type Reader<'r> = &'r dyn Fn(usize) -> Option<usize>;

/// Room for the few steps that programs in tables have; without an allocation.
struct Fixed;

impl<R: gimli::Reader> EvaluationStorage<R> for Fixed {
    type Stack = [Value; 16];
    type ExpressionStack = [(R, R); 1];
    type Result = [Piece<R>; 1];
}

type Slice<'m> = EndianSlice<'m, NativeEndian>;

/// The tables of a module, ready for look-ups.
struct Ready<'m> {
    index: ParsedEhFrameHdr<Slice<'m>>,
    frames: EhFrame<Slice<'m>>,
    tables: &'m Tables,
}

/// The most bytes between the root of a stack and the runtime's first frames.
const FIRST: usize = 4096;

/// Whether a frame is one of the runtime's first ones, right below the root of a stack.
fn is_first(stack: usize, root: usize) -> bool {
    root.checked_sub(stack)
        .is_some_and(|distance| distance <= FIRST)
}

/// What walks up stacks. Made before a standstill: it allocates then, and not later.
pub(crate) struct Walker<'m> {
    modules: &'m Modules,
    ready: Vec<Option<Ready<'m>>>,
    context: UnwindContext<usize>,
    rows: HashMap<(usize, bool), Option<Row>>,
}

impl<'m> Walker<'m> {
    /// A walker through the code of these modules.
    pub(crate) fn new(modules: &'m Modules) -> Self {
        let ready = |tables: &'m Tables| {
            let index = EhFrameHdr::new(&tables.index, NativeEndian);
            let index = index.parse(&tables.bases, 8).ok()?;
            let frames = EhFrame::new(&tables.frames, NativeEndian);
            Some(Ready {
                index,
                frames,
                tables,
            })
        };
        let all = modules
            .all
            .iter()
            .map(|module| module.tables.as_ref().and_then(ready));
        Self {
            modules,
            ready: all.collect(),
            context: UnwindContext::new(),
            rows: HashMap::with_capacity(REMEMBERED),
        }
    }

    /// Walks up from a frame that goes on at an instruction it has not executed, or, unless it was
    /// `interrupted`, behind its call. Calls `note` for each frame's address, the innermost first,
    /// until that returns `false`. The fibre's stack begins at `root`.
    pub(crate) fn walk(
        &mut self,
        mut frame: Frame,
        mut interrupted: bool,
        root: Option<usize>,
        read: Reader<'_>,
        mut note: impl FnMut(usize) -> bool,
    ) -> End {
        for _ in 0..DEEPEST {
            let code = frame.code();
            let is_first = root.is_some_and(|root| is_first(frame.stack(), root));
            if code == 0 {
                // A table has said that this frame has no caller: that of the first function on a
                // fibre's stack, or one of the C library's.
                return if is_first { End::Entry } else { End::Thread };
            }
            let Some(row) = self.row(code, interrupted) else {
                let _ = note(code);
                return End::NoTable(code);
            };
            if !note(code) {
                return End::NoRoom;
            }
            match self.caller(&frame, &row, read) {
                // A call on another stack may lead up or down. Only the innermost function may have
                // put nothing onto the stack, not even its return address.
                Ok(next)
                    if next.stack() < frame.stack() + usize::from(!interrupted)
                        && !row.interrupts =>
                {
                    return End::Astray;
                }
                Ok(next) => (frame, interrupted) = (next, row.interrupts),
                Err(end) => return end,
            }
        }
        End::TooDeep
    }

    /// What the tables say of an instruction.
    fn row(&mut self, code: usize, interrupted: bool) -> Option<Row> {
        let key = (code, interrupted);
        if let Some(known) = self.rows.get(&key) {
            return *known;
        }
        let row = self.look_up(code - usize::from(!interrupted));
        if self.rows.len() < REMEMBERED {
            self.rows.insert(key, row);
        }
        row
    }

    /// Asks the tables.
    fn look_up(&mut self, code: usize) -> Option<Row> {
        let module = self.modules.find(code)?;
        let Ready {
            index,
            frames,
            tables,
        } = self.ready.get(module)?.as_ref()?;
        let entry = index.table()?.fde_for_address(
            frames,
            &tables.bases,
            code as u64,
            EhFrame::cie_from_offset,
        );
        let entry = entry.ok().filter(|entry| entry.contains(code as u64))?;
        let row = entry
            .unwind_info_for_address(frames, &tables.bases, &mut self.context, code as u64)
            .ok()?;
        let (cfa, offset) = match row.cfa() {
            CfaRule::RegisterAndOffset { register, offset } => (Rule::In(*register), *offset),
            CfaRule::Expression(expression) => (Rule::Result(*expression), 0),
        };
        let rule = |register| match row.register(register) {
            Some(RegisterRule::Offset(offset)) => Rule::At(offset),
            Some(RegisterRule::ValOffset(offset)) => Rule::Is(offset),
            Some(RegisterRule::Register(register)) => Rule::In(register),
            Some(RegisterRule::Expression(expression)) => Rule::AtResult(expression),
            Some(RegisterRule::ValExpression(expression)) => Rule::Result(expression),
            Some(RegisterRule::Undefined) => Rule::Lost,
            // No rule: the function leaves it alone.
            _ => Rule::Same,
        };
        Some(Row {
            cfa,
            offset,
            kept: KEPT.map(rule),
            interrupts: entry.is_signal_trampoline(),
            module,
        })
    }

    /// The frame that has called this one.
    fn caller(&self, frame: &Frame, row: &Row, read: Reader<'_>) -> Result<Frame, End> {
        let cfa = match row.cfa {
            Rule::In(register) => frame
                .want(register)?
                .wrapping_add_signed(row.offset as isize),
            Rule::Result(expression) => self.evaluate(expression, row.module, None, frame, read)?,
            _ => return Err(End::Astray),
        };
        let word = |address| read(address).ok_or(End::Unreadable(address));
        let mut caller = Frame([None; REGISTERS]);
        caller.set(STACK, Some(cfa));
        for (register, rule) in KEPT.into_iter().zip(row.kept) {
            let result = |expression| self.evaluate(expression, row.module, Some(cfa), frame, read);
            let value = match rule {
                // A function that has lost its return address is the first one.
                Rule::Lost if register == RETURN => Some(0),
                // So is one that keeps none, where calls put that onto the stack. Where they leave
                // it in a register, it is there until the function calls another one.
                Rule::Same if register == RETURN && RETURN == CODE => Some(0),
                Rule::Same if register == RETURN => Some(frame.want(register)?),
                Rule::Same => frame.get(register),
                Rule::Lost => None,
                Rule::At(offset) => Some(word(cfa.wrapping_add_signed(offset as isize))?),
                Rule::Is(offset) => Some(cfa.wrapping_add_signed(offset as isize)),
                Rule::In(other) => frame.get(other),
                Rule::AtResult(expression) => Some(word(result(expression)?)?),
                Rule::Result(expression) => Some(result(expression)?),
            };
            caller.set(register, value);
            if register == RETURN {
                caller.set(CODE, value.map(plain_address));
            }
        }
        Ok(caller)
    }

    /// Computes what a table has as a program.
    fn evaluate(
        &self,
        expression: UnwindExpression<usize>,
        module: usize,
        initial: Option<usize>,
        frame: &Frame,
        read: Reader<'_>,
    ) -> Result<usize, End> {
        let Some(Some(ready)) = self.ready.get(module) else {
            return Err(End::Astray);
        };
        let encoding = Encoding {
            address_size: 8,
            format: Format::Dwarf32,
            version: 4,
        };
        let program = expression.get(&ready.frames).map_err(|_| End::Astray)?;
        let mut evaluation = Evaluation::<_, Fixed>::new_in(program.0, encoding);
        if let Some(initial) = initial {
            evaluation.set_initial_value(initial as u64);
        }
        let mut state = evaluation.evaluate().map_err(|_| End::Astray)?;
        loop {
            state = match state {
                EvaluationResult::Complete => break,
                EvaluationResult::RequiresRegister { register, .. } => {
                    let value = frame.want(register)?;
                    evaluation.resume_with_register(Value::Generic(value as u64))
                }
                EvaluationResult::RequiresMemory { address, .. } => {
                    let address = address as usize;
                    let value = read(address).ok_or(End::Unreadable(address))?;
                    evaluation.resume_with_memory(Value::Generic(value as u64))
                }
                _ => return Err(End::Astray),
            }
            .map_err(|_| End::Astray)?;
        }
        match evaluation.as_result().first().map(|piece| &piece.location) {
            Some(Location::Address { address }) => Ok(*address as usize),
            _ => Err(End::Astray),
        }
    }
}
