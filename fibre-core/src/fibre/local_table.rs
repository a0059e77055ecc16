//! Values that belong to one fibre, or to one plain thread, found by keys.
//!
//! A [`Key`] owns an index until it is deleted, and a generation tells it from earlier owners of
//! the index. A key's generation is odd; a place without an owner has an even one. A place is
//! retired before its generations wrap around. A [`Locals`] is one owner's table: a value and its
//! destructor by index. It is a null pointer until the first value is set, so that is all that a
//! fibre without such values costs. The same pointer leads to the scoped values that are bound for
//! the owner ([`Bindings`]): at once if there is no table, or from there.
//!
//! At its owner's end the table is emptied in rounds, as in POSIX: a value is taken out before its
//! destructor runs. The destructor may block, and may set values again, even of its own key; these
//! go to the next round. What is left after [`ROUNDS`] rounds is leaked. Keys that are *last*, for
//! values that the destructors of others may still ask for, have a round of their own after these.
//! Scoped values that are still bound are given up between the two, so that destructors find them.
//!
//! Only the generations are atomic: a table is used by its owner only, and no borrow of it outlives
//! a method, since destructors come back to it.

use crate::fibre::bindings::Bindings;
use crate::sync::segmented::SegmentedVec;
use crate::sync::thread_mutex::Mutex;
use crate::sync::unwind_guard::quietly;
use std::cell::Cell;
use std::ffi::c_void;
use std::mem::{self, ManuallyDrop};
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicU8, AtomicU32, Ordering};

/// How often a table is emptied at the end: `PTHREAD_DESTRUCTOR_ITERATIONS`.
const ROUNDS: usize = 4;

/// The last generation of a place: the next odd one would be the first again.
const LAST_GENERATION: u32 = u32::MAX;

/// A function that ends a value. It may unwind; the panic ends with the value.
pub type Destructor = unsafe extern "C-unwind" fn(*mut c_void);

/// A key of values; each fibre, and each plain thread, has its own: untyped, for C and for callers
/// that manage what the values point to. A new key's values are null.
///
/// Most programs want [`fibre_local!`](crate::fibre_local).
///
/// ```
/// // SAFETY: there is no destructor.
/// let key = unsafe { fibre::Key::new(None) };
/// // SAFETY: as above, so it takes any value.
/// unsafe { key.set(7 as *mut _) };
/// let other = fibre::spawn(move || key.get().is_null());
/// assert!(other.join().unwrap());
/// assert_eq!(key.get() as usize, 7);
/// key.delete();
/// assert!(key.get().is_null());
/// ```
#[doc(alias("pthread_key_create", "pthread_getspecific"))]
#[derive(Debug, Clone, Copy)]
pub struct Key {
    /// The place that all keys with this index have had; never freed.
    place: &'static TableEntry,
    /// The place's generation while this key is its owner.
    generation: u32,
}

/// What keys with the same index share.
#[derive(Debug)]
struct TableEntry {
    /// The index of their values in the tables.
    index: usize,
    /// Odd if a key owns it. Grows when one is made and when it is deleted.
    generation: AtomicU32,
    /// The function that ends values that are not null when their fibre or thread ends; null for
    /// none. Written only while no key owns the place.
    destructor: AtomicPtr<()>,
    /// What its key is for, a [`Kind`]. Written like `destructor`.
    kind: AtomicU8,
}

/// What a key is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
enum Kind {
    /// Any code that knows its number may use it.
    Numbered,
    /// For values of one type, which safe code reaches: the key has no number for others.
    Typed,
    /// For values that are ended after those of other keys. The key has no number for others,
    /// either.
    Last,
}

/// All places, by their indexes.
static PLACES: SegmentedVec<TableEntry> = SegmentedVec::new();

/// The places that no key owns, and how many buckets of them there are.
static FREE: Mutex<Free> = Mutex::new(Free {
    places: Vec::new(),
    buckets: 0,
});

