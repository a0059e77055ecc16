//! One of the page caches: pages that were served lately, and clients that wait for one.
//!
//! It is of one colour, so nothing in it is locked for longer than a look. A page that several
//! clients want while it is read is read once.

use crate::front::http::page::{Page, Status};
use crate::key::{ByHash, Key};
use lru::LruCache;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

/// What a file has come to: its answer, or why there is none.
pub(crate) type Outcome = Result<Arc<Page>, Status>;

/// A page cache, and those who wait there.
pub(crate) struct PageCache<W> {
    pages: LruCache<Key, Kept, ByHash>,
    /// Bytes of all pages, and how many there may be.
    bytes: usize,
    most: usize,
    waiting: HashMap<Key, Vec<W>, ByHash>,
}

/// A page, until it is too old.
struct Kept {
    page: Arc<Page>,
    bytes: usize,
    until: Instant,
}

/// What came of a look.
pub(crate) enum Look<W> {
    /// The page, and who has asked for it.
    Found(Arc<Page>, W),
    /// It is being read already.
    Waits,
    /// Somebody has to read it.
    IsFirst,
}

impl<W> PageCache<W> {
    /// A cache of so many bytes.
    pub(crate) fn new(most: usize) -> Self {
        Self {
            pages: LruCache::unbounded_with_hasher(ByHash::default()),
            bytes: 0,
            most,
            waiting: HashMap::default(),
        }
    }

    /// Looks for a page; who has asked waits if it is not here.
    pub(crate) fn look(&mut self, key: &Key, now: Instant, asks: W) -> Look<W> {
        if let Some(kept) = self.pages.get(key).filter(|kept| kept.until > now) {
            return Look::Found(Arc::clone(&kept.page), asks);
        }
        let waiting = self.waiting.entry(key.clone()).or_default();
        waiting.push(asks);
        match waiting.len() {
            1 => Look::IsFirst,
            _ => Look::Waits,
        }
    }

    /// Keeps what was read, if it was, and returns who has waited for it.
    pub(crate) fn keep(
        &mut self,
        key: &Key,
        read: Option<(Arc<Page>, usize)>,
        until: Instant,
    ) -> Vec<W> {
        self.forget(key);
        if let Some((page, bytes)) = read.filter(|(_, bytes)| *bytes <= self.most) {
            self.bytes += bytes;
            self.pages.put(key.clone(), Kept { page, bytes, until });
        }
        while self.bytes > self.most {
            match self.pages.pop_lru() {
                Some((_, kept)) => self.bytes -= kept.bytes,
                None => break,
            }
        }
        self.waiting.remove(key).unwrap_or_default()
    }

    /// Gives an old page up.
    fn forget(&mut self, key: &Key) {
        if let Some(kept) = self.pages.pop(key) {
            self.bytes -= kept.bytes;
        }
    }

    #[allow(dead_code, reason = "for tests")]
    /// How many pages there are, and of how many bytes.
    pub(crate) fn size(&self) -> (usize, usize) {
        (self.pages.len(), self.bytes)
    }
}
