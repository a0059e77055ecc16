//! Models, simulations and program agree about how many cores a program with locks uses.
//!
//! Times are those of the thesis' example: as long under a lock as outside of it. The figures were
//! computed by another program, in another language.

use std::time::Duration;

use anyhow::ensure;
use fibre_bench::queueing::probabilistic::Times;
use fibre_bench::queueing::simulation::{Loops, Simulation};
use fibre_bench::queueing::virtual_cores::Setting;
use fibre_bench::queueing::{Program, Refused, mva, probabilistic};

const MILLISECOND: Duration = Duration::from_millis(1);

/// Numbers of threads with the utilisation that the probabilistic model, mean value analysis, and
/// simulations of exponential and of constant loops come to, with 16 locks.
const KNOWN: [(usize, f64, f64, f64, f64); 4] = [
    (1, 1.0, 1.0, 1.001, 1.000),
    (8, 7.211_267_61, 7.146_672_72, 7.143, 7.556),
    (16, 12.962_025_32, 12.471_849_54, 12.492, 13.777),
    (32, 21.557_894_74, 19.105_201_94, 19.088, 21.731),
];

/// As many locks, and both loops as long as each other.
fn symmetric(locks: usize) -> Result<Program, Refused> {
    Program::new(locks, MILLISECOND, MILLISECOND)
}

/// Whether two figures agree to this absolute difference.
fn agree(ours: f64, theirs: f64, within: f64) -> anyhow::Result<()> {
    let near = (ours - theirs).abs() <= within;
    ensure!(near, "{ours} is not within {within} of {theirs}");
    Ok(())
}

/// Utilisation by the exact solution in product form: Buzen's convolution (1973) over the stations
/// gives the normalising constants G(0), …, G(T), and the throughput is G(T − 1) / G(T).
fn product_form(program: &Program, threads: usize) -> f64 {
    let demand = program.critical().as_secs_f64() / program.locks() as f64;
    let delay = program.outside().as_secs_f64();
    let mut constants = vec![1.0];
    for customers in 1..=threads {
        constants.push(constants[customers - 1] * delay / customers as f64);
    }
    for _ in 0..program.locks() {
        for customers in 1..=threads {
            constants[customers] += demand * constants[customers - 1];
        }
    }
    program.utilisation(constants[threads - 1] / constants[threads])
}

#[test]
fn both_models_have_the_known_values() -> anyhow::Result<()> {
    let program = symmetric(16)?;
    for (threads, by_probability, by_mva, ..) in KNOWN {
        agree(
            probabilistic::utilisation(&program, threads),
            by_probability,
            5e-9,
        )?;
        agree(mva::utilisation(&program, threads), by_mva, 5e-9)?;
    }
    for (threads, known) in [(256, 30.12), (1024, 31.53), (4096, 31.88)] {
        agree(mva::utilisation(&program, threads), known, 5e-3)?;
    }
    Ok(())
}

#[test]
fn the_product_form_agrees_with_mean_value_analysis() -> anyhow::Result<()> {
    let (short, long) = (MILLISECOND, 3 * MILLISECOND);
    for (locks, critical, outside) in [(16, short, short), (1, short, long), (7, long, short)] {
        let program = Program::new(locks, critical, outside)?;
        for threads in 1..=64 {
            let exact = product_form(&program, threads);
            agree(mva::utilisation(&program, threads), exact, 1e-9 * exact)?;
        }
    }
    Ok(())
}

#[test]
fn simulations_come_to_the_known_values() -> anyhow::Result<()> {
    let program = symmetric(16)?;
    let simulated = |loops, threads| {
        let simulation = Simulation::of(loops, 400_000, 1);
        simulation.utilisation(&program, threads)
    };
    for (threads, _, by_mva, exponential, constant) in KNOWN {
        let ours = simulated(Loops::Exponential, threads);
        agree(ours, exponential, 0.01 * exponential)?;
        agree(ours, by_mva, 0.01 * by_mva)?;
        let ours = simulated(Loops::Constant, threads);
        agree(ours, constant, 0.01 * constant)?;
    }
    Ok(())
}

/// Nobody queues outside of locks, so how loops there are distributed changes nothing as long as
/// critical sections are exponential (Baskett, Chandy, Muntz and Palacios, 1975). With constant
/// sections it changes little: they are what lets constant loops exceed the model.
#[test]
fn the_distribution_of_critical_sections_is_what_matters() -> anyhow::Result<()> {
    let program = symmetric(16)?;
    let simulated = |critical, outside, threads| {
        let simulation = Simulation {
            critical,
            outside,
            ..Simulation::of(Loops::Constant, 400_000, 1)
        };
        simulation.utilisation(&program, threads)
    };
    for (threads, _, by_mva, _, constant) in &KNOWN[1..] {
        let ours = simulated(Loops::Exponential, Loops::Constant, *threads);
        agree(ours, *by_mva, 0.01 * by_mva)?;
        let ours = simulated(Loops::Constant, Loops::Exponential, *threads);
        agree(ours, *constant, 0.01 * constant)?;
        assert!(ours > 1.04 * by_mva, "{threads}: {ours}");
    }
    Ok(())
}

