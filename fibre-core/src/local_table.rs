//! Values that belong to one fibre, or to one plain thread, found by keys.
//!
//! A [`Key`] has an index that is its own as long as it is not deleted, and a generation that
//! tells it from earlier owners of the index: an odd one, as a place without an owner has an even one. A [`Locals`] is one owner's table: a value and
//! its destructor by index. It is a null pointer until the first value is set, which is all
//! that a fibre without such values pays for.
//!
//! At its owner's end the table is emptied in rounds, as POSIX has it: a value is taken out
//! before its destructor runs, which may block, and may set values again, of its own key too;
//! these are for the next round. What is left after [`ROUNDS`] rounds is leaked. Keys that are *last*, for what
//! destructors of others may still ask for, have a round of their own after these.
//!
//! Nothing here is atomic but the generations: a table is used by its owner only, and no
//! borrow of it outlives a method, since destructors come back to it.

use crate::buckets::Buckets;
use crate::quiet::quietly;
use parking_lot::Mutex;
use std::cell::UnsafeCell;
use std::ffi::c_void;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, Ordering};

/// How often a table is emptied at the end: `PTHREAD_DESTRUCTOR_ITERATIONS`.
const ROUNDS: usize = 4;

/// What ends a value. It may unwind; the panic ends with the value.
pub type Destructor = unsafe extern "C-unwind" fn(*mut c_void);

/// A key of values of which each fibre, and each plain thread, has its own: untyped, for C and
/// for others who manage what the values point to. A new key's values are null.
///
/// Most programs want [`fibre_local!`](crate::fibre_local).
///
/// ```
/// // SAFETY: there is no destructor.
/// let key = unsafe { fibre_core::Key::new(None) };
/// key.set(7 as *mut _);
/// let other = fibre_core::spawn(move || key.get().is_null());
/// assert!(other.join().unwrap());
/// assert_eq!(key.get() as usize, 7);
/// key.delete();
/// assert!(key.get().is_null());
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Key {
    /// What stands behind all keys that have had this index; never freed.
    place: &'static Place,
    /// The place's generation while this key is its owner.
    generation: u32,
}

/// What keys with the same index share.
#[derive(Debug)]
struct Place {
    /// Where in the tables their values are.
    index: usize,
    /// Odd if a key owns it. Grows when one is made and when it is deleted.
    generation: AtomicU32,
    /// What ends values that are not null when their fibre or thread ends; null for nothing.
    /// Written only while no key owns the place.
    destructor: AtomicPtr<()>,
    /// Whether values are ended after those of other keys. Written like `destructor`.
    last: AtomicBool,
}

/// All places, by their indexes.
static PLACES: Buckets<Place> = Buckets::new();

/// Those that no key owns, and how many buckets of them there are.
static FREE: Mutex<Free> = parking_lot::const_mutex(Free {
    places: Vec::new(),
    buckets: 0,
});

/// See [`FREE`].
struct Free {
    places: Vec<&'static Place>,
    buckets: usize,
}

impl Free {
    /// A place that no key owns.
    fn take(&mut self) -> Option<&'static Place> {
        if self.places.is_empty() {
            let places = PLACES.bucket(self.buckets, Place::new)?;
            self.buckets += 1;
            self.places.extend(places.iter().rev());
        }
        self.places.pop()
    }
}

impl Place {
    /// A place that no key owns.
    fn new(index: usize) -> Self {
        Self {
            index,
            generation: AtomicU32::new(0),
            destructor: AtomicPtr::new(ptr::null_mut()),
            last: AtomicBool::new(false),
        }
    }
}

impl Key {
    /// A new key. `destructor` is called for each value that is not null when its fibre or
    /// thread ends, after the value has been set to null; in the fibre, which may block there.
    ///
    /// # Safety
    ///
    /// The destructor may be called with all that the key's values will be set to, on the
    /// fibre or thread that has set it.
    ///
    /// # Panics
    ///
    /// If there are four thousand million keys.
    #[must_use]
    pub unsafe fn new(destructor: Option<Destructor>) -> Self {
        // SAFETY: the caller's promise.
        unsafe { Self::with_order(destructor, false) }
    }

    /// [`new`](Self::new), for values that the destructors of others may still ask for: they are ended when all others
    /// have been. Their own destructor is called once, and sets no values.
    ///
    /// # Safety
    ///
    /// As for `new`.
    ///
    /// # Panics
    ///
    /// As `new`.
    #[must_use]
    pub unsafe fn new_last(destructor: Destructor) -> Self {
        // SAFETY: the caller's promise.
        unsafe { Self::with_order(Some(destructor), true) }
    }

