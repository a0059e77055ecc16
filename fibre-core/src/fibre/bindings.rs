//! Values that are bound for a time, by key, and inherited by what starts meanwhile.
//!
//! The bindings that are in effect somewhere are a list, the innermost one first. A node never
//! changes, and belongs to all lists that lead to it, which count it. So a fibre inherits the whole
//! list by one more reference to its first node, and outlives the caller that has bound the value.
//! A value is dropped by the holder that gives the last reference up, in place.
//!
//! A node of a value that is shown carries the text that dumps show from there on, with those of
//! the nodes behind it. The text is an allocation of its own, which outlives the value while the
//! handle of an ended fibre still has it.
//!
//! # Memory ordering
//!
//! As in std's `Arc`: references are given up by a release, and the last one acquires the others.

use crate::fibre::labels::LabelText;
use crate::sync::unwind_guard::quietly;
use crate::sys::stderr;
use std::mem;
use std::ops::Deref;
use std::ptr::{self, NonNull};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering, fence};

/// What all bindings of one declaration share: the address of that.
pub(crate) type BindingKey = *const ();

/// One binding, without its value.
#[repr(C)]
#[derive(Debug)]
struct Binding {
    /// How many lists lead to it.
    references: AtomicUsize,
    /// Whose value it has.
    key: BindingKey,
    /// The bindings that were in effect before.
    outer: Bindings,
    /// What dumps show while it is in effect.
    text: Option<TextRef>,
    /// Drops the value, and frees the whole.
    free: unsafe fn(NonNull<Binding>),
}

/// A binding with its value.
#[repr(C)]
struct Bound<T> {
    /// Comes first: a pointer to it is a pointer to the whole.
    binding: Binding,
    value: T,
}

/// The bindings that are in effect somewhere: a counted reference to the innermost one, or none.
#[derive(Debug)]
pub(crate) struct Bindings(Option<NonNull<Binding>>);

// SAFETY: the values are `Send` and `Sync`, as `bind` asks for; nodes do not change, and are
// counted atomically.
unsafe impl Send for Bindings {}
// SAFETY: as above.
unsafe impl Sync for Bindings {}

impl Bindings {
    /// No bindings.
    #[inline]
    pub(crate) const fn none() -> Self {
        Self(None)
    }

    /// Whether there are none.
    #[inline]
    pub(crate) const fn is_none(&self) -> bool {
        self.0.is_none()
    }

    /// These bindings behind a new one; `text`: what dumps show of its value.
    pub(crate) fn bind<T>(self, key: BindingKey, value: T, text: Option<&LabelText>) -> Self
    where
        T: Send + Sync + 'static,
    {
        let outer_text = self.text();
        let text = match text {
            Some(text) => Some(TextRef::new(text, outer_text.as_ref())),
            None => outer_text,
        };
        let bound = Box::new(Bound {
            binding: Binding {
                references: AtomicUsize::new(1),
                key,
                outer: self,
                text,
                free: free::<T>,
            },
            value,
        });
        Self(NonNull::new(Box::into_raw(bound).cast()))
    }

    /// The value that this key is bound to.
    ///
    /// # Safety
    ///
    /// All values of the key are of this type. The value is there for as long as these bindings
    /// are.
    pub(crate) unsafe fn find<T>(&self, key: BindingKey) -> Option<NonNull<T>> {
        let mut bindings = self;
        while let Some(binding) = bindings.0 {
            // SAFETY: our reference, or that of the node before.
            let node = unsafe { binding.as_ref() };
            if ptr::eq(node.key, key) {
                let bound = binding.cast::<Bound<T>>();
                // SAFETY: the caller's promise: it is a binding with such a value.
                return Some(unsafe { NonNull::new_unchecked(&raw mut (*bound.as_ptr()).value) });
            }
            bindings = &node.outer;
        }
        None
    }

    /// What dumps show of them.
    pub(crate) fn text(&self) -> Option<TextRef> {
        self.first()?.text.clone()
    }

    /// The innermost one.
    fn first(&self) -> Option<&Binding> {
        // SAFETY: our reference.
        self.0.map(|binding| unsafe { binding.as_ref() })
    }

    /// Splits off the reference, which is to be made bindings again.
    #[inline]
    pub(crate) fn into_raw(self) -> *mut () {
        let first = self.0.map_or(ptr::null_mut(), NonNull::as_ptr);
        mem::forget(self);
        first.cast()
    }

    /// Undoes [`into_raw`](Self::into_raw).
    ///
    /// # Safety
    ///
    /// The pointer comes from there, and nobody else undoes it.
    #[inline]
    pub(crate) unsafe fn from_raw(raw: *mut ()) -> Self {
        Self(NonNull::new(raw.cast()))
    }
}

impl Clone for Bindings {
    fn clone(&self) -> Self {
        if let Some(binding) = self.first() {
            let before = binding.references.fetch_add(1, Ordering::Relaxed);
            // References that are forgotten must not wrap the count.
            if before > usize::MAX / 2 {
                stderr::abort_with(format_args!("a scoped value has too many holders"));
            }
        }
        Self(self.0)
    }
}

impl Drop for Bindings {
    #[inline]
    fn drop(&mut self) {
        if let Some(first) = self.0.take() {
            give_up(first);
        }
    }
}

