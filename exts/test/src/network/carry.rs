//! What becomes of all that is under way on a link.

use super::events::{Change, LinkKey, Note, SocketId, What};
use super::link::Settings;
use super::machine::{Network, draw};
use rustix::io::Errno;
use std::mem;

/// What becomes of a piece at the end of its way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate {
    Arrives,
    Lost,
    Held,
}

impl Network {
    /// The settings of a link, to be changed.
    pub(crate) fn settings(&mut self, key: LinkKey) -> &mut Settings {
        &mut self.links.entry(key).or_default().settings
    }

    /// The settings of a link; of the one inside of a host, too.
    pub(super) fn settings_of(&self, key: LinkKey) -> Settings {
        let link = self.links.get(&key);
        link.map_or_else(Settings::default, |link| link.settings.clone())
    }

    /// How long a piece takes on this link.
    pub(super) fn latency(&mut self, key: LinkKey) -> u64 {
        match self.links.get(&key) {
            None => 0,
            Some(link) => {
                let latency = link.settings.latency.clone();
                draw(self.chance(key), &latency)
            }
        }
    }

    /// What becomes of a piece that has come to the end of this link.
    pub(super) fn fate(&mut self, key: LinkKey) -> Fate {
        let Some(link) = self.links.get(&key) else {
            return Fate::Arrives;
        };
        let (is_parted, rate) = (link.is_parted, link.settings.drop_rate);
        if link.is_held {
            return Fate::Held;
        }
        match is_parted || self.happens(key, rate) {
            true => Fate::Lost,
            false => Fate::Arrives,
        }
    }

    /// Lets something wait until the link is released.
    pub(super) fn hold(&mut self, key: LinkKey, what: What) {
        self.links.entry(key).or_default().held.push_back(what);
    }

    /// Changes a link.
    pub(crate) fn change(&mut self, key: LinkKey, change: Change) {
        self.note(Note::Changed, change as u64);
        let link = self.links.entry(key).or_default();
        match change {
            Change::Partition => link.is_parted = true,
            Change::Heal => link.is_parted = false,
            Change::Hold => link.is_held = true,
            Change::Release => {
                link.is_held = false;
                for what in mem::take(&mut link.held) {
                    self.happens_in(0, what);
                }
            }
            Change::Reset => self.reset_all(key),
        }
    }

    /// Resets all connections over a link.
    fn reset_all(&mut self, key: LinkKey) {
        let crosses = |(&id, _): (&SocketId, &_)| (self.link_of(id) == Some(key)).then_some(id);
        let all: Vec<_> = self.sockets.iter().filter_map(crosses).collect();
        for id in all {
            self.break_off(id, Errno::CONNRESET);
        }
    }
}