/// Of two threads that have met at a lock, one is in its section while the other one is outside,
/// from then on.
#[test]
fn two_threads_with_equal_constant_loops_fall_into_step() -> anyhow::Result<()> {
    let simulation = Simulation::of(Loops::Constant, 10_000, 1);
    agree(simulation.utilisation(&symmetric(16)?, 2), 2.0, 1e-9)
}

#[test]
fn a_seed_repeats_a_simulation() -> anyhow::Result<()> {
    let program = symmetric(4)?;
    for loops in [Loops::Constant, Loops::Exponential] {
        let simulated = |seed| {
            let simulation = Simulation::of(loops, 10_000, seed);
            simulation.utilisation(&program, 8).to_bits()
        };
        assert_eq!(simulated(1), simulated(1));
        assert_ne!(simulated(1), simulated(2));
    }
    Ok(())
}

#[test]
fn threads_on_one_lock_that_they_never_leave_run_one_at_a_time() -> anyhow::Result<()> {
    let program = Program::new(1, MILLISECOND, Duration::ZERO)?;
    for threads in [1, 2, 64] {
        let simulation = Simulation::of(Loops::Constant, 10_000, 1);
        agree(simulation.utilisation(&program, threads), 1.0, 1e-9)?;
        agree(mva::utilisation(&program, threads), 1.0, 1e-9)?;
        agree(probabilistic::utilisation(&program, threads), 1.0, 1e-9)?;
    }
    Ok(())
}

#[test]
fn the_locks_limit_every_model() -> anyhow::Result<()> {
    // Equation 6.10.
    let program = symmetric(16)?;
    assert_eq!(program.limit(), 32.0);
    let short = Program::new(4, MILLISECOND, 9 * MILLISECOND)?;
    for program in [program, short] {
        // Equation 6.9, and the utilisation that follows from the throughput L / t_cs of 6.7.
        let throughput = program.locks() as f64 / program.critical().as_secs_f64();
        agree(program.utilisation(throughput), program.limit(), 1e-9)?;
        let most = 10_000_000;
        agree(
            probabilistic::utilisation(&program, most),
            program.limit(),
            1e-4,
        )?;
        agree(
            probabilistic::throughput(&program, most),
            throughput,
            1e-4 * throughput,
        )?;
        agree(
            mva::utilisation(&program, most),
            program.limit(),
            1e-4 * program.limit(),
        )?;
        for threads in 1..200 {
            assert!(probabilistic::utilisation(&program, threads) < program.limit());
            assert!(mva::utilisation(&program, threads) < program.limit());
        }
    }
    Ok(())
}

#[test]
fn the_estimates_cross_at_twice_as_many_threads_as_locks() -> anyhow::Result<()> {
    for locks in [2, 16, 33] {
        let program = symmetric(locks)?;
        let times = |threads| Times::of(&program, threads);
        let crossing = times(2 * locks);
        agree(crossing.average / crossing.slowest, 1.0, 1e-12)?;
        for threads in 1..2 * locks {
            assert!(times(threads).average > times(threads).slowest, "{threads}");
        }
        for threads in 2 * locks + 1..8 * locks {
            assert!(times(threads).average < times(threads).slowest, "{threads}");
        }
    }
    Ok(())
}

#[test]
fn one_thread_uses_one_core_in_every_model() -> anyhow::Result<()> {
    for (locks, critical, outside) in [(1, 1, 0), (1, 5, 1), (16, 1, 1), (3, 1, 100)] {
        let (critical, outside) = (critical * MILLISECOND, outside * MILLISECOND);
        let program = Program::new(locks, critical, outside)?;
        agree(probabilistic::utilisation(&program, 1), 1.0, 1e-12)?;
        agree(mva::utilisation(&program, 1), 1.0, 1e-12)?;
    }
    Ok(())
}

#[test]
fn what_is_no_program_is_refused() {
    let refused = Program::new(0, MILLISECOND, MILLISECOND);
    assert_eq!(refused, Err(Refused::NoLock));
    let refused = Program::new(1, Duration::ZERO, MILLISECOND);
    assert_eq!(refused, Err(Refused::EmptySection));
}

/// Every contest gets on. How near it comes to the models is for `fibre-bench utilisation --check`,
/// on a machine that has time for it.
#[test]
fn fibres_on_virtual_cores_are_in_their_loops() -> anyhow::Result<()> {
    let program = symmetric(2)?;
    let setting = Setting {
        processors: 2,
        // Long enough for a thread that a busy machine keeps waiting.
        window: 500 * MILLISECOND,
        seed: 1,
    };
    let threads = [1, 3, 12];
    let measured = setting.utilisations(&program, &threads)?;
    assert_eq!(measured.len(), threads.len());
    for (threads, measured) in threads.into_iter().zip(measured) {
        assert!(measured > 0.0, "{threads}: {measured}");
    }
    Ok(())
}

#[test]
fn a_window_without_room_is_refused() -> anyhow::Result<()> {
    let setting = Setting {
        processors: 1,
        window: MILLISECOND,
        seed: 1,
    };
    let refused = setting.utilisations(&symmetric(1)?, &[1]);
    let message = refused.err().map(|error| error.to_string());
    assert!(message.is_some_and(|message| message.contains("too short")));
    Ok(())
}
