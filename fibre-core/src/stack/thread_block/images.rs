//! What static thread-locals are in a new thread: the images of all modules.
//!
//! A module's place in blocks is known once it is loaded, and only threads that are newer than that
//! can be asked for it. So a thread is started to look whenever modules have been loaded or
//! unloaded. It waits until nobody loads a module any more, which may last. Nobody waits for it:
//! until it has found them, blocks are ended and born anew, which is always right.

use super::block::ThreadBlock;
use super::layout::{self, CHANGES_CREDENTIALS};
use crate::arch;
use crate::sys::signal_mask::SignalMask;
use parking_lot::Mutex;
use std::cell::RefCell;
use std::ffi::{c_int, c_void};
use std::io;
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread::{Builder, JoinHandle};

/// The images of the modules that are loaded, as a processor knows them.
#[derive(Debug, Default)]
pub(crate) struct Images(RefCell<Option<Arc<Known>>>);

/// What was found when modules were last loaded or unloaded.
#[derive(Debug)]
struct Known {
    generation: Generation,
    images: Vec<Image>,
}

/// How many modules have been loaded, and unloaded.
type Generation = (u64, u64);

/// The thread-locals of one module, in the static part of every block.
#[derive(Debug)]
struct Image {
    /// How far below the thread pointer they begin.
    distance: usize,
    /// Their first values.
    values: Box<[u8]>,
    /// Bytes in all; behind the first values there are zeros.
    size: usize,
}

/// No program has as many bytes of static thread-locals.
const MOST: usize = 1 << 24;

/// What the last look has found.
static LATEST: Mutex<Option<Arc<Known>>> = Mutex::new(None);

/// Whether a thread looks.
static LOOKING: AtomicBool = AtomicBool::new(false);

impl Images {
    /// Makes the static thread-locals of a block, which nobody uses, those of a new thread: except
    /// the C library's own, which caches memory there. `false`: the block has to be ended. It has
    /// thread-locals of modules with memory of their own, or is being cancelled; or the modules are
    /// not known yet.
    pub(super) fn renew(&self, block: ThreadBlock) -> bool {
        // SAFETY: nobody uses the block.
        if unsafe { has_memory(block) || has_requests(block) } {
            return false;
        }
        let generation = generation();
        let is_it = |known: &Arc<Known>| known.generation == generation;
        let mut known = self.0.borrow_mut();
        if !known.as_ref().is_some_and(is_it) {
            *known = LATEST.lock().clone().filter(is_it);
        }
        let Some(known) = &*known else {
            // Without a thread the next one tries.
            let _ = start_look();
            return false;
        };
        // SAFETY: the static part of every block has the thread-locals of these modules. The words
        // are the runtime's own, and `errno` is an integer.
        unsafe {
            let departed = block.departed().read();
            for image in &known.images {
                let place = block.at::<u8>(-(image.distance as isize));
                let filled = image.values.len();
                place.copy_from_nonoverlapping(image.values.as_ptr(), filled);
                place.add(filled).write_bytes(0, image.size - filled);
            }
            block.departed().write(departed);
            block.at::<c_int>(layout::known().errno).write(0);
        }
        true
    }
}

/// Whether modules that were loaded later have memory for their thread-locals in this block.
///
/// # Safety
///
/// No thread uses the block.
unsafe fn has_memory(block: ThreadBlock) -> bool {
    /// A module's thread-locals in a thread: where they are, and what has to be freed.
    type Entry = [usize; 2];
    // SAFETY: the word behind the thread pointer leads to a vector of such entries. The first one
    // is a counter, and the one before it says how many follow.
    unsafe {
        let vector = block.at::<*const Entry>(size_of::<usize>() as isize).read();
        let [count, _] = vector.sub(1).read();
        (1..=count).any(|index| vector.add(index).read()[1] != 0)
    }
}

/// Whether somebody has asked to cancel this thread.
///
/// # Safety
///
/// No thread uses the block.
unsafe fn has_requests(block: ThreadBlock) -> bool {
    // SAFETY: every block has the word.
    let requests = unsafe { &*block.at::<AtomicU32>(layout::known().requests) };
    requests.load(Ordering::Relaxed) & !CHANGES_CREDENTIALS != 0
}

