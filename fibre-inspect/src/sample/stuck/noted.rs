//! What reports say of the fibres that may be stuck, noted while they stand still: later they may
//! not be found any more.
//!
//! Nothing of it takes memory from the allocator, which a fibre that stands still may keep locked.

use super::region::Region;
use fibre_core::internal::FibreView;
use fibre_core::{WaitObject, Waiting};
use std::ops::Range;
use std::time::Instant;

/// The bytes of names that there is room for, for each fibre.
const NAME: usize = 64;

/// A piece of the text of all names; an empty one for no name.
#[derive(Debug, Clone, Copy, Default)]
struct Name {
    from: usize,
    to: usize,
}

/// What is noted of one fibre.
#[derive(Debug, Clone, Copy)]
struct Noted {
    id: u64,
    /// The number of its wait.
    wait: u32,
    name: Name,
    cluster: Name,
    awaited: WaitObject,
    since: Option<Instant>,
    owner: Option<u64>,
}

/// What is noted of all fibres.
#[derive(Debug)]
pub(super) struct Notes {
    all: Region<Noted>,
    text: Region<u8>,
    /// The name of the cluster that is looked at.
    cluster: Name,
}

impl Notes {
    /// With room for so many fibres. `None`: there is no memory.
    pub(super) fn new(fibres: usize) -> Option<Self> {
        Some(Self {
            all: Region::new(fibres)?,
            text: Region::new(fibres.checked_mul(NAME)?)?,
            cluster: Name::default(),
        })
    }

    /// The addresses of all that it has.
    pub(super) fn addresses(&self) -> [Range<usize>; 2] {
        [self.all.addresses(), self.text.addresses()]
    }

    /// The fibres of the cluster with this name come next.
    pub(super) fn begin_cluster(&mut self, name: &str) {
        self.cluster = self.add(name);
    }

    /// Notes a fibre. `false`: there is no room.
    pub(super) fn note(&mut self, fibre: &FibreView<'_>, awaited: WaitObject) -> bool {
        let mut name = Name::default();
        fibre.with_name(&mut |its| name = self.add(its.unwrap_or_default()));
        self.all.push(Noted {
            id: fibre.id(),
            wait: fibre.wait_number(),
            name,
            cluster: self.cluster,
            awaited,
            since: fibre.since(),
            owner: fibre.owner(),
        })
    }

    /// The description of a fibre, by its place, and the number of its wait.
    pub(super) fn get(&self, place: usize) -> Option<(u32, Waiting)> {
        let noted = self.all.get(place)?;
        let text = |name: Name| {
            let bytes = self.text.get(name.from..name.to).unwrap_or_default();
            String::from_utf8_lossy(bytes).into_owned()
        };
        let name = Some(text(noted.name)).filter(|name| !name.is_empty());
        let mut waiting = Waiting::new(noted.id, text(noted.cluster), noted.awaited);
        (waiting.name, waiting.since, waiting.owner) = (name, noted.since, noted.owner);
        Some((noted.wait, waiting))
    }

    /// Adds a name; one that there is no room for is left out.
    fn add(&mut self, name: &str) -> Name {
        let from = self.text.len();
        let fits = name.bytes().all(|byte| self.text.push(byte));
        if fits {
            Name {
                from,
                to: self.text.len(),
            }
        } else {
            Name::default()
        }
    }
}
