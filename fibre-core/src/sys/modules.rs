//! The modules of this process: the program, and the libraries that are loaded.

use std::ffi::{c_int, c_void};

/// A module, while it is looked at.
pub(crate) struct Module<'a>(&'a libc::dl_phdr_info);

impl Module<'_> {
    /// How far it lies from the addresses that its file has.
    pub(crate) fn base(&self) -> usize {
        self.0.dlpi_addr as usize
    }

    /// What its file says of its parts.
    pub(crate) fn headers(&self) -> &[libc::Elf64_Phdr] {
        // SAFETY: the loader has as many headers of the module, and they stay while it is there.
        unsafe { std::slice::from_raw_parts(self.0.dlpi_phdr, usize::from(self.0.dlpi_phnum)) }
    }

    /// What its file says of its thread-locals, if it has any.
    pub(crate) fn thread_local_header(&self) -> Option<&libc::Elf64_Phdr> {
        let mut headers = self.headers().iter();
        headers.find(|header| header.p_type == libc::PT_TLS)
    }

    /// Where its thread-locals lie in the calling thread; null where they have no memory yet.
    pub(crate) fn thread_locals(&self) -> *const u8 {
        self.0.dlpi_tls_data.cast_const().cast()
    }

    /// How many modules have been loaded so far in this process, and unloaded.
    pub(crate) fn changes(&self) -> (u64, u64) {
        (self.0.dlpi_adds, self.0.dlpi_subs)
    }
}

/// Calls `look` with each module, the program first, until it finds something; returns that. No
/// module is unloaded meanwhile. `look` must not panic, nor load a module.
pub(crate) fn find<R>(look: impl FnMut(&Module<'_>) -> Option<R>) -> Option<R> {
    /// The closure, and what it has found.
    struct Search<F, R> {
        look: F,
        found: Option<R>,
    }
    unsafe extern "C" fn step<F: FnMut(&Module<'_>) -> Option<R>, R>(
        module: *mut libc::dl_phdr_info,
        _size: libc::size_t,
        search: *mut c_void,
    ) -> c_int {
        // SAFETY: the loader passes valid information, and the search below.
        let (module, search) = unsafe { (&*module, &mut *search.cast::<Search<F, R>>()) };
        search.found = (search.look)(&Module(module));
        c_int::from(search.found.is_some())
    }
    /// The callback for this closure.
    fn step_of<F: FnMut(&Module<'_>) -> Option<R>, R>(
        _search: &Search<F, R>,
    ) -> unsafe extern "C" fn(*mut libc::dl_phdr_info, libc::size_t, *mut c_void) -> c_int {
        step::<F, R>
    }
    let mut search = Search { look, found: None };
    let step = step_of(&search);
    // SAFETY: the callback is for this search, which outlives the call.
    unsafe { libc::dl_iterate_phdr(Some(step), (&raw mut search).cast()) };
    search.found
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;

    #[test]
    fn the_program_comes_first() {
        let here = the_program_comes_first as *const () as usize;
        let contains = |module: &Module<'_>| {
            let loaded = |header: &&libc::Elf64_Phdr| header.p_type == libc::PT_LOAD;
            let mut loaded = module.headers().iter().filter(loaded);
            loaded.any(|header| {
                let start = module.base() + header.p_vaddr as usize;
                (start..start + header.p_memsz as usize).contains(&here)
            })
        };
        assert!(find(|module| Some(contains(module))).unwrap());
        let mut count = 0;
        let none = find(|_| {
            count += 1;
            None::<()>
        });
        assert!(none.is_none() && count > 1);
    }
}
