//! What is known of the C library's thread control blocks.
//!
//! glibc describes some of their fields to debuggers, in symbols of libthread_db. The rest is found
//! out by trying. Nothing is taken for granted that has not been seen in this process.

use super::init_error::InitError;
use crate::arch;
use crate::sys::modules;
use crate::sys::plain_thread::PlainThread;
use crate::sys::syscall::syscall;
use std::ffi::{CStr, c_int, c_uint, c_void};
use std::ops::Range;
use std::ptr;
use std::sync::OnceLock;

/// What is known.
#[derive(Debug)]
pub(super) struct Layout {
    /// How far behind the thread pointer the thread's number lies.
    pub(super) number: isize,
    /// How far behind it the word lies that says whether the thread is cancelled, and whether its
    /// credentials are being changed.
    pub(super) requests: isize,
    /// How far behind it the pointers to the values of keys lie.
    pub(super) values: isize,
    /// How far from it `errno` lies.
    pub(super) errno: isize,
    /// How far from it the area for restartable sequences lies, if threads have one.
    pub(super) sequences: Option<isize>,
    /// How far behind it the list of robust mutexes begins, if threads have one.
    pub(super) robust: Option<isize>,
    /// Where the table of keys lies.
    pub(super) keys: usize,
    /// The function that calls the destructors of the calling thread's thread-locals.
    pub(super) call_destructors: unsafe extern "C" fn(),
    /// The addresses of the C library.
    pub(super) library: Range<usize>,
}

/// The bit of [`Layout::requests`] that is set while a call changes the credentials of all threads.
pub(super) const CHANGES_CREDENTIALS: u32 = 1 << 6;

/// A key, in glibc's table.
#[repr(C)]
pub(super) struct Key {
    /// Even: the key is not in use.
    pub(super) sequence: usize,
    /// The destructor of its values, or null.
    pub(super) destructor: Option<unsafe extern "C" fn(*mut c_void)>,
}

/// The value of a key, in a thread.
#[repr(C)]
pub(super) struct KeyValue {
    /// The key's sequence when the value was set.
    pub(super) sequence: usize,
    pub(super) value: *mut c_void,
}

/// How many keys have their values in one table.
pub(super) const SECOND_LEVEL: usize = 32;

/// How many such tables there are.
pub(super) const FIRST_LEVEL: usize = 32;

static LAYOUT: OnceLock<Layout> = OnceLock::new();

/// The layout.
///
/// # Panics
///
/// If [`find`] has not succeeded.
pub(super) fn known() -> &'static Layout {
    let Some(layout) = LAYOUT.get() else {
        unreachable!("a thread block without a known layout")
    };
    layout
}

/// Finds the layout out, once.
///
/// # Errors
///
/// What was not found, in words; or the kernel's.
pub(super) fn find() -> Result<&'static Layout, InitError> {
    if let Some(layout) = LAYOUT.get() {
        return Ok(layout);
    }
    let (number, robust) = places_in_thread()?;
    let requests = described(c"_thread_db_pthread_cancelhandling")?;
    let values = described(c"_thread_db_pthread_specific")?;
    let call_destructors =
        symbol(c"__call_tls_dtors").ok_or_else(|| missing("__call_tls_dtors"))?;
    // SAFETY: that symbol is a function of this type.
    let call_destructors =
        unsafe { std::mem::transmute::<*mut c_void, unsafe extern "C" fn()>(call_destructors) };
    // SAFETY: the calling thread's own `errno`.
    let errno = unsafe { libc::__errno_location() }.addr();
    let errno = errno.wrapping_sub(arch::thread_pointer()) as isize;
    // The program has no entry of its own for this symbol, as it may have for others.
    let library = library(call_destructors as usize)?;
    let keys = key_table(&library.writable)?;
    let layout = Layout {
        number,
        requests,
        values,
        errno,
        sequences: sequences(),
        robust,
        keys,
        call_destructors,
        library: library.whole,
    };
    Ok(LAYOUT.get_or_init(|| layout))
}

/// A symbol of the C library's that its header files do not have.
fn symbol(name: &CStr) -> Option<*mut c_void> {
    // SAFETY: a name.
    let place = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
    (!place.is_null()).then_some(place)
}

/// The error for a symbol that the C library lacks.
fn missing(name: &str) -> InitError {
    InitError::Lacks(format!(
        "the C library has no symbol `{name}`, as glibc has"
    ))
}

/// Where a field lies that the C library describes to debuggers: its bits, how many of them, and
/// its place.
fn described(name: &CStr) -> Result<isize, InitError> {
    let description = symbol(name).ok_or_else(|| missing(&name.to_string_lossy()))?;
    // SAFETY: these symbols are such triples.
    let [_, _, place] = unsafe { description.cast::<[u32; 3]>().read() };
    Ok(place as isize)
}

/// Where a block has its thread's number, and the list of its robust mutexes, if any. Both are
/// looked for in a new thread; the number must be where the C library says.
fn places_in_thread() -> Result<(isize, Option<isize>), InitError> {
    let described = described(c"_thread_db_pthread_tid")?;
    let looks = move || {
        // SAFETY: the description says that there is such a word in every block.
        let word = unsafe {
            ptr::with_exposed_provenance::<c_int>(
                arch::thread_pointer().wrapping_add_signed(described),
            )
            .read()
        };
        // SAFETY: asks for a number.
        (word == unsafe { libc::gettid() }).then(robust)
    };
    let _plain = PlainThread::begin();
    match std::thread::Builder::new().spawn(looks)?.join() {
        Ok(Some(robust)) => Ok((described, robust)),
        _ => Err("the C library's threads do not have their numbers where it says".into()),
    }
}

