//! What the queues decide, one step after the other: no threads, no clock, given costs.
#![cfg(not(loom))]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use fibre::topology::Topology;
use fibre_events::internal::{Calls, Load, Rules, Run, SCALE, Scheduler, Stolen};
use fibre_events::{Colour, Colours, Policy};
use std::collections::VecDeque;

/// What a theft costs in these tests, in nanoseconds.
const COST: u64 = 100;

/// An event with a number, that takes so many nanoseconds.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Test {
    number: u64,
    weight: u64,
    is_posted: bool,
}

impl Load for Test {
    fn weight(&self) -> u64 {
        self.weight
    }

    fn is_posted(&self) -> bool {
        self.is_posted
    }
}

/// An event that takes as long as a theft costs.
fn event(number: u64) -> Test {
    taking(number, COST)
}

/// An event that takes so many nanoseconds.
fn taking(number: u64, time: u64) -> Test {
    Test {
        number,
        weight: time * SCALE,
        is_posted: true,
    }
}

/// An event of a descriptor.
fn detected(number: u64) -> Test {
    Test {
        is_posted: false,
        ..event(number)
    }
}

/// A scheduler of so many processors.
fn scheduler(processors: usize, policy: Policy) -> Scheduler<Test> {
    Scheduler::new(processors, Rules::of(policy).cost(COST))
}

/// Posts events, and wakes nobody.
fn post(scheduler: &Scheduler<Test>, colour: u64, events: impl IntoIterator<Item = Test>) {
    let _ = called(scheduler, colour, events);
}

/// Posts events; returns whom the last one wakes.
fn called(
    scheduler: &Scheduler<Test>,
    colour: u64,
    events: impl IntoIterator<Item = Test>,
) -> Calls {
    let mut calls = Calls::default();
    for event in events {
        calls = scheduler.post(Colour::from(colour), event).unwrap();
    }
    calls
}

/// Takes the next batch of a processor; returns its run and the numbers of its events.
fn take(
    scheduler: &Scheduler<Test>,
    processor: usize,
    done: Option<Run>,
) -> Option<(Run, Vec<u64>)> {
    let mut taken = VecDeque::new();
    let (run, calls) = scheduler.next(processor, done, &mut taken);
    assert_eq!(calls, Calls::default());
    let numbers = taken.iter().map(|event| event.number).collect();
    run.map(|run| (run, numbers))
}

/// Runs everything that a processor has; returns the numbers of all events, batch by batch.
fn run_all(scheduler: &Scheduler<Test>, processor: usize) -> Vec<Vec<u64>> {
    let (mut done, mut batches) = (None, Vec::new());
    while let Some((run, numbers)) = take(scheduler, processor, done.take()) {
        batches.push(numbers);
        done = Some(run);
    }
    batches
}

/// What a thief has got: the victim, the colour, and how many events.
fn theft(scheduler: &Scheduler<Test>, thief: usize) -> Option<(usize, u64, usize)> {
    let stolen = scheduler.steal(thief)?;
    let colour = (0..10_000).find(|number| Colour::from(*number) == stolen.colour);
    Some((stolen.victim, colour.unwrap(), stolen.events))
}

/// All policies that steal by the base algorithm.
const BASE: [Policy; 2] = [Policy::Libasync, Policy::MelyBase];

// Placement.

#[test]
fn l12_a_colour_begins_on_its_number_modulo_the_processors() {
    for policy in [
        Policy::Off,
        Policy::Libasync,
        Policy::MelyBase,
        Policy::TimeLeft,
    ] {
        let scheduler = scheduler(4, policy);
        for colour in 0..8 {
            post(&scheduler, colour, [event(colour)]);
        }
        for processor in 0..4 {
            let own = processor as u64;
            assert_eq!(run_all(&scheduler, processor), [[own], [own + 4]]);
        }
    }
}

#[test]
fn l13_an_entry_of_the_table_moves_as_a_whole() {
    let rules = Rules::of(Policy::MelyBase)
        .cost(COST)
        .colours(Colours::Mod1024);
    let scheduler = Scheduler::new(2, rules);
    // 3 and 1027 are one entry; so are 5 and 1029.
    for colour in [3, 5, 1027, 7, 9] {
        post(&scheduler, colour, [event(colour)]);
    }
    assert_eq!(theft(&scheduler, 0), Some((1, 3, 2)));
    assert_eq!(run_all(&scheduler, 0), [[3, 1027]]);
    // Later events of either follow, whatever the processor of their numbers is.
    post(&scheduler, 1027, [event(8)]);
    assert_eq!(run_all(&scheduler, 0), [[8]]);
}