/// How many modules have been loaded and unloaded.
fn generation() -> Generation {
    unsafe extern "C" fn note(
        module: *mut libc::dl_phdr_info,
        _size: libc::size_t,
        found: *mut c_void,
    ) -> c_int {
        // SAFETY: the loader passes valid information, and the place below.
        unsafe { *found.cast() = ((*module).dlpi_adds, (*module).dlpi_subs) };
        1
    }
    let mut found: Generation = (0, 0);
    // SAFETY: the callback fits, and its place outlives the call.
    unsafe { libc::dl_iterate_phdr(Some(note), (&raw mut found).cast()) };
    found
}

/// Looks at the modules once, and waits for it.
///
/// # Errors
///
/// The kernel's, when there is no thread.
pub(super) fn look_first() -> io::Result<()> {
    if let Some(look) = start_look()? {
        // It does not panic.
        let _ = look.join();
    }
    Ok(())
}

/// Starts a thread that looks at the modules, unless one does already.
///
/// # Errors
///
/// The kernel's, when there is no thread.
fn start_look() -> io::Result<Option<JoinHandle<()>>> {
    if LOOKING.swap(true, Ordering::Acquire) {
        return Ok(None);
    }
    let _blocked = SignalMask::asynchronous();
    let look = Builder::new().name("fibre-modules".to_owned()).spawn(|| {
        look_until_settled();
        LOOKING.store(false, Ordering::Release);
    });
    look.map(Some)
        .inspect_err(|_| LOOKING.store(false, Ordering::Release))
}

/// Notes all modules, once no module has come or gone meanwhile.
fn look_until_settled() {
    loop {
        let before = generation();
        // Whoever loads a module has the loader's lock until its place is known. This call takes
        // it, too.
        // SAFETY: the program itself, which stays.
        unsafe {
            let program = libc::dlopen(ptr::null(), libc::RTLD_LAZY | libc::RTLD_NOLOAD);
            if !program.is_null() {
                libc::dlclose(program);
            }
        }
        let images = look();
        if generation() == before {
            *LATEST.lock() = Some(Arc::new(Known {
                generation: before,
                images,
            }));
            return;
        }
    }
}

/// Looks at all modules but the C library, on a new thread.
fn look() -> Vec<Image> {
    unsafe extern "C" fn note(
        module: *mut libc::dl_phdr_info,
        _size: libc::size_t,
        found: *mut c_void,
    ) -> c_int {
        // SAFETY: the loader passes valid information, and the place below.
        let (module, found) = unsafe { (&*module, &mut *found.cast::<Vec<Image>>()) };
        // SAFETY: the module's headers, so many of them.
        let headers =
            unsafe { std::slice::from_raw_parts(module.dlpi_phdr, usize::from(module.dlpi_phnum)) };
        let header = headers.iter().find(|header| header.p_type == libc::PT_TLS);
        // Where they lie in the calling thread; those in memory of their own lie anywhere.
        let distance = arch::thread_pointer().wrapping_sub(module.dlpi_tls_data.addr());
        let is_static = !module.dlpi_tls_data.is_null() && (1..MOST).contains(&distance);
        if let Some(header) = header.filter(|_| is_static) {
            let values = (module.dlpi_addr + header.p_vaddr) as usize;
            if !layout::known().library.contains(&values) {
                let first = ptr::with_exposed_provenance::<u8>(values);
                let filled = header.p_filesz as usize;
                // SAFETY: the module's first values, which stay while the loader calls this.
                let values = unsafe { std::slice::from_raw_parts(first, filled) };
                found.push(Image {
                    distance,
                    values: values.into(),
                    size: header.p_memsz as usize,
                });
            }
        }
        0
    }
    let mut found = Vec::new();
    // SAFETY: the callback fits, and its place outlives the call.
    unsafe { libc::dl_iterate_phdr(Some(note), (&raw mut found).cast()) };
    found
}
