//! What a fibre or thread waits for, in one word.
//!
//! ```text
//!   bit 63       62 … 16                               15 … 8                7        6      5 … 0
//!   a number?    address of the object, or its number  place of the owner    closed   away   kind
//! ```
//!
//! A *closed* wait is one that only its object ends. A fibre that waits *away* may go on on another
//! processor than the one that it waits on. A fibre notes both with the word, and readers get the
//! word without them.
//!
//! The owner is a number in the object: it names the fibre or thread that has the object, and so
//! must let the waiting side go on. Its place is counted in words from the address, plus one; zero
//! means that there is no owner.
//!
//! The address is shifted by the bits that cannot be a part of it, so that two instructions make
//! the word, as it is made for each wait.

use std::fmt;
use std::ptr;

/// Where the address begins. There are no higher ones in user space, unless asked for.
const ADDRESS_SHIFT: u32 = 16;
/// Where the owner's place begins.
const OWNER_SHIFT: u32 = 8;
/// The wait is closed.
const CLOSED: u64 = 1 << 7;
/// The fibre may go on on another processor.
const AWAY: u64 = 1 << 6;
/// It has a number, and no address.
const NUMBERED: u64 = 1 << 63;

/// The kind of what a fibre or thread waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[repr(u8)]
pub enum WaitKind {
    /// Something that has no kind of its own.
    Other = 1,
    /// A mutex, or the lock of one.
    Mutex = 2,
    /// A read-write lock.
    RwLock = 3,
    /// A condition variable.
    Condvar = 4,
    /// Permits of a semaphore.
    Semaphore = 5,
    /// The other parties of a barrier.
    Barrier = 6,
    /// An event of either kind.
    Event = 7,
    /// The jobs of a wait group.
    WaitGroup = 8,
    /// A notification.
    Notify = 9,
    /// Something that is initialised once.
    Once = 10,
    /// The other end of a channel.
    Channel = 11,
    /// One of several things.
    Select = 12,
    /// Readiness of a descriptor.
    Io = 13,
    /// The end of a fibre.
    Join = 14,
    /// The ends of a scope's fibres.
    Scope = 15,
    /// The passing of time.
    Sleep = 16,
    /// The processors of a cluster.
    Cluster = 17,
    /// A call that blocks a thread.
    Blocking = 18,
    /// A processor that runs another fibre, which does not switch; the waiting fibre could run
    /// otherwise.
    Processor = 19,
    /// Nothing: it runs, and does not switch. It may compute, or block the thread of its processor
    /// by a call that is not fibre's.
    Running = 20,
    /// One of several things, some of which come from outside of the process: descriptors, signals.
    SelectOutside = 21,
}

impl WaitKind {
    /// All kinds, by their numbers, which begin with one.
    const ALL: [Self; 21] = [
        Self::Other,
        Self::Mutex,
        Self::RwLock,
        Self::Condvar,
        Self::Semaphore,
        Self::Barrier,
        Self::Event,
        Self::WaitGroup,
        Self::Notify,
        Self::Once,
        Self::Channel,
        Self::Select,
        Self::Io,
        Self::Join,
        Self::Scope,
        Self::Sleep,
        Self::Cluster,
        Self::Blocking,
        Self::Processor,
        Self::Running,
        Self::SelectOutside,
    ];

    /// The kind in words.
    pub(crate) const fn words(self) -> &'static str {
        match self {
            Self::Other => "something",
            Self::Mutex => "the mutex",
            Self::RwLock => "the read-write lock",
            Self::Condvar => "the condition variable",
            Self::Semaphore => "the semaphore",
            Self::Barrier => "the barrier",
            Self::Event => "the event",
            Self::WaitGroup => "the wait group",
            Self::Notify => "a notification by that",
            Self::Once => "the initialisation of that",
            Self::Channel => "the channel",
            Self::Select => "one of several things",
            Self::Io => "input or output",
            Self::Join => "the end of the fibre",
            Self::Scope => "the fibres of a scope",
            Self::Sleep => "time to pass",
            Self::Cluster => "the processors of a cluster",
            Self::Blocking => "a call that blocks a thread",
            Self::SelectOutside => "one of several things, or input",
            Self::Processor => "its processor",
            Self::Running => "nothing",
        }
    }
}