#[test]
fn l14_a_stolen_colour_keeps_its_new_home() {
    for policy in BASE {
        let scheduler = scheduler(2, policy);
        for colour in [0, 2, 4] {
            post(&scheduler, colour, [event(colour)]);
        }
        assert_eq!(theft(&scheduler, 1), Some((0, 0, 1)));
        post(&scheduler, 0, [event(100)]);
        assert_eq!(run_all(&scheduler, 1), [vec![0, 100]].concat_if(policy));
        // It rests there, and still does not go back.
        post(&scheduler, 0, [event(101)]);
        assert_eq!(run_all(&scheduler, 1), [[101]]);
        assert_eq!(run_all(&scheduler, 0), [[2], [4]]);
    }
}

/// Batches as a policy makes them of these.
trait Batches {
    fn concat_if(self, policy: Policy) -> Vec<Vec<u64>>;
}

impl Batches for [Vec<u64>; 1] {
    fn concat_if(self, policy: Policy) -> Vec<Vec<u64>> {
        let [batch] = self;
        match policy {
            // One event at a time.
            Policy::Libasync => batch.into_iter().map(|number| vec![number]).collect(),
            _ => vec![batch],
        }
    }
}

#[test]
fn a_colour_that_is_retired_begins_anew() {
    let rules = Rules::of(Policy::MelyBase).cost(COST).resting(0);
    let scheduler = Scheduler::new(2, rules);
    for colour in [0, 2, 4] {
        post(&scheduler, colour, [event(colour)]);
    }
    assert_eq!(theft(&scheduler, 1), Some((0, 0, 1)));
    assert_eq!(run_all(&scheduler, 1), [[0]]);
    assert_eq!(scheduler.colours(), 2);
    post(&scheduler, 0, [event(100)]);
    assert_eq!(run_all(&scheduler, 0), [[2], [4], [100]]);
    assert_eq!(scheduler.colours(), 0);
}

// The queue of libasync-smp.

#[test]
fn l15_posted_events_come_before_those_of_descriptors() {
    let scheduler = scheduler(1, Policy::Libasync);
    post(&scheduler, 1, [detected(1)]);
    post(&scheduler, 2, [event(2)]);
    post(&scheduler, 3, [detected(3)]);
    post(&scheduler, 4, [event(4)]);
    assert_eq!(run_all(&scheduler, 0), [[2], [4], [1], [3]]);
}

#[test]
fn l16_the_last_colour_is_preferred_among_the_first_few() {
    let scheduler = scheduler(1, Policy::Libasync);
    // "The first few" are four: the second of colour 1 is the fourth when it is looked for.
    for (number, colour) in [1, 2, 3, 4, 1].into_iter().enumerate() {
        post(&scheduler, colour, [event(number as u64)]);
    }
    assert_eq!(run_all(&scheduler, 0), [[0], [4], [1], [2], [3]]);
    // Here it is the fifth, and the left-most one runs.
    let scheduler = self::scheduler(1, Policy::Libasync);
    for (number, colour) in [1, 2, 3, 4, 5, 1].into_iter().enumerate() {
        post(&scheduler, colour, [event(number as u64)]);
    }
    assert_eq!(run_all(&scheduler, 0), [[0], [1], [2], [3], [4], [5]]);
}

#[test]
fn l2_an_event_of_a_running_colour_is_passed_over() {
    for policy in [Policy::Libasync, Policy::MelyBase, Policy::TimeLeft] {
        let scheduler = scheduler(1, policy);
        post(&scheduler, 1, [event(1)]);
        let (first, _) = take(&scheduler, 0, None).unwrap();
        post(&scheduler, 1, [event(2)]);
        post(&scheduler, 2, [event(3)]);
        // Another fibre of the processor goes on while the handler blocks.
        let (other, numbers) = take(&scheduler, 0, None).unwrap();
        assert_eq!(numbers, [3]);
        assert!(take(&scheduler, 0, Some(other)).is_none());
        assert_eq!(scheduler.finish(first), Calls::default());
        assert_eq!(run_all(&scheduler, 0), [[2]]);
    }
}

// The queue of Mely.

#[test]
fn m12_m13_a_colour_has_its_batch_and_goes_to_the_end() {
    let scheduler = Scheduler::new(1, Rules::of(Policy::MelyBase).cost(COST).batch(3));
    post(&scheduler, 1, (10..17).map(event));
    post(&scheduler, 2, [event(20)]);
    let batches = run_all(&scheduler, 0);
    assert_eq!(
        batches,
        [vec![10, 11, 12], vec![20], vec![13, 14, 15], vec![16]]
    );
    // The paper's threshold is ten.
    let scheduler = Scheduler::new(1, Rules::of(Policy::MelyBase).cost(COST));
    post(&scheduler, 1, (0..25).map(event));
    let lengths: Vec<_> = run_all(&scheduler, 0).iter().map(Vec::len).collect();
    assert_eq!(lengths, [10, 10, 5]);
}

