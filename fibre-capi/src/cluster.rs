//! Clusters, and their configurations.

use crate::boundary::{contain, keep_errno, number_of};
use crate::init;
use fibre_core::{
    Cluster, ClusterBuilder, Paused, Pinning, Placement, StealOrder, Stealing, migrate_to,
};
use fibre_io::{IoChoices, Poller};
use parking_lot::Mutex;
use std::ffi::{CStr, c_char, c_int, c_long, c_uint};
use std::io;
use std::str::FromStr;
use std::time::Duration;

/// A cluster: processors that share work.
#[derive(Debug)]
pub struct fibre_cluster_t {
    /// The cluster.
    cluster: Cluster,
    /// A pause for each `fibre_cluster_pause` that has not been resumed.
    paused: Mutex<Vec<Paused>>,
}

impl fibre_cluster_t {
    /// The cluster.
    pub fn cluster(&self) -> &Cluster {
        &self.cluster
    }
}

/// What a cluster is to be like. Zeros, and what `size` leaves out, are the defaults, which the
/// environment sets (docs/CONFIGURATION.md).
#[derive(Debug)]
#[repr(C)]
pub struct fibre_config_t {
    /// The size of this structure, as the program knows it: `sizeof(fibre_config_t)`.
    pub size: usize,
    /// How many processors.
    pub processors: c_uint,
    /// How many there may be once some have been added.
    pub max_processors: c_uint,
    /// The most fibres at once.
    pub max_fibres: usize,
    /// Bytes of a stack.
    pub stack_size: usize,
    /// What the processors' threads are called.
    pub name: *const c_char,
    /// Where they run: `none`, `each`, or sets of CPUs as in `0-3;4-7`.
    pub pin: *const c_char,
    /// Where new fibres go: `push`, `staging`, `local`, `head`.
    pub placement: *const c_char,
    /// Which processor an idle one helps: `longest-busy`, `ring`, `random`, `topology`,
    /// `hierarchical`, `never`.
    pub steal_order: *const c_char,
    /// Whether a stolen fibre goes home afterwards: `transient`, or `sticky:N` for queues longer
    /// than N.
    pub stealing: *const c_char,
    /// What waits for descriptors: `processors`, `shared`, `fibre`, `thread-loop`, …
    pub poller: *const c_char,
    /// Microseconds that a processor without work spins at most, plus one.
    pub spin: c_long,
    /// 1 if fibres that have started stay on their processors.
    pub fibres_stay: c_int,
    /// 1 if a fibre reads without letting others run first.
    pub read_at_once: c_int,
    /// 1 if the memory of a stack goes back to the kernel when its fibre has ended.
    pub wipe_stacks: c_int,
    /// Microseconds that a fibre which never blocks runs before it lets others run, plus one.
    pub slice: c_long,
    /// The most spare processors, which run what all others are kept from by fibres that do not
    /// switch, plus one.
    pub max_spare: c_uint,
    /// Is not read: programs that were compiled earlier may have anything here.
    pub reserved: c_int,
    /// 1 if each fibre has thread-locals of its own: to the language and to the C library it is a
    /// thread (docs/c/thread-locals.md). Not together with `fibres_stay`.
    pub own_thread_locals: c_long,
}

/// Reads a field, unless it is beyond what the program knows.
macro_rules! field {
    ($config:expr, $name:ident) => {{
        let end = std::mem::offset_of!(fibre_config_t, $name) + size_of_val(&(*$config).$name);
        (end <= (*$config).size).then(|| (&raw const (*$config).$name).read())
    }};
}

/// A builder as a configuration says; `None`: it is nonsense.
///
/// # Safety
///
/// Null, or a configuration.
unsafe fn builder(config: *const fibre_config_t) -> Option<ClusterBuilder> {
    let builder = init::builder();
    if config.is_null() {
        return Some(builder);
    }
    // SAFETY: the caller's promise; only fields that are there are read.
    unsafe {
        if field!(config, size).is_none_or(|size| size < size_of::<usize>()) {
            return None;
        }
        let is_set = |field: Option<c_int>| matches!(field, Some(1..));
        let stay = is_set(field!(config, fibres_stay));
        let has_own = matches!(field!(config, own_thread_locals), Some(1..));
        let mut builder = match has_own {
            true if stay => return None,
            true => init::builder_of_threads(),
            false if stay => init::builder_of_fibres_that_stay(),
            false => builder,
        };
        let microseconds = |plus_one: c_long| Duration::from_micros(plus_one.unsigned_abs() - 1);
        /// Has the builder set what a field says, unless that is zero.
        macro_rules! set {
            ($($field:ident: $method:ident($value:expr);)*) => {$(
                if let Some(given @ 1..) = field!(config, $field) {
                    builder = builder.$method($value(given));
                }
            )*};
        }
        set! {
            processors: processors(|count| count as usize);
            max_processors: max_processors(|count| count as usize);
            max_fibres: max_fibres(|count| count);
            stack_size: stack_size(|size| size);
            spin: spin(microseconds);
            slice: slice(microseconds);
            max_spare: max_spare_processors(|count| count as usize - 1);
            read_at_once: yield_before_read(|_| false);
            wipe_stacks: wipe_stacks(|_| true);
        }
        choose(builder, config)
    }
}

