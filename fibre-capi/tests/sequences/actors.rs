//! The callers: fibres of the library, and threads that are none.

use fibre_capi::join::fibre_join;
use fibre_capi::thread::{fibre_create, fibre_self};
use fibre_sync::channel::{self, Receiver, Sender};
use std::ffi::c_void;
use std::ptr;
use std::sync::Arc;
use std::thread;

/// How many actors there are; every other one is a fibre.
pub const ACTORS: usize = 4;

/// Something to be done by an actor.
type Job = Box<dyn FnOnce() + Send>;

/// A fibre or thread that does jobs.
struct Actor {
    jobs: Sender<Job>,
    /// Its handle.
    handle: u64,
    /// The thread, if the actor is a plain one.
    thread: Option<thread::JoinHandle<()>>,
}

/// The actors of a test.
pub struct Crew(Vec<Actor>);

impl Crew {
    /// They wait for jobs.
    pub fn new() -> Self {
        Self(
            (0..ACTORS)
                .map(|number| Actor::new(Self::is_fibre(number)))
                .collect(),
        )
    }

    /// Lets an actor do something, and waits for the result.
    pub fn on<R: Send + 'static>(
        &self,
        actor: usize,
        job: impl FnOnce() -> R + Send + 'static,
    ) -> R {
        let (done, result) = channel::bounded(1);
        let job = move || assert!(done.send(job()).is_ok());
        assert!(self.0[actor].jobs.send(Box::new(job)).is_ok());
        result.recv().unwrap()
    }

    /// The handle of an actor.
    pub fn handle(&self, actor: usize) -> u64 {
        self.0[actor].handle
    }

    /// Whether this actor is a fibre.
    pub fn is_fibre(actor: usize) -> bool {
        actor.is_multiple_of(2)
    }

    /// Ends them.
    pub fn dismiss(self) {
        for actor in self.0 {
            drop(actor.jobs);
            match actor.thread {
                Some(thread) => thread.join().unwrap(),
                // SAFETY: the result is not asked for.
                None => assert_eq!(unsafe { fibre_join(actor.handle, ptr::null_mut()) }, 0),
            }
        }
    }
}

impl Actor {
    /// A fibre or a thread.
    fn new(fibre: bool) -> Self {
        let (jobs, receiver) = channel::unbounded::<Job>();
        if !fibre {
            let (said, says) = std::sync::mpsc::channel();
            let thread = thread::spawn(move || {
                said.send(fibre_self()).unwrap();
                work(&receiver);
            });
            let handle = says.recv().unwrap();
            return Self {
                jobs,
                handle,
                thread: Some(thread),
            };
        }
        let mut handle = 0;
        let argument = Arc::into_raw(Arc::new(receiver)).cast_mut().cast();
        // SAFETY: the argument is what `start` takes.
        let created = unsafe { fibre_create(&raw mut handle, ptr::null(), Some(start), argument) };
        assert_eq!(created, 0);
        Self {
            jobs,
            handle,
            thread: None,
        }
    }
}

/// What a fibre does.
unsafe extern "C-unwind" fn start(argument: *mut c_void) -> *mut c_void {
    // SAFETY: made by `Actor::new`.
    let jobs = unsafe { Arc::from_raw(argument.cast::<Receiver<Job>>()) };
    work(&jobs);
    ptr::null_mut()
}

/// What all do.
fn work(jobs: &Receiver<Job>) {
    while let Ok(job) = jobs.recv() {
        job();
    }
}
