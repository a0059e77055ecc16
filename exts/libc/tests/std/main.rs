//! What std's own test suites of `std::thread` and `std::sync` demand, on threads of the kernel's
//! and on threads that are fibres.
//!
//! The suites lie inside std and cannot be built outside of it, so their clauses are written anew
//! here: one case for each. The program runs itself on kernel threads, and then with
//! `fibre_libc::threads()` on one, two and four processors, with moves as they come and with a move
//! at every turn. In each of these runs all cases are called on the thread of `main`, and then on a
//! thread of std's. All must hold in all runs. An argument chooses the cases that have it in their
//! names.
//!
//! * `threads`: spawning, names, joins, panics, parking, scopes;
//! * `locals`: thread-locals and their destructors;
//! * `channels`: `mpsc::channel`;
//! * `oneshots`: channels that carry one value, or are given up;
//! * `bounded`: `mpsc::sync_channel`;
//! * `mutexes`, `condvars`, `rwlocks`: locks, and poison;
//! * `onces`: `Barrier`, `Once`, `OnceLock`, `LazyLock`;
//! * `support`: what several of them need.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod bounded;
mod channels;
mod condvars;
mod locals;
mod mutexes;
mod onces;
mod oneshots;
mod rwlocks;
mod support;
mod threads;

use std::env;
use std::panic::catch_unwind;
use std::process::Command;
use std::thread;

/// Says that this process is one of the runs, and names its threads.
const ROLE: &str = "FIBRE_TEST_ROLE";

/// The roles.
const KERNEL: &str = "kernel threads";
const FIBRES: &str = "fibres";

/// After how many seconds a run that hangs is ended.
const LONG: u32 = 240;

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
    threads:
        have_no_name_unless_asked have_the_name_asked_for refuse_names_with_a_zero cut_long_names
        run_what_they_are_given say_when_they_have_finished joins_give_the_panic start_threads
        start_generations do_not_copy_their_body do_not_copy_what_they_return
        outlive_their_parents_handles panic_with_texts panic_with_strings panic_with_any
        panic_with_units unpark_before_park park_is_woken timed_park_after_unpark
        timed_park_without_unpark timed_park_is_woken sleeps_last ids_are_small ids_of_handles_agree
        ids_differ scopes_wait_for_dropped_results scopes_end_borrows scopes_wait_for_detached
        scopes_joined_show_the_value scopes_tell_of_panics scopes_give_panics_to_joins
        scopes_within_scopes scoped_threads_have_names small_stacks_are_enough
        handles_go_to_other_threads yields_return parallelism_is_known;
    locals:
        are_each_threads_own end_with_their_thread are_valid_then_ended are_made_once_in_a_thread
        may_end_in_a_circle refuse_access_at_their_end make_others_at_the_end
        end_before_a_join know_their_thread_at_the_end hold_borrows_over_waits cells_take_and_replace
        initialisers_may_wait;
    channels:
        carry_a_value drop_what_is_left carry_between_clones carry_between_threads
        refuse_sends_without_receiver refuse_sends_of_clones stop_a_sender stop_many_senders
        refuse_receives_without_sender refuse_after_the_last_clone stop_a_receiver keep_order
        carry_much carry_much_of_many are_sent_from_threads are_received_in_threads
        carry_there_and_back time_out_in_time time_out_while_sent time_out_while_cloned
        time_out_never receive_a_lot wait_with_a_limit_for_many carry_from_many iterate
        iterate_until_broken iterate_what_is_there iterate_owned iterate_borrowed tell_their_states
        end_while_a_sender_lives survive_sends_in_destructors wake_a_timed_receiver
        debug_and_display_errors;
    oneshots:
        close_receiver_first close_sender_first send_after_close send_then_receive
        receive_after_close try_send_open try_send_closed try_receive_open try_receive_closed
        peek_data peek_close peek_open close_in_threads close_after_send close_before_receive
        send_and_receive_in_threads streams_hand_boxes_on;
    bounded:
        carry_a_value drop_what_is_left carry_between_clones time_out carry_between_threads
        refuse_sends_without_receiver stop_a_sender stop_many_senders refuse_receives_without_sender
        stop_a_receiver rendezvous_often time_out_while_sent time_out_never rendezvous_of_many
        time_out_with_many close_receiver_first close_sender_first send_after_close
        receive_after_close try_send_to_nobody try_send_to_the_closed try_receive_open
        try_receive_closed streams_hand_boxes_on hold_as_many_as_asked_for receive_a_lot
        carry_from_many iterate iterate_until_broken tell_their_states end_while_a_sender_lives
        try_send_when_full try_send_when_left try_send_meets_a_receiver wake_senders_that_wait
        block_the_next_send;
    mutexes:
        lock exclude try_lock_says_so give_their_value drop_their_value give_poisoned_values
        give_access_to_owners give_poisoned_access work_with_condvars poison_waiters are_poisoned
        nest lock_while_unwinding lock_slices are_cured are_not_poisoned_by_readers debug_and_default
        are_held_over_waits;
    condvars:
        may_be_told_without_waiters wake_one wake_all unlock_while_they_wait wait_for_conditions
        give_up_in_time give_up_on_conditions see_what_holds_already wake_timed_conditions
        wake_timed_waits serve_many_waiters;
    rwlocks:
        lock exclude are_poisoned_for_writers are_poisoned_for_readers are_not_poisoned_by_readers
        are_not_poisoned_by_readers_for_writers show_whole_writes lock_while_unwinding lock_slices
        try_write_says_so try_read_says_so give_their_value drop_their_value give_poisoned_values
        give_access_to_owners give_poisoned_access are_cured downgrade show_what_was_downgraded
        downgrade_without_a_gap let_readers_share debug_and_default;
    onces:
        barriers_choose_a_leader barriers_are_used_again once_runs_once once_is_stormed
        once_is_poisoned once_is_forced once_forces_one_that_runs once_is_waited_for
        once_is_waited_for_in_vain cells_are_set_once cells_are_filled_once cells_give_access
        cells_are_cloned_and_compared cells_give_their_value cells_show_whole_values
        cells_are_waited_for cells_survive_panics cells_are_stormed lazies_are_made_once
        lazies_are_made_at_first_use lazies_in_statics lazies_are_poisoned
        lazies_have_defaults lazies_are_stormed lazies_may_wait;
};