/// The choices that have names.
///
/// # Safety
///
/// As for [`builder`], and not null.
unsafe fn choose(
    mut builder: ClusterBuilder,
    config: *const fibre_config_t,
) -> Option<ClusterBuilder> {
    // SAFETY: the caller's promise; texts end with a zero.
    unsafe {
        if let Some(name) = text(field!(config, name)) {
            builder = builder.name(name.ok()?);
        }
        /// Has the builder take the choice that a field names, if it does.
        macro_rules! choose {
            ($($field:ident: $choice:ty;)*) => {$(
                if let Some(choice) = parse::<$choice>(field!(config, $field))? {
                    builder = builder.$field(choice);
                }
            )*};
        }
        choose! {
            pin: Pinning;
            placement: Placement;
            steal_order: StealOrder;
            stealing: Stealing;
            poller: Poller;
        }
    }
    Some(builder)
}

/// A text, if there is one.
///
/// # Safety
///
/// Null, or a text that ends with a zero.
unsafe fn text<'a>(text: Option<*const c_char>) -> Option<Result<&'a str, std::str::Utf8Error>> {
    let text = text.filter(|text| !text.is_null())?;
    // SAFETY: the caller's promise.
    Some(unsafe { CStr::from_ptr(text) }.to_str())
}

/// What a text says, if there is one; `None` outside: it is nonsense.
///
/// # Safety
///
/// As for [`text`].
unsafe fn parse<T: FromStr>(words: Option<*const c_char>) -> Option<Option<T>> {
    // SAFETY: passed on.
    match unsafe { text(words) } {
        None => Some(None),
        Some(words) => words.ok()?.parse().ok().map(Some),
    }
}

/// Starts the default cluster, in which fibres live whose creators are no fibres. Without this call
/// the first creation does so, with the defaults. Null for these. `EBUSY` if it has been started,
/// `EINVAL` for a configuration that makes no sense, `EAGAIN` if threads cannot be started.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_init(config: *const fibre_config_t) -> c_int {
    // SAFETY: the caller's configuration.
    contain(|| match unsafe { builder(config) } {
        None => libc::EINVAL,
        Some(builder) => match init::start(builder) {
            Ok(true) => 0,
            Ok(false) => libc::EBUSY,
            Err(error) => number_of(&error),
        },
    })
}

/// Waits until all fibres have ended. The processors of the default cluster stay, asleep. Blocks
/// the thread; `EDEADLK` in a fibre.
#[unsafe(no_mangle)]
pub extern "C" fn fibre_finalise() -> c_int {
    if fibre_core::in_fibre() {
        return libc::EDEADLK;
    }
    keep_errno(init::wait_for_all);
    0
}

/// Starts another cluster. `EINVAL` for a configuration that makes no sense, `EAGAIN` if its
/// threads cannot be started.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_cluster_create(
    cluster: *mut *mut fibre_cluster_t,
    config: *const fibre_config_t,
) -> c_int {
    // SAFETY: the caller's configuration.
    let Some(builder) = contain(|| unsafe { builder(config) }) else {
        return libc::EINVAL;
    };
    match contain(|| init::another(builder)) {
        Ok(started) => {
            let made = Box::new(fibre_cluster_t {
                cluster: started,
                paused: Mutex::default(),
            });
            // SAFETY: the caller's place for it.
            unsafe { *cluster = Box::into_raw(made) };
            0
        }
        Err(error) => number_of(&error),
    }
}

/// Waits until all fibres of a cluster have ended, and ends it. `EDEADLK` in one of them, `EBUSY`
/// while it is paused.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_cluster_destroy(cluster: *mut fibre_cluster_t) -> c_int {
    // SAFETY: the caller's cluster.
    unsafe { stop(cluster, Cluster::stop) }
}

