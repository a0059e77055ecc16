//! Eve's notation: `task!` and `on!`.

/// Spawns a task in Eve's notation: `@ [+a, b, -c, =n, &l]: block` is
/// `task!(scope, [+a, b, -c, =n, &l] { block })`.
///
/// | in the list | in the block |
/// |---|---|
/// | `a` | `a` is a [`Read`](crate::Read) guard |
/// | `+a` | `a` is a [`Full`](crate::Full) guard |
/// | `-a` | `a` is a [`Null`](crate::Null) guard |
/// | `=n` | `n` is a copy of `n` ([`Clone`]), made now |
/// | `&l` | `l` is a reference to `l`, which has to live long enough: as long as the `finish`, or for ever |
///
/// What is not in the list, and is used, moves into the task. The first argument is what has the
/// method `task`: the scope of a [`finish`](crate::finish()), or [`Tasks`](crate::Tasks). Without
/// one, the task is spawned by [`spawn`](crate::spawn). Returns what these return.
///
/// ```
/// use fibre_tasks::{Shared, task};
///
/// let (clients, log) = (Shared::new(vec!["Ada"]), Shared::new(String::new()));
/// let name = "Grace".to_owned();
/// let counts = task!([+clients, +log, =name] {
///     log.push_str(&name);
///     clients.push("Grace");
///     clients.len()
/// });
/// assert_eq!(counts.join()?, 2);
/// assert_eq!(name, "Grace");
/// # Ok::<(), fibre_tasks::TaskError>(())
/// ```
///
/// # Panics
///
/// In the caller, before there is a task: if two names in the list are the same object, whatever is
/// wanted of it, as in a transfer from an account to itself. There would be two guards that change
/// one value. Where the objects come from outside, ask [`is_same`](crate::Shared::is_same) first:
///
/// ```
/// use fibre_tasks::{Shared, TaskError, task};
///
/// fn transfer(from: &Shared<i64>, to: &Shared<i64>, amount: i64) -> Result<(), TaskError> {
///     if from.is_same(to) {
///         return Ok(()); // nothing moves
///     }
///     task!([+from, +to, =amount] {
///         *from -= amount;
///         *to += amount;
///     })
///     .join()
/// }
///
/// let account = Shared::new(100);
/// transfer(&account, &account, 10)?;
/// assert_eq!(*fibre_tasks::acquire(account.read()), 100);
/// # Ok::<(), TaskError>(())
/// ```
#[macro_export]
macro_rules! task {
    ([$($list:tt)*] $block:block) => {
        $crate::__listed!(@list (spawn $block) [] [] [] $($list)*)
    };
    ($place:expr, [$($list:tt)*] $block:block) => {
        $crate::__listed!(@list (place ($place) $block) [] [] [] $($list)*)
    };
}

/// Spawns a task for each event that an object emits, in Eve's notation: `on object Event [perms]:`
/// is `on!(object, Event, [perms] |event| { block })`. The list is that of [`task!`](crate::task!),
/// but `&`; copies are made now, and again for each event. `event` is a reference to the event. A
/// guard in the list is taken of a [`Shared`](crate::Shared).
///
/// The object's type says by [`Emits`](crate::Emits) which events it emits. Returns a
/// [`Subscription`](crate::Subscription).
///
/// ```
/// use fibre_tasks::{Emits, Emitter, Shared, on};
///
/// struct Data(&'static str);
///
/// struct Socket {
///     data: Emitter<Data>,
/// }
///
/// impl Emits<Data> for Socket {
///     fn emitter(&self) -> &Emitter<Data> {
///         &self.data
///     }
/// }
///
/// let socket = Socket { data: Emitter::new() };
/// let log = Shared::new(String::new());
/// on!(socket, Data, [+log] |data| { log.push_str(data.0) });
/// socket.data.deliver(Data("one "));
/// socket.data.deliver(Data("two"));
/// assert_eq!(*fibre_tasks::acquire(log.read()), "one two");
/// ```
#[macro_export]
macro_rules! on {
    ($object:expr, $event:ty, [$($list:tt)*] |$payload:pat_param| $block:block) => {
        $crate::__listed!(@list (on ($object) ($event) ($payload) $block) [] [] [] $($list)*)
    };
    ($object:expr, $event:ty, [$($list:tt)*] |$payload:pat_param| $value:expr) => {
        $crate::on!($object, $event, [$($list)*] |$payload| { $value })
    };
}

/// Sorts a list into wants, copies and references, and makes what is to be made of it.
#[doc(hidden)]
#[macro_export]
macro_rules! __listed {
    (@list $what:tt [$($wants:tt)*] $copies:tt $references:tt + $name:ident $(, $($rest:tt)*)?) => {
        $crate::__listed!(@list $what [$($wants)* ($name full)] $copies $references $($($rest)*)?)
    };
    (@list $what:tt [$($wants:tt)*] $copies:tt $references:tt - $name:ident $(, $($rest:tt)*)?) => {
        $crate::__listed!(@list $what [$($wants)* ($name null)] $copies $references $($($rest)*)?)
    };
    (@list $what:tt $wants:tt [$($copies:tt)*] $references:tt = $name:ident $(, $($rest:tt)*)?) => {
        $crate::__listed!(@list $what $wants [$($copies)* $name] $references $($($rest)*)?)
    };
    (@list $what:tt $wants:tt $copies:tt [$($references:tt)*] & $name:ident $(, $($rest:tt)*)?) => {
        $crate::__listed!(@list $what $wants $copies [$($references)* $name] $($($rest)*)?)
    };
    (@list $what:tt [$($wants:tt)*] $copies:tt $references:tt $name:ident $(, $($rest:tt)*)?) => {
        $crate::__listed!(@list $what [$($wants)* ($name read)] $copies $references $($($rest)*)?)
    };
    (
        @list (spawn $block:block)
        [$(($name:ident $permission:ident))*] [$($copy:ident)*] [$($reference:ident)*]
    ) => {{
        $(let $copy = ::core::clone::Clone::clone(&$copy);)*
        $(let $reference = &$reference;)*
        $crate::spawn(
            ($($name.$permission(),)*),
            move |#[allow(unused_mut)] ($(mut $name,)*)| $block,
        )
    }};
    (
        @list (place ($place:expr) $block:block)
        [$(($name:ident $permission:ident))*] [$($copy:ident)*] [$($reference:ident)*]
    ) => {
        // The place is looked at before a copy takes its name.
        match &$place {
            place => {
                $(let $copy = ::core::clone::Clone::clone(&$copy);)*
                $(let $reference = &$reference;)*
                place.task(
                    ($($name.$permission(),)*),
                    move |#[allow(unused_mut)] ($(mut $name,)*)| $block,
                )
            }
        }
    };
    (
        @list (on ($object:expr) ($event:ty) ($payload:pat_param) $block:block)
        [$(($name:ident $permission:ident))*] [$($copy:ident)*] []
    ) => {
        // The object is looked at before a copy takes its name.
        match $crate::Emits::<$event>::emitter(&$object) {
            emitter => {
                $(let $copy = ::core::clone::Clone::clone(&$copy);)*
                emitter.on(
                    ($($name.$permission(),)*),
                    move |$payload: &$event, #[allow(unused_mut)] ($(mut $name,)*)| {
                        $(#[allow(unused_mut)] let mut $copy = ::core::clone::Clone::clone(&$copy);)*
                        $block
                    },
                )
            }
        }
    };
}
