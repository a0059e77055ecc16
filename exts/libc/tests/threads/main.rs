//! A program of threads with `fibre_libc::threads()`: its threads are fibres.
//!
//! The program runs itself on one, two and four processors, with moves as they come and with a move
//! at every turn. In each of these runs all cases are called on the thread of `main`, and then on a
//! thread that is a fibre. An argument chooses the cases that have it in their names.
//!
//! * `std_threads`: what `std::thread` promises;
//! * `c_threads`: `pthread_create` and its kin, called as C does;
//! * `cancels`: `pthread_cancel`;
//! * `kernel_threads`: what stays a kernel thread, and says so;
//! * `crates`: pools and executors of others;
//! * `masks`: the signals that a thread blocks, and what it starts;
//! * `many`: ten thousand threads at once;
//! * `run`: how a run begins.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod c_threads;
mod cancels;
mod crates;
mod kernel_threads;
mod many;
mod masks;
mod run;
mod std_threads;

use std::env;
use std::process::Command;
use std::thread;

/// Says that this process is one of the runs.
const ROLE: &str = "FIBRE_TEST_ROLE";

/// A name, and what is called.
type Case = (&'static str, fn());

/// Makes a list of cases of a module's functions.
macro_rules! cases {
    ($($module:ident: $($name:ident)*;)*) => {
        &[$($((concat!(stringify!($module), "::", stringify!($name)), $module::$name as fn())),*),*]
    };
}

/// All cases.
const CASES: &[Case] = cases! {
    std_threads:
        threads_are_fibres names stacks_have_the_size_that_is_asked_for panics_are_the_threads
        values_of_threads_end_before_a_join_returns scopes_borrow detached_threads_end
        parks_and_channels locks spins_with_yields_end parallelism_is_as_before
        absurd_stacks_are_refused thread_per_connection many_threads_at_once
        children_are_waited_for;
    c_threads:
        results_are_joined handles_know_the_caller joins_are_refused tries_do_not_refuse_a_join joins_have_limits
        detached_threads_free_themselves exits_from_deep_within values_of_keys_end
        names_by_prctl calls_that_name_a_thread the_own_stack default_attributes writers_are_preferred names_reach_shared_libraries;
    cancels:
        sleeps_end reads_end joins_end waits_for_objects_end requests_wait_for_a_point requests_are_kept
        threads_cancel_themselves ended_threads_keep_their_result destructors_may_wait crowds_end
        threads_end_while_they_are_cancelled futexes_are_no_points plain_joins_are_no_points;
    kernel_threads:
        plain_stretches_start_kernel_threads attributes_ask_for_the_kernel
        clusters_have_kernel_threads threads_of_threads_are_fibres;
    masks:
        masks_are_inherited masks_do_not_reach_processors attributes_name_a_mask
        programs_block_what_their_thread_does children_block_what_their_thread_does
        signals_are_sent_and_waited_for;
    crates:
        pool_of_rayon runtime_of_tokio_with_threads scope_of_crossbeam_channels;
};

fn main() {
    let chosen = env::args().nth(1).filter(|word| !word.starts_with('-'));
    match env::var(ROLE) {
        Ok(role) if role == MANY => many::run(),
        Ok(_) => run(chosen.as_deref()),
        Err(_) => run_all(chosen.as_deref()),
    }
}

/// Runs the program in all ways.
fn run_all(chosen: Option<&str>) {
    if chosen.is_none() {
        run_many();
    }
    for processors in [1, 2, 4] {
        for moves in ["stolen", "forced"] {
            let output = Command::new(env::current_exe().unwrap())
                .args(chosen)
                .env(ROLE, "run")
                .env("FIBRE_PROCESSORS", processors.to_string())
                .env("FIBRE_MOVES", moves)
                .output()
                .unwrap();
            let (told, words) = (
                String::from_utf8_lossy(&output.stdout),
                String::from_utf8_lossy(&output.stderr),
            );
            let ran = told.lines().filter(|line| line.ends_with(" ok")).count();
            println!("{processors} processors, moves {moves}: {ran} cases");
            assert!(output.status.success(), "{}\n{told}{words}", output.status);
            assert!(ran > 0, "no case has this in its name");
            if chosen.is_none() {
                assert_eq!(ran, 2 * CASES.len());
                kernel_threads::check_what_was_said(&words);
            }
        }
    }
}

/// The role of a run with many threads.
const MANY: &str = "many";

/// Runs many threads at once, in a process of its own.
fn run_many() {
    let output = Command::new(env::current_exe().unwrap())
        .env(ROLE, MANY)
        .env("FIBRE_PROCESSORS", "2")
        .output()
        .unwrap();
    let told = [output.stdout, output.stderr].concat();
    let told = String::from_utf8_lossy(&told);
    assert!(output.status.success(), "{}\n{told}", output.status);
    println!("{told}");
}

/// Runs the cases on both kinds of threads.
fn run(chosen: Option<&str>) {
    std_threads::before();
    run::begin();
    let chosen: Vec<Case> = CASES
        .iter()
        .filter(|(name, _)| chosen.is_none_or(|word| name.contains(word)))
        .copied()
        .collect();
    run_here("kernel thread", &chosen);
    let there = thread::spawn(move || run_here("fibre", &chosen));
    there.join().unwrap();
}

/// Runs these cases on the calling thread.
fn run_here(on: &str, cases: &[Case]) {
    for (name, case) in cases {
        println!("{name} on a {on} ...");
        case();
        println!("{name} on a {on} ok");
    }
}
