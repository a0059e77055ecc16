//! Models of how tasks come by permissions: each request is granted once, readers and writers keep
//! apart, overlapping requests do not deadlock, and no request is forgotten.
//!
//! Run by `cargo xtask loom`. A task is a thread, which waits until its request has been granted,
//! uses the objects, and gives them back.

use fibre_core::model::{Shared, Watched, check, finds_planted};
use fibre_tasks::faults;
use fibre_tasks::internal::{
    Granted, Line, Lines, Permission, Ticket, Waiting, enter, give_back, try_enter, withdraw,
};
use loom::sync::{Condvar, Mutex};
use loom::thread::{self, JoinHandle};
use std::sync::Arc;

/// A request of a thread.
struct Request {
    ticket: Ticket,
    granted: Mutex<bool>,
    changed: Condvar,
}

impl Request {
    fn new() -> Arc<Self> {
        Arc::new(Self {
            ticket: Ticket::new(),
            granted: Mutex::new(false),
            changed: Condvar::new(),
        })
    }

    /// Waits until it has been granted.
    fn wait(&self) {
        let mut granted = self.granted.lock().unwrap();
        while !*granted {
            granted = self.changed.wait(granted).unwrap();
        }
    }
}

impl Waiting<'_> for Request {
    fn ticket(&self) -> &Ticket {
        &self.ticket
    }

    fn start(self: Arc<Self>, _: &mut Granted<'_>) {
        let before = std::mem::replace(&mut *self.granted.lock().unwrap(), true);
        assert!(!before, "a request is granted that has been");
        self.changed.notify_one();
    }
}

/// Two objects, each a line and memory that loom watches.
struct World {
    lines: [Line<'static>; 2],
    values: [Watched; 2],
}

/// An object, and what is wanted of it.
type Want = (usize, Permission);

const READ_0: Want = (0, Permission::Read);
const FULL_0: Want = (0, Permission::Full);
const FULL_1: Want = (1, Permission::Full);

impl World {
    fn new() -> Shared<Self> {
        Shared::new(Self {
            lines: [Line::new(), Line::new()],
            values: [Watched::new(0), Watched::new(0)],
        })
    }

    /// The lines of these.
    fn lines(&self, wants: &[Want]) -> Lines<'_, 'static> {
        let line = |&(object, permission): &Want| (&self.lines[object], permission);
        wants.iter().map(line).collect()
    }

    /// Comes by the permissions, without a try at first, so that all that waits is modelled.
    fn come_by(&self, wants: &[Want]) {
        let request = Request::new();
        let waiting: Arc<dyn Waiting<'static>> = request.clone();
        if !enter(&mut self.lines(wants), &waiting) {
            request.wait();
        }
    }

    /// Uses the objects, and gives them back.
    fn make_use_of(&self, wants: &[Want]) {
        for &(object, permission) in wants {
            match permission {
                Permission::Read => {
                    let _ = self.values[object].get();
                }
                Permission::Full => self.values[object].count(),
            }
        }
        for &(object, permission) in wants {
            give_back(&self.lines[object], permission);
        }
    }

    /// A task.
    fn task(&self, wants: &[Want]) {
        self.come_by(wants);
        self.make_use_of(wants);
    }

