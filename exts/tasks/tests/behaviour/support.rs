//! What all tests of tasks share: their settings.

use fibre::sync::Event;
use fibre_tasks::{Acquisition, Shared, Task, Tasks};
use std::sync::Arc;
use std::time::{Duration, Instant};

#[path = "../../../../tests/support/random.rs"]
pub mod random;
#[path = "../../../../tests/support/watchdog.rs"]
#[allow(dead_code, reason = "a part is used")]
pub mod watchdog;

pub use random::Random;

/// Runs a test with tasks that wait in lines, on several numbers of processors, and stops them.
pub fn in_lines(test: impl Fn(&Tasks)) {
    for processors in [1, 2, 4] {
        run(processors, Acquisition::Lines, &test);
    }
}

/// [`in_lines`], and also with tasks that ask again and again.
pub fn everywhere(test: impl Fn(&Tasks)) {
    in_lines(&test);
    for processors in [1, 2] {
        run(processors, Acquisition::Requeue, &test);
    }
}

/// Runs a test in one setting.
pub fn run(processors: usize, acquisition: Acquisition, test: impl Fn(&Tasks)) {
    run_once(processors, acquisition, &test);
}

/// [`run`], compiled once, not for each test.
fn run_once(processors: usize, acquisition: Acquisition, test: &dyn Fn(&Tasks)) {
    let remark = format!(" with {processors} processors, {acquisition:?}");
    watchdog::watched_for(watchdog::LIMIT, &remark, || {
        let builder = Tasks::builder().processors(processors);
        let tasks = builder.acquisition(acquisition).build().unwrap();
        test(&tasks);
        tasks.stop();
    });
}

/// A task that has an object in full until it is told to end. It has it when this returns.
pub fn occupy<T: Send + Sync + 'static>(tasks: &Tasks, object: &Shared<T>) -> Occupant {
    let (begun, end) = (Arc::new(Event::new()), Arc::new(Event::new()));
    let (began, ended) = (Arc::clone(&begun), Arc::clone(&end));
    let task = tasks.task(object.full(), move |_object| {
        began.set();
        ended.wait();
    });
    begun.wait();
    Occupant { end, task }
}

/// See [`occupy`].
pub struct Occupant {
    end: Arc<Event>,
    task: Task<()>,
}

impl Occupant {
    /// Lets the object go.
    pub fn leave(self) {
        self.end.set();
        self.task.join().unwrap();
    }
}

/// Waits until something is true; fails if that takes very long.
#[track_caller]
pub fn eventually(condition: impl Fn() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(30);
    while !condition() {
        assert!(Instant::now() < deadline, "it has not come true");
        fibre::sleep(Duration::from_micros(200));
    }
}
