//! Fibres with their program, result and bookkeeping in a layer above. Another language's thread
//! library builds on these.
//!
//! Such a fibre is one allocation, like all fibres. Besides its control block it holds two
//! pointers: the *program*, two functions that all fibres of that layer share; and the fibre's own
//! *data*, which the layer above gets from [`embedded`] while the fibre runs.
//!
//! Unlike a [`JoinHandle`](crate::JoinHandle), an [`EmbeddedFibre`] may be shared: the layer above
//! decides which threads may wait for a fibre, and how long others may cancel it.

use crate::api::spawn::Builder;
use crate::cluster::{Cluster, try_caller_place};
use crate::fibre::{Attributes, Body, ControlBlock, FibreRef, Viewer};
use crate::park::scoped::inherit;
use crate::park::{Wait, Waiter};
use crate::processor::running;
use crate::spawn::body::FibreBody;
use crate::spawn::ending::end_thread;
use crate::spawn::task::{SpawnError, SpawnTarget};
use crate::stack::StackError;
use crate::wait::completion::Finished;
use crate::wait::limit::Limit;
use crate::wait::waiter::Outcome;
use std::cell::Cell;
use std::fmt;
use std::io;
use std::ptr::{self, NonNull};

/// What all fibres of a layer above have in common.
#[derive(Debug)]
pub struct Program {
    /// Runs a fibre with this data, on its stack. Returns when it ends; its fibre-local values are
    /// ended after that.
    pub run: unsafe fn(*const ()),
    /// Called with the data of a fibre that ends after [`EmbeddedFibre::detach`], as the last thing
    /// the fibre does.
    pub ended: unsafe fn(*const ()),
    /// Called with the data of a fibre that will never run, as there is no stack for it; before its
    /// end can be seen, on a kernel thread.
    pub failed: unsafe fn(*const (), StackError),
    /// Describes a fibre with an overrun stack, given the fibre's data. In a signal handler: it
    /// must be async-signal-safe.
    pub describe: unsafe fn(*const (), Viewer<'_>),
    /// Where debuggers find a fibre's name.
    pub name: NamePlace,
}

/// Where in the data of a fibre its name lies, which a zero ends if it is shorter; for debuggers.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct NamePlace {
    /// Bytes from the data on.
    pub offset: u32,
    /// The most bytes that the name has; zero: there is none.
    pub length: u32,
}

/// The allocation of an embedded fibre.
#[repr(C)]
pub(crate) struct Embedded {
    /// Comes first: a pointer to it is a pointer to the whole.
    block: ControlBlock,
    /// The program that it runs.
    pub(crate) program: &'static Program,
    /// The data of the layer above.
    pub(crate) data: *const (),
    /// How the fibre ended. The fibre's until it finishes, then the handle's.
    ending: Cell<Ending>,
}

/// How a fibre ended that was made by [`Builder::embed`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// It returned by itself.
    Returned,
    /// It never ran: there was no stack for it.
    NoStack(StackError),
    /// It will never run again: its cluster has left it behind when it was stopped.
    Abandoned,
}

/// The functions of embedded fibres, at one place: by that they are told from others.
pub(crate) static BODY: Body = Embedded::BODY;

/// The calling fibre's data; null outside an embedded fibre, one made by [`Builder::embed`].
#[inline]
#[must_use]
pub fn embedded() -> *const () {
    running()
        .and_then(whole)
        .map_or(ptr::null(), |(_, data)| data)
}

/// The same; null also in a fibre that runs another program.
///
/// ```
/// # use fibre_core::internal::{NamePlace, Program, embedded_in};
/// static PROGRAM: Program = Program {
///     run: |_| (),
///     ended: |_| (),
///     failed: |_, _| (),
///     describe: |_, _| (),
///     name: NamePlace { offset: 0, length: 0 },
/// };
/// assert!(embedded_in(&PROGRAM).is_null());
/// ```
#[inline]
#[must_use]
pub fn embedded_in(program: &'static Program) -> *const () {
    let found = running().and_then(whole);
    let own = found.filter(|(runs, _)| ptr::eq(*runs, program));
    own.map_or(ptr::null(), |(_, data)| data)
}

