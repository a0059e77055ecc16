//! A model of [`fibre_inspect::request`]: an answer is read only once it is whole, and no handler
//! writes to what the asker has taken back.

use fibre_core::model::{check, finds_planted};
use fibre_inspect::request::{ASKS_DURING_AN_ANSWER, GaveUp, Request};
use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::thread;

/// A question, with the place of its answer.
struct Question {
    word: Request,
    answer: UnsafeCell<u32>,
}

// SAFETY: the word says who has answered; the model checks that.
unsafe impl Sync for Question {}
// SAFETY: the same.
unsafe impl Send for Question {}

impl Question {
    fn new() -> Arc<Self> {
        Arc::new(Self {
            word: Request::new(),
            answer: UnsafeCell::new(0),
        })
    }

    /// What the handler does; its thread has the number one.
    fn answer(&self) {
        if self.word.take(1) {
            // SAFETY: taken.
            self.answer.with_mut(|answer| unsafe { *answer += 1 });
            self.word.finish();
        }
    }

    /// What the handler of the thread with this number does.
    fn answer_as(&self, number: i32) {
        if self.word.take(number) {
            // SAFETY: taken.
            self.answer
                .with_mut(|answer| unsafe { *answer = number.unsigned_abs() });
            self.word.finish();
        }
    }

    /// Asks the thread with this number, unless an answer is being written.
    fn ask(&self, number: i32) -> bool {
        let may_ask = self.word.make_room();
        if may_ask {
            self.word.ask(number);
        }
        may_ask
    }

    /// The answer.
    fn read(&self) -> u32 {
        // SAFETY: collected, or given up in time.
        self.answer.with(|answer| unsafe { *answer })
    }
}

#[test]
fn an_answer_is_whole_and_comes_once() {
    loom::model(|| {
        let question = Question::new();
        question.word.ask(1);
        // The signal may come twice, for an earlier question, too.
        let handlers: Vec<_> = (0..2)
            .map(|_| {
                let question = Arc::clone(&question);
                thread::spawn(move || question.answer())
            })
            .collect();
        if question.word.collect() {
            assert_eq!(question.read(), 1);
        } else if question.word.give_up() == GaveUp::InTime {
            assert_eq!(question.read(), 0);
        } else {
            while !question.word.collect() {
                thread::yield_now();
            }
            assert_eq!(question.read(), 1);
        }
        handlers
            .into_iter()
            .for_each(|handler| handler.join().unwrap());
    });
}

#[test]
fn what_was_given_up_may_be_asked_again() {
    loom::model(|| {
        let question = Question::new();
        question.word.ask(1);
        let late = Arc::clone(&question);
        let late = thread::spawn(move || late.answer());
        if question.word.give_up() == GaveUp::InTime {
            question.word.ask(1);
            question.answer();
        }
        while !question.word.collect() {
            thread::yield_now();
        }
        assert_eq!(question.read(), 1);
        late.join().unwrap();
    });
}

/// An asker that has given up leaves an answer to the thread that writes it. Then another thread is
/// asked.
fn leave_an_answer() {
    let question = Question::new();
    assert!(question.ask(1));
    let late = Arc::clone(&question);
    let late = thread::spawn(move || late.answer_as(1));
    // It is not waited for.
    let _ = question.word.give_up();
    if question.ask(2) {
        question.answer_as(2);
        if question.word.collect() {
            assert_eq!(question.read(), 2, "the answer of another thread");
        }
    }
    late.join().unwrap();
    // The next question is a fresh one in any case.
    assert!(question.ask(3));
    question.answer_as(3);
    assert!(question.word.collect());
    assert_eq!(question.read(), 3);
}

#[test]
fn a_late_answer_is_taken_for_no_other_threads() {
    check(leave_an_answer);
}

#[test]
fn planted_question_during_an_answer_is_found() {
    finds_planted(ASKS_DURING_AN_ANSWER, leave_an_answer);
}

/// The model finds a handler that answers though nobody asks any more.
#[test]
#[should_panic]
fn the_model_sees_an_answer_that_nobody_waits_for() {
    loom::model(|| {
        let question = Question::new();
        question.word.ask(1);
        let late = Arc::clone(&question);
        let late = thread::spawn(move || {
            let _ = late.word.take(1);
            // SAFETY: it is not; the model is to say so.
            late.answer.with_mut(|answer| unsafe { *answer += 1 });
        });
        if question.word.give_up() == GaveUp::InTime {
            assert_eq!(question.read(), 0);
        }
        late.join().unwrap();
    });
}
