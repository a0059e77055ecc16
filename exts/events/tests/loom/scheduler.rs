//! Models of the scheduler: each event that is accepted runs once, alone in its colour and in
//! order; wherever its colour goes, and whether or not the colour is retired; and no processor
//! sleeps on an event.
//!
//! Run by `cargo xtask loom`. The models are small: two processors, two colours, three threads.

use fibre_core::model::{Shared, check, finds_planted};
use fibre_core::sync::EndOfFrame;
use fibre_events::faults::scheduler as faults;
use fibre_events::internal::{Calls, Load, Rules, Run, Scheduler};
use fibre_events::{Colour, Policy};
use loom::sync::{Condvar, Mutex};
use loom::thread;
use std::collections::VecDeque;

/// An event: its colour, and its number in this.
struct Test {
    colour: usize,
    number: u64,
}

impl Load for Test {
    fn weight(&self) -> u64 {
        1
    }

    fn is_posted(&self) -> bool {
        true
    }
}

/// The number of an event that may run before or behind others.
const ANY: u64 = u64::MAX;

/// A scheduler, and what its events have done.
struct Model {
    scheduler: Scheduler<Test>,
    /// For each colour: whether one of its events runs, and the number of the next one.
    colours: [Mutex<(bool, u64)>; 2],
    /// A processor's bell.
    rung: Mutex<bool>,
    bell: Condvar,
}

impl EndOfFrame for Model {
    fn end_of_frame(&mut self) {}
}

impl Model {
    /// A scheduler of two processors, with thefts that cost nothing.
    fn new(resting: usize) -> Shared<Self> {
        let rules = Rules::of(Policy::TimeLeft)
            .cost(0)
            .batch(1)
            .resting(resting);
        Shared::new(Self {
            scheduler: Scheduler::new(2, rules),
            colours: [Mutex::new((false, 0)), Mutex::new((false, 0))],
            rung: Mutex::new(false),
            bell: Condvar::new(),
        })
    }

    /// Posts an event, and wakes the owner if that sleeps.
    fn post(&self, colour: usize, number: u64) {
        let event = Test { colour, number };
        // All colours begin on processor 0.
        let colour = Colour::from(2 * colour as u64);
        let Ok(calls) = self.scheduler.post(colour, event) else {
            panic!("the scheduler is open");
        };
        self.follow(calls);
    }

    /// Rings the bell of processor 0.
    fn follow(&self, calls: Calls) {
        if calls.owner == Some(0) {
            *self.rung.lock().unwrap() = true;
            self.bell.notify_one();
        }
    }

    /// Runs an event, in two steps.
    fn run(&self, event: &Test) {
        let colour = &self.colours[event.colour];
        {
            let mut state = colour.lock().unwrap();
            assert!(!state.0, "two events of a colour run");
            let is_next = [state.1, ANY].contains(&event.number);
            assert!(is_next, "events run in another order");
            state.0 = true;
        }
        let mut state = colour.lock().unwrap();
        state.0 = false;
        state.1 += 1;
    }

    /// Makes a processor run what it has.
    fn run_all(&self, processor: usize) {
        let mut done: Option<Run> = None;
        loop {
            let mut taken = VecDeque::new();
            let (run, calls) = self.scheduler.next(processor, done.take(), &mut taken);
            self.follow(calls);
            if run.is_none() {
                return;
            }
            taken.iter().for_each(|event| self.run(event));
            done = run;
        }
    }

    /// How many events of each colour have run.
    fn ran(&self) -> [u64; 2] {
        [0, 1].map(|colour| self.colours[colour].lock().unwrap().1)
    }
}