#[test]
fn m15_a_colour_is_in_its_core_queue_once() {
    let scheduler = scheduler(1, Policy::MelyBase);
    post(&scheduler, 1, [event(1)]);
    post(&scheduler, 2, [event(2)]);
    post(&scheduler, 1, [event(3)]);
    assert_eq!(run_all(&scheduler, 0), [vec![1, 3], vec![2]]);
}

// The base algorithm.

#[test]
fn m1_the_fullest_is_the_first_victim_and_its_successors_follow() {
    for policy in BASE {
        let scheduler = scheduler(8, policy);
        // Processor 6 is the fullest, but has one colour; 7 has none, 0 has two.
        post(&scheduler, 6, (0..9).map(event));
        for colour in [0, 8, 16, 1, 9, 17] {
            post(&scheduler, colour, [event(colour)]);
        }
        let lengths: Vec<_> = scheduler.lengths().collect();
        assert_eq!(lengths, [3, 3, 0, 0, 0, 0, 9, 0]);
        assert_eq!(theft(&scheduler, 3), Some((0, 0, 1)));
        // Now 1 comes behind 0, which has too few left.
        assert_eq!(theft(&scheduler, 3), Some((1, 1, 1)));
        assert_eq!(theft(&scheduler, 4), None);
    }
}

#[test]
fn m2_one_colour_alone_is_not_stolen() {
    for policy in BASE {
        let scheduler = scheduler(2, policy);
        post(&scheduler, 0, (0..100).map(event));
        assert_eq!(theft(&scheduler, 1), None);
    }
}

#[test]
fn m3_a_colour_with_half_of_the_events_is_not_stolen() {
    for policy in BASE {
        let scheduler = scheduler(2, policy);
        post(&scheduler, 0, (0..5).map(event));
        post(&scheduler, 2, (0..3).map(event));
        post(&scheduler, 4, (0..2).map(event));
        // 5 of 10 is half; 3 of 10 is less.
        assert_eq!(theft(&scheduler, 1), Some((0, 2, 3)));
        // 5 and 2 of 7.
        assert_eq!(theft(&scheduler, 1), Some((0, 4, 2)));
        assert_eq!(theft(&scheduler, 1), None);
    }
}

#[test]
fn m3_a_running_colour_is_not_stolen() {
    for policy in [Policy::Libasync, Policy::MelyBase, Policy::TimeLeft] {
        let scheduler = Scheduler::new(2, Rules::of(policy).cost(COST).batch(1));
        post(
            &scheduler,
            0,
            (0..2).map(|number| taking(number, 10 * COST)),
        );
        post(
            &scheduler,
            2,
            (10..14).map(|number| taking(number, COST / 10)),
        );
        let (run, _) = take(&scheduler, 0, None).unwrap();
        // What is left of colour 0 is less than half, and worth a theft, but it runs.
        assert_eq!(theft(&scheduler, 1), None);
        assert_eq!(scheduler.finish(run), Calls::default());
        assert_eq!(theft(&scheduler, 1).map(|(_, colour, _)| colour), Some(0));
    }
}

#[test]
fn m4_a_theft_takes_all_events_of_its_colour_in_order() {
    for policy in BASE {
        let scheduler = scheduler(2, policy);
        for number in 0..12 {
            post(&scheduler, 2 * (number % 3), [event(number)]);
        }
        post(&scheduler, 1, [event(100)]);
        assert_eq!(theft(&scheduler, 1), Some((0, 0, 4)));
        // They go behind what the thief has.
        let order = run_all(&scheduler, 1).concat();
        assert_eq!(order, [100, 0, 3, 6, 9]);
        let rest = run_all(&scheduler, 0).concat();
        assert_eq!(rest.len(), 8);
    }
}

#[test]
fn off_steals_nothing() {
    let scheduler = scheduler(2, Policy::Off);
    for colour in 0..100 {
        post(&scheduler, 2 * colour, [taking(colour, 1000 * COST)]);
    }
    assert_eq!(scheduler.steal(1), None);
}

// Time left.

#[test]
fn m18_worthy_is_what_takes_longer_than_its_theft() {
    let scheduler = scheduler(2, Policy::TimeLeft);
    post(&scheduler, 0, [taking(0, COST)]);
    assert_eq!(scheduler.steal(1), None);
    // One nanosecond more.
    post(&scheduler, 0, [taking(1, 1)]);
    assert_eq!(theft(&scheduler, 1), Some((0, 0, 2)));
}

