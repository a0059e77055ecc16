//! What keeps a cluster going: its domain and its threads.

use crate::domain::Domain;
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread::JoinHandle;

/// What the handles share.
#[derive(Debug)]
pub struct Running {
    /// What the processors share.
    pub domain: Arc<Domain>,
    /// The processors' threads, until somebody joins them.
    pub threads: Mutex<Vec<JoinHandle<()>>>,
    /// Whether the runtime itself relies on it, so that nobody may stop it.
    pub permanent: AtomicBool,
}

impl Drop for Running {
    fn drop(&mut self) {
        self.domain.stop();
    }
}
