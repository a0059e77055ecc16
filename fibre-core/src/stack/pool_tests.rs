//! Tests of the pool of stacks: what it hands out, promises, gives up and refuses.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use super::super::size::{GUARD_SIZE, class_of, page_size};
use super::super::slab;
use super::super::system::{Call, faults};
use super::*;

fn take_all(class: usize, count: usize) -> Vec<Stack> {
    let mut stacks = Vec::new();
    while stacks.len() < count {
        take(class, count - stacks.len(), false, &mut stacks).unwrap();
    }
    stacks
}

#[test]
fn stacks_are_apart_coloured_and_reused() {
    let _turn = faults::turn();
    let class = class_of(48 * 1024);
    let stacks = take_all(class, 70);
    let mut bases: Vec<usize> = stacks.iter().map(|stack| stack.base().get()).collect();
    let colours: std::collections::HashSet<usize> =
        bases.iter().map(|base| base % page_size()).collect();
    assert!(colours.len() >= COLOURS, "only {} colours", colours.len());
    bases.sort_unstable();
    assert!(bases.windows(2).all(|pair| pair[1] - pair[0] >= GUARD_SIZE));
    put(class, stacks.into_iter());
    let mut again: Vec<usize> = take_all(class, 70)
        .iter()
        .map(|stack| stack.base().get())
        .collect();
    again.sort_unstable();
    assert_eq!(again, bases);
}

#[test]
fn every_stack_is_as_large_as_asked_below_the_frames_of_the_runtime() {
    let _turn = faults::turn();
    for wish in [1, 32 << 10, 100_000, 1 << 20, 64 << 20] {
        let class = class_of(wish);
        let stacks = take_all(class, COLOURS + 1);
        for stack in &stacks {
            let usable = stack.base().get() - stack.guard().end;
            assert!(usable >= wish + slab::ENTRY, "{usable} of {wish}");
        }
        put(class, stacks.into_iter());
    }
}

#[test]
fn what_has_been_promised_is_there_when_no_more_can_be_mapped() {
    let turn = faults::turn();
    let class = class_of(3 << 20);
    let promised = promise(class, 1).unwrap() + promise(class, 20).unwrap();
    assert_eq!(POOLS[class].lock().promised, promised);
    let (mut kept, mut others) = (Vec::new(), Vec::new());
    turn.with(Call::Map, Errno::NOMEM, || {
        // Takers without a promise leave what others have been promised.
        while take(class, 5, false, &mut others).is_ok() {}
        assert!(promise(class, 1).is_err());
        for _ in 0..promised {
            take(class, 1, true, &mut kept).unwrap();
        }
        assert!(take(class, 1, false, &mut others).is_err());
    });
    assert_eq!(kept.len(), promised);
    assert_eq!(POOLS[class].lock().promised, 0);
    put(
        class,
        kept.into_iter()
            .chain(others)
            .collect::<Vec<_>>()
            .into_iter(),
    );
}

#[test]
fn promises_that_are_taken_back_can_be_given_again() {
    let turn = faults::turn();
    let class = class_of(128 << 20);
    let promised = promise(class, 100).unwrap();
    turn.with(Call::Map, Errno::NOMEM, || {
        assert!(promise(class, 1).is_err());
        forgive(class, promised);
        assert_eq!(promise(class, promised), Ok(promised));
    });
    forgive(class, promised);
    assert_eq!(POOLS[class].lock().promised, 0);
}

#[test]
fn promises_that_need_mappings_for_guards_have_them() {
    let turn = faults::turn();
    let class = class_of(256 << 20);
    // As if the kernel knew no markers.
    guard::tests::without_markers(|| {
        let promised = promise(class, 2).unwrap();
        assert!(POOLS[class].lock().free >= promised);
        let mut stacks = Vec::new();
        turn.with(Call::Protect, Errno::NOMEM, || {
            assert!(promise(class, 100).is_err());
            for _ in 0..promised {
                take(class, 1, true, &mut stacks).unwrap();
            }
            assert!(take(class, 1, false, &mut stacks).is_err());
        });
        put(class, stacks.into_iter());
    });
}

#[test]
fn a_promise_outlives_a_refusal_of_its_guard() {
    let turn = faults::turn();
    let class = class_of(24 << 20);
    // One may be there with its guard.
    let promised = promise(class, 1).unwrap() + promise(class, 1).unwrap();
    let mut stacks = Vec::new();
    turn.with(Call::Advise, Errno::NOMEM, || {
        turn.with(Call::Protect, Errno::NOMEM, || {
            while take(class, 1, true, &mut stacks).is_ok() {}
        });
    });
    assert!(stacks.len() < promised);
    while stacks.len() < promised {
        take(class, 1, true, &mut stacks).unwrap();
    }
    assert_eq!(POOLS[class].lock().promised, 0);
    put(class, stacks.into_iter());
}

#[test]
fn addresses_that_nobody_uses_go_to_another_class_that_has_none() {
    let turn = faults::turn();
    let (class, other) = (class_of(2 << 20), class_of(512 << 20));
    let stacks = take_all(other, 3);
    put(other, stacks.into_iter());
    assert!(POOLS[other].lock().unused >= 3);
    let promised = promise(other, 1).unwrap();
    turn.with(Call::Map, Errno::NOMEM, || {
        while take(class, 64, false, &mut Vec::new()).is_ok() {}
    });
    let pool = POOLS[other].lock();
    assert_eq!((pool.unused, pool.promised), (promised, promised));
    drop(pool);
    forgive(other, promised);
}