    /// The common part.
    unsafe fn with_order(destructor: Option<Destructor>, last: bool) -> Self {
        let Some(place) = FREE.lock().take() else {
            unreachable!("there cannot be so many keys")
        };
        let destructor = destructor.map_or(ptr::null_mut(), |f| f as *mut ());
        place.destructor.store(destructor, Ordering::Relaxed);
        place.last.store(last, Ordering::Relaxed);
        // Release: who finds the generation finds the destructor.
        let generation = place.generation.fetch_add(1, Ordering::AcqRel) + 1;
        Self { place, generation }
    }

    /// Its number: no other key that is there has the same. A deleted key's is given to others.
    #[must_use]
    pub fn number(self) -> u32 {
        // There are never more places than that.
        self.place.index as u32
    }

    /// The key that has this number now.
    ///
    /// ```
    /// use fibre_core::Key;
    ///
    /// // SAFETY: there is no destructor.
    /// let key = unsafe { Key::new(None) };
    /// key.set(7 as *mut _);
    /// let same = Key::numbered(key.number()).unwrap();
    /// assert_eq!(same.get() as usize, 7);
    /// key.delete();
    /// assert!(Key::numbered(u32::MAX).is_none());
    /// ```
    #[inline]
    #[must_use]
    pub fn numbered(number: u32) -> Option<Self> {
        let place = PLACES.get(number as usize)?;
        let generation = place.generation.load(Ordering::Acquire);
        (generation % 2 == 1).then_some(Self { place, generation })
    }

    /// Deletes it: all of its values are null from now on, and nobody's destructor is called.
    /// `false`: it had been deleted.
    #[allow(clippy::must_use_candidate, reason = "most callers know")]
    pub fn delete(self) -> bool {
        let mut free = FREE.lock();
        let alive = self.is_alive();
        if alive {
            self.place.generation.fetch_add(1, Ordering::Release);
            free.places.push(self.place);
        }
        alive
    }

    /// Whether it has not been deleted.
    #[must_use]
    pub fn is_alive(self) -> bool {
        self.place.generation.load(Ordering::Acquire) == self.generation
    }

    /// Whether its values are ended after those of others. Says nothing of a deleted key.
    fn is_last(self) -> bool {
        self.place.last.load(Ordering::Relaxed)
    }
}

/// The values of one fibre or thread. See the module text.
#[derive(Debug, Default)]
pub struct Locals(UnsafeCell<Option<Box<Table>>>);

/// Values by the index of their key. Boxed, so that an owner without any pays one pointer.
#[derive(Debug, Default)]
struct Table(Vec<Option<Value>>);

/// One value that is not null.
#[derive(Debug, Clone, Copy)]
struct Value {
    /// Whose it is.
    key: Key,
    /// Never null.
    value: *mut c_void,
}

impl Locals {
    /// No values.
    #[must_use]
    pub const fn new() -> Self {
        Self(UnsafeCell::new(None))
    }

    /// The value of a key; null if it has none.
    #[inline]
    pub fn get(&self, key: Key) -> *mut c_void {
        // SAFETY: the owner is alone with its table, and no borrow outlives a method.
        let table = unsafe { &*self.0.get() };
        let slot = table
            .as_ref()
            .and_then(|table| table.0.get(key.place.index));
        match slot {
            Some(Some(slot)) if slot.key.generation == key.generation => slot.value,
            _ => ptr::null_mut(),
        }
    }

    /// Replaces the value of a key. The old one is not ended.
    pub fn set(&self, key: Key, value: *mut c_void) {
        // SAFETY: as in `get`.
        let table = &mut unsafe { &mut *self.0.get() }.get_or_insert_default().0;
        let index = key.place.index;
        if table.len() <= index {
            table.resize(index + 1, None);
        }
        table[index] = (!value.is_null()).then_some(Value { key, value });
    }

    /// Ends all values. The owner's, at its end; blocks what the destructors block.
    #[inline]
    pub fn end(&self) {
        if !self.is_empty() {
            self.end_in_rounds();
        }
    }

    /// The part of [`end`](Self::end) for those who have values.
    #[cold]
    fn end_in_rounds(&self) {
        for _ in 0..ROUNDS {
            let mut index = 0;
            let mut ended = 0;
            while let Some(value) = self.take_from(&mut index, false) {
                value.end();
                ended += 1;
            }
            if ended == 0 {
                break;
            }
        }
        let mut index = 0;
        while let Some(value) = self.take_from(&mut index, true) {
            value.end();
        }
        self.forget();
    }