/// Gives up a reference to a binding, and those that it has itself if it was the last one. Not by
/// recursion: the list may be long.
#[cold]
fn give_up(first: NonNull<Binding>) {
    let mut next = Some(first);
    while let Some(mut binding) = next {
        // SAFETY: the reference that is given up here.
        if unsafe { binding.as_ref() }
            .references
            .fetch_sub(1, Ordering::Release)
            != 1
        {
            return;
        }
        fence(Ordering::Acquire);
        // SAFETY: nobody else has a reference.
        let node = unsafe { binding.as_mut() };
        next = node.outer.0.take();
        let free = node.free;
        // SAFETY: the same; its own reference to others has been taken out.
        quietly(|| unsafe { free(binding) });
    }
}

/// Drops a value, and frees its binding.
unsafe fn free<T>(binding: NonNull<Binding>) {
    // SAFETY: made by `bind` for a value of this type, and nobody else has it.
    drop(unsafe { Box::from_raw(binding.cast::<Bound<T>>().as_ptr()) });
}

/// What dumps show of the bindings that are in effect, counted. A debugger finds the text's address
/// where this is.
#[derive(Debug)]
#[repr(transparent)]
pub(crate) struct TextRef(NonNull<LabelText>);

// SAFETY: it is an `Arc`, as the address of its content.
unsafe impl Send for TextRef {}
// SAFETY: as above.
unsafe impl Sync for TextRef {}

impl TextRef {
    /// A label, and those of the bindings behind it that have other keys.
    fn new(label: &LabelText, outer: Option<&Self>) -> Self {
        let mut text = *label;
        if let Some(outer) = outer {
            text.add_others(outer);
        }
        let text = Arc::into_raw(Arc::new(text)).cast_mut();
        // SAFETY: the address of an `Arc`'s content.
        Self(unsafe { NonNull::new_unchecked(text) })
    }
}

impl Deref for TextRef {
    type Target = LabelText;

    fn deref(&self) -> &LabelText {
        // SAFETY: our share of the `Arc`.
        unsafe { self.0.as_ref() }
    }
}

impl Clone for TextRef {
    fn clone(&self) -> Self {
        // SAFETY: from `Arc::into_raw`, and our share keeps it.
        unsafe { Arc::increment_strong_count(self.0.as_ptr()) };
        Self(self.0)
    }
}

impl Drop for TextRef {
    fn drop(&mut self) {
        // SAFETY: our share of the `Arc`, which ends here.
        drop(unsafe { Arc::from_raw(self.0.as_ptr()) });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    static KEYS: [u8; 3] = [0; 3];

    fn key(index: usize) -> BindingKey {
        (&raw const KEYS[index]).cast()
    }

    fn find(bindings: &Bindings, index: usize) -> Option<u32> {
        // SAFETY: all values of these tests are of this type.
        let value = unsafe { bindings.find::<Arc<u32>>(key(index)) };
        // SAFETY: the bindings are there.
        value.map(|value| **unsafe { value.as_ref() })
    }

    #[test]
    fn the_innermost_value_counts_and_the_last_holder_drops_it() {
        let values = [1, 2, 3].map(Arc::new);
        let bind = |outer: Bindings, place: usize, value: usize| {
            outer.bind(key(place), Arc::clone(&values[value]), None)
        };
        let outer = bind(bind(Bindings::none(), 0, 0), 1, 1);
        let inner = bind(outer.clone(), 0, 2);
        assert_eq!(
            [0, 1, 2].map(|place| find(&outer, place)),
            [Some(1), Some(2), None]
        );
        assert_eq!(
            [0, 1, 2].map(|place| find(&inner, place)),
            [Some(3), Some(2), None]
        );
        let held = || [0, 1, 2].map(|value| Arc::strong_count(&values[value]) - 1);
        assert_eq!(held(), [1, 1, 1]);
        drop(outer);
        assert_eq!(held(), [1, 1, 1], "the inner one has them");
        let raw = inner.into_raw();
        assert_eq!(held(), [1, 1, 1]);
        // SAFETY: from `into_raw`, once.
        drop(unsafe { Bindings::from_raw(raw) });
        assert_eq!(held(), [0, 0, 0]);
    }

    #[test]
    fn a_long_list_ends_without_a_deep_stack() {
        let value = Arc::new(7);
        let bind = |outer: Bindings, _| outer.bind(key(0), Arc::clone(&value), None);
        let all = (0..200_000).fold(Bindings::none(), bind);
        assert_eq!(Arc::strong_count(&value), 200_001);
        drop(all);
        assert_eq!(Arc::strong_count(&value), 1);
    }

    #[test]
    fn texts_hold_what_is_in_effect() {
        let label = |key: &str, value: u32| LabelText::label(key, format_args!("{value}"));
        let one = Bindings::none().bind(key(0), Arc::new(1), Some(&label("request", 1)));
        let quiet = one.clone().bind(key(1), Arc::new(2), None);
        let user = quiet
            .clone()
            .bind(key(2), Arc::new(3), Some(&label("user", 3)));
        let two = user
            .clone()
            .bind(key(0), Arc::new(4), Some(&label("request", 4)));
        let shown = |bindings: &Bindings| bindings.text().map(|text| text.as_str().to_owned());
        assert_eq!(shown(&Bindings::none()), None);
        assert_eq!(shown(&one).as_deref(), Some("request=1\n"));
        assert_eq!(shown(&quiet), shown(&one));
        assert_eq!(shown(&user).as_deref(), Some("user=3\nrequest=1\n"));
        assert_eq!(shown(&two).as_deref(), Some("request=4\nuser=3\n"));
        let text = two.text();
        drop(two);
        assert_eq!(text.unwrap().as_str(), "request=4\nuser=3\n");
    }
}
