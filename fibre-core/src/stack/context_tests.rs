//! Tests of the context switch: what it keeps, how stacks begin and end, where fibres may go on.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use super::super::switch::arch::testing::{changed_by, clear_aligned};
use super::super::{class_of, put_cold, take_one};
use super::*;
use std::backtrace::Backtrace;
use std::hint::black_box;

/// Bytes of the stacks here: unoptimised code captures backtraces on them.
const SIZE: usize = 256 << 10;

/// A function that is a computation: it gets the suspender, which it keeps up to date.
type Program<'a> = &'a mut dyn FnMut(&mut Suspender);

/// Runs the [`Program`] that the argument points to.
struct Runs;

impl Entry for Runs {
    unsafe fn run(argument: *const (), mut suspender: Suspender) -> Suspender {
        // SAFETY: `context` passes a program, which outlives the context.
        let program = unsafe { &mut *argument.cast_mut().cast::<Program<'_>>() };
        program(&mut suspender);
        suspender
    }
}

/// A context that runs the program, on this stack.
///
/// # Safety
///
/// The program stays where it is until the context has ended.
unsafe fn context_on(stack: Stack, program: &mut Program<'_>) -> Context {
    // SAFETY: the caller's promise; nothing in this file unwinds from a program but to fail.
    unsafe { Context::new::<Runs>(stack, ptr::from_mut(program).cast_const().cast()) }
}

/// Calls `f` with a context that runs the program, and takes its stack back at the end.
fn with_context(mut program: impl FnMut(&mut Suspender), f: impl FnOnce(&Context)) {
    let mut program: Program<'_> = &mut program;
    let stack = take_one(class_of(SIZE)).unwrap();
    // SAFETY: it stays in this frame.
    let context = unsafe { context_on(stack, &mut program) };
    f(&context);
    assert_eq!(context.switch.left(), None, "it has not ended");
    put_cold(context.into_stack());
}

/// Resumes a context of a test, which has been left.
fn resume(context: &Context) -> Action {
    assert!(context.switch.left().is_some(), "it runs, or has ended");
    // SAFETY: it does not run, and only one thread at a time has it.
    unsafe { context.resume() }
}

/// Leaves the stack of a test's program.
fn leave(suspender: &mut Suspender, action: Action) {
    // SAFETY: called on its stack.
    *suspender = unsafe { suspender.suspend(action) };
}

/// Resumes the context that the pointer points to.
unsafe extern "C" fn resumes(context: *mut ()) {
    // SAFETY: the test passes one.
    let context = unsafe { &*context.cast::<Context>() };
    assert_eq!(resume(context), Action::Yield);
}

/// Leaves the stack by the suspender that the pointer points to.
unsafe extern "C" fn leaves(suspender: *mut ()) {
    // SAFETY: the test passes one.
    let suspender = unsafe { &mut *suspender.cast::<Suspender>() };
    leave(suspender, Action::Yield);
}

/// Both sides find their registers as they were, whatever the other one has put there.
#[test]
fn registers_are_kept_on_both_sides() {
    const TIMES: usize = 100;
    let program = |suspender: &mut Suspender| {
        for round in 0..TIMES {
            let data = ptr::from_mut(suspender).cast();
            // SAFETY: the function fits the pointer.
            assert_eq!(unsafe { changed_by(data, leaves, round << 40) }, 0);
        }
    };
    with_context(program, |context| {
        for round in 0..TIMES {
            let data = ptr::from_ref(context).cast_mut().cast();
            // SAFETY: as above.
            assert_eq!(unsafe { changed_by(data, resumes, !(round << 20)) }, 0);
        }
        assert_eq!(resume(context), Action::Exit);
    });
}

/// A vector that its function keeps on the stack, written by an instruction that faults unless it
/// is aligned as the ABI promises.
#[inline(never)]
fn stack_is_aligned() -> bool {
    #[repr(align(16))]
    struct Vector([u8; 16]);
    let mut vector = black_box(Vector([1; 16]));
    let place = &raw mut vector;
    // SAFETY: memory of the vector's size.
    unsafe { clear_aligned(place.cast()) };
    black_box(&vector).0 == [0; 16] && place.addr().is_multiple_of(16)
}

#[test]
fn stacks_are_aligned_for_vectors() {
    let mut lent = take_one(class_of(SIZE)).unwrap();
    let program = |suspender: &mut Suspender| {
        assert!(stack_is_aligned());
        leave(suspender, Action::Yield);
        assert!(stack_is_aligned());
        assert!(call_on(&mut lent, stack_is_aligned));
    };
    with_context(program, |context| {
        assert_eq!(resume(context), Action::Yield);
        assert!(stack_is_aligned());
        assert_eq!(resume(context), Action::Exit);
    });
    put_cold(lent);
}

/// What the fibre hands over arrives, in each of a million switches.
#[test]
fn a_million_switches_hand_over_what_they_are_given() {
    const ACTIONS: [Action; 7] = [
        Action::Yield,
        Action::MakeWay,
        Action::Migrate,
        Action::Hold,
        Action::Park,
        Action::ParkAtHome,
        Action::Idle,
    ];
    const TIMES: usize = 1_000_000;
    let mut left = 0;
    let program = |suspender: &mut Suspender| {
        while left < TIMES {
            let action = ACTIONS[left % ACTIONS.len()];
            left += 1;
            leave(suspender, action);
        }
    };
    with_context(program, |context| {
        for time in 0..TIMES {
            assert_eq!(resume(context), ACTIONS[time % ACTIONS.len()]);
        }
        assert_eq!(resume(context), Action::Exit);
    });
    assert_eq!(left, TIMES);
}

/// A computation may resume others, to any depth.
#[test]
fn computations_resume_others() {
    fn nests(depth: usize, reached: &mut Vec<usize>) {
        if depth == 0 {
            return;
        }
        let program = |suspender: &mut Suspender| {
            reached.push(depth);
            nests(depth - 1, reached);
            leave(suspender, Action::Park);
            reached.push(depth);
        };
        with_context(program, |context| {
            assert_eq!(resume(context), Action::Park);
            assert_eq!(resume(context), Action::Exit);
        });
    }
    let mut reached = Vec::new();
    nests(4, &mut reached);
    assert_eq!(reached, [4, 3, 2, 1, 1, 2, 3, 4]);
}

/// The stack of a computation that has ended serves the next one, which begins at the same place.
#[test]
fn a_stack_is_used_again() {
    let mut stack = Some(take_one(class_of(SIZE)).unwrap());
    let mut begins = Vec::new();
    for _ in 0..10 {
        let mut program = |suspender: &mut Suspender| leave(suspender, Action::Yield);
        let mut program: Program<'_> = &mut program;
        // SAFETY: it stays in this frame.
        let context = unsafe { context_on(stack.take().unwrap(), &mut program) };
        begins.push(context.switch.left().unwrap());
        assert_eq!(resume(&context), Action::Yield);
        assert_eq!(resume(&context), Action::Exit);
        stack = Some(context.into_stack());
    }
    begins.dedup();
    assert_eq!(begins.len(), 1);
    put_cold(stack.unwrap());
}

/// A context that has been left may be moved; the suspender says where it is then.
#[test]
fn a_context_may_be_moved_between_switches() {
    let mut seen = Vec::new();
    let mut program = |suspender: &mut Suspender| {
        for _ in 0..3 {
            seen.push(suspender.0.as_ptr().addr());
            leave(suspender, Action::Idle);
        }
        seen.push(suspender.0.as_ptr().addr());
    };
    let mut program: Program<'_> = &mut program;
    let stack = take_one(class_of(SIZE)).unwrap();
    // SAFETY: it stays in this frame.
    let mut context = unsafe { context_on(stack, &mut program) };
    let mut places = Vec::new();
    for _ in 0..3 {
        let place = Box::new(context);
        places.push(ptr::from_ref(&*place).addr());
        assert_eq!(resume(&place), Action::Idle);
        context = *place;
    }
    places.push(ptr::from_ref(&context).addr());
    assert_eq!(resume(&context), Action::Exit);
    assert_eq!(seen, places);
    put_cold(context.into_stack());
}

/// A computation goes on on whichever thread resumes it.
#[test]
fn threads_take_turns() {
    struct Sent<'a>(&'a Context);
    // SAFETY: the threads below take turns.
    unsafe impl Send for Sent<'_> {}
    let mut threads = Vec::new();
    let program = |suspender: &mut Suspender| {
        for _ in 0..5 {
            threads.push(std::thread::current().id());
            leave(suspender, Action::Migrate);
        }
    };
    let mut resumed = Vec::new();
    with_context(program, |context| {
        for _ in 0..5 {
            let sent = Sent(context);
            let resumes = move || {
                let Sent(context) = { sent };
                assert_eq!(resume(context), Action::Migrate);
                std::thread::current().id()
            };
            resumed.push(std::thread::scope(|scope| {
                scope.spawn(resumes).join().unwrap()
            }));
        }
        assert_eq!(resume(context), Action::Exit);
    });
    assert_eq!(threads, resumed);
}