/// The content of [`FREE`].
struct Free {
    places: Vec<&'static TableEntry>,
    buckets: usize,
}

impl Free {
    /// Takes a place that no key owns.
    fn take(&mut self) -> Option<&'static TableEntry> {
        if self.places.is_empty() {
            let places = PLACES.bucket(self.buckets, TableEntry::new)?;
            self.buckets += 1;
            self.places.extend(places.iter().rev());
        }
        self.places.pop()
    }
}

impl TableEntry {
    /// Makes a place that no key owns.
    fn new(index: usize) -> Self {
        Self {
            index,
            generation: AtomicU32::new(0),
            destructor: AtomicPtr::new(ptr::null_mut()),
            kind: AtomicU8::new(Kind::Numbered as u8),
        }
    }
}

impl Key {
    /// Makes a key. `destructor` is called for each value that is not null when its fibre or thread
    /// ends, after the value has been set to null. It is called in the fibre, which may block
    /// there.
    ///
    /// # Safety
    ///
    /// The destructor may be called with every value that the key is set to, on the fibre or thread
    /// that has set it.
    ///
    /// # Panics
    ///
    /// If there is no memory for another key, or there are four thousand million of them.
    #[must_use]
    pub unsafe fn new(destructor: Option<Destructor>) -> Self {
        // SAFETY: the caller's promise.
        unsafe { Self::of_kind(destructor, Kind::Numbered) }
    }

    /// [`new`](Self::new) for callers that can do without a key: `None` if there is no memory for
    /// another one, or no number.
    ///
    /// # Safety
    ///
    /// As for `new`.
    pub unsafe fn try_new(destructor: Option<Destructor>) -> Option<Self> {
        // SAFETY: the caller's promise.
        unsafe { Self::try_of_kind(destructor, Kind::Numbered) }
    }

    /// [`new`](Self::new), for values of one type: the key is not found by its number, so nobody
    /// else sets its values.
    ///
    /// # Safety
    ///
    /// As for `new`.
    ///
    /// # Panics
    ///
    /// As `new`.
    #[must_use]
    pub(crate) unsafe fn new_typed(destructor: Destructor) -> Self {
        // SAFETY: the caller's promise.
        unsafe { Self::of_kind(Some(destructor), Kind::Typed) }
    }