#[test]
fn m18_a_colour_leaves_the_stealing_queue_with_its_events() {
    let scheduler = Scheduler::new(2, Rules::of(Policy::TimeLeft).cost(COST).batch(2));
    post(&scheduler, 0, [taking(0, 50), taking(1, 40), taking(2, 99)]);
    let (run, numbers) = take(&scheduler, 0, None).unwrap();
    assert_eq!(numbers, [0, 1]);
    assert_eq!(scheduler.finish(run), Calls::default());
    assert_eq!(scheduler.steal(1), None);
    assert_eq!(run_all(&scheduler, 0), [[2]]);
}

#[test]
fn m17_m21_the_highest_interval_is_robbed_first() {
    let scheduler = scheduler(2, Policy::TimeLeft);
    // (100, 400], (400, 1600] and more, from the lowest on.
    for (colour, time) in [(2, 101), (4, 400), (6, 401), (8, 1600), (10, 1601)] {
        post(&scheduler, colour, [taking(colour, time)]);
    }
    let colours: Vec<_> = std::iter::from_fn(|| theft(&scheduler, 1)).collect();
    let highest_first: Vec<u64> = colours.iter().map(|(_, colour, _)| *colour).collect();
    assert_eq!(highest_first[0], 10);
    assert_eq!(sorted(&highest_first[1..3]), [6, 8]);
    assert_eq!(sorted(&highest_first[3..]), [2, 4]);
}

/// Numbers in their order.
fn sorted(numbers: &[u64]) -> Vec<u64> {
    let mut numbers = numbers.to_vec();
    numbers.sort_unstable();
    numbers
}

#[test]
fn m19_time_left_adds_up_and_a_penalty_makes_it_less() {
    let scheduler = scheduler(2, Policy::TimeLeft);
    // A thousand nanoseconds with a penalty of 1000 are one.
    let penalised = |number| Test {
        weight: 10 * COST * SCALE / 1000,
        ..event(number)
    };
    post(&scheduler, 0, (0..100).map(penalised));
    assert_eq!(scheduler.steal(1), None);
    post(&scheduler, 0, (100..101).map(penalised));
    let stolen = scheduler.steal(1).unwrap();
    let left = 101 * (10 * COST * SCALE / 1000);
    let expected = Stolen {
        victim: 0,
        colour: Colour::from(0),
        events: 101,
        left,
    };
    assert_eq!(stolen, expected);
}

#[test]
fn m20_a_theft_costs_what_the_quickest_of_eight_took() {
    let scheduler: Scheduler<Test> = Scheduler::new(2, Rules::of(Policy::TimeLeft));
    let first = scheduler.cost();
    for time in [900, 300, 700, 4_000_000, 800, 500, 600] {
        scheduler.theft_took(1, time);
        // Those of others are counted for themselves.
        scheduler.theft_took(0, 2 * first);
        assert_eq!(scheduler.cost(), first);
    }
    scheduler.theft_took(1, 700);
    assert_eq!(scheduler.cost(), 300);
    // What was before is forgotten.
    (0..8).for_each(|_| scheduler.theft_took(1, 500));
    assert_eq!(scheduler.cost(), 500);
    // A cost that is given stays.
    let scheduler = self::scheduler(2, Policy::TimeLeft);
    (0..8).for_each(|_| scheduler.theft_took(1, 1_000_000));
    assert_eq!(scheduler.cost(), COST);
}

#[test]
fn m20_a_thief_that_loses_its_cpu_goes_on_to_steal() {
    let scheduler: Scheduler<Test> = Scheduler::new(2, Rules::of(Policy::TimeLeft));
    let long = |number| [taking(number, 20 * scheduler.cost())];
    post(&scheduler, 0, long(0));
    post(&scheduler, 2, long(1));
    assert_eq!(theft(&scheduler, 1), Some((0, 0, 1)));
    // The kernel ran something else in the middle of it.
    scheduler.theft_took(1, 4_000_000);
    post(&scheduler, 4, long(2));
    assert_eq!(theft(&scheduler, 1), Some((0, 2, 1)));
    post(&scheduler, 6, long(3));
    assert_eq!(theft(&scheduler, 1), Some((0, 4, 1)));
}

// Locality.

