//! A random mixture of bindings, fibres and ends. Each reader carries beside what it must find.

use super::support::drops::Counted;
use super::support::{Drops, Random, eventually};
use super::{OTHER, REQUEST, for_all_clusters};

use fibre::{ScopedBindings, scoped_local};
use std::panic::{AssertUnwindSafe, catch_unwind, panic_any};
use std::sync::Arc;
use std::time::Duration;

scoped_local!(static COUNTED: Counted);

/// What a fibre must find: both numbers, and whether a counted value is there.
#[derive(Clone, Copy, Default)]
struct Expected {
    request: Option<u64>,
    other: Option<u64>,
    counted: bool,
}

/// What all fibres of one test share.
struct World {
    drops: Drops,
    bound: std::sync::atomic::AtomicUsize,
}

impl Expected {
    /// Fails if the caller finds something else.
    fn check(self) {
        let found = (REQUEST.get(), OTHER.get(), COUNTED.is_bound());
        assert_eq!(found, (self.request, self.other, self.counted));
        let label = self.request.map(|request| format!("request={request}"));
        if fibre::in_fibre() {
            assert_eq!(fibre::labels(), label.unwrap_or_default());
        }
    }

    /// Does random things with the values of a caller that must find these.
    fn act(self, world: &Arc<World>, mut random: Random, depth: usize) {
        for _ in 0..random.below(6) {
            self.check();
            let number = random.next();
            let mut go = random.split();
            let mut inner = |expected: Self| {
                let (world, random) = (Arc::clone(world), go.split());
                move || expected.act(&world, random, depth + 1)
            };
            match random.below(if depth < 5 { 12 } else { 2 }) {
                0 => fibre::yield_now(),
                1 => fibre::sleep(Duration::from_micros(random.below(100) as u64)),
                2 => {
                    let request = Some(number);
                    REQUEST.with(number, inner(Self { request, ..self }));
                }
                3 => {
                    let other = Some(number);
                    OTHER.with(number, inner(Self { other, ..self }));
                }
                4 => {
                    world
                        .bound
                        .fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                    let value = world.drops.value();
                    COUNTED.with(
                        value,
                        inner(Self {
                            counted: true,
                            ..self
                        }),
                    );
                }
                5 => ScopedBindings::none().with(inner(Self::default())),
                6 => fibre::spawn(inner(self)).join().unwrap(),
                7 => drop(fibre::spawn(inner(self))),
                8 => {
                    let child = fibre::spawn(inner(self));
                    child.cancel();
                    child.join().unwrap();
                }
                9 => fibre::blocking(inner(self)),
                10 => {
                    let request = Some(number);
                    let panics = || {
                        REQUEST.with(number, || {
                            Self { request, ..self }.check();
                            panic_any(number)
                        })
                    };
                    let ended: Result<(), _> = catch_unwind(AssertUnwindSafe(panics));
                    assert_eq!(ended.unwrap_err().downcast_ref(), Some(&number));
                }
                _ => fibre::scope(|scope| {
                    (0..3).for_each(|_| drop(scope.spawn(inner(self))));
                }),
            }
            self.check();
        }
    }
}

/// Everybody finds what it must, and each value is dropped once all have ended.
#[test]
fn each_reader_finds_what_it_must() {
    let seed = Random::seed();
    for_all_clusters(move |cluster| {
        let world = Arc::new(World {
            drops: Drops::new(),
            bound: Default::default(),
        });
        let mut random = Random::new(seed);
        fibre::scope(|scope| {
            for _ in 0..15 {
                let (world, random) = (&world, random.split());
                scope.spawn(move || Expected::default().act(world, random, 0));
            }
        });
        // Those that nobody has joined. What threads have spawned runs in the default cluster, and
        // a fibre gives up what is bound for it after its closure.
        let bound = || world.bound.load(std::sync::atomic::Ordering::Relaxed);
        eventually(|| {
            let all_ended = Arc::strong_count(&world) == 1 && cluster.live() <= 1;
            all_ended && world.drops.count() == bound()
        });
        assert!(bound() > 0);
        assert_eq!(world.drops.count(), bound());
    });
}