/// Ends a cluster come what may: waits for so many milliseconds, then cancels its fibres, waits
/// again, and leaves behind what is there then. `ETIMEDOUT` if anything is; and as
/// `fibre_cluster_destroy`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_cluster_stop(
    cluster: *mut fibre_cluster_t,
    drain_ms: c_uint,
    cancel_ms: c_uint,
) -> c_int {
    let [drain, cancel] = [drain_ms, cancel_ms].map(|ms| Duration::from_millis(ms.into()));
    let mut left = false;
    // SAFETY: the caller's cluster.
    let result = unsafe {
        stop(cluster, |cluster| {
            left = cluster.stop_within(drain, cancel).is_err();
        })
    };
    match left {
        true => libc::ETIMEDOUT,
        false => result,
    }
}

/// Ends a cluster by `end`.
///
/// # Safety
///
/// The cluster is the caller's, and is gone afterwards.
unsafe fn stop(cluster: *mut fibre_cluster_t, end: impl FnOnce(Cluster)) -> c_int {
    // SAFETY: the caller's promise.
    let Some(there) = (unsafe { cluster.as_ref() }) else {
        return libc::EINVAL;
    };
    if there.cluster.is_callers() {
        return libc::EDEADLK;
    }
    if !there.paused.lock().is_empty() {
        return libc::EBUSY;
    }
    keep_errno(|| {
        // SAFETY: made by `fibre_cluster_create`, and the caller has no more use for it.
        let whole = *unsafe { Box::from_raw(cluster) };
        end(whole.cluster);
    });
    0
}

/// Calls `f` with a cluster; null is the default one, which is started if need be.
fn visit<T>(
    cluster: *const fibre_cluster_t,
    f: impl FnOnce(&Cluster) -> io::Result<T>,
) -> io::Result<T> {
    // SAFETY: null, or the caller's cluster.
    keep_errno(|| match unsafe { cluster.as_ref() } {
        Some(there) => f(&there.cluster),
        None => f(init::cluster()?),
    })
}

/// The same; an error becomes its number.
fn with(cluster: *const fibre_cluster_t, f: impl FnOnce(&Cluster) -> io::Result<()>) -> c_int {
    visit(cluster, f).map_or_else(|error| number_of(&error), |()| 0)
}

/// Adds processors to a cluster; null is the default one. `EAGAIN` if there is no room for so many,
/// or their threads cannot be started.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_cluster_add_processors(
    cluster: *mut fibre_cluster_t,
    more: c_uint,
) -> c_int {
    with(cluster, |cluster| {
        cluster.add_processors(more as usize).map(drop)
    })
}

/// How many processors a cluster has; null is the default one. -1 if that cannot be started.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_cluster_processors(cluster: *const fibre_cluster_t) -> c_int {
    let count = visit(cluster, |cluster| Ok(cluster.processors()));
    count.map_or(-1, |count| c_int::try_from(count).unwrap_or(c_int::MAX))
}

/// How many fibres a cluster has that have not ended; null is the default one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_cluster_live(cluster: *const fibre_cluster_t) -> usize {
    visit(cluster, |cluster| Ok(cluster.live())).unwrap_or(0)
}

/// Moves the calling fibre to a cluster; null is the default one. `ENOTSUP` if the caller is no
/// fibre, or stays on a processor.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_migrate(cluster: *const fibre_cluster_t) -> c_int {
    with(cluster, migrate_to)
}

/// Lets all processors of a cluster stand still, each between two fibres, until it is resumed as
/// often; null is the default one. `EDEADLK` in one of its fibres.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_cluster_pause(cluster: *const fibre_cluster_t) -> c_int {
    with(cluster, |paused| {
        let pause = paused.pause()?;
        pauses(cluster).lock().push(pause);
        Ok(())
    })
}

/// Undoes one `fibre_cluster_pause`. `EPERM` if there was none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_cluster_resume(cluster: *const fibre_cluster_t) -> c_int {
    let pause = pauses(cluster).lock().pop();
    match pause {
        Some(pause) => {
            contain(|| drop(pause));
            0
        }
        None => libc::EPERM,
    }
}

/// Where the pauses of a cluster are kept.
fn pauses<'a>(cluster: *const fibre_cluster_t) -> &'a Mutex<Vec<Paused>> {
    /// The pauses of the default cluster.
    static OF_DEFAULT: Mutex<Vec<Paused>> = Mutex::new(Vec::new());
    // SAFETY: null, or the caller's cluster.
    unsafe { cluster.as_ref() }.map_or(&OF_DEFAULT, |there| &there.paused)
}

/// The number of the processor that the calling fibre is on, within its cluster; -1 on a plain
/// thread.
#[unsafe(no_mangle)]
pub extern "C" fn fibre_processor() -> c_int {
    let number = fibre_core::processor().and_then(|number| c_int::try_from(number).ok());
    number.unwrap_or(-1)
}
