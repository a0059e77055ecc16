//! What static thread-locals are in a new thread: the images of all modules.

use super::block::ThreadBlock;
use super::layout;
use crate::arch;
use rustix::io::Errno;
use std::cell::RefCell;
use std::ffi::{c_int, c_void};
use std::ptr;

/// The images of the modules that are loaded. Each processor has them.
#[derive(Debug, Default)]
pub(crate) struct Images(RefCell<Known>);

/// What was found when modules were last loaded or unloaded.
#[derive(Debug, Default)]
struct Known {
    /// How many modules had been loaded by then, and unloaded.
    generation: (u64, u64),
    images: Vec<Image>,
}

/// The thread-locals of one module, in the static part of every block.
#[derive(Debug)]
struct Image {
    /// How far below the thread pointer they begin.
    distance: usize,
    /// Where their first values lie.
    values: usize,
    /// Bytes of these.
    filled: usize,
    /// Bytes in all; behind the first values there are zeros.
    size: usize,
}

/// No program has as many bytes of static thread-locals.
const MOST: usize = 1 << 24;

impl Images {
    /// Makes the static thread-locals of a block, which nobody uses, those of a new thread: except
    /// the C library's own, which caches memory there. `false`: the block has thread-locals of
    /// modules with memory of their own, and has to be ended.
    ///
    /// # Errors
    ///
    /// `NOMEM`, when the allocator has no memory to note the modules.
    pub(super) fn renew(&self, block: ThreadBlock) -> Result<bool, Errno> {
        // SAFETY: nobody uses the block.
        if unsafe { has_memory(block) } {
            return Ok(false);
        }
        let mut known = self.0.borrow_mut();
        let generation = generation();
        if known.generation != generation || known.images.is_empty() {
            let images = look()?;
            *known = Known { generation, images };
        }
        // SAFETY: the static part of every block has the thread-locals of these modules, which stay
        // as long as they are loaded. The word is the runtime's own, and `errno` an integer.
        unsafe {
            let departed = block.departed().read();
            for image in &known.images {
                let place = block.at::<u8>(-(image.distance as isize));
                let values = ptr::with_exposed_provenance::<u8>(image.values);
                place.copy_from_nonoverlapping(values, image.filled);
                place
                    .add(image.filled)
                    .write_bytes(0, image.size - image.filled);
            }
            block.departed().write(departed);
            block.at::<c_int>(layout::known().errno).write(0);
        }
        Ok(true)
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

/// How many modules have been loaded and unloaded.
fn generation() -> (u64, u64) {
    unsafe extern "C" fn note(
        module: *mut libc::dl_phdr_info,
        _size: libc::size_t,
        found: *mut c_void,
    ) -> c_int {
        // SAFETY: the loader passes valid information, and the place below.
        unsafe { *found.cast() = ((*module).dlpi_adds, (*module).dlpi_subs) };
        1
    }
    let mut found = (0_u64, 0_u64);
    // SAFETY: the callback fits, and its place outlives the call.
    unsafe { libc::dl_iterate_phdr(Some(note), (&raw mut found).cast()) };
    found
}

/// What is found of the modules: their images, and whether there was memory to note them.
type Found = Result<Vec<Image>, Errno>;

/// Looks at all modules but the C library.
fn look() -> Found {
    unsafe extern "C" fn note(
        module: *mut libc::dl_phdr_info,
        _size: libc::size_t,
        found: *mut c_void,
    ) -> c_int {
        // SAFETY: the loader passes valid information, and the place below.
        let (module, found) = unsafe { (&*module, &mut *found.cast::<Found>()) };
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
                note_image(
                    found,
                    Image {
                        distance,
                        values,
                        filled: header.p_filesz as usize,
                        size: header.p_memsz as usize,
                    },
                );
            }
        }
        0
    }
    let mut found: Found = Ok(Vec::new());
    // SAFETY: the callback fits, and its place outlives the call.
    unsafe { libc::dl_iterate_phdr(Some(note), (&raw mut found).cast()) };
    found
}

/// Notes an image, if there is memory.
fn note_image(found: &mut Found, image: Image) {
    if let Ok(images) = found {
        match images.try_reserve(1) {
            Ok(()) => images.push(image),
            Err(_) => *found = Err(Errno::NOMEM),
        }
    }
}