fn main() {
    let chosen = env::args().nth(1).filter(|word| !word.starts_with('-'));
    match env::var(ROLE) {
        Ok(role) => run(&role, chosen.as_deref()),
        Err(_) => run_all(chosen.as_deref()),
    }
}

/// Runs the program in all ways, and compares.
fn run_all(chosen: Option<&str>) {
    let mut failed = Vec::new();
    let on_kernel_threads = run_once(chosen, KERNEL, None, &mut failed);
    for processors in [1, 2, 4] {
        for moves in ["stolen", "forced"] {
            let on_fibres = run_once(chosen, FIBRES, Some((processors, moves)), &mut failed);
            assert_eq!(on_fibres, on_kernel_threads, "not all cases were run");
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

/// Runs the program in a way. How many calls of cases held; notes those that did not.
fn run_once(
    chosen: Option<&str>,
    role: &str,
    setting: Option<(usize, &str)>,
    failed: &mut Vec<String>,
) -> usize {
    let mut program = Command::new(env::current_exe().unwrap());
    program
        .args(chosen)
        .env(ROLE, role)
        .env("RUST_BACKTRACE", "0");
    let mut way = role.to_owned();
    if let Some((processors, moves)) = setting {
        program.env("FIBRE_PROCESSORS", processors.to_string());
        program.env("FIBRE_MOVES", moves);
        way = format!("{role}, {processors} processors, moves {moves}");
    }
    let output = program.output().unwrap();
    let told = String::from_utf8_lossy(&output.stdout);
    let words = String::from_utf8_lossy(&output.stderr);
    let held = told.lines().filter(|line| line.ends_with(": holds"));
    let held = held.count();
    let broken = told.lines().filter(|line| line.ends_with(": fails"));
    let before = failed.len();
    failed.extend(broken.map(|line| format!("{way}: {line}")));
    let of = held + failed.len() - before;
    println!("{way}: {held} of {of} hold");
    let last = told.lines().last().unwrap_or_default();
    if failed.len() > before || !output.status.success() {
        failed.push(format!("{way}: {}, {last}\n{words}", output.status));
    }
    assert!(of > 0, "no case has this in its name: {:?}", output.status);
    held
}

/// Runs the cases on the thread of `main`, and then on one of std's.
fn run(role: &str, chosen: Option<&str>) {
    // SAFETY: a number.
    unsafe { libc::alarm(LONG) };
    if role == FIBRES {
        // SAFETY: the cases tie no memory to a kernel thread by a system call.
        unsafe { fibre_libc::threads().unwrap() };
    }
    let chosen: Vec<Case> = CASES
        .iter()
        .filter(|(name, _)| chosen.is_none_or(|word| name.contains(word)))
        .copied()
        .collect();
    run_here("main", &chosen);
    let is_fibre = role == FIBRES;
    let there = thread::spawn(move || {
        assert_eq!(fibre::in_fibre(), is_fibre);
        run_here("a thread", &chosen);
    });
    there.join().unwrap();
}

/// Runs these cases on the calling thread.
fn run_here(on: &str, cases: &[Case]) {
    for (name, case) in cases {
        println!("{name} on {on} ...");
        let end = catch_unwind(case).map_or("fails", |()| "holds");
        println!("{name} on {on}: {end}");
    }
}