/// The program and the data of an embedded fibre, the calling one.
#[inline]
fn whole(fibre: FibreRef) -> Option<(&'static Program, *const ())> {
    // SAFETY: the calling fibre; fibres with this body are of this type.
    unsafe {
        ptr::eq(fibre.as_ref().body(), &raw const BODY).then(|| {
            let fibre = fibre.cast::<Embedded>();
            (fibre.as_ref().program, fibre.as_ref().data)
        })
    }
}

impl Builder {
    /// Spawns a fibre that runs a program of a layer above, in `cluster`, or else in the caller's.
    /// `receive` gets the fibre before that can run.
    ///
    /// # Errors
    ///
    /// As [`spawn`](Self::spawn); `receive` has not been called, and the data is the caller's.
    ///
    /// # Safety
    ///
    /// The functions of the program may be called with the data, on any thread, and do not unwind.
    pub unsafe fn embed(
        self,
        cluster: Option<&Cluster>,
        program: &'static Program,
        data: *const (),
        receive: impl FnOnce(EmbeddedFibre),
    ) -> io::Result<()> {
        let attributes = self.fallible();
        let begin = |place: &SpawnTarget<'_>| {
            place.check(&attributes)?;
            // SAFETY: passed on.
            Ok(unsafe { launch(place, attributes, program, data, receive) }?)
        };
        match cluster {
            None => try_caller_place(begin)?,
            Some(cluster) => cluster.with_place(begin)?,
        }
    }
}

/// A fibre that runs a program of a layer above, made by [`Builder::embed`]. Dropping it changes
/// nothing for the fibre.
pub struct EmbeddedFibre(FibreRef);

// SAFETY: it gives access to atomic words, to the fibre's number, and, after its end, to how it
// ended.
unsafe impl Send for EmbeddedFibre {}
// SAFETY: the same holds for shared references.
unsafe impl Sync for EmbeddedFibre {}

impl EmbeddedFibre {
    /// The fibre's allocation, which our reference keeps alive.
    fn whole(&self) -> &Embedded {
        // SAFETY: only fibres of this type have such handles.
        unsafe { self.0.cast().as_ref() }
    }

    /// How the fibre ended; `None` if it has not.
    #[inline]
    #[must_use]
    pub fn ending(&self) -> Option<Ending> {
        let fibre = self.whole();
        let ended = fibre.block.completion.is_done();
        ended.then(|| fibre.ending.get())
    }

    /// Waits for the fibre's end, within a limit, and returns how it ended; `None` if it has not by
    /// then, or if the caller was cancelled before. Blocks the fibre, or the thread if the caller
    /// is not a fibre.
    ///
    /// # Safety
    ///
    /// There is one such wait at a time, the fibre has not been detached, and the caller is another
    /// fibre.
    #[inline(always)]
    pub unsafe fn wait(&self, limit: Limit) -> Option<Ending> {
        let ended = self.ending();
        if ended.is_some() {
            return ended;
        }
        let (awaited, completion) = {
            let block = &self.whole().block;
            (block.awaited_end(), &block.completion)
        };
        if limit == Limit::None {
            let publish = |waiter: &Waiter, _| completion.publish(waiter);
            // SAFETY: a completion takes its waiter out before it claims it.
            let _ = unsafe { Wait::closed(awaited).park(publish, |_| {}) };
        } else {
            let publish = |waiter: &Waiter, _| completion.publish_limited(waiter);
            let withdraw = |waiter: &Waiter| completion.withdraw(waiter);
            // SAFETY: the same, or when it is withdrawn.
            let outcome = unsafe { Wait::new(awaited, limit).park(publish, withdraw) };
            if outcome == Outcome::Cancelled {
                return None;
            }
        }
        self.ending()
    }

    /// Says that nobody will ask for the fibre's end: its program's `ended` is called then.
    /// `false`: the fibre has ended, and `ended` will not be called. To be called once.
    #[must_use]
    pub fn detach(&self) -> bool {
        self.whole().block.completion.detach()
    }

    /// Cancels the fibre, as [`JoinHandle::cancel`](crate::JoinHandle::cancel).
    pub fn cancel(&self) {
        // SAFETY: we have a reference.
        unsafe { ControlBlock::cancel(self.0) };
    }

