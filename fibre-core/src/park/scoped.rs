//! Scoped values: bound for the time of a call, and inherited by what it starts.
//!
//! The bindings in effect are a list that belongs to the calling fibre, or to the calling thread
//! (see [`crate::fibre::bindings`]). A call of [`ScopedLocal::with`] puts a node before it, and
//! takes that away when it ends, also by a panic. So the list in effect is always that of the
//! innermost such call, or what the fibre was started with.
//!
//! A layer above may want to know where inherited values come into effect, to take something along
//! that it keeps in thread-locals of its own ([`on_inherited`]). It is told in the fibre, or on the
//! thread, that has them.

use crate::fibre::ControlBlock;
use crate::fibre::bindings::{BindingKey, Bindings};
use crate::fibre::labels::LabelText;
use crate::processor::running;
use crate::sync::unwind_guard::quietly;
use crate::sys::current;
use std::fmt::{self, Display, Formatter};
use std::marker::PhantomData;
use std::mem::{self, ManuallyDrop};
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::AtomicU8;

/// Declares values that are bound for the time of a call, and that everything sees which is started
/// meanwhile. See [`ScopedLocal`].
///
/// ```
/// fibre::scoped_local! {
///     /// The request that is served.
///     pub static REQUEST: u64 = shown("request");
///     /// Who has sent it.
///     static USER: String;
/// }
///
/// let seen = REQUEST.with(7, || {
///     let child = fibre::spawn(|| (REQUEST.get(), USER.get()));
///     child.join().unwrap()
/// });
/// assert_eq!(seen, (Some(7), None));
/// ```
///
/// A value that is `shown` appears with this key wherever the [labels](crate::label) of a fibre do:
/// in dumps, to gdb, and in reports of panics and of stack overflows. A label of the fibre's own
/// with the same key hides it. It is formatted once, when it is bound.
#[doc(alias("task_local", "WithValue", "contextvars"))]
#[macro_export]
macro_rules! scoped_local {
    () => {};
    ($(#[$attribute:meta])* $visibility:vis static $name:ident: $type:ty; $($rest:tt)*) => {
        $crate::scoped_local!($(#[$attribute])* $visibility static $name: $type);
        $crate::scoped_local!($($rest)*);
    };
    (
        $(#[$attribute:meta])* $visibility:vis static $name:ident: $type:ty = shown($key:expr);
        $($rest:tt)*
    ) => {
        $crate::scoped_local!($(#[$attribute])* $visibility static $name: $type = shown($key));
        $crate::scoped_local!($($rest)*);
    };
    ($(#[$attribute:meta])* $visibility:vis static $name:ident: $type:ty) => {
        $(#[$attribute])*
        $visibility static $name: $crate::ScopedLocal<$type> = $crate::ScopedLocal::new();
    };
    ($(#[$attribute:meta])* $visibility:vis static $name:ident: $type:ty = shown($key:expr)) => {
        $(#[$attribute])*
        $visibility static $name: $crate::ScopedLocal<$type> = $crate::ScopedLocal::shown($key);
    };
}

/// A value that is bound for the time of a call, declared by [`scoped_local!`]. Nobody can change
/// it; a call further in may bind another one for its own time.
///
/// What is bound where a fibre is started is bound in the fibre, until it ends: however it is
/// started, in whichever cluster, also if it outlives the call that has bound the value. The
/// closures of [`compute`](crate::compute) and [`blocking`](crate::blocking()) see what their
/// caller sees, and an actor sees what is bound for the fibre that asks it, while it handles the
/// question. An [activity](crate::Activity) begins each run without any. For all else, such as
/// threads of `std` and jobs in a channel, there are [`ScopedBindings`].
///
/// A value is dropped when the call that has bound it has ended, and all fibres that have inherited
/// it: by the last of these, where a panic of the destructor ends. What a cluster abandons keeps
/// its values for ever.
///
/// Binding a value is one allocation, and another one if it is shown. Inheriting allocates nothing,
/// apart from some 80 bytes for a fibre that has something to be shown. Reading looks through the
/// bindings, the innermost one first. A fibre without any pays nothing.
///
/// Source: Java's `ScopedValue` (JEP 506).
///
/// ```
/// fibre::scoped_local!(static DEPTH: u32);
///
/// fn depth() -> u32 {
///     DEPTH.get().unwrap_or(0)
/// }
///
/// let depths = DEPTH.with(1, || {
///     let inner = DEPTH.with(depth() + 1, || fibre::spawn(depth).join().unwrap());
///     (depth(), inner)
/// });
/// assert_eq!((depths, depth()), ((1, 2), 0));
/// ```
///
/// Fibres on other processors read the value while the caller does, so its type must be `Sync`:
///
/// ```compile_fail,E0277
/// fibre::scoped_local!(static COUNT: std::cell::Cell<u32>);
/// ```
///
/// And the last of them drops it, so it must be `Send`:
///
/// ```compile_fail,E0277
/// fibre::scoped_local!(static GUARD: std::sync::MutexGuard<'static, u32>);
/// ```
pub struct ScopedLocal<T: 'static> {
    /// The key that reports show it by, and how.
    shown: Option<Shown<T>>,
    /// Never used. It makes the address of a static one that nothing else has, be it of another
    /// type: the address is what values are found by.
    _place: AtomicU8,
    /// A function of values, as far as other types are concerned: no other type of values is found.
    _values: PhantomData<fn(T) -> T>,
}

/// The key that reports show a value by, and how.
type Shown<T> = (&'static str, fn(&T, &mut Formatter<'_>) -> fmt::Result);

impl<T: Send + Sync + 'static> ScopedLocal<T> {
    /// Makes one. For [`scoped_local!`].
    #[doc(hidden)]
    #[must_use]
    pub const fn new() -> Self {
        Self {
            shown: None,
            _place: AtomicU8::new(0),
            _values: PhantomData,
        }
    }

    /// Makes one with values that reports show. For [`scoped_local!`].
    #[doc(hidden)]
    #[must_use]
    pub const fn shown(key: &'static str) -> Self
    where
        T: Display,
    {
        Self {
            shown: Some((key, <T as Display>::fmt)),
            _place: AtomicU8::new(0),
            _values: PhantomData,
        }
    }

    /// Calls `f` with this value bound. When `f` has ended, or panics, what was bound before is
    /// bound again.
    ///
    /// ```
    /// fibre::scoped_local!(static USER: String);
    ///
    /// let length = USER.with("Ada".to_owned(), || USER.read(|user| user.map_or(0, String::len)));
    /// assert_eq!((length, USER.is_bound()), (3, false));
    /// ```
    ///
    /// # Panics
    ///
    /// With the panic of `f`, or that of the value's `Display` if it is shown.
    pub fn with<R>(&'static self, value: T, f: impl FnOnce() -> R) -> R {
        let label = self.shown.map(|(key, show)| {
            let shown = fmt::from_fn(|f| show(&value, f));
            LabelText::label(key, format_args!("{shown}"))
        });
        let outer = with_callers(Bindings::clone);
        let _in_effect = InEffect::begin(outer.bind(self.key(), value, label.as_ref()));
        f()
    }

    /// Calls `f` with the value that is bound for the caller; `None`: there is none.
    ///
    /// # Panics
    ///
    /// With the panic of `f`.
    pub fn read<R>(&'static self, f: impl FnOnce(Option<&T>) -> R) -> R {
        let key = self.key();
        // SAFETY: values are bound to the key by `with` only, which makes them of this type.
        let value = with_callers(|bindings| unsafe { bindings.find::<T>(key) });
        // SAFETY: the caller's list holds the value. Whatever `f` puts before it or in its place,
        // `f` has put it away again when it ends.
        f(value.map(|value| unsafe { value.as_ref() }))
    }

    /// A copy of the value that is bound for the caller; `None`: there is none.
    #[must_use]
    pub fn get(&'static self) -> Option<T>
    where
        T: Clone,
    {
        self.read(|value| value.cloned())
    }

    /// Whether a value is bound for the caller.
    #[must_use]
    pub fn is_bound(&'static self) -> bool {
        self.read(|value| value.is_some())
    }

    /// What its values are found by.
    fn key(&'static self) -> BindingKey {
        ptr::from_ref(self).cast()
    }
}

impl<T> fmt::Debug for ScopedLocal<T> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScopedLocal")
            .field("shown", &self.shown.map(|(key, _)| key))
            .finish_non_exhaustive()
    }
}

/// All [scoped values](ScopedLocal) that are bound somewhere: to bind them elsewhere, or to bind
/// none. A copy is one atomic operation.
///
/// ```
/// use fibre::ScopedBindings;
///
/// fibre::scoped_local!(static REQUEST: u64);
///
/// REQUEST.with(7, || {
///     let bindings = ScopedBindings::current();
///     let thread = std::thread::spawn(move || (REQUEST.get(), bindings.with(|| REQUEST.get())));
///     assert_eq!(thread.join().unwrap(), (None, Some(7)));
///     // For a fibre that serves others, too, and lives on:
///     let sweeper = ScopedBindings::none().with(|| fibre::spawn(|| REQUEST.get()));
///     assert_eq!(sweeper.join().unwrap(), None);
/// });
/// ```
#[derive(Clone)]
pub struct ScopedBindings(Bindings);

impl ScopedBindings {
    /// What is bound for the caller.
    #[must_use]
    pub fn current() -> Self {
        Self(with_callers(Bindings::clone))
    }

    /// No values.
    #[must_use]
    pub const fn none() -> Self {
        Self(Bindings::none())
    }

    /// Whether there are no values.
    #[must_use]
    pub const fn is_none(&self) -> bool {
        self.0.is_none()
    }

    /// Calls `f` with exactly these values bound. When `f` has ended, or panics, what was bound
    /// before is bound again.
    ///
    /// # Panics
    ///
    /// With the panic of `f`.
    pub fn with<R>(self, f: impl FnOnce() -> R) -> R {
        let _in_effect = InEffect::begin(self.0);
        let _told = Told::begin();
        f()
    }
}

impl Default for ScopedBindings {
    fn default() -> Self {
        Self::none()
    }
}

impl fmt::Debug for ScopedBindings {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScopedBindings")
            .field("is_none", &self.is_none())
            .finish_non_exhaustive()
    }
}

/// While this exists, other bindings are in effect for the caller.
struct InEffect {
    /// What was bound before.
    before: Bindings,
}

impl InEffect {
    /// Binds these.
    fn begin(bindings: Bindings) -> Self {
        let before = replace_callers(bindings);
        Self { before }
    }
}

impl Drop for InEffect {
    fn drop(&mut self) {
        let before = mem::replace(&mut self.before, Bindings::none());
        // What was bound is given up when the others are back: its destructor may ask.
        drop(replace_callers(before));
    }
}

/// Calls `f` with what is bound for the caller.
#[inline]
fn with_callers<R>(f: impl FnOnce(&Bindings) -> R) -> R {
    if let Some(fibre) = running() {
        // SAFETY: the calling fibre does not end meanwhile.
        return unsafe { fibre.as_ref() }.locals.with_bindings(f);
    }
    // SAFETY: a copy of what `replace_callers` has left there, which is not dropped.
    let bindings = ManuallyDrop::new(unsafe { Bindings::from_raw(current::bindings()) });
    f(&bindings)
}

/// Binds something else for the caller, and returns what was bound before.
fn replace_callers(bindings: Bindings) -> Bindings {
    match running() {
        // SAFETY: the calling fibre does not end meanwhile.
        Some(fibre) => unsafe { fibre.as_ref() }.replace_bindings(bindings),
        // SAFETY: what this has left there, and nobody else takes it.
        None => unsafe { Bindings::from_raw(current::replace_bindings(bindings.into_raw())) },
    }
}

/// Binds for a new fibre what is bound for the caller, who starts it.
#[inline]
pub(crate) fn inherit(child: &ControlBlock) {
    with_callers(|bindings| pass_on(bindings, child));
}

/// [`inherit`] from a fibre that is known.
#[inline(always)]
pub(crate) fn inherit_from(caller: &ControlBlock, child: &ControlBlock) {
    if !caller.locals.is_empty() {
        inherit(child);
    }
}

/// Binds these for a new fibre.
#[inline]
fn pass_on(bindings: &Bindings, child: &ControlBlock) {
    if !bindings.is_none() {
        child.inherit(bindings);
    }
}

/// What a layer above does where inherited values come into effect, and when they end to be.
#[derive(Debug, Clone, Copy)]
struct Listener {
    begin: fn(),
    end: fn(),
}

/// The layer above that wants to know.
static LISTENER: OnceLock<Listener> = OnceLock::new();

/// Has functions called where inherited [scoped values](ScopedLocal) come into effect, and before
/// they end to be: in a new fibre, in a call of [`blocking`](crate::blocking()), and in one of
/// [`ScopedBindings::with`]; not where [`ScopedLocal::with`] binds a value. Calls of both come in
/// pairs and are nested, but for those of a fibre: `end` may come there without a `begin`, and more
/// than once. The first call counts. For layers above.
///
/// ```
/// use std::sync::atomic::{AtomicU32, Ordering};
///
/// fibre::scoped_local!(static REQUEST: u32);
/// static SEEN: AtomicU32 = AtomicU32::new(0);
///
/// fn begin() {
///     SEEN.store(REQUEST.get().unwrap_or(0), Ordering::Relaxed);
/// }
///
/// fibre_core::internal::on_inherited(begin, || ());
/// REQUEST.with(7, || fibre::spawn(|| ()).join().unwrap());
/// assert_eq!(SEEN.load(Ordering::Relaxed), 7);
/// ```
pub fn on_inherited(begin: fn(), end: fn()) {
    LISTENER.get_or_init(|| Listener { begin, end });
}

/// Tells the layer above that inherited values are in effect for the caller, a new fibre, if there
/// are any.
#[cold]
#[inline(never)]
pub(crate) fn begin_inherited() {
    if let Some(listener) = LISTENER.get()
        && !with_callers(Bindings::is_none)
    {
        quietly(listener.begin);
    }
}

/// Tells it that they end to be, if there are any.
#[cold]
#[inline(never)]
pub(crate) fn end_inherited() {
    if let Some(listener) = LISTENER.get()
        && !with_callers(Bindings::is_none)
    {
        quietly(listener.end);
    }
}

/// While this exists, the layer above has been told of inherited values.
struct Told(Option<Listener>);

impl Told {
    /// Tells it.
    fn begin() -> Self {
        let told = LISTENER.get().copied();
        if let Some(listener) = told {
            (listener.begin)();
        }
        Self(told)
    }
}

impl Drop for Told {
    fn drop(&mut self) {
        if let Some(listener) = self.0 {
            (listener.end)();
        }
    }
}