/// A thief takes a colour while another event is posted to it, and the owner runs what it finds.
fn theft(resting: usize) {
    let model = Model::new(resting);
    model.post(0, 0);
    let poster = Shared::clone(&model);
    let thief = Shared::clone(&model);
    let poster = thread::spawn(move || poster.post(0, 1));
    let thief = thread::spawn(move || {
        let _ = thief.scheduler.steal(1);
        thief.run_all(1);
    });
    model.run_all(0);
    poster.join().unwrap();
    thief.join().unwrap();
    model.run_all(0);
    model.run_all(1);
    assert_eq!(model.ran(), [2, 0]);
    assert!(model.scheduler.is_quiet());
    assert_eq!(model.scheduler.colours(), resting);
}

/// One of two fibres of a processor retires a colour while events are posted to it.
fn retirement() {
    let model = Model::new(0);
    model.post(0, ANY);
    let poster = Shared::clone(&model);
    let member = Shared::clone(&model);
    let poster = thread::spawn(move || poster.post(0, ANY));
    let member = thread::spawn(move || {
        member.post(0, ANY);
        member.run_all(0);
    });
    model.run_all(0);
    poster.join().unwrap();
    member.join().unwrap();
    model.run_all(0);
    assert_eq!(model.ran(), [3, 0]);
    assert_eq!(model.scheduler.colours(), 0);
}

/// Two fibres of a processor run one colour each, and none is remembered.
fn two_retirements() {
    let model = Model::new(0);
    model.post(0, 0);
    model.post(1, 0);
    let member = Shared::clone(&model);
    let member = thread::spawn(move || member.run_all(0));
    model.run_all(0);
    member.join().unwrap();
    assert_eq!(model.ran(), [1, 1]);
    assert_eq!(model.scheduler.colours(), 0);
}

/// The owner goes to sleep while an event is posted to it.
fn sleep() {
    let model = Model::new(1);
    let poster = Shared::clone(&model);
    let poster = thread::spawn(move || poster.post(0, 0));
    while model.ran() == [0, 0] {
        model.run_all(0);
        if model.scheduler.sleep(0) {
            let mut rung = model.rung.lock().unwrap();
            while !*rung && model.ran() == [0, 0] {
                rung = model.bell.wait(rung).unwrap();
            }
            *rung = false;
            drop(rung);
            model.scheduler.wake(0);
        }
    }
    poster.join().unwrap();
}

#[test]
fn a_stolen_colour_loses_nothing() {
    check(|| theft(1));
}

#[test]
fn a_stolen_colour_that_is_retired_loses_nothing() {
    check(|| theft(0));
}

#[test]
fn a_retired_colour_loses_nothing() {
    check(retirement);
}

#[test]
fn no_more_colours_are_remembered_than_may_be() {
    check(two_retirements);
}

#[test]
fn no_processor_sleeps_on_an_event() {
    check(sleep);
}

#[test]
fn the_model_finds_a_poster_that_trusts_an_old_home() {
    finds_planted(faults::TRUSTS_THE_OLD_HOME, || theft(1));
}

#[test]
fn the_model_finds_a_thief_that_leaves_in_disorder() {
    finds_planted(faults::LEAVES_IN_DISORDER, || theft(1));
}

#[test]
fn the_model_finds_a_thief_that_forgets_early_events() {
    finds_planted(faults::FORGETS_EARLY_EVENTS, || theft(1));
}

#[test]
fn the_model_finds_a_thief_that_puts_early_events_first() {
    finds_planted(faults::EARLY_EVENTS_FIRST, || theft(1));
}

#[test]
fn the_model_finds_a_colour_that_is_retired_without_its_shard() {
    finds_planted(faults::RETIRES_WITHOUT_THE_SHARD, retirement);
}

#[test]
fn the_model_finds_a_colour_that_two_chose_and_nobody_looked_behind() {
    finds_planted(faults::RETIRES_ONCE, two_retirements);
}

#[test]
fn the_model_finds_a_running_colour_that_is_taken() {
    finds_planted(faults::TAKES_A_RUNNING_COLOUR, || theft(1));
}

#[test]
fn the_model_finds_a_processor_that_sleeps_in_silence() {
    finds_planted(faults::SLEEPS_IN_SILENCE, sleep);
}
