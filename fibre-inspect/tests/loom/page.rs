//! A model of [`fibre_inspect::page`]: a text is read as a whole, or not at all.

use fibre_core::model::{check, finds_planted};
use fibre_inspect::page::{STAYS_EVEN, Text};
use loom::sync::Arc;
use loom::sync::atomic::AtomicU64;
use loom::thread;

/// A page with room for two words.
struct Page {
    sequence: AtomicU64,
    length: AtomicU64,
    words: [AtomicU64; 2],
}

impl Page {
    fn new() -> Arc<Self> {
        Arc::new(Self {
            sequence: AtomicU64::new(0),
            length: AtomicU64::new(0),
            words: [AtomicU64::new(0), AtomicU64::new(0)],
        })
    }

    fn text(&self) -> Text<'_> {
        Text {
            sequence: &self.sequence,
            length: &self.length,
            words: &self.words,
        }
    }
}

/// A text of equal letters: a short one, then a long one.
fn texts() -> [Vec<u8>; 2] {
    [vec![b'a'; 9], vec![b'b'; 16]]
}

/// One thread writes two texts, another one reads.
fn reads_while_it_is_written() {
    let page = Page::new();
    page.text().write(&texts()[0]);
    let written = Arc::clone(&page);
    let writer = thread::spawn(move || written.text().write(&texts()[1]));
    if let Some((_, text)) = page.text().read() {
        assert!(texts().contains(&text), "{text:?}");
    }
    writer.join().unwrap();
    assert_eq!(
        page.text().read().map(|(_, text)| text),
        Some(texts()[1].clone())
    );
}

#[test]
fn texts_are_whole() {
    check(reads_while_it_is_written);
}

/// Then a reader takes the first word of the new text for one of the old one.
#[test]
fn a_text_that_does_not_say_that_it_is_being_written_is_torn() {
    finds_planted(STAYS_EVEN, reads_while_it_is_written);
}