    /// [`new`](Self::new), for values that the destructors of others may still ask for: they are
    /// ended when all others have been. Their own destructor is called once, and sets no values.
    /// The key is not found by its number.
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
        unsafe { Self::of_kind(Some(destructor), Kind::Last) }
    }

    /// The common part of the constructors that panic without a key.
    unsafe fn of_kind(destructor: Option<Destructor>, kind: Kind) -> Self {
        // SAFETY: the caller's promise.
        match unsafe { Self::try_of_kind(destructor, kind) } {
            Some(key) => key,
            None => panic!("no memory for another key, or too many keys"),
        }
    }

    /// The common part of all constructors.
    unsafe fn try_of_kind(destructor: Option<Destructor>, kind: Kind) -> Option<Self> {
        let place = FREE.lock().take()?;
        let destructor = destructor.map_or(ptr::null_mut(), |f| f as *mut ());
        // Release: a thread that finds this destructor finds that an earlier key has been deleted.
        place.destructor.store(destructor, Ordering::Release);
        place.kind.store(kind as u8, Ordering::Relaxed);
        // Release: a thread that finds the generation finds the destructor.
        let generation = place.generation.fetch_add(1, Ordering::AcqRel) + 1;
        Some(Self { place, generation })
    }

    /// The key's number: no other living key has the same. A deleted key's number is given to
    /// others.
    #[must_use]
    pub fn number(self) -> u32 {
        // There are never more places than a `u32` counts.
        self.place.index as u32
    }

    /// The key that has this number now, if it was made by [`new`](Self::new). Keys behind
    /// [`fibre_local!`](crate::fibre_local) are not found.
    ///
    /// ```
    /// use fibre::Key;
    ///
    /// // SAFETY: there is no destructor, and nobody else uses the key.
    /// unsafe {
    ///     let key = Key::new(None);
    ///     key.set(7 as *mut _);
    ///     let same = Key::numbered(key.number()).unwrap();
    ///     assert_eq!(same.get() as usize, 7);
    ///     key.delete();
    ///     assert!(Key::numbered(u32::MAX).is_none());
    /// }
    /// ```
    ///
    /// # Safety
    ///
    /// The number is of a key with values that the caller may set and delete: the key is the
    /// caller's own, or the key's maker gave the caller its number for that.
    ///
    /// ```compile_fail,E0133
    /// # use fibre::Key;
    /// let anybodys = Key::numbered(0);
    /// ```
    #[inline]
    #[must_use]
    pub unsafe fn numbered(number: u32) -> Option<Self> {
        let place = PLACES.get(number as usize)?;
        let generation = place.generation.load(Ordering::Acquire);
        let key = Self { place, generation };
        (generation % 2 == 1 && key.is(Kind::Numbered)).then_some(key)
    }

    /// Deletes the key: all of its values are null from now on, and no destructor is called for
    /// them. `false`: it had been deleted.
    #[allow(clippy::must_use_candidate, reason = "most callers know")]
    pub fn delete(self) -> bool {
        let mut free = FREE.lock();
        let alive = self.is_alive();
        if alive {
            self.place.generation.fetch_add(1, Ordering::Release);
            // A table may still hold values of the first generations.
            if self.generation < LAST_GENERATION {
                free.places.push(self.place);
            }
        }
        alive
    }

    /// Whether the key has not been deleted.
    #[must_use]
    pub fn is_alive(self) -> bool {
        self.place.generation.load(Ordering::Acquire) == self.generation
    }

    /// Whether the key is of this kind. Says nothing about a deleted key.
    fn is(self, kind: Kind) -> bool {
        self.place.kind.load(Ordering::Relaxed) == kind as u8
    }
}

/// The values of one fibre or thread, and what is bound for it.
#[derive(Debug)]
pub(crate) struct Locals(Cell<*mut ()>);

/// The mark of a pointer that does not lead to a table, but to bindings.
const BINDINGS: usize = 1;

/// The values of one owner. Boxed, so that an owner without any pays one pointer.
#[derive(Debug)]
struct Table {
    /// Values by the index of their key.
    values: Vec<Option<Value>>,
    /// Whether switch hooks make no more of them, as those that there are end for good.
    closed: bool,
    /// The scoped values.
    bindings: Bindings,
}

/// Which values are taken out to be ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wanted {
    /// Those of keys that do not ask to be the last ones.
    Ordinary,
    /// Those of keys that do.
    Last,
    /// Those that switch hooks have made.
    OfHooks,
}

/// One value that is not null.
#[derive(Debug, Clone, Copy)]
struct Value {
    /// The key that it belongs to.
    key: Key,
    /// The value, which is never null.
    value: *mut c_void,
    /// Whether a switch hook has made it.
    of_hook: bool,
}

impl Locals {
    /// A table without values.
    #[must_use]
    pub(crate) const fn new() -> Self {
        Self(Cell::new(ptr::null_mut()))
    }

    /// The table, if there is one.
    ///
    /// # Safety
    ///
    /// The owner is alone with its table, and no borrow outlives a method, nor a call of this.
    #[inline]
    #[allow(clippy::mut_from_ref, reason = "see above")]
    unsafe fn table(&self) -> Option<&mut Table> {
        let table = self.0.get();
        // SAFETY: not marked, so null or a box of ours; and the caller's promise.
        (table.addr() & BINDINGS == 0).then(|| unsafe { table.cast::<Table>().as_mut() })?
    }