/// Other threads see where a stack has been left, and that it is in use.
#[test]
fn a_look_tells_whether_a_stack_has_been_left() {
    // SAFETY: the context stays.
    let left = |suspender: &Suspender| unsafe { Context::left(suspender.0.as_ptr()) };
    let program = |suspender: &mut Suspender| {
        assert_eq!(left(suspender), None);
        leave(suspender, Action::Yield);
        assert_eq!(left(suspender), None);
    };
    with_context(program, |context| {
        let [begin, _] = context.switch.left().unwrap();
        assert_eq!(begin + 16, context.root());
        assert_eq!(resume(context), Action::Yield);
        let [pointer, code] = context.switch.left().unwrap();
        let stack = context.stack.guard().end..begin;
        assert!(stack.contains(&pointer) && !stack.contains(&code));
        assert_eq!(resume(context), Action::Exit);
    });
}

/// A call on another stack leaves the fibre's, and the fibre goes on where it was.
#[test]
fn a_call_on_another_stack_may_leave() {
    let mut lent = take_one(class_of(SIZE)).unwrap();
    let bounds = lent.guard().end..lent.base().get();
    let mut inner = take_one(class_of(SIZE)).unwrap();
    let inner_bounds = inner.guard().end..inner.base().get();
    let program = |suspender: &mut Suspender| {
        let kept = black_box([17_u64; 8]);
        let result = call_on(&mut lent, || {
            leave(suspender, Action::Park);
            let deeper = call_on(&mut inner, || {
                leave(suspender, Action::Yield);
                vec![1, 2]
            });
            leave(suspender, Action::Park);
            [deeper, vec![3]].concat()
        });
        assert_eq!((result, black_box(kept)), (vec![1, 2, 3], [17; 8]));
        leave(suspender, Action::Idle);
    };
    with_context(program, |context| {
        let pointer = || context.switch.left().unwrap()[0];
        assert_eq!(resume(context), Action::Park);
        assert!(bounds.contains(&pointer()));
        assert_eq!(resume(context), Action::Yield);
        assert!(inner_bounds.contains(&pointer()));
        assert_eq!(resume(context), Action::Park);
        assert!(bounds.contains(&pointer()));
        assert_eq!(resume(context), Action::Idle);
        assert!((context.stack.guard().end..context.root()).contains(&pointer()));
        assert_eq!(resume(context), Action::Exit);
    });
    put_cold(inner);
    put_cold(lent);
}

/// A walk up the stack goes through a call on another one, and ends with the first function: what
/// has resumed a fibre is no caller of its functions.
#[test]
fn a_walk_ends_at_the_root() {
    #[inline(never)]
    fn resumes_for_the_walk(context: &Context) {
        assert_eq!(black_box(resume(context)), Action::Exit);
    }
    #[inline(never)]
    fn walks_on_a_stack_that_was_lent() -> String {
        black_box(Backtrace::force_capture().to_string())
    }
    let mut lent = take_one(class_of(SIZE)).unwrap();
    let mut walks = Vec::new();
    let program = |_: &mut Suspender| {
        walks.push(Backtrace::force_capture().to_string());
        walks.push(call_on(&mut lent, walks_on_a_stack_that_was_lent));
    };
    with_context(program, resumes_for_the_walk);
    put_cold(lent);
    for walk in &walks {
        assert!(walk.contains("stack::switch::arch::"), "{walk}");
        assert!(walk.contains("::root"), "{walk}");
        assert!(!walk.contains("resumes_for_the_walk"), "{walk}");
    }
    assert!(walks[1].contains("walks_on_a_stack_that_was_lent"));
    assert!(walks[1].contains("call_at"), "{}", walks[1]);
}