/// Words as a debugger reads them.
#[cfg(not(loom))]
#[repr(C)]
#[derive(Debug)]
pub(crate) struct Words {
    /// Their bytes.
    start: *const u8,
    /// How many bytes they have.
    length: usize,
}

// SAFETY: constants.
#[cfg(not(loom))]
unsafe impl Sync for Words {}

/// What all kinds are in words, by their numbers less one; for debuggers.
#[cfg(not(loom))]
pub(crate) static KIND_WORDS: [Words; WaitKind::ALL.len()] = {
    let mut all = [const {
        Words {
            start: ptr::null(),
            length: 0,
        }
    }; WaitKind::ALL.len()];
    let mut at = 0;
    while at < all.len() {
        let words = WaitKind::ALL[at].words();
        all[at] = Words {
            start: words.as_ptr(),
            length: words.len(),
        };
        at += 1;
    }
    all
};

/// What a fibre waits for: a kind of object, and where it is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct WaitObject(u64);

impl WaitObject {
    /// An object of this kind, by its address.
    #[inline]
    #[must_use]
    pub fn new<T: ?Sized>(kind: WaitKind, object: *const T) -> Self {
        let address = object.cast::<()>().expose_provenance() as u64;
        Self(address << ADDRESS_SHIFT | kind as u64)
    }

    /// An object of this kind that has a number, as descriptors do.
    #[inline]
    #[must_use]
    pub const fn numbered(kind: WaitKind, number: u32) -> Self {
        Self(NUMBERED | (number as u64) << ADDRESS_SHIFT | kind as u64)
    }

    /// An object of this kind that has neither an address nor a number.
    #[inline]
    #[must_use]
    pub const fn placeless(kind: WaitKind) -> Self {
        Self(kind as u64)
    }

    /// Adds the place of the owner: the number of the object's owner lies `offset` bytes behind the
    /// address, zero if it has none. If the place is too far away, reports name no owner.
    ///
    /// # Safety
    ///
    /// The offset is a multiple of eight. For as long as a fibre or thread waits for the object, a
    /// part of it lies there that is a `u64`, and written to by atomic operations only, if at all.
    #[inline]
    #[must_use]
    pub unsafe fn owned(self, offset: usize) -> Self {
        match offset as u64 / 8 {
            words @ 0..255 => Self(self.0 | (words + 1) << OWNER_SHIFT),
            _ => self,
        }
    }

    /// What kind of object it is.
    #[must_use]
    pub fn kind(self) -> WaitKind {
        let number = (self.0 & (AWAY - 1)) as usize;
        let kind = WaitKind::ALL.get(number.wrapping_sub(1));
        kind.copied().unwrap_or(WaitKind::Other)
    }

    /// The address of the object, if that is known.
    #[must_use]
    pub fn address(self) -> Option<usize> {
        let address = (self.0 >> ADDRESS_SHIFT) as usize;
        (self.0 & NUMBERED == 0 && address != 0).then_some(address)
    }

    /// The number of the object, if it has one, as descriptors do.
    #[must_use]
    pub fn number(self) -> Option<u32> {
        (self.0 & NUMBERED != 0).then_some((self.0 >> ADDRESS_SHIFT) as u32)
    }

    /// The place of the owner's number, if there is one.
    pub(crate) fn owner(self) -> Option<*const u64> {
        let words = usize::from((self.0 >> OWNER_SHIFT) as u8).checked_sub(1)?;
        let number = self.address()? + words * 8;
        Some(ptr::with_exposed_provenance(number))
    }

