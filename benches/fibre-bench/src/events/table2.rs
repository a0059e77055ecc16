//! Sixteen colours that each do little and post their next event, on all processors but one.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use fibre_events::{Events, Handler, Report};

use super::{check, work};

static LINK: Handler = Handler::new("link").time_ns(200);

/// The cycles of one event, which is to be little.
const CYCLES: u64 = 400;

/// The program with its parameters.
#[derive(Debug, Clone)]
pub struct Table2 {
    /// Colours.
    pub colours: u64,
    /// Events of each colour, one after the other.
    pub links: u64,
}

impl Default for Table2 {
    /// The paper's colours, with a thousand events each.
    fn default() -> Self {
        Self {
            colours: 16,
            links: 1000,
        }
    }
}

/// What all events of a run share.
struct World {
    events: Events,
    /// Colours that have not ended.
    left: AtomicU64,
}

impl Table2 {
    /// Runs all colours to their ends, which ends these events. Blocks the thread.
    ///
    /// # Errors
    ///
    /// When an event has not run.
    pub fn run(&self, events: &Events) -> anyhow::Result<Report> {
        let processors = events.cluster().processors() as u64;
        let busy = (processors - 1).max(1);
        let world = Arc::new(World {
            events: events.clone(),
            left: AtomicU64::new(self.colours),
        });
        for number in 0..self.colours {
            let colour = number / busy * processors + number % busy;
            world.post(colour, self.links);
        }
        let report = events.run();
        check(&report, self.colours * self.links)?;
        Ok(report)
    }
}

impl World {
    /// Posts an event of a colour that has so many to come.
    fn post(self: &Arc<Self>, colour: u64, links: u64) {
        let world = Arc::clone(self);
        let event = LINK.with(move || world.link(colour, links));
        self.events.post(colour, event);
    }

    /// One event.
    fn link(self: &Arc<Self>, colour: u64, links: u64) {
        work(CYCLES);
        if links > 1 {
            self.post(colour, links - 1);
        } else if self.left.fetch_sub(1, Relaxed) == 1 {
            self.events.stop();
        }
    }
}