    /// Whether the fibre has been cancelled, be it in a shield or not.
    #[inline]
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.whole().block.state.is_cancelled()
    }

    /// The fibre's number: unique in the process, never reused.
    #[must_use]
    pub fn id(&self) -> u64 {
        self.whole().block.id()
    }

    /// The name that it was spawned with.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        self.whole().block.attributes.name()
    }
}

impl fmt::Debug for EmbeddedFibre {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EmbeddedFibre")
            .field("id", &self.id())
            .field("name", &self.name())
            .finish_non_exhaustive()
    }
}

impl Drop for EmbeddedFibre {
    fn drop(&mut self) {
        // SAFETY: our reference. There is no closure and no result.
        unsafe { ControlBlock::release(self.0) };
    }
}

/// Makes the fibre, for [`Builder::embed`].
unsafe fn launch(
    place: &SpawnTarget<'_>,
    attributes: Attributes,
    program: &'static Program,
    data: *const (),
    receive: impl FnOnce(EmbeddedFibre),
) -> std::result::Result<(), SpawnError> {
    let admitted = place.admit::<Embedded>(&attributes)?;
    let task = admitted.fill(|id, reserved| Embedded {
        block: ControlBlock::new(&BODY, attributes, id, reserved),
        program,
        data,
        ending: Cell::new(Ending::Returned),
    });
    let fibre: FibreRef = task.cast();
    // SAFETY: the fibre is new, and ends only once it has been placed; the second reference is
    // the handle's. Nobody else has the runnable.
    let runnable = unsafe {
        inherit(fibre.as_ref());
        ControlBlock::join_group(fibre);
        receive(EmbeddedFibre(fibre));
        ControlBlock::runnable(fibre)
    };
    place.put(runnable);
    Ok(())
}

// SAFETY: `repr(C)`, and the block comes first. The data and the ending are the running fibre's
// until it finishes; the functions may be called with the data, as was promised to `embed`.
unsafe impl FibreBody for Embedded {
    const UNWINDS: bool = false;

    unsafe fn run(this: NonNull<Self>) {
        // SAFETY: the runtime's reference keeps it alive until its stack is left.
        let fibre = unsafe { this.as_ref() };
        // SAFETY: the promise made to `embed`.
        unsafe { (fibre.program.run)(fibre.data) };
        end_thread("the end of a fibre");
        fibre.block.locals.end();
        fibre.finish();
    }

    unsafe fn fail(this: NonNull<Self>, error: StackError) {
        // SAFETY: the runtime's reference keeps it alive.
        let fibre = unsafe { this.as_ref() };
        // SAFETY: the promise made to `embed`.
        unsafe { (fibre.program.failed)(fibre.data, error) };
        fibre.ending.set(Ending::NoStack(error));
        fibre.finish();
    }

    unsafe fn abandon(this: NonNull<Self>) {
        // SAFETY: the runtime's reference, which is never given up.
        let fibre = unsafe { this.as_ref() };
        if !fibre.block.completion.is_done() {
            fibre.ending.set(Ending::Abandoned);
            // The frames of an abandoned fibre stay, and so does its data.
            let _ = fibre.block.completion.finish::<ControlBlock>();
        }
    }

    unsafe fn drop_result(this: NonNull<Self>) {
        // SAFETY: the caller has a reference.
        unsafe { this.as_ref() }.tell_ended();
    }

    unsafe fn describe(this: NonNull<Self>, tell: Viewer<'_>) {
        // SAFETY: the fibre is on its stack, hence is there.
        let fibre = unsafe { this.as_ref() };
        // SAFETY: the promise made to `embed`.
        unsafe { (fibre.program.describe)(fibre.data, tell) };
    }
}

impl Embedded {
    /// Tells the waiter, or else the layer above.
    fn finish(&self) {
        if self.block.completion.finish::<ControlBlock>() == Finished::Unwanted {
            self.tell_ended();
        }
    }

    /// Tells the layer above that the fibre has ended, for whose end nobody asks.
    fn tell_ended(&self) {
        // SAFETY: the promise made to `embed`.
        unsafe { (self.program.ended)(self.data) };
    }
}