    /// The same as what a wait is for that nothing else ends: its fibre is not unwound when its
    /// cluster is stopped.
    #[inline]
    #[must_use]
    pub const fn closed(self) -> Self {
        Self(self.0 | CLOSED)
    }

    /// Whether the wait is such a one.
    pub(crate) fn is_closed(self) -> bool {
        self.0 & CLOSED != 0
    }

    /// The same for a fibre that may go on on another processor.
    #[inline]
    pub(crate) fn away(self) -> Self {
        Self(self.0 | AWAY)
    }

    /// Whether the fibre may go on on another processor.
    pub(crate) fn is_away(self) -> bool {
        self.0 & AWAY != 0
    }

    /// The same as what any wait is for.
    pub(crate) fn opened(self) -> Self {
        Self(self.0 & !(CLOSED | AWAY))
    }

    /// The object as a word, which is not zero.
    #[inline]
    pub(crate) fn bits(self) -> u64 {
        self.0
    }

    /// Undoes [`bits`](Self::bits); `None` for zero.
    pub(crate) fn from_bits(bits: u64) -> Option<Self> {
        (bits != 0).then_some(Self(bits))
    }
}

impl fmt::Debug for WaitObject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "WaitObject({self})")
    }
}

impl fmt::Display for WaitObject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.kind().words())?;
        match (self.address(), self.number()) {
            (Some(address), _) => write!(f, " at {address:#x}"),
            (_, Some(number)) => write!(f, " ({number})"),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_comes_back() {
        let object = [7_u64, 8, 9];
        for (number, kind) in WaitKind::ALL.into_iter().enumerate() {
            assert_eq!(kind as usize, number + 1);
            let plain = WaitObject::new(kind, &object);
            assert_eq!(plain.kind(), kind);
            assert_eq!(plain.address(), Some(object.as_ptr().addr()));
            assert_eq!(plain.number(), None);
            assert_eq!(plain.owner(), None);
            assert_eq!(WaitObject::from_bits(plain.bits()), Some(plain));
            for (place, owner) in object.iter().enumerate() {
                // SAFETY: nobody waits for it.
                let owned = unsafe { plain.owned(place * 8) };
                assert_eq!(owned.owner(), Some(ptr::from_ref(owner)));
                assert_eq!((owned.kind(), owned.address()), (kind, plain.address()));
            }
        }
        assert_eq!(WaitObject::from_bits(0), None);
        let open = WaitObject::new(WaitKind::Mutex, &object);
        let closed = open.closed();
        assert!(closed.is_closed() && !open.is_closed());
        assert_eq!((closed.kind(), closed.opened()), (open.kind(), open));
    }

    #[test]
    fn what_has_no_place_may_have_a_number() {
        let other = WaitObject::placeless(WaitKind::Other);
        assert_eq!(WaitObject::from_bits(other.bits()), Some(other));
        assert_eq!((other.address(), other.number()), (None, None));
        for number in [0, 7, u32::MAX] {
            let numbered = WaitObject::numbered(WaitKind::Io, number);
            assert_eq!(numbered.kind(), WaitKind::Io);
            assert_eq!(
                (numbered.address(), numbered.number()),
                (None, Some(number))
            );
            assert_eq!(numbered.owner(), None);
            assert!(numbered.to_string().ends_with(&format!("({number})")));
        }
    }

    #[test]
    fn owners_that_are_too_far_away_are_left_out() {
        for (offset, told) in [
            (254 * 8, true),
            (255 * 8, false),
            (0_usize.wrapping_sub(8), false),
        ] {
            // SAFETY: nobody waits for it.
            let awaited = unsafe { WaitObject::new(WaitKind::Mutex, &offset).owned(offset) };
            assert_eq!(awaited.owner().is_some(), told);
            assert_eq!(awaited.kind(), WaitKind::Mutex);
        }
    }
}
