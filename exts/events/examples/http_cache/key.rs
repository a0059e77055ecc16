//! Paths as keys of caches, hashed before they come there.
//!
//! The paper moves "the computation of the hash function out of the cache color": so is a path's
//! hash a part of the key, and a cache takes it as it is.

use std::hash::{BuildHasher, BuildHasherDefault, Hash, Hasher, RandomState};
use std::sync::Arc;

/// A path, or the first components of one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Key {
    hash: u64,
    path: Arc<[u8]>,
}

/// How caches find keys.
pub(crate) type ByHash = BuildHasherDefault<Taken>;

/// A hash that was computed before.
#[derive(Default)]
pub(crate) struct Taken(u64);

/// The most components that a path may have.
const COMPONENTS: usize = 16;

impl Key {
    /// The key of a path.
    fn new(path: &[u8], state: &RandomState) -> Self {
        Self {
            hash: state.hash_one(path),
            path: path.into(),
        }
    }

    /// The keys of a path's first component, of its first two, and so on up to the whole path;
    /// `None` if no file of a site has that path.
    pub(crate) fn prefixes(path: &[u8], state: &RandomState) -> Option<Vec<Self>> {
        let path = path.strip_prefix(b"/")?;
        let (mut keys, mut end) = (Vec::new(), 0);
        for name in path.split(|&byte| byte == b'/') {
            let is_name = !matches!(name, b"" | b"." | b"..") && !name.contains(&0);
            if !is_name || keys.len() == COMPONENTS {
                return None;
            }
            end += name.len();
            keys.push(Self::new(&path[..end], state));
            end += 1; // the slash
        }
        Some(keys)
    }

    /// The last component.
    pub(crate) fn name(&self) -> &[u8] {
        self.path.rsplit(|&byte| byte == b'/').next().unwrap_or(&[])
    }

    /// Which of so many caches has it.
    pub(crate) fn cache(&self, count: usize) -> usize {
        // Its other bits choose the place there.
        (self.hash >> 32) as usize % count
    }
}

impl Hash for Key {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.hash);
    }
}

impl Hasher for Taken {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes
            .iter()
            .for_each(|&byte| self.0 = self.0.rotate_left(8) ^ u64::from(byte));
    }
}
