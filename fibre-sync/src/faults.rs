//! The faults that models plant in this crate, and correct variants.
//!
//! Shipped code calls [`planted`](fibre_core::sync::planted) with one of these names, and a model
//! plants the fault by the same name. So a misspelt name does not compile.

fibre_core::faults! {
    barrier {
        /// The lock is given back after the resume.
        UNLOCKS_AFTER_RESUME,
        /// A party that was counted gives up.
        COUNTED_PARTY_GIVES_UP,
    }
    broadcast {
        /// A value wakes one of those that wait for it.
        WAKES_ONE_OF_ALL,
        /// The last receiver to have a value takes the oldest one out, which may be another one.
        TAKES_THE_OLDEST_OUT,
    }
    channel {
        /// A value is stored while somebody waits for it.
        STORES_WHAT_A_RECEIVER_WAITS_FOR,
        /// Closing lets one of many go on.
        CLOSING_WAKES_ONE_OF_MANY,
        /// Room is left to nobody.
        LEAVES_ROOM_TO_NOBODY,
        /// A sender that gives up loses its value.
        GIVING_UP_LOSES_THE_VALUE,
        /// A future that is dropped takes along what it was handed.
        DROPPED_FUTURE_LOSES_ITS_VALUE,
    }
    condvar {
        /// The lock is given back after the resume.
        UNLOCKS_AFTER_RESUME,
        /// The mutex is unlocked before the list is entered.
        UNLOCKS_MUTEX_BEFORE_ENTERING,
    }
    event {
        /// It is handed over and stays set.
        HANDED_OVER_STAYS_SET,
        /// The lock is given back after the resume.
        UNLOCKS_AFTER_RESUME,
        /// Those that wait are claimed before it is set.
        CLAIMS_BEFORE_IT_IS_SET,
    }
    futex {
        /// The word is looked at before the list is locked.
        LOOKS_BEFORE_IT_ENTERS,
        /// A wake takes whichever waiter comes first in the list.
        WAKES_WHOEVER_IS_FIRST,
    }
    group {
        /// A fibre is counted down before its result is kept.
        COUNTS_DOWN_BEFORE_IT_KEEPS,
        /// A later failure takes the place of the first one.
        LAST_FAILURE_COUNTS,
        /// The group settles in a step of its own, after the last result has been taken.
        SETTLES_LATE,
    }
    mutex {
        /// An unlock looks back.
        UNLOCK_LOOKS_BACK,
        /// The list is given back without release.
        GIVES_LIST_BACK_WITHOUT_RELEASE,
        /// The waiter is resumed before the word is left.
        RESUMES_BEFORE_LEAVING_THE_WORD,
        /// What is handed over is free, too.
        HANDED_OVER_IS_FREE_TOO,
        /// A woken waiter forgets those behind it.
        WOKEN_FORGETS_THOSE_BEHIND,
    }
    notify {
        /// A broadcast is not counted.
        BROADCAST_IS_NOT_COUNTED,
        /// One is woken and one is kept.
        WAKES_ONE_AND_KEEPS_ONE,
        /// The lock is given back after the broadcast.
        UNLOCKS_AFTER_BROADCAST,
    }
    once {
        /// Nobody is woken.
        WAKES_NOBODY,
        /// The chain is read after the resume.
        READS_CHAIN_AFTER_RESUME,
        /// The lock is taken without acquire.
        TAKES_LOCK_WITHOUT_ACQUIRE,
        /// The state is stored before the lock is given back.
        STORES_STATE_BEFORE_UNLOCKING,
        /// The word is given back without release.
        GIVES_WORD_BACK_WITHOUT_RELEASE,
        /// A waiter that gives up stays in the list.
        GIVING_UP_STAYS_IN_THE_LIST,
        /// The initialiser does not say that it initialises.
        INITIALISES_SILENTLY,
    }
    raw_barrier {
        /// A destruction waits for nobody inside.
        DESTRUCTION_WAITS_FOR_NOBODY,
    }
    raw_condvar {
        /// A destruction waits for nobody inside.
        DESTRUCTION_WAITS_FOR_NOBODY,
    }
    raw_once {
        /// The word is looked at after the end.
        LOOKS_AT_WORD_AFTER_THE_END,
        /// The word is written without release.
        WRITES_WORD_WITHOUT_RELEASE,
        /// The initialiser does not say that it initialises.
        INITIALISES_SILENTLY,
    }
    raw_semaphore {
        /// A permit is taken without acquire.
        TAKES_PERMIT_WITHOUT_ACQUIRE,
        /// The list is given back after the resume.
        GIVES_LIST_BACK_AFTER_RESUME,
        /// The caller that has the list does not look for permits.
        LIST_OWNER_LOOKS_FOR_NO_PERMITS,
    }
    rw_lock {
        /// A reader joins without the queue's lock.
        READER_JOINS_WITHOUT_LOCK,
        /// A writer that gives up forgets the readers behind it.
        GIVING_UP_FORGETS_READERS_BEHIND,
        /// The queue is unlocked after the resume.
        UNLOCKS_AFTER_RESUME,
        /// A waiter leaves no mark.
        WAITER_LEAVES_NO_MARK,
        /// A woken waiter forgets those behind it.
        WOKEN_FORGETS_THOSE_BEHIND,
        /// A woken reader that joins others forgets those behind it.
        WOKEN_JOINS_AND_FORGETS,
        /// What is handed over is free, too.
        HANDED_OVER_IS_FREE_TOO,
    }
    select {
        /// An arm stays in its line.
        ARM_STAYS_IN_ITS_LINE,
        /// Nobody looks again under the locks.
        NO_SECOND_LOOK_UNDER_THE_LOCKS,
        /// An arm that is ready is taken though a waker may have chosen another one.
        TAKES_WITHOUT_A_CLAIM,
        /// An arm enters its list without a look.
        ENTERS_WITHOUT_A_LOOK,
    }
    semaphore {
        /// A claim that was lost is counted.
        COUNTS_A_LOST_CLAIM,
        /// A permit is handed over and counted.
        HANDED_OVER_IS_COUNTED_TOO,
        /// The lock is given back after the resume.
        UNLOCKS_AFTER_RESUME,
        /// A waiter that gives up keeps what was saved for it.
        GIVING_UP_KEEPS_WHAT_WAS_SAVED,
    }
    turn {
        /// A variant, not a fault: nobody waits for any turn.
        NOT_TAKEN,
    }
    wait_group {
        /// The lock is given back after the resume.
        UNLOCKS_AFTER_RESUME,
        /// A caller that finds all jobs done waits.
        WAITS_THOUGH_ALL_ARE_DONE,
    }
    wait_list {
        /// A chain is followed through a frame that was let go.
        FOLLOWS_CHAIN_THROUGH_FREED_FRAME,
        /// A waker that loses its claim goes.
        WAKER_GOES_THAT_LOST_ITS_CLAIM,
        /// A waiter that gives up stays in the list.
        GIVING_UP_STAYS_IN_THE_LIST,
        /// A waker does not note that it has lost its claim.
        LOST_CLAIM_IS_NOT_NOTED,
        /// A waiter within a limit scope is claimed as if nobody else could end its wait.
        FORGETS_THE_LIMIT_OF_A_SCOPE,
        /// A waiter that is unwound gives up what a waker has given it meanwhile.
        LEAVES_WHAT_IT_HAS_BEEN_GIVEN,
    }
    watch {
        /// Those that wait are claimed before the change is counted.
        CLAIMS_BEFORE_IT_COUNTS,
    }
}
