//! What stays a kernel thread, and says so.

use crate::run::kernel_thread;
use fibre::Cluster;
use std::ffi::{c_int, c_void};
use std::mem::MaybeUninit;
use std::ptr;
use std::thread;

unsafe extern "C" {
    fn pthread_attr_setaffinity_np(
        attributes: *mut libc::pthread_attr_t,
        size: usize,
        cpus: *const libc::cpu_set_t,
    ) -> c_int;
}

/// What a run says on standard error: once, however many threads ask for it.
pub(crate) fn check_what_was_said(words: &str) {
    for reason in ["CPUs to run on", "memory of its own as its stack"] {
        let line = format!(
            "fibre: a thread asks for {reason}, which a fibre cannot have: it is a thread of the \
             kernel's, and so are all others that do"
        );
        assert_eq!(words.matches(&line).count(), 1, "{words}");
    }
}

/// Whether a thread is one of the kernel's own: no fibre, and not the calling one.
fn is_kernel_thread(is_fibre: bool, number: i32) -> bool {
    !is_fibre && number != kernel_thread()
}

pub(crate) fn plain_stretches_start_kernel_threads() {
    let look = || (fibre::in_fibre(), kernel_thread());
    let plain = fibre_libc::plainly(|| thread::spawn(look));
    let (is_fibre, number) = plain.join().unwrap();
    assert!(is_kernel_thread(is_fibre, number));
    // The next one is a fibre again; so are those that the kernel thread starts.
    assert!(thread::spawn(look).join().unwrap().0);
    let nested = fibre_libc::plainly(|| thread::spawn(move || thread::spawn(look).join().unwrap()));
    assert!(nested.join().unwrap().0);
    // A call of the runtime's that is for kernel threads.
    let helper = fibre::spawn_thread(thread::Builder::new(), look).unwrap();
    let (is_fibre, number) = helper.join().unwrap();
    assert!(is_kernel_thread(is_fibre, number));
}

/// Returns one for a thread that is no fibre.
extern "C" fn is_no_fibre(_: *mut c_void) -> *mut c_void {
    ptr::without_provenance_mut(usize::from(!fibre::in_fibre()))
}

/// Whether a thread with attributes that `change` has changed is no fibre.
fn runs_without_fibre(change: impl FnOnce(*mut libc::pthread_attr_t)) -> bool {
    with_attributes(is_no_fibre, change) == 1
}

/// What a thread returns that has attributes that `change` has changed.
pub(crate) fn with_attributes(
    run: extern "C" fn(*mut c_void) -> *mut c_void,
    change: impl FnOnce(*mut libc::pthread_attr_t),
) -> usize {
    let (mut attributes, mut thread) = (MaybeUninit::uninit(), 0);
    let mut result = ptr::null_mut();
    // SAFETY: attributes that are initialised first, and a thread that is joined once.
    unsafe {
        libc::pthread_attr_init(attributes.as_mut_ptr());
        change(attributes.as_mut_ptr());
        let nothing = ptr::null_mut();
        let error = libc::pthread_create(&raw mut thread, attributes.as_ptr(), run, nothing);
        assert_eq!(error, 0);
        libc::pthread_attr_destroy(attributes.as_mut_ptr());
        assert_eq!(libc::pthread_join(thread, &raw mut result), 0);
    }
    result.addr()
}

/// Makes a thread's attributes name the CPUs that the caller may run on.
pub(crate) fn ask_for_cpus(attributes: *mut libc::pthread_attr_t) {
    let mut cpus = MaybeUninit::<libc::cpu_set_t>::zeroed();
    let size = size_of::<libc::cpu_set_t>();
    // SAFETY: attributes, and a set of this frame.
    unsafe {
        assert_eq!(libc::sched_getaffinity(0, size, cpus.as_mut_ptr()), 0);
        assert_eq!(
            pthread_attr_setaffinity_np(attributes, size, cpus.as_ptr()),
            0
        );
    }
}

pub(crate) fn attributes_ask_for_the_kernel() {
    for _ in 0..2 {
        assert!(runs_without_fibre(ask_for_cpus));
        let mut memory = vec![0_u8; 1 << 20];
        let start = memory.as_mut_ptr();
        // SAFETY: attributes, and memory that is there until the thread has been joined.
        assert!(runs_without_fibre(|attributes| unsafe {
            assert_eq!(
                libc::pthread_attr_setstack(attributes, start.cast(), 1 << 20),
                0
            );
        }));
    }
    // Explicit, but nothing that differs.
    // SAFETY: attributes.
    assert!(!runs_without_fibre(|attributes| unsafe {
        libc::pthread_attr_setinheritsched(attributes, libc::PTHREAD_EXPLICIT_SCHED);
    }));
}

/// Processors, their pools and helpers are kernel threads, wherever a cluster is built.
pub(crate) fn clusters_have_kernel_threads() {
    let cluster = Cluster::builder().processors(2).build().unwrap();
    let seen = cluster.spawn(|| {
        let number = kernel_thread();
        (number, fibre::blocking(kernel_thread))
    });
    let (processor, helper) = seen.join().unwrap();
    assert!(cluster.thread_ids().contains(&processor));
    assert!(processor != helper && helper != kernel_thread());
    // Threads that its fibres start are fibres of the default cluster.
    let nested = cluster.spawn(|| {
        let thread = thread::spawn(|| (fibre::in_fibre(), kernel_thread()));
        thread.join().unwrap()
    });
    let (is_fibre, number) = nested.join().unwrap();
    assert!(is_fibre && !cluster.thread_ids().contains(&number));
    cluster.stop();
}

pub(crate) fn threads_of_threads_are_fibres() {
    let deep = thread::spawn(|| {
        let next = thread::spawn(|| thread::spawn(fibre::in_fibre).join().unwrap());
        (fibre::in_fibre(), next.join().unwrap())
    });
    assert_eq!(deep.join().unwrap(), (true, true));
    let from_a_pool = fibre::blocking(|| thread::spawn(fibre::in_fibre).join().unwrap());
    assert!(from_a_pool);
}
