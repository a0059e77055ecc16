//! Random permission sets: 20,000 tasks, in release a million. All choices follow from the printed
//! seed, which `FIBRE_SEED` takes back. No task is lost, none runs twice, and each object has
//! counted exactly those that changed it.

use crate::support::{Random, watchdog};
use fibre::sync::Semaphore;
use fibre_tasks::{Acquisition, Shared, Task, TaskError, Tasks, acquire, finish};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::time::Duration;

/// How many objects there are.
const OBJECTS: usize = 12;

/// How many may be waiting or running at a time.
const AT_ONCE: u64 = 2000;

/// What tasks share: how often it has been changed, twice, so that a torn change shows.
#[derive(Default)]
struct Count(u64, u64);

/// One run's objects, and what should come of them.
struct World {
    objects: Vec<Shared<Count>>,
    /// How often each should have been changed.
    expected: Vec<AtomicU64>,
    /// Tasks that have run.
    ran: AtomicU64,
    room: Semaphore,
}

impl World {
    fn new() -> Arc<Self> {
        Arc::new(Self {
            objects: (0..OBJECTS).map(|_| Shared::default()).collect(),
            expected: (0..OBJECTS).map(|_| AtomicU64::new(0)).collect(),
            ran: AtomicU64::new(0),
            room: Semaphore::new(AT_ONCE as usize),
        })
    }

    /// Different objects, one to four of them.
    fn choose(random: &mut Random) -> Vec<usize> {
        let mut chosen: Vec<usize> = (0..1 + random.below(4))
            .map(|_| random.below(OBJECTS))
            .collect();
        // In the order they came up: it must not matter.
        let mut seen = 0_u64;
        chosen.retain(|object| {
            let is_new = seen & 1 << object == 0;
            seen |= 1 << object;
            is_new
        });
        chosen
    }
}

/// Notes that a task has come to its end, however.
struct Leave(Arc<World>);

impl Drop for Leave {
    fn drop(&mut self) {
        self.0.room.release();
    }
}

/// Spawns one random task.
fn spawn_one(tasks: &Tasks, world: &Arc<World>, random: &mut Random) -> Task<()> {
    let (mut reads, mut changes, mut places) = (Vec::new(), Vec::new(), Vec::new());
    for object in World::choose(random) {
        if random.one_in(2) {
            reads.push(world.objects[object].read());
        } else {
            changes.push(world.objects[object].full());
            places.push(object);
        }
    }
    let (yields, lends, leave) = (random.one_in(8), random.one_in(8), Leave(Arc::clone(world)));
    tasks.task((reads, changes), move |(reads, mut changes)| {
        let world = Arc::clone(&leave.0);
        for count in &reads {
            assert_eq!(count.0, count.1, "a reader sees half a change");
        }
        for (count, place) in changes.iter_mut().zip(&places) {
            assert_eq!(count.0, count.1, "a writer is not alone");
            count.0 += 1;
            world.expected[*place].fetch_add(1, SeqCst);
        }
        if yields {
            fibre::yield_now();
        }
        for count in &mut changes {
            count.1 += 1;
        }
        if lends {
            let world = &world;
            let counts = places.len();
            finish(changes, |scope, lent| {
                assert_eq!(lent.len(), counts);
                for (count, place) in lent.into_iter().zip(&places) {
                    for _ in 0..2 {
                        scope.task(count.full(), move |mut count| {
                            count.0 += 1;
                            count.1 += 1;
                            world.expected[*place].fetch_add(1, SeqCst);
                        });
                        scope.task(count.read(), |count| assert_eq!(count.0, count.1));
                    }
                }
            });
        }
        world.ran.fetch_add(1, SeqCst);
    })
}

/// Runs so many tasks.
fn mixture(processors: usize, acquisition: Acquisition, count: u64, mut random: Random) {
    let remark = format!(" with {processors} processors, {acquisition:?}");
    watchdog::watched_for(watchdog::LIMIT * 4, &remark, || {
        let builder = Tasks::builder().processors(processors);
        let tasks = builder.acquisition(acquisition).build().unwrap();
        let world = World::new();
        let mut handles: Vec<Task<()>> = Vec::new();
        let (mut cancelled, mut joined) = (0, 0);
        for _ in 0..count {
            world.room.acquire();
            let task = spawn_one(&tasks, &world, &mut random);
            if random.one_in(16) {
                task.cancel();
            }
            handles.push(task);
            if handles.len() == 2 * AT_ONCE as usize {
                joined += settle(&mut handles, &mut cancelled);
            }
        }
        joined += settle(&mut handles, &mut cancelled);
        assert_eq!(joined + cancelled, count);
        assert_eq!(world.ran.load(SeqCst), joined);
        for (object, expected) in world.objects.iter().zip(&world.expected) {
            let count = acquire(object.full());
            assert_eq!((count.0, count.1), (count.0, expected.load(SeqCst)));
            assert_eq!(count.0, count.1);
        }
        tasks.stop();
    });
}

/// Joins all. Returns how many have run.
fn settle(handles: &mut Vec<Task<()>>, cancelled: &mut u64) -> u64 {
    let mut joined = 0;
    for handle in handles.drain(..) {
        match handle.join() {
            Ok(()) => joined += 1,
            Err(TaskError::Cancelled) => *cancelled += 1,
            Err(error) => panic!("{error}: {error:?}"),
        }
    }
    joined
}

/// How many tasks there are in all.
const TASKS: u64 = if cfg!(debug_assertions) {
    20_000
} else {
    1_000_000
};

#[test]
fn random_permission_sets_do_not_deadlock_and_are_counted_exactly() {
    let mut random = Random::new(Random::seed());
    let settings = [1, 2, 3, 4, 8, 16];
    for processors in settings {
        let count = TASKS / settings.len() as u64;
        mixture(processors, Acquisition::Lines, count, random.split());
    }
}

#[test]
fn random_permission_sets_come_to_the_same_by_asking() {
    let mut random = Random::new(Random::seed());
    for processors in [1, 2] {
        let count = TASKS / 100;
        mixture(processors, Acquisition::Requeue, count, random.split());
    }
}

#[test]
fn a_stop_at_any_moment_ends_all() {
    let mut random = Random::new(Random::seed());
    for round in 0..30 {
        watchdog::watched(|| {
            let tasks = Tasks::builder().processors(1 + round % 4).build().unwrap();
            let world = World::new();
            let handles: Vec<_> = (0..200)
                .map(|_| spawn_one(&tasks, &world, &mut random))
                .collect();
            if random.one_in(2) {
                fibre::sleep(Duration::from_micros(random.below(500) as u64));
            }
            tasks.stop();
            let ran = handles
                .into_iter()
                .filter_map(|task| task.join().ok())
                .count();
            assert_eq!(world.ran.load(SeqCst), ran as u64);
            for object in &world.objects {
                let count = acquire(object.full());
                assert_eq!(count.0, count.1);
            }
        });
    }
}
