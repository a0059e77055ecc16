//! The table of scenarios.

use super::{channels, ends, locks, regressions, signals, sockets};
use fibre_test::{Schedule, Sim};

/// A scenario: what it is about, and a test that no schedule fails.
#[derive(Debug, Clone, Copy)]
pub struct Scenario {
    /// What it is called.
    pub name: &'static str,
    /// The test.
    pub test: fn(&Sim),
}

/// One of the table.
const fn scenario(name: &'static str, test: fn(&Sim)) -> Scenario {
    Scenario { name, test }
}

/// The schedules that each is run by.
pub const SCHEDULES: [(&str, Schedule); 3] = [
    ("random", Schedule::random()),
    ("PCT", Schedule::pct(3)),
    ("POS", Schedule::pos()),
];

/// The table.
pub const SCENARIOS: [Scenario; 43] = [
    scenario("mutex", locks::mutex),
    scenario("combining mutex", locks::exchange_mutex),
    scenario("read-write lock", locks::rw_lock),
    scenario("giving up", locks::giving_up),
    scenario("condition variable", locks::condvar),
    scenario("once", locks::once),
    scenario("semaphore", signals::semaphore),
    scenario("event", signals::event),
    scenario("auto event", signals::auto_event),
    scenario("notify", signals::notify),
    scenario("barrier", signals::barrier),
    scenario("wait group", signals::wait_group),
    scenario("bounded channel", channels::bounded),
    scenario("rendezvous", channels::rendezvous),
    scenario("unbounded channel", channels::unbounded),
    scenario("room", channels::room),
    scenario("futures", channels::futures),
    scenario("broadcast", channels::broadcast),
    scenario("watch", channels::watch),
    scenario("select", channels::select),
    scenario("join", ends::join),
    scenario("request", ends::request),
    scenario("time-outs", ends::time_outs),
    scenario("scope", ends::scope),
    scenario("group", ends::group),
    scenario("first results", ends::first_results),
    scenario("activity", ends::activity),
    scenario("acceptors", sockets::acceptors),
    scenario("readers", sockets::readers),
    scenario("resets", sockets::resets),
    scenario("combining condition", locks::exchange_condvar),
    scenario("starvation", regressions::starvation),
    scenario("free lock", regressions::free_lock),
    scenario("unwinding", regressions::unwinding),
    scenario("drops", regressions::drops),
    scenario("failing drop", regressions::failing_drop),
    scenario("short time-outs", regressions::short_time_outs),
    scenario("initialiser", regressions::initialiser),
    scenario("no arms", regressions::no_arms),
    scenario("chain", regressions::chain),
    scenario("failed spawn", regressions::failed_spawn),
    scenario("cancelled reads", regressions::cancelled_reads),
    scenario("late result", regressions::late_result),
];
