//! What static thread-locals are in a new thread: the images of all modules.
//!
//! A module's place in blocks is known once it is loaded, and only threads that are newer than that
//! can be asked for it. So a thread is started to look whenever modules have been loaded or
//! unloaded. It waits until nobody loads a module any more, which may last. Nobody waits for it:
//! until it has found them, blocks are ended and born anew, which is always right.

use super::block::ThreadBlock;
use super::layout::{self, CHANGES_CREDENTIALS};
use crate::arch;
use crate::sync::thread_mutex::Mutex;
use crate::sys::modules::{self, Module};
use crate::sys::plain_thread::PlainThread;
use crate::sys::signal_mask::SignalMask;
use std::cell::RefCell;
use std::ffi::c_int;
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
    modules::find(|program| Some(program.changes())).unwrap_or_default()
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
    let (_blocked, _plain) = (SignalMask::asynchronous(), PlainThread::begin());
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
    let mut found = Vec::new();
    modules::find(|module| {
        found.extend(image_of(module));
        None::<()>
    });
    found
}

/// The image of a module, if it has thread-locals in the static part of the calling thread, and is
/// not the C library.
fn image_of(module: &Module<'_>) -> Option<Image> {
    let header = module.thread_local_header()?;
    let place = module.thread_locals();
    // Those in memory of their own lie anywhere.
    let distance = arch::thread_pointer().wrapping_sub(place.addr());
    let values = module.base() + header.p_vaddr as usize;
    let is_static = !place.is_null() && (1..MOST).contains(&distance);
    if !is_static || layout::known().library.contains(&values) {
        return None;
    }
    let filled = header.p_filesz as usize;
    let first = ptr::with_exposed_provenance::<u8>(values);
    // SAFETY: the module's first values, which stay while it is looked at.
    let values = unsafe { std::slice::from_raw_parts(first, filled) };
    Some(Image {
        distance,
        values: values.into(),
        size: header.p_memsz as usize,
    })
}
