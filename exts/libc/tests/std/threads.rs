//! Spawning, names, joins, panics, parking, scopes.

use crate::support::{FOREVER, SHORT, panics_with, text_of};
use std::any::Any;
use std::panic::panic_any;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Barrier};
use std::thread::{self, Builder, ThreadId};
use std::time::{Duration, Instant};

pub(crate) fn have_no_name_unless_asked() {
    let named = thread::spawn(|| thread::current().name().is_some());
    assert!(!named.join().unwrap());
}

pub(crate) fn have_the_name_asked_for() {
    let thread = Builder::new().name("worker".to_owned());
    let thread = thread.spawn(|| assert_eq!(thread::current().name(), Some("worker")));
    let thread = thread.unwrap();
    assert_eq!(thread.thread().name(), Some("worker"));
    thread.join().unwrap();
}

pub(crate) fn refuse_names_with_a_zero() {
    let text = panics_with(|| {
        let named = Builder::new().name("two\0parts".to_owned());
        let _ = named.spawn(|| ());
    });
    assert!(text.contains("thread name may not contain"), "{text}");
}

/// The name that the C library knows.
fn name_in_c() -> String {
    let mut name = [0_u8; 16];
    // SAFETY: room for a name.
    let asked = unsafe {
        libc::pthread_getname_np(libc::pthread_self(), name.as_mut_ptr().cast(), name.len())
    };
    assert_eq!(asked, 0);
    let end = name.iter().position(|byte| *byte == 0).unwrap();
    String::from_utf8(name[..end].to_vec()).unwrap()
}

pub(crate) fn cut_long_names() {
    let long = "a name that has too many letters for the kernel";
    let thread = Builder::new().name(long.to_owned());
    let thread = thread.spawn(move || {
        assert_eq!(thread::current().name(), Some(long));
        name_in_c()
    });
    assert_eq!(thread.unwrap().join().unwrap(), long[..15]);
}

pub(crate) fn run_what_they_are_given() {
    let (send, receive) = channel();
    thread::spawn(move || send.send(()).unwrap());
    receive.recv().unwrap();
}

pub(crate) fn say_when_they_have_finished() {
    let gate = Arc::new(Barrier::new(2));
    let theirs = Arc::clone(&gate);
    let thread = thread::spawn(move || {
        theirs.wait();
    });
    assert!(!thread.is_finished());
    gate.wait();
    while !thread.is_finished() {
        thread::sleep(SHORT);
    }
    thread.join().unwrap();
}

pub(crate) fn joins_give_the_panic() {
    let thread = thread::spawn(|| panic!("on purpose"));
    assert_eq!(text_of(thread.join().unwrap_err().as_ref()), "on purpose");
}

pub(crate) fn start_threads() {
    fn start(left: usize, send: Sender<()>) {
        thread::spawn(move || match left {
            0 => send.send(()).unwrap(),
            _ => start(left - 1, send),
        });
    }
    let (send, receive) = channel();
    start(10, send);
    receive.recv().unwrap();
}

pub(crate) fn start_generations() {
    let (send, receive) = channel();
    thread::spawn(move || {
        thread::spawn(move || send.send(7).unwrap());
    });
    assert_eq!(receive.recv(), Ok(7));
}

pub(crate) fn do_not_copy_their_body() {
    let (send, receive) = channel();
    let value = Box::new(1);
    let place = &raw const *value as usize;
    let body: Box<dyn FnOnce() + Send> = Box::new(move || {
        send.send(&raw const *value as usize).unwrap();
    });
    thread::spawn(body);
    assert_eq!(receive.recv(), Ok(place));
}

pub(crate) fn do_not_copy_what_they_return() {
    let value = Box::new(1);
    let place = &raw const *value as usize;
    let back = thread::spawn(move || value).join().unwrap();
    assert_eq!(&raw const *back as usize, place);
}

pub(crate) fn outlive_their_parents_handles() {
    // Each thread starts the next one and ends: none may need its parent.
    fn generation(left: usize) -> Box<dyn FnOnce(Sender<()>) + Send> {
        Box::new(move |send| match left {
            0 => send.send(()).unwrap(),
            _ => drop(thread::spawn(move || generation(left - 1)(send))),
        })
    }
    let (send, receive) = channel();
    thread::spawn(move || generation(16)(send));
    receive.recv().unwrap();
}

pub(crate) fn panic_with_texts() {
    let payload = thread::spawn(|| panic_any("a text")).join().unwrap_err();
    assert_eq!(payload.downcast_ref(), Some(&"a text"));
}

pub(crate) fn panic_with_strings() {
    let payload = thread::spawn(|| panic_any("a string".to_owned()));
    let payload = payload.join().unwrap_err();
    assert_eq!(payload.downcast_ref(), Some(&"a string".to_owned()));
}

pub(crate) fn panic_with_any() {
    let thread = thread::spawn(|| panic_any(Box::new(413_u16) as Box<dyn Any + Send>));
    let payload = thread.join().unwrap_err();
    let inner = payload.downcast::<Box<dyn Any + Send>>().unwrap();
    assert_eq!(inner.downcast_ref(), Some(&413_u16));
}

pub(crate) fn panic_with_units() {
    /// A type that nobody else has.
    struct Unit;
    let payload = thread::spawn(|| panic_any(Unit)).join().unwrap_err();
    assert!(payload.is::<Unit>());
}

pub(crate) fn unpark_before_park() {
    for _ in 0..10 {
        thread::current().unpark();
        thread::park();
    }
}