#[test]
fn unused_mappings_are_given_up() {
    let _turn = faults::turn();
    let class = class_of(64 << 20);
    let stacks = take_all(class, KEPT_SLABS + 1);
    let slab = stacks[0].slab;
    assert_eq!(slab.capacity(), 1);
    let mapped = || slab::all().filter(|slab| slab.class == class);
    let mapped = || mapped().filter(|slab| slab.whole().start != 0).count();
    assert_eq!(mapped(), KEPT_SLABS + 1);
    put(class, stacks.into_iter());
    assert_eq!(mapped(), KEPT_SLABS / 2);
    let stacks = take_all(class, KEPT_SLABS + 1);
    assert_eq!(mapped(), KEPT_SLABS + 1);
    put(class, stacks.into_iter());
}

#[test]
fn refusals_are_errors_and_pass() {
    let turn = faults::turn();
    let class = class_of(16 << 20);
    let mut stacks = Vec::new();
    let refused = turn.with(Call::Map, Errno::NOMEM, || {
        take(class, 1, false, &mut stacks)
    });
    assert_eq!(refused, Err(StackError::no_memory(Errno::NOMEM)));
    assert!(is_scarce(class) && stacks.is_empty());
    take(class, 1, false, &mut stacks).unwrap();
    assert!(!is_scarce(class));
    put(class, stacks.into_iter());
}

#[test]
fn guards_are_protected_or_refused_never_left_out() {
    let turn = faults::turn();
    let class = class_of(8 << 20);
    let mut stacks = Vec::new();
    // Without markers: by `mprotect`.
    turn.with(Call::Advise, Errno::NOMEM, || {
        take(class, 1, false, &mut stacks).unwrap()
    });
    let guarded = stacks[0].slab;
    assert_eq!(guarded.protected.load(Ordering::Relaxed), 1);
    // Without that: not at all, and the slab's next stack is the one that was refused.
    turn.with(Call::Advise, Errno::NOMEM, || {
        turn.with(Call::Protect, Errno::NOMEM, || {
            let refused = take(class, 1, false, &mut stacks);
            assert_eq!(refused, Err(StackError::no_memory(Errno::NOMEM)));
        });
    });
    assert_eq!(stacks.len(), 1);
    take(class, 1, false, &mut stacks).unwrap();
    assert!(std::ptr::eq(stacks[1].slab, guarded));
    put(class, stacks.into_iter());
}

/// Guards that the kernel refuses half-way: the stacks before them are handed out, those behind are
/// not, until they have guards of their own.
#[test]
fn some_guards_are_for_as_many_stacks() {
    let turn = faults::turn();
    let class = class_of(32 * 1024);
    // Whatever the pool has is taken first, so that the rest is new.
    let mut stacks = Vec::new();
    let is_new = |pool: &Pool| pool.free == 0 && !pool.fresh.is_empty();
    while !is_new(&POOLS[class].lock()) {
        take(class, 1, false, &mut stacks).unwrap();
    }
    let slab = *POOLS[class].lock().fresh.last().unwrap();
    let protected = || slab.protected.load(Ordering::Relaxed);
    let (before, protected_before) = (slab.made.load(Ordering::Relaxed), protected());
    assert!(slab.capacity() - before >= 8, "the test needs a fresh slab");
    let mut new = Vec::new();
    turn.with(Call::Advise, Errno::NOMEM, || {
        turn.with_after(Call::Protect, 3, Errno::NOMEM, || {
            take(class, 8, false, &mut new).unwrap();
        });
    });
    assert_eq!((new.len(), protected() - protected_before), (3, 3));
    // The fourth one is the first of the next ones, and gets its guard then.
    turn.with(Call::Advise, Errno::NOMEM, || {
        take(class, 5, false, &mut new).unwrap()
    });
    assert_eq!((new.len(), protected() - protected_before), (8, 8));
    assert!(new.iter().all(|stack| is_untouchable(stack.guard())));
    put(
        class,
        stacks
            .into_iter()
            .chain(new)
            .collect::<Vec<_>>()
            .into_iter(),
    );
}

/// Whether the kernel refuses to read from any page of it.
fn is_untouchable(memory: std::ops::Range<usize>) -> bool {
    let is_refused = |page: usize| {
        let mut byte = 0_u8;
        let into = libc::iovec {
            iov_base: (&raw mut byte).cast(),
            iov_len: 1,
        };
        let from = libc::iovec {
            iov_base: std::ptr::without_provenance_mut(page),
            iov_len: 1,
        };
        // SAFETY: writes to `byte` only; the kernel answers an address that cannot be read with an
        // error.
        let read = unsafe { libc::process_vm_readv(libc::getpid(), &into, 1, &from, 1, 0) };
        read == -1 && std::io::Error::last_os_error().raw_os_error() == Some(libc::EFAULT)
    };
    !memory.is_empty() && memory.step_by(page_size()).all(is_refused)
}
