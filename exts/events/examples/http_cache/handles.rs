//! The cache of file handles: open directories and files, by the paths that led to them.

use crate::key::{ByHash, Key};
use lru::LruCache;
use std::num::NonZeroUsize;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Instant;

/// A handle.
pub(crate) type Handle = Arc<OwnedFd>;

/// Handles that were used lately.
pub(crate) struct Handles {
    handles: LruCache<Key, (Handle, Instant), ByHash>,
    root: Handle,
}

impl Handles {
    /// The root's handle, and room for so many others.
    pub(crate) fn new(root: Handle, most: NonZeroUsize) -> Self {
        Self {
            handles: LruCache::with_hasher(most, ByHash::default()),
            root,
        }
    }

    /// The handle of the longest of these prefixes that has one, and how many components that has.
    pub(crate) fn longest(&mut self, prefixes: &[Key], now: Instant) -> (Handle, usize) {
        for (index, key) in prefixes.iter().enumerate().rev() {
            if let Some((handle, until)) = self.handles.get(key)
                && *until > now
            {
                return (Arc::clone(handle), index + 1);
            }
        }
        (Arc::clone(&self.root), 0)
    }

    /// Keeps handles that were opened.
    pub(crate) fn keep(&mut self, opened: Vec<(Key, Handle)>, until: Instant) {
        for (key, handle) in opened {
            self.handles.put(key, (handle, until));
        }
    }

    #[allow(dead_code, reason = "for tests")]
    /// How many handles there are beside the root's.
    pub(crate) fn len(&self) -> usize {
        self.handles.len()
    }
}