    /// Fails if anything is taken, or waits.
    fn is_free(&self) {
        let all = &[FULL_0, FULL_1];
        assert!(
            try_enter(&mut self.lines(all)),
            "something is not given back"
        );
        self.make_use_of(all);
    }
}

/// The thread of a task.
fn task(world: Shared<World>, wants: &'static [Want]) -> JoinHandle<()> {
    thread::spawn(move || world.task(wants))
}

/// Two change the same.
fn two_writers() {
    let world = World::new();
    let other = task(world, &[FULL_0]);
    world.task(&[FULL_0]);
    other.join().unwrap();
    world.is_free();
    assert_eq!(world.values[0].get(), 3);
}

/// Writers exclude each other, and none is forgotten.
#[test]
fn writers_take_turns() {
    check(two_writers);
}

/// Planted: the grant comes before the count says that it is missing.
#[test]
fn planted_late_count_is_found() {
    finds_planted(faults::entry::COUNTS_LATE, two_writers);
}

/// Two read, one changes.
fn readers_and_a_writer() {
    let world = World::new();
    let writer = task(world, &[FULL_0]);
    let reader = task(world, &[READ_0]);
    world.task(&[READ_0]);
    writer.join().unwrap();
    reader.join().unwrap();
    world.is_free();
    assert_eq!(world.values[0].get(), 2);
}

/// Readers and a writer keep apart.
#[test]
fn readers_and_writers_keep_apart() {
    check(readers_and_a_writer);
}

/// Planted: a writer comes to readers.
#[test]
fn planted_second_grant_is_found() {
    finds_planted(faults::line::GRANTS_TWICE, readers_and_a_writer);
}

/// Two readers wait while a writer has the object, and each goes on only beside the other.
fn a_batch() {
    let world = World::new();
    world.come_by(&[FULL_0]);
    let readers = [Request::new(), Request::new()];
    for reader in &readers {
        let waiting: Arc<dyn Waiting<'static>> = reader.clone();
        assert!(!enter(&mut world.lines(&[READ_0]), &waiting));
    }
    let writer = thread::spawn(move || world.make_use_of(&[FULL_0]));
    for reader in &readers {
        reader.wait();
    }
    for _ in readers {
        world.make_use_of(&[READ_0]);
    }
    writer.join().unwrap();
    world.is_free();
}

/// All readers of a batch are admitted.
#[test]
fn a_batch_of_readers_is_admitted_whole() {
    check(a_batch);
}

/// Planted: only the first of them is.
#[test]
fn planted_half_batch_is_found() {
    finds_planted(faults::line::ADMITS_ONE_READER, a_batch);
}

/// A reader comes while another one reads and a writer waits.
fn a_late_reader() {
    let world = World::new();
    world.come_by(&[READ_0]);
    let request = Request::new();
    let writer: Arc<dyn Waiting<'static>> = request.clone();
    assert!(!enter(&mut world.lines(&[FULL_0]), &writer));
    let late = thread::spawn(move || {
        world.come_by(&[READ_0]);
        let seen = world.values[0].get();
        give_back(&world.lines[0], Permission::Read);
        seen
    });
    give_back(&world.lines[0], Permission::Read);
    request.wait();
    world.make_use_of(&[FULL_0]);
    assert_eq!(late.join().unwrap(), 1, "a reader has passed a writer");
    world.is_free();
}

/// It waits for the writer.
#[test]
fn no_reader_passes_a_writer() {
    check(a_late_reader);
}

/// Planted: it does not.
#[test]
fn planted_passing_reader_is_found() {
    finds_planted(faults::line::READER_PASSES_WRITER, a_late_reader);
}

/// Two want the same two objects, named the other way round.
fn two_of_both() {
    let world = World::new();
    let other = task(world, &[FULL_1, FULL_0]);
    world.task(&[FULL_0, FULL_1]);
    other.join().unwrap();
    world.is_free();
    assert_eq!(world.values[0].get(), 3);
    assert_eq!(world.values[1].get(), 3);
}

/// They do not deadlock.
#[test]
fn overlapping_tasks_do_not_deadlock() {
    check(two_of_both);
}

/// Two want two objects, and a third one wants one of them.
fn three_of_two() {
    let world = World::new();
    let other = task(world, &[READ_0, FULL_1]);
    let third = task(world, &[FULL_1]);
    world.task(&[FULL_1, FULL_0]);
    other.join().unwrap();
    third.join().unwrap();
    world.is_free();
}

/// It comes in between, or not.
#[test]
fn a_third_task_comes_at_any_moment() {
    check(three_of_two);
}

/// One waits for the first object and has the second one, and gives up.
fn one_gives_up() {
    let world = World::new();
    world.come_by(&[FULL_0]);
    let request = Request::new();
    let waiting: Arc<dyn Waiting<'static>> = request.clone();
    let wants = [FULL_0, FULL_1];
    assert!(!enter(&mut world.lines(&wants), &waiting));
    let behind = task(world, &[FULL_1]);
    let gives_up = thread::spawn(move || withdraw(&mut world.lines(&wants), &waiting));
    world.make_use_of(&[FULL_0]);
    if !gives_up.join().unwrap() {
        request.wait();
        world.make_use_of(&wants);
    }
    behind.join().unwrap();
    world.is_free();
}

/// What it had goes to the one behind it, or it has both after all.
#[test]
fn giving_up_leaves_nothing_behind() {
    check(one_gives_up);
}

/// Planted: what it had stays with it.
#[test]
fn planted_kept_permission_is_found() {
    finds_planted(faults::entry::KEEPS_WHEN_WITHDRAWN, one_gives_up);
}

/// Planted: nobody looks who was waiting for it.
#[test]
fn planted_silent_withdrawal_is_found() {
    finds_planted(faults::entry::WITHDRAWS_SILENTLY, one_gives_up);
}

/// Planted: one enters the first line before the other, and the second line after it.
#[test]
fn planted_separate_entry_is_found() {
    finds_planted(faults::entry::ENTERS_LINES_SEPARATELY, two_of_both);
}
