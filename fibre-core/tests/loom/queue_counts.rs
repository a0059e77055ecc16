//! Models of the count request: readers ask a processor what is queued.
//!
//! Run by `cargo xtask loom`.

use fibre_core::internal::queue_counts::{CountRequest, QueueCount};
use fibre_core::model::{self, finds_planted};
use loom::sync::Arc;
use loom::thread;

/// The count request, and the answer of the processor.
type State = Arc<(CountRequest, QueueCount)>;

/// A reader asks, and looks once: an answer has its count, which is never zero here.
fn read(state: &State) {
    let (count_request, answer) = &**state;
    let number = count_request.begin();
    thread::yield_now();
    if let Some(count) = answer.to(number) {
        assert!(count.unwrap() > 0, "an answer without its count");
    }
}

/// A processor comes to two services, at each of which more is queued, while readers ask.
fn readers_and_processor(readers: usize) {
    let state: State = Arc::new((CountRequest::new(), QueueCount::new()));
    let processor = Arc::clone(&state);
    let mut threads = vec![thread::spawn(move || {
        let (count_request, answer) = &*processor;
        for queued in 1..=2 {
            answer.give(count_request, || Some(queued));
        }
    })];
    threads.extend((1..readers).map(|_| {
        let state = Arc::clone(&state);
        thread::spawn(move || read(&state))
    }));
    read(&state);
    for thread in threads {
        thread.join().unwrap();
    }
    // The processor comes once more: a reader that asks before is answered.
    let (count_request, answer) = &*state;
    let number = count_request.begin();
    answer.give(count_request, || Some(9));
    assert_eq!(answer.to(number), Some(Some(9)));
}

#[test]
fn an_answer_has_its_count() {
    model::check(|| readers_and_processor(1));
    model::check(|| readers_and_processor(2));
}

#[test]
fn a_number_before_its_count_is_found() {
    finds_planted("queue_counts: the number is given before the count", || {
        readers_and_processor(1);
    });
}
