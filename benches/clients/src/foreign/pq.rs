//! libpq: the client library of PostgreSQL.
//!
//! A connection is a pointer that one thread uses at a time. libpq keeps nothing in thread-locals,
//! so it may be a fibre as well.

use std::ffi::{CStr, CString, c_char, c_int};
use std::io;
use std::ptr::{self, NonNull};

/// A connection of libpq's.
#[repr(C)]
struct PgConn {
    _opaque: [u8; 0],
}

/// A result of libpq's.
#[repr(C)]
struct PgResult {
    _opaque: [u8; 0],
}

/// `CONNECTION_OK`.
const CONNECTION_OK: c_int = 0;
/// `PGRES_TUPLES_OK`: the query has returned rows.
const TUPLES_OK: c_int = 2;

unsafe extern "C" {
    fn PQconnectdb(options: *const c_char) -> *mut PgConn;
    fn PQstatus(connection: *const PgConn) -> c_int;
    fn PQerrorMessage(connection: *const PgConn) -> *const c_char;
    fn PQfinish(connection: *mut PgConn);
    fn PQexecParams(
        connection: *mut PgConn,
        command: *const c_char,
        count: c_int,
        types: *const u32,
        values: *const *const c_char,
        lengths: *const c_int,
        formats: *const c_int,
        format: c_int,
    ) -> *mut PgResult;
    fn PQresultStatus(result: *const PgResult) -> c_int;
    fn PQntuples(result: *const PgResult) -> c_int;
    fn PQnfields(result: *const PgResult) -> c_int;
    fn PQgetvalue(result: *const PgResult, row: c_int, column: c_int) -> *const c_char;
    fn PQclear(result: *mut PgResult);
}

/// A connection to a PostgreSQL server.
pub struct Connection(NonNull<PgConn>);

// SAFETY: libpq lets any thread use a connection, as long as only one does at a time; `&mut self`
// sees to that.
unsafe impl Send for Connection {}

impl Connection {
    /// Connects, as a string of options in libpq's form says. Blocks in the calls of libc that
    /// libpq makes.
    ///
    /// # Errors
    ///
    /// What libpq says, if there is no connection.
    pub fn open(options: &str) -> io::Result<Self> {
        let options = CString::new(options)?;
        // SAFETY: the string ends with a zero, and lives for the call.
        let connection = unsafe { PQconnectdb(options.as_ptr()) };
        let connection = NonNull::new(connection).ok_or(io::ErrorKind::OutOfMemory)?;
        let connection = Self(connection);
        // SAFETY: the pointer is one of PQconnectdb's, and is not finished.
        if unsafe { PQstatus(connection.0.as_ptr()) } == CONNECTION_OK {
            return Ok(connection);
        }
        Err(connection.error())
    }

    /// Runs a query with parameters in text form, and returns the rows. Blocks in the calls of libc
    /// that libpq makes.
    ///
    /// # Errors
    ///
    /// What the server or libpq says.
    pub fn query(&mut self, query: &str, parameters: &[&str]) -> io::Result<Vec<Vec<String>>> {
        let query = CString::new(query)?;
        let owned = parameters.iter().map(|value| CString::new(*value));
        let owned = owned.collect::<Result<Vec<_>, _>>()?;
        let values: Vec<*const c_char> = owned.iter().map(|value| value.as_ptr()).collect();
        let count = c_int::try_from(values.len()).map_err(io::Error::other)?;
        // SAFETY: the connection is alive and ours alone; there are `count` strings with a zero at
        // their ends, which live for the call; null pointers stand for types, lengths and formats
        // of text.
        let result = unsafe {
            PQexecParams(
                self.0.as_ptr(),
                query.as_ptr(),
                count,
                ptr::null(),
                values.as_ptr(),
                ptr::null(),
                ptr::null(),
                0,
            )
        };
        let result = Rows(NonNull::new(result).ok_or_else(|| self.error())?);
        result.read().ok_or_else(|| self.error())
    }

    /// What libpq says of the connection's last failure.
    fn error(&self) -> io::Error {
        // SAFETY: the connection is alive; the string belongs to it, and is copied here.
        let text = unsafe { CStr::from_ptr(PQerrorMessage(self.0.as_ptr())) };
        io::Error::other(text.to_string_lossy().trim().to_owned())
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        // SAFETY: the connection is alive, and nobody uses it any more.
        unsafe { PQfinish(self.0.as_ptr()) };
    }
}

/// A result, until it is read.
struct Rows(NonNull<PgResult>);

impl Rows {
    /// The values as text, row by row; `None` where the query has failed.
    fn read(&self) -> Option<Vec<Vec<String>>> {
        let result = self.0.as_ptr();
        // SAFETY: the result is alive until `self` is dropped.
        let (status, rows, columns) =
            unsafe { (PQresultStatus(result), PQntuples(result), PQnfields(result)) };
        let value = |row, column| {
            // SAFETY: row and column are within the result, and its strings live as long as it
            // does.
            let text = unsafe { CStr::from_ptr(PQgetvalue(result, row, column)) };
            text.to_string_lossy().into_owned()
        };
        let row = |row| (0..columns).map(|column| value(row, column)).collect();
        (status == TUPLES_OK).then(|| (0..rows).map(row).collect())
    }
}

impl Drop for Rows {
    fn drop(&mut self) {
        // SAFETY: the result is alive, and nobody reads it any more.
        unsafe { PQclear(self.0.as_ptr()) };
    }
}