    /// Whether there are none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        // SAFETY: as in `get`.
        unsafe { &*self.0.get() }.is_none()
    }

    /// Forgets all values, which are not ended.
    pub fn forget(&self) {
        // SAFETY: as in `get`.
        drop(unsafe { (*self.0.get()).take() });
    }

    /// Takes out the first value at or behind `index` whose key is alive, and of this order, and steps behind it.
    fn take_from(&self, index: &mut usize, last: bool) -> Option<Value> {
        // SAFETY: as in `get`.
        let table = &mut unsafe { &mut *self.0.get() }.as_mut()?.0;
        while *index < table.len() {
            let place = &mut table[*index];
            *index += 1;
            if place.is_some_and(|value| value.key.is_alive() && value.key.is_last() == last) {
                return place.take();
            }
        }
        None
    }
}

impl Value {
    /// Calls the destructor.
    fn end(self) {
        let destructor = self.key.place.destructor.load(Ordering::Acquire);
        // Another owner's would come with another generation.
        if destructor.is_null() || !self.key.is_alive() {
            return;
        }
        // SAFETY: what `new` has put there, as the key is still the place's owner.
        let destructor = unsafe { std::mem::transmute::<*mut (), Destructor>(destructor) };
        // SAFETY: the destructor was given for the values of this key.
        quietly(|| unsafe { destructor(self.value) });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::OnceLock;
    use std::sync::atomic::AtomicUsize;

    /// The sum of what destructors have been called with.
    static ENDED: AtomicUsize = AtomicUsize::new(0);

    unsafe extern "C-unwind" fn count(value: *mut c_void) {
        ENDED.fetch_add(value.addr(), Ordering::Relaxed);
    }

    fn new(destructor: Option<Destructor>) -> Key {
        // SAFETY: the destructor of these tests takes any value.
        unsafe { Key::new(destructor) }
    }

    #[test]
    fn values_are_ended_once_and_deleted_ones_never() {
        let locals = Locals::new();
        let keys = [(); 4].map(|()| new(Some(count)));
        let without = new(None);
        assert!(locals.get(keys[3]).is_null());
        for (index, key) in keys.into_iter().enumerate() {
            locals.set(key, ptr::without_provenance_mut(1 << (4 * index)));
        }
        locals.set(without, ptr::without_provenance_mut(5));
        locals.set(keys[1], ptr::null_mut());
        assert!(keys[2].delete() && !keys[2].delete());
        let heir = new(Some(count));
        assert!(locals.get(heir).is_null(), "another key's value");
        for _ in 0..2 {
            locals.end();
            assert_eq!(ENDED.load(Ordering::Relaxed), 0x1001);
        }
        assert!(keys.iter().all(|key| locals.get(*key).is_null()));
    }

    /// What is ended last is there in all rounds of the others, whichever key is older.
    #[test]
    fn last_ones_are_there_until_the_others_are_gone() {
        static LOCALS: SingleThreaded = SingleThreaded(Locals::new());
        static KEYS: OnceLock<[Key; 2]> = OnceLock::new();
        static SEEN: AtomicUsize = AtomicUsize::new(0);
        struct SingleThreaded(Locals);
        // SAFETY: this test is its only user.
        unsafe impl Sync for SingleThreaded {}

        unsafe extern "C-unwind" fn again(value: *mut c_void) {
            let [last, key] = KEYS.get().copied().unwrap();
            assert!(!LOCALS.0.get(last).is_null());
            SEEN.fetch_add(1, Ordering::Relaxed);
            LOCALS.0.set(key, value);
        }
        unsafe extern "C-unwind" fn end(_: *mut c_void) {
            assert_eq!(SEEN.load(Ordering::Relaxed), ROUNDS);
            SEEN.fetch_add(1, Ordering::Relaxed);
        }
        // SAFETY: these destructors take any value.
        let last = unsafe { Key::new_last(end) };
        let [last, key] = *KEYS.get_or_init(|| [last, new(Some(again))]);
        LOCALS.0.set(last, ptr::without_provenance_mut(1));
        LOCALS.0.set(key, ptr::without_provenance_mut(1));
        LOCALS.0.end();
        assert_eq!(SEEN.load(Ordering::Relaxed), ROUNDS + 1);
    }
}