    /// The table, made if there is none.
    ///
    /// # Safety
    ///
    /// As for [`table`](Self::table).
    #[allow(clippy::mut_from_ref, reason = "see there")]
    unsafe fn table_or_new(&self) -> &mut Table {
        // SAFETY: passed on.
        if unsafe { self.table() }.is_none() {
            let table = Box::new(Table {
                values: Vec::new(),
                closed: false,
                bindings: self.replace_bindings(Bindings::none()),
            });
            self.0.set(Box::into_raw(table).cast());
        }
        // SAFETY: passed on; and there is one now.
        unsafe { &mut *self.0.get().cast::<Table>() }
    }

    /// Calls `f` with what is bound. The owner is alone with it.
    #[inline]
    pub(crate) fn with_bindings<R>(&self, f: impl FnOnce(&Bindings) -> R) -> R {
        // SAFETY: the bindings are a copy, which is not dropped. Those of the owner stay meanwhile,
        // or `f` is in a call that keeps them.
        let bindings = ManuallyDrop::new(unsafe {
            match self.table() {
                Some(table) => ptr::read(&raw const table.bindings),
                None => Bindings::from_raw(self.0.get().map_addr(|address| address & !BINDINGS)),
            }
        });
        f(&bindings)
    }

    /// Binds something else, and returns what was bound before.
    pub(crate) fn replace_bindings(&self, bindings: Bindings) -> Bindings {
        // SAFETY: the owner is alone with its table, and no borrow outlives a method.
        if let Some(table) = unsafe { self.table() } {
            return mem::replace(&mut table.bindings, bindings);
        }
        let mark = |raw: *mut ()| match raw.is_null() {
            true => raw,
            false => raw.map_addr(|address| address | BINDINGS),
        };
        let before = self.0.replace(mark(bindings.into_raw()));
        // SAFETY: what was marked here, and is taken out.
        unsafe { Bindings::from_raw(before.map_addr(|address| address & !BINDINGS)) }
    }

    /// The value of a key; null if it has none.
    #[inline]
    pub(crate) fn get(&self, key: Key) -> *mut c_void {
        // SAFETY: the owner is alone with its table, and no borrow outlives a method.
        let table = unsafe { self.table() };
        let slot = table.and_then(|table| table.values.get(key.place.index));
        match slot {
            Some(Some(slot)) if slot.key.generation == key.generation => slot.value,
            _ => ptr::null_mut(),
        }
    }

    /// Replaces the value of a key. The old one is not ended.
    pub(crate) fn set(&self, key: Key, value: *mut c_void) {
        self.put(key, value, false);
    }

    /// [`set`](Self::set) for a value that a switch hook has made.
    pub(crate) fn set_by_hook(&self, key: Key, value: *mut c_void) {
        self.put(key, value, true);
    }

    /// The common part of both.
    fn put(&self, key: Key, value: *mut c_void, of_hook: bool) {
        // SAFETY: as in `get`.
        let table = &mut unsafe { self.table_or_new() }.values;
        let index = key.place.index;
        if table.len() <= index {
            table.resize(index + 1, None);
        }
        let value = Value {
            key,
            value,
            of_hook,
        };
        table[index] = (!value.value.is_null()).then_some(value);
    }

    /// Whether switch hooks make no values any more: nobody would end them.
    pub(crate) fn is_closed(&self) -> bool {
        // SAFETY: as in `get`.
        unsafe { self.table() }.is_some_and(|table| table.closed)
    }

    /// Ends all values. Called by the owner, at its end; blocks for as long as the destructors
    /// block.
    #[inline]
    pub(crate) fn end(&self) {
        if !self.is_empty() {
            self.end_in_rounds();
        }
    }