#[test]
fn m22_the_nearest_is_robbed_first() {
    let machine: Topology = "2 nodes x 2 l3 x 2 cores".parse().unwrap();
    let places: Vec<_> = (0..8).map(|cpu| std::iter::once(cpu).collect()).collect();
    for policy in [Policy::Libasync, Policy::MelyBase, Policy::TimeLeft] {
        let nearest = machine.victims(&places);
        assert_eq!(*nearest[5], [4, 6, 7, 0, 1, 2, 3]);
        let scheduler = Scheduler::new(8, Rules::of(policy).cost(COST).nearest(nearest));
        // The farther away a processor is, the more it has.
        for (victim, count) in [(4_u64, 3_u64), (6, 5), (0, 50)] {
            for colour in 0..count {
                let colour = victim + 8 * colour;
                post(&scheduler, colour, [taking(colour, 2 * COST)]);
            }
        }
        let victims: Vec<_> = std::iter::from_fn(|| theft(&scheduler, 5)).collect();
        let victims: Vec<usize> = victims.iter().map(|(victim, _, _)| *victim).collect();
        assert!(victims.is_sorted_by_key(|victim| [4, 6, 0].iter().position(|one| one == victim)));
        assert_eq!(victims[0], 4);
        assert_eq!(victims.last(), Some(&0));
    }
}

// The processors that a post wakes.

#[test]
fn a_post_wakes_a_sleeping_owner_once() {
    let scheduler = scheduler(2, Policy::TimeLeft);
    assert!(scheduler.sleep(0));
    let expected = Calls {
        owner: Some(0),
        thief: None,
    };
    assert_eq!(called(&scheduler, 0, [event(1)]), expected);
    assert_eq!(called(&scheduler, 0, [event(2)]), Calls::default());
    scheduler.wake(0);
    // One that has something does not sleep.
    assert!(!scheduler.sleep(0));
}

#[test]
fn a_post_calls_a_thief_when_there_is_something_to_steal() {
    let scheduler = scheduler(3, Policy::TimeLeft);
    assert!(scheduler.sleep(2));
    assert_eq!(called(&scheduler, 0, [event(1)]), Calls::default());
    // Worthy from here on; the thief is called once.
    let expected = Calls {
        owner: None,
        thief: Some(2),
    };
    assert_eq!(called(&scheduler, 0, [event(2)]), expected);
    assert_eq!(called(&scheduler, 0, [event(3)]), Calls::default());
    assert_eq!(theft(&scheduler, 2), Some((0, 0, 3)));
}

#[test]
fn an_end_calls_a_thief_for_a_colour_that_ran() {
    let scheduler = Scheduler::new(2, Rules::of(Policy::TimeLeft).cost(COST).batch(1));
    post(&scheduler, 0, [taking(1, 1), taking(2, 10 * COST)]);
    let (run, _) = take(&scheduler, 0, None).unwrap();
    assert!(scheduler.sleep(1));
    assert_eq!(scheduler.steal(1), None);
    let expected = Calls {
        owner: None,
        thief: Some(1),
    };
    assert_eq!(scheduler.finish(run), expected);
}

#[test]
fn nobody_is_called_who_may_not_steal() {
    let scheduler = scheduler(2, Policy::Off);
    assert!(scheduler.sleep(1));
    assert_eq!(called(&scheduler, 0, (0..10).map(event)), Calls::default());
}

// The end.

#[test]
fn a_closed_board_refuses_and_says_when_it_is_quiet() {
    let scheduler = scheduler(2, Policy::TimeLeft);
    post(&scheduler, 0, [event(1)]);
    scheduler.close();
    assert_eq!(scheduler.post(Colour::from(0), event(2)), Err(event(2)));
    assert!(!scheduler.is_quiet());
    let (run, _) = take(&scheduler, 0, None).unwrap();
    assert!(!scheduler.is_quiet());
    assert!(take(&scheduler, 0, Some(run)).is_none());
    assert!(scheduler.is_quiet());
}

#[test]
fn a_released_run_finishes_with_its_return() {
    let scheduler = scheduler(1, Policy::TimeLeft);
    post(&scheduler, 1, [event(1), event(2)]);
    scheduler.close();
    let mut taken = VecDeque::new();
    let (run, _) = scheduler.next(0, None, &mut taken);
    let mut run = run.unwrap();
    // The first event runs, and releases; the second one is put back.
    taken.pop_front();
    scheduler.put_back(&mut run, &mut taken);
    assert_eq!(scheduler.release(run), Calls::default());
    assert_eq!(
        scheduler.post_inner(Colour::from(1), event(3)),
        Calls::default()
    );
    let (run, numbers) = take(&scheduler, 0, None).unwrap();
    assert_eq!(numbers, [2, 3]);
    assert!(!scheduler.is_quiet());
    assert!(take(&scheduler, 0, Some(run)).is_none());
    assert!(scheduler.is_quiet());
}
