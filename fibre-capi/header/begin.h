/*
 * fibre.h - user-level threads with the calls of POSIX threads.
 *
 * pthread_X is fibre_X, sem_X is fibre_sem_X, and a call x of the C library is fibre_x, each with the signature,
 * the return value and the error numbers of POSIX. See docs/c/README.md.
 *
 * Made by `cargo xtask header`. Do not change it by hand.
 */
