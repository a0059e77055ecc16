//! Threads of a program as fibres: [`threads()`], and the names of `pthread_create` and of what
//! takes a thread.
//!
//! * `living`: how many threads there are, and the end of the process after `main`;
//! * `requests`: the requests to end a thread, and what it has said of them;
//! * `exception`: what unwinds its stack by force;
//! * `thread`: a fibre that the program takes for a thread, and its handle;
//! * `attributes`: what a program asks for, and whether a fibre can have it;
//! * `mask`: the signals that a thread blocks;
//! * `create`: `pthread_create`;
//! * `join`: waiting for the end of a thread, and giving that up;
//! * `handler`: a handler of `pthread_cleanup_push` in C;
//! * `exit`: `pthread_exit`;
//! * `cleanup`: what lists handlers, and goes on after them;
//! * `cancel`: `pthread_cancel`, and what becomes of the request;
//! * `about`: names, and what else is asked of a thread;
//! * `signals`: sending signals to a thread, and waiting for them;
//! * `programs`: starting a program, and becoming one;
//! * `begin`: [`threads()`].
//!
//! A static executable has none of these names, as there is no other `pthread_create` to be called.
//! There, fibres cannot have thread-locals of their own either.

#[cfg(not(target_feature = "crt-static"))]
mod about;
#[cfg(not(target_feature = "crt-static"))]
mod attributes;
mod begin;
#[cfg(not(target_feature = "crt-static"))]
mod cancel;
#[cfg(not(target_feature = "crt-static"))]
mod cleanup;
#[cfg(not(target_feature = "crt-static"))]
mod create;
#[cfg(not(target_feature = "crt-static"))]
mod exception;
#[cfg(not(target_feature = "crt-static"))]
mod exit;
#[cfg(not(target_feature = "crt-static"))]
mod handler;
#[cfg(not(target_feature = "crt-static"))]
mod join;
#[cfg(not(target_feature = "crt-static"))]
mod living;
#[cfg(not(target_feature = "crt-static"))]
mod mask;
#[cfg(not(target_feature = "crt-static"))]
mod programs;
#[cfg(not(target_feature = "crt-static"))]
mod requests;
#[cfg(not(target_feature = "crt-static"))]
mod signals;
#[cfg(not(target_feature = "crt-static"))]
mod thread;

#[cfg(not(target_feature = "crt-static"))]
pub(crate) use begin::wants_fibres;
pub use begin::{threads, threads_when_created};
#[cfg(not(target_feature = "crt-static"))]
pub(crate) use join::join;
