//! Places where requests wait for each other.

use std::collections::HashMap;
use std::sync::Arc;

use fibre::sync::{Barrier, Mutex};

/// Meetings by their names.
#[derive(Clone, Default)]
pub(crate) struct Meetings(Arc<Mutex<HashMap<String, Arc<Barrier>>>>);

impl Meetings {
    /// Blocks the fibre until as many have come to the meeting as shall.
    pub(crate) fn attend(&self, name: &str, count: usize) {
        let mut meetings = self.0.lock();
        let meeting = meetings.entry(name.to_owned());
        let meeting = Arc::clone(meeting.or_insert_with(|| Arc::new(Barrier::new(count))));
        drop(meetings);
        meeting.wait();
    }
}
