//! A server of a directory that is gone after the test.

use crate::front::limits::Limits;
use crate::front::server::Server;
use crate::serving;
use crate::site::{Cache, Sizes};
use crate::specweb::{self, File};
use fibre_events::{Policy, Report};
use std::fs;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// How many directories of the mix there are.
pub const DIRECTORIES: u64 = 2;

/// A page that no socket's buffers take whole.
pub const LARGE: usize = 8 << 20;

/// Room for all, for longer than a test.
pub const AMPLE: Sizes = Sizes {
    pages: 256 << 20,
    handles: NonZeroUsize::new(10_000).unwrap(),
    file: LARGE as u64,
    age: Duration::from_secs(600),
};

/// A directory that is removed in the end.
pub struct Root(PathBuf);

impl Root {
    /// An empty one.
    pub fn new() -> Self {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("fibre-http-cache-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        fs::create_dir(&path).unwrap();
        Self(path)
    }

    /// A directory with the files of the mix.
    pub fn of_mix() -> Self {
        let root = Self::new();
        specweb::make(&root.0, DIRECTORIES).unwrap();
        root
    }

    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Writes a file.
    pub fn write(&self, path: &str, bytes: &[u8]) {
        let path = self.0.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }
}

impl Drop for Root {
    fn drop(&mut self) {
        let _gone = fs::remove_dir_all(&self.0);
    }
}

/// Files of all classes but the largest, to ask for.
pub fn some_files() -> Vec<File> {
    File::all(DIRECTORIES)
        .filter(|file| file.size() < 100_000)
        .collect()
}

/// Runs a test on a server with ample caches.
pub fn with_server(limits: Limits, root: &Root, test: impl FnOnce(&Arc<Server<Cache>>)) -> Report {
    serving(Policy::TimeLeft, 2, limits, (root, AMPLE), test)
}

/// The same under some policy, with so many processors and such caches.
pub fn serving(
    policy: Policy,
    processors: usize,
    limits: Limits,
    (root, sizes): (&Root, Sizes),
    test: impl FnOnce(&Arc<Server<Cache>>),
) -> Report {
    let cache = Cache::new(root.path(), sizes).unwrap();
    serving::serving(policy, processors, limits, cache, test)
}