/// Lets another thread unpark this one until `park` has seen it.
fn while_unparked(park: impl Fn()) {
    for _ in 0..10 {
        let (thread, is_set) = (thread::current(), Arc::new(AtomicBool::new(false)));
        let theirs = Arc::clone(&is_set);
        let other = thread::spawn(move || {
            thread::yield_now();
            theirs.store(true, Ordering::Release);
            thread.unpark();
        });
        while !is_set.load(Ordering::Acquire) {
            park();
        }
        other.join().unwrap();
        // What is left of the permit.
        thread::park_timeout(Duration::ZERO);
    }
}

pub(crate) fn park_is_woken() {
    while_unparked(thread::park);
}

pub(crate) fn timed_park_after_unpark() {
    for _ in 0..10 {
        thread::current().unpark();
        thread::park_timeout(FOREVER);
    }
}

pub(crate) fn timed_park_without_unpark() {
    for _ in 0..5 {
        thread::park_timeout(SHORT);
    }
}

pub(crate) fn timed_park_is_woken() {
    while_unparked(|| thread::park_timeout(FOREVER));
}

pub(crate) fn sleeps_last() {
    let begin = Instant::now();
    thread::sleep(SHORT);
    assert!(begin.elapsed() >= SHORT);
}

pub(crate) fn ids_are_small() {
    assert_eq!(size_of::<Option<ThreadId>>(), size_of::<ThreadId>());
}

pub(crate) fn ids_of_handles_agree() {
    assert_eq!(thread::current().id(), thread::current().id());
    let thread = thread::spawn(|| thread::current().id());
    let id = thread.thread().id();
    assert_eq!(thread.join().unwrap(), id);
}

pub(crate) fn ids_differ() {
    let theirs = thread::spawn(|| thread::current().id());
    assert_ne!(theirs.join().unwrap(), thread::current().id());
}

pub(crate) fn scopes_wait_for_dropped_results() {
    /// Says at its end that it is there.
    struct Slow<'a>(&'a AtomicBool);
    impl Drop for Slow<'_> {
        fn drop(&mut self) {
            thread::sleep(SHORT);
            self.0.store(true, Ordering::Release);
        }
    }
    let is_dropped = AtomicBool::new(false);
    thread::scope(|scope| {
        // Its result is dropped by nobody but the thread.
        scope.spawn(|| Slow(&is_dropped));
    });
    assert!(is_dropped.load(Ordering::Acquire));
}

pub(crate) fn scopes_end_borrows() {
    let mut value = 1;
    thread::scope(|scope| {
        scope.spawn(|| value += 1);
    });
    value += 1;
    assert_eq!(value, 3);
}

pub(crate) fn scopes_wait_for_detached() {
    let ran = AtomicUsize::new(0);
    for _ in 0..20 {
        thread::scope(|scope| {
            for _ in 0..3 {
                drop(scope.spawn(|| ran.fetch_add(1, Ordering::Relaxed)));
            }
        });
    }
    assert_eq!(ran.into_inner(), 60);
}

pub(crate) fn scopes_joined_show_the_value() {
    for _ in 0..20 {
        let text = "borrowed".to_owned();
        let length = thread::scope(|scope| scope.spawn(|| text.len()).join().unwrap());
        assert_eq!(length, 8);
    }
}

pub(crate) fn scopes_tell_of_panics() {
    let text = panics_with(|| {
        thread::scope(|scope| {
            scope.spawn(|| panic!("nobody joins"));
        });
    });
    assert!(text.contains("a scoped thread panicked"), "{text}");
}

pub(crate) fn scopes_give_panics_to_joins() {
    let text = thread::scope(|scope| {
        let joined = scope.spawn(|| panic!("somebody joins")).join();
        text_of(joined.unwrap_err().as_ref())
    });
    assert_eq!(text, "somebody joins");
}

pub(crate) fn scopes_within_scopes() {
    let sum = AtomicUsize::new(0);
    thread::scope(|outer| {
        outer.spawn(|| {
            thread::scope(|inner| {
                inner.spawn(|| sum.fetch_add(1, Ordering::Relaxed));
                // A thread of a scope may start more of them.
                outer.spawn(|| sum.fetch_add(10, Ordering::Relaxed));
            });
        });
    });
    assert_eq!(sum.into_inner(), 11);
}

pub(crate) fn scoped_threads_have_names() {
    let builder = Builder::new().name("scoped".to_owned());
    thread::scope(|scope| {
        let name = || thread::current().name().map(str::to_owned);
        let thread = builder.spawn_scoped(scope, name).unwrap();
        assert_eq!(thread.join().unwrap().as_deref(), Some("scoped"));
    });
}

pub(crate) fn small_stacks_are_enough() {
    for size in [0, 1, 16 << 10] {
        let thread = Builder::new().stack_size(size).spawn(|| 1);
        assert_eq!(thread.unwrap().join().unwrap(), 1);
    }
}

pub(crate) fn handles_go_to_other_threads() {
    let first = thread::spawn(|| 5);
    let second = thread::spawn(move || first.join().unwrap() + 1);
    assert_eq!(second.join().unwrap(), 6);
}

pub(crate) fn yields_return() {
    let threads: Vec<_> = (0..4)
        .map(|_| thread::spawn(|| (0..50).for_each(|_| thread::yield_now())))
        .collect();
    threads.into_iter().for_each(|one| one.join().unwrap());
}

pub(crate) fn parallelism_is_known() {
    let known = thread::available_parallelism().unwrap();
    let there = thread::spawn(|| thread::available_parallelism().unwrap());
    assert_eq!(there.join().unwrap(), known);
}