/// Where a block has the area that the kernel writes the number of the CPU to, if it has one.
fn sequences() -> Option<isize> {
    let (place, size) = (symbol(c"__rseq_offset")?, symbol(c"__rseq_size")?);
    // SAFETY: symbols of these types.
    let (place, size) = unsafe { (place.cast::<isize>().read(), size.cast::<c_uint>().read()) };
    (size > 0).then_some(place)
}

/// The longest that a block's fixed part may be.
const MOST: isize = 4096;

/// How far behind the calling thread's pointer the head of its list lies, if the kernel has one
/// there. The caller holds no mutex.
fn robust() -> Option<isize> {
    let (mut head, mut length) = (0_usize, 0_usize);
    let [to_head, to_length] = [&raw mut head, &raw mut length].map(|it| it.expose_provenance());
    // SAFETY: the calling thread's, and places of this frame.
    let known = unsafe { syscall(libc::SYS_get_robust_list, [0, to_head, to_length, 0, 0, 0]) };
    let place = head.wrapping_sub(arch::thread_pointer()) as isize;
    let is_in_block = known.is_ok() && (0..MOST).contains(&place);
    // SAFETY: a word of the calling thread's block.
    let is_head = || unsafe { ptr::with_exposed_provenance::<usize>(head).read() } == head;
    (is_in_block && is_head()).then_some(place)
}

/// Where the C library lies.
struct Library {
    whole: Range<usize>,
    /// Its variables.
    writable: Vec<Range<usize>>,
}

/// Looks for the module with this function of the C library's.
fn library(function: usize) -> Result<Library, InitError> {
    let found = modules::find(|module| {
        let loaded = |header: &&libc::Elf64_Phdr| header.p_type == libc::PT_LOAD;
        let range = |header: &libc::Elf64_Phdr| {
            let start = module.base() + header.p_vaddr as usize;
            start..start + header.p_memsz as usize
        };
        let loaded = module.headers().iter().filter(loaded);
        let mut ranges = loaded.clone().map(range);
        if !ranges.clone().any(|range| range.contains(&function)) {
            return None;
        }
        let first = ranges.next().unwrap_or_default();
        let whole = first.start..ranges.next_back().unwrap_or(first).end;
        let writes = |header: &&libc::Elf64_Phdr| header.p_flags & libc::PF_W != 0;
        let writable = loaded.filter(writes).map(range).collect();
        Some(Library { whole, writable })
    });
    found.ok_or_else(|| "the C library is not a module of this process".into())
}

/// Looks for the table of keys among the C library's variables: it is where the destructors of two
/// new keys appear.
fn key_table(variables: &[Range<usize>]) -> Result<usize, InitError> {
    /// Two destructors that nothing else refers to. Two bodies, so that they are two functions.
    unsafe extern "C" fn first(value: *mut c_void) {
        std::hint::black_box((value, 1));
    }
    unsafe extern "C" fn second(value: *mut c_void) {
        std::hint::black_box((value, 2));
    }
    let keys = [first as *const () as usize, second as *const () as usize].map(|destructor| {
        let mut key = 0;
        // SAFETY: the destructors do nothing, and no value is ever set.
        let error = unsafe {
            libc::pthread_key_create(
                &raw mut key,
                Some(std::mem::transmute::<
                    usize,
                    unsafe extern "C" fn(*mut c_void),
                >(destructor)),
            )
        };
        (error == 0).then_some((key as usize, destructor))
    });
    let [Some(one), Some(two)] = keys else {
        keys.into_iter().flatten().for_each(|(key, _)| delete(key));
        return Err("there is no free key for values of threads".into());
    };
    let words = variables
        .iter()
        .flat_map(|range| range.clone().step_by(size_of::<usize>()));
    // SAFETY: variables of the C library, which others may write at any time; any word will do.
    let read =
        |place: usize| unsafe { ptr::with_exposed_provenance::<usize>(place).read_volatile() };
    let entry = |table: usize, key: usize| table + key * size_of::<Key>() + size_of::<usize>();
    let is_inside = |place: usize| variables.iter().any(|range| range.contains(&place));
    let mut tables = words
        .filter(|place| read(*place) == one.1)
        .map(|place| place.wrapping_sub(entry(0, one.0)))
        .filter(|table| is_inside(*table) && is_inside(entry(*table, two.0)))
        .filter(|table| read(entry(*table, two.0)) == two.1);
    let (found, another) = (tables.next(), tables.next());
    [one.0, two.0].into_iter().for_each(delete);
    match (found, another) {
        (Some(table), None) => Ok(table),
        _ => Err("the C library's table of keys was not found".into()),
    }
}

/// Deletes a key.
fn delete(key: usize) {
    // SAFETY: a key of ours, without values.
    unsafe { libc::pthread_key_delete(key as libc::pthread_key_t) };
}