    /// The part of [`end`](Self::end) for owners that have values.
    #[cold]
    fn end_in_rounds(&self) {
        for _ in 0..ROUNDS {
            let mut index = 0;
            let mut ended = 0;
            while let Some(value) = self.take_from(&mut index, Wanted::Ordinary) {
                value.end();
                ended += 1;
            }
            let bindings = match ended {
                0 => self.replace_bindings(Bindings::none()),
                _ => continue,
            };
            if bindings.is_none() {
                break;
            }
            // The destructors of its values may make values here.
            drop(bindings);
        }
        drop(self.replace_bindings(Bindings::none()));
        self.end_all(Wanted::Last);
        // Destructors that give way have hooks called, which make values again.
        self.close();
        self.end_all(Wanted::OfHooks);
        self.forget();
    }

    /// Ends all values of this sort, once.
    fn end_all(&self, wanted: Wanted) {
        let mut index = 0;
        while let Some(value) = self.take_from(&mut index, wanted) {
            value.end();
        }
    }

    /// Has switch hooks make no values any more.
    fn close(&self) {
        // SAFETY: as in `get`.
        if let Some(table) = unsafe { self.table() } {
            table.closed = true;
        }
    }

    /// Whether there are no values, and nothing is bound.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.0.get().is_null()
    }

    /// Forgets all values, without ending them, and all that is bound.
    pub(crate) fn forget(&self) {
        mem::forget(self.replace_bindings(Bindings::none()));
        let table = self.0.replace(ptr::null_mut()).cast::<Table>();
        if !table.is_null() {
            // SAFETY: not marked any more, so a box of ours, which is out of reach now.
            drop(unsafe { Box::from_raw(table) });
        }
    }

    /// Takes out the first value at or behind `index` that has a live key and is wanted, and steps
    /// behind it.
    fn take_from(&self, index: &mut usize, wanted: Wanted) -> Option<Value> {
        // SAFETY: as in `get`.
        let table = &mut unsafe { self.table() }?.values;
        while *index < table.len() {
            let place = &mut table[*index];
            *index += 1;
            if place.is_some_and(|value| value.key.is_alive() && value.is(wanted)) {
                return place.take();
            }
        }
        None
    }
}

impl Default for Locals {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for Locals {
    /// Gives up what is bound. Values that have not been ended are leaked.
    #[inline]
    fn drop(&mut self) {
        if !self.is_empty() {
            drop(self.replace_bindings(Bindings::none()));
            self.forget();
        }
    }
}

impl Value {
    /// Whether it is of this sort.
    fn is(self, wanted: Wanted) -> bool {
        match wanted {
            Wanted::Ordinary => !self.key.is(Kind::Last),
            Wanted::Last => self.key.is(Kind::Last),
            Wanted::OfHooks => self.of_hook,
        }
    }

    /// Calls the destructor of the value.
    fn end(self) {
        let destructor = self.key.place.destructor.load(Ordering::Acquire);
        // A destructor of another owner would come with another generation.
        if destructor.is_null() || !self.key.is_alive() {
            return;
        }
        // SAFETY: `new` has put it there, as the key is still the place's owner.
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

    /// A value of a key that is long gone belongs to no later key, however many the place has had
    /// since.
    #[test]
    fn generations_do_not_come_again() {
        let (key, locals) = (new(None), Locals::new());
        locals.set(key, ptr::without_provenance_mut(7));
        assert!(key.delete());
        // As if the place had had all other owners.
        let last = Key {
            generation: LAST_GENERATION,
            ..key
        };
        key.place
            .generation
            .store(LAST_GENERATION, Ordering::Release);
        {
            let places = &mut FREE.lock().places;
            places.retain(|place| place.index != key.place.index);
        }
        assert!(last.is_alive() && last.delete());
        let heirs: Vec<_> = (0..100).map(|_| new(None)).collect();
        for heir in heirs {
            assert_ne!(heir.number(), key.number());
            assert!(heir.delete());
        }
        locals.forget();
    }

    /// What is ended last stays through all rounds of the others, whichever key is older.
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
