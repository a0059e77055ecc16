//! libcurl, by its easy interface.
//!
//! A handle keeps its connection for the next transfer. It may be used by one thread at a time, of
//! whatever kind.

use std::ffi::{CStr, CString, c_char, c_int, c_long, c_void};
use std::io;
use std::ptr::NonNull;
use std::sync::Once;

/// A handle of libcurl's.
#[repr(C)]
struct Curl {
    _opaque: [u8; 0],
}

/// `CURLE_OK`.
const OK: c_int = 0;
/// `CURL_GLOBAL_ALL`.
const GLOBAL_ALL: c_long = 3;
/// `CURLOPT_WRITEDATA`. Its value is a pointer.
const WRITE_DATA: c_int = 10_001;
/// `CURLOPT_URL`. Its value is a string.
const URL: c_int = 10_002;
/// `CURLOPT_WRITEFUNCTION`. Its value is a function.
const WRITE_FUNCTION: c_int = 20_011;
/// `CURLOPT_FAILONERROR`: a status of 400 or above is an error.
const FAIL_ON_ERROR: c_int = 45;
/// `CURLOPT_NOSIGNAL`: no SIGALRM, which programs with threads need.
const NO_SIGNAL: c_int = 99;
/// `CURLOPT_TIMEOUT_MS`: how long a transfer may take.
const TIMEOUT_MS: c_int = 155;

unsafe extern "C" {
    fn curl_global_init(flags: c_long) -> c_int;
    fn curl_easy_init() -> *mut Curl;
    fn curl_easy_setopt(handle: *mut Curl, option: c_int, ...) -> c_int;
    fn curl_easy_perform(handle: *mut Curl) -> c_int;
    fn curl_easy_cleanup(handle: *mut Curl);
    fn curl_easy_strerror(code: c_int) -> *const c_char;
}

/// What libcurl calls with bytes that have come.
type Write = extern "C" fn(*const u8, usize, usize, *mut c_void) -> usize;

/// Appends the bytes to the `Vec<u8>` that `body` points to.
extern "C" fn append(bytes: *const u8, size: usize, count: usize, body: *mut c_void) -> usize {
    // SAFETY: libcurl passes `size * count` readable bytes, and the pointer that `get` has set: a
    // vector in its frame, which waits for the transfer and does not touch it meanwhile.
    let (bytes, body) = unsafe {
        let bytes = std::slice::from_raw_parts(bytes, size * count);
        (bytes, &mut *body.cast::<Vec<u8>>())
    };
    body.extend_from_slice(bytes);
    bytes.len()
}

/// A handle for transfers one after the other.
pub struct Easy(NonNull<Curl>);

// SAFETY: libcurl lets any thread use a handle, as long as only one does at a time; `&mut self`
// sees to that.
unsafe impl Send for Easy {}

impl Easy {
    /// A handle with transfers that fail after `timeout_ms` milliseconds.
    ///
    /// # Errors
    ///
    /// libcurl cannot be initialised, or has no memory.
    pub fn new(timeout_ms: c_long) -> io::Result<Self> {
        static ONCE: Once = Once::new();
        // SAFETY: `Once` lets one thread initialise the library, before it is used.
        ONCE.call_once(|| unsafe {
            curl_global_init(GLOBAL_ALL);
        });
        // SAFETY: the library is initialised.
        let handle = NonNull::new(unsafe { curl_easy_init() });
        let easy = Self(handle.ok_or(io::ErrorKind::OutOfMemory)?);
        easy.set_number(NO_SIGNAL, 1)?;
        easy.set_number(FAIL_ON_ERROR, 1)?;
        easy.set_number(TIMEOUT_MS, timeout_ms)?;
        // SAFETY: the handle is alive, and the option takes a function of this type.
        check(unsafe { curl_easy_setopt(self::raw(&easy), WRITE_FUNCTION, append as Write) })?;
        Ok(easy)
    }

    /// Fetches what is at an address. Blocks in the calls of libc that libcurl makes.
    ///
    /// # Errors
    ///
    /// What libcurl says; an answer with a status of 400 or above.
    pub fn get(&mut self, url: &str) -> io::Result<Vec<u8>> {
        let url = CString::new(url)?;
        let mut body: Vec<u8> = Vec::new();
        let target: *mut c_void = (&raw mut body).cast();
        // SAFETY: the handle is alive and ours alone; libcurl copies the string, and uses the
        // vector only within curl_easy_perform: meanwhile it stays where it is.
        unsafe {
            check(curl_easy_setopt(raw(self), URL, url.as_ptr()))?;
            check(curl_easy_setopt(raw(self), WRITE_DATA, target))?;
            check(curl_easy_perform(raw(self)))?;
        }
        Ok(body)
    }

    /// Sets an option with a number as its value.
    fn set_number(&self, option: c_int, value: c_long) -> io::Result<()> {
        // SAFETY: the handle is alive, and the option takes a long.
        check(unsafe { curl_easy_setopt(raw(self), option, value) })
    }
}

impl Drop for Easy {
    fn drop(&mut self) {
        // SAFETY: the handle is alive, and nobody uses it any more.
        unsafe { curl_easy_cleanup(raw(self)) };
    }
}

/// The handle as libcurl knows it.
fn raw(easy: &Easy) -> *mut Curl {
    easy.0.as_ptr()
}

/// The outcome of a call as a result.
fn check(code: c_int) -> io::Result<()> {
    if code == OK {
        return Ok(());
    }
    // SAFETY: libcurl returns a static string for every number.
    let text = unsafe { CStr::from_ptr(curl_easy_strerror(code)) };
    Err(io::Error::other(text.to_string_lossy().into_owned()))
}
