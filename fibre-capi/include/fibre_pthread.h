/* fibre_pthread.h: makes a pthread program a fibre program, without a change of its source.
 *
 *     cc -include fibre_pthread.h prog.c -lfibre-rt
 *
 * Every call that is listed below goes to libfibre-rt's function of the same signature. The mapping is done on the names that
 * the linker sees (#pragma redefine_extname), not on the words of the program: members, variables and static functions that
 * are called read or close stay what they are, `&read` is ours, and so is what a macro of the program expands to. In C no
 * system header is included here, so that the feature-test macros (_GNU_SOURCE, _POSIX_C_SOURCE, ...) that the program
 * defines at its top still count. What has to be said by macros says itself why.
 *
 * Objects keep the system's types and initialisers: ours fit into them, and all zeros is a valid one. C++'s std::thread,
 * std::mutex and their kind are not mapped: they go on with the system's threads.
 *
 * -DFIBRE_MAIN makes main() the first fibre; else it stays on the thread that the process began with, which may make every
 * call. -DFIBRE_MAPPING_OFF leaves a file to the system. docs/c/mapping.md has the whole story, and the table of what cannot be offered.
 *
 * The lines `#pragma redefine_extname <system's name> <ours>` are also the list that tools read: one to a line.
 */
#ifndef FIBRE_PTHREAD_H
#define FIBRE_PTHREAD_H
#if !defined __ASSEMBLER__ && !defined FIBRE_MAPPING_OFF

/* Nothing that stands here is the program's to be warned of. */
#pragma GCC system_header

#if !defined __linux__ || !defined __x86_64__
# error "fibre_pthread.h is for Linux on x86-64"
#endif
#ifdef _FEATURES_H
# error "fibre_pthread.h comes before all system headers: give it to the compiler as `-include fibre_pthread.h`"
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* What the macros below call; under names of their own, so that fibre.h may be included, too. */
extern int *__fibre_errno_location(void) __asm__("fibre_errno_location");
extern unsigned long __fibre_self(void) __asm__("fibre_self");
extern int __fibre_yield(void) __asm__("fibre_yield");
extern void __fibre_cleanup_enter(void *frame, void (*routine)(void *), void *argument) __asm__("fibre_cleanup_enter");
extern void __fibre_cleanup_leave(void *frame, int execute) __asm__("fibre_cleanup_leave");

#ifdef __cplusplus
}
#endif

/* Tells a declaration from a call in the argument of a function-like macro. A declaration begins with the name of a type: the
 * argument's first word is made part of a longer one, which is a macro for these types, and nothing for a call's expression.
 * Only names of the system's headers are looked at in this manner, whose calls begin with a plain name. */
#define FIBRE__SECOND(first, second, ...) second
#define FIBRE__PICK(...) FIBRE__SECOND(__VA_ARGS__, ~)
#define FIBRE__JOIN_(a, b) a##b
#define FIBRE__JOIN(a, b) FIBRE__JOIN_(a, b)
#define FIBRE__TYPE_int ~, DECLARED,
#define FIBRE__TYPE_const ~, DECLARED,
#define FIBRE__TYPE_struct ~, DECLARED,
#define FIBRE__FORM(first) FIBRE__PICK(FIBRE__TYPE_##first, CALLED)

/* ---- Input and output, and time ---- */

/* Time, and the processor. */
#pragma redefine_extname sleep fibre_sleep
#pragma redefine_extname usleep fibre_usleep
#pragma redefine_extname nanosleep fibre_nanosleep
#pragma redefine_extname clock_nanosleep fibre_clock_nanosleep
#pragma redefine_extname sched_yield fibre_yield

/* Bytes. */
#pragma redefine_extname read fibre_read
#pragma redefine_extname write fibre_write
#pragma redefine_extname readv fibre_readv
#pragma redefine_extname writev fibre_writev
#pragma redefine_extname pwrite fibre_pwrite
#pragma redefine_extname preadv fibre_preadv
#pragma redefine_extname pwritev fibre_pwritev
#pragma redefine_extname pread64 fibre_pread
#pragma redefine_extname pwrite64 fibre_pwrite
#pragma redefine_extname preadv64 fibre_preadv
#pragma redefine_extname pwritev64 fibre_pwritev
#pragma redefine_extname preadv2 fibre_preadv2
#pragma redefine_extname pwritev2 fibre_pwritev2
#pragma redefine_extname preadv64v2 fibre_preadv2
#pragma redefine_extname pwritev64v2 fibre_pwritev2
#if !defined __clang__ || !defined _FORTIFY_SOURCE || _FORTIFY_SOURCE == 0
# pragma redefine_extname pread fibre_pread
#endif

/* Messages. */
#pragma redefine_extname recv fibre_recv
#pragma redefine_extname recvfrom fibre_recvfrom
#pragma redefine_extname recvmsg fibre_recvmsg
#pragma redefine_extname recvmmsg fibre_recvmmsg
#pragma redefine_extname send fibre_send
#pragma redefine_extname sendto fibre_sendto
#pragma redefine_extname sendmsg fibre_sendmsg
#pragma redefine_extname sendmmsg fibre_sendmmsg

/* Descriptors. */
#pragma redefine_extname accept fibre_accept
#pragma redefine_extname accept4 fibre_accept4
#pragma redefine_extname connect fibre_connect
#pragma redefine_extname socket fibre_socket
#pragma redefine_extname socketpair fibre_socketpair
#pragma redefine_extname setsockopt fibre_setsockopt
#pragma redefine_extname shutdown fibre_shutdown
#pragma redefine_extname close fibre_close
#pragma redefine_extname fclose fibre_fclose
#pragma redefine_extname pipe fibre_pipe
#pragma redefine_extname pipe2 fibre_pipe2
#pragma redefine_extname dup fibre_dup
#pragma redefine_extname dup2 fibre_dup2
#pragma redefine_extname dup3 fibre_dup3
#pragma redefine_extname fcntl fibre_fcntl
#pragma redefine_extname fcntl64 fibre_fcntl
#pragma redefine_extname ioctl fibre_ioctl
#pragma redefine_extname tcdrain fibre_tcdrain
#pragma redefine_extname tcsetattr fibre_tcsetattr
#pragma redefine_extname eventfd fibre_eventfd
#pragma redefine_extname timerfd_create fibre_timerfd_create

/* Waiting for descriptors. */
#pragma redefine_extname poll fibre_poll
#pragma redefine_extname ppoll fibre_ppoll
#pragma redefine_extname select fibre_select
#pragma redefine_extname pselect fibre_pselect
#pragma redefine_extname epoll_wait fibre_epoll_wait
#pragma redefine_extname epoll_pwait fibre_epoll_pwait
#pragma redefine_extname epoll_pwait2 fibre_epoll_pwait2

/* Files and pipes. */
#pragma redefine_extname fsync fibre_fsync
#pragma redefine_extname fdatasync fibre_fdatasync
#pragma redefine_extname sync fibre_sync
#pragma redefine_extname syncfs fibre_syncfs
#pragma redefine_extname sync_file_range fibre_sync_file_range
#pragma redefine_extname msync fibre_msync
#pragma redefine_extname fallocate fibre_fallocate
#pragma redefine_extname fallocate64 fibre_fallocate
#pragma redefine_extname posix_fallocate fibre_posix_fallocate
#pragma redefine_extname posix_fallocate64 fibre_posix_fallocate
#pragma redefine_extname flock fibre_flock
#pragma redefine_extname lockf fibre_lockf
#pragma redefine_extname lockf64 fibre_lockf
#pragma redefine_extname sendfile fibre_sendfile
#pragma redefine_extname sendfile64 fibre_sendfile
#pragma redefine_extname copy_file_range fibre_copy_file_range
#pragma redefine_extname splice fibre_splice
#pragma redefine_extname tee fibre_tee
#pragma redefine_extname vmsplice fibre_vmsplice

/* Queues and semaphores that processes share, and operations that go on by themselves. */
#pragma redefine_extname msgsnd fibre_msgsnd
#pragma redefine_extname msgrcv fibre_msgrcv
#pragma redefine_extname semop fibre_semop
#pragma redefine_extname semtimedop fibre_semtimedop
#pragma redefine_extname mq_send fibre_mq_send
#pragma redefine_extname mq_timedsend fibre_mq_timedsend
#pragma redefine_extname mq_receive fibre_mq_receive
#pragma redefine_extname mq_timedreceive fibre_mq_timedreceive
#pragma redefine_extname aio_suspend fibre_aio_suspend
#pragma redefine_extname aio_suspend64 fibre_aio_suspend

/* Programs, and children. */
#pragma redefine_extname posix_spawn fibre_posix_spawn
#pragma redefine_extname posix_spawnp fibre_posix_spawnp
#pragma redefine_extname system fibre_system
#pragma redefine_extname popen fibre_popen
#pragma redefine_extname pclose fibre_pclose
#pragma redefine_extname execve fibre_execve
#pragma redefine_extname execv fibre_execv
#pragma redefine_extname execvp fibre_execvp
#pragma redefine_extname execvpe fibre_execvpe
#pragma redefine_extname fexecve fibre_fexecve
#pragma redefine_extname wait fibre_wait
#pragma redefine_extname waitpid fibre_waitpid
#pragma redefine_extname wait3 fibre_wait3
#pragma redefine_extname wait4 fibre_wait4
#pragma redefine_extname waitid fibre_waitid

/* Names of hosts, services, users and groups. (`h_errno` is `(*__h_errno_location())`, whose answer compilers may keep: a
 * fibre's stays where it is.) */
#pragma redefine_extname getaddrinfo fibre_getaddrinfo
#pragma redefine_extname getnameinfo fibre_getnameinfo
#pragma redefine_extname gethostbyname fibre_gethostbyname
#pragma redefine_extname gethostbyname_r fibre_gethostbyname_r
#pragma redefine_extname gethostbyname2 fibre_gethostbyname2
#pragma redefine_extname gethostbyname2_r fibre_gethostbyname2_r
#pragma redefine_extname gethostbyaddr fibre_gethostbyaddr
#pragma redefine_extname gethostbyaddr_r fibre_gethostbyaddr_r
#pragma redefine_extname __h_errno_location fibre_h_errno_location
#pragma redefine_extname getservbyname fibre_getservbyname
#pragma redefine_extname getservbyname_r fibre_getservbyname_r
#pragma redefine_extname getservbyport fibre_getservbyport
#pragma redefine_extname getservbyport_r fibre_getservbyport_r
#pragma redefine_extname getpwnam fibre_getpwnam
#pragma redefine_extname getpwnam_r fibre_getpwnam_r
#pragma redefine_extname getpwuid fibre_getpwuid
#pragma redefine_extname getpwuid_r fibre_getpwuid_r
#pragma redefine_extname getgrnam fibre_getgrnam
#pragma redefine_extname getgrnam_r fibre_getgrnam_r
#pragma redefine_extname getgrgid fibre_getgrgid
#pragma redefine_extname getgrgid_r fibre_getgrgid_r

/* Opening. */
#pragma redefine_extname open fibre_open
#pragma redefine_extname openat fibre_openat
#pragma redefine_extname creat fibre_creat
#pragma redefine_extname open64 fibre_open
#pragma redefine_extname openat64 fibre_openat
#pragma redefine_extname creat64 fibre_creat

/* What fortified calls become. */
#pragma redefine_extname __read_chk fibre_read_chk
#pragma redefine_extname __pread_chk fibre_pread_chk
#pragma redefine_extname __recv_chk fibre_recv_chk
#pragma redefine_extname __recvfrom_chk fibre_recvfrom_chk
#pragma redefine_extname __poll_chk fibre_poll_chk
#pragma redefine_extname __ppoll_chk fibre_ppoll_chk
#pragma redefine_extname __pread64_chk fibre_pread_chk
/* Fortified inline functions (_FORTIFY_SOURCE) call the system by aliases with a symbol of their own, which no pragma can change.
 * Each alias is declared with our symbol instead; the declaration that follows with the system's is one that nobody uses. */
#define FIBRE__ALIAS_CALLED(name, ours, ...) __fibre_##name(__VA_ARGS__)
#define FIBRE__ALIAS_DECLARED(name, ours, ...) \
    __fibre_##name(__VA_ARGS__) __asm__(#ours), __fibre_unused_##name(__VA_ARGS__)
#define __read_alias(a, ...) FIBRE__JOIN(FIBRE__ALIAS_, FIBRE__FORM(a))(read, fibre_read, a, __VA_ARGS__)
#define __pread_alias(a, ...) FIBRE__JOIN(FIBRE__ALIAS_, FIBRE__FORM(a))(pread, fibre_pread, a, __VA_ARGS__)
#define __pread64_alias(a, ...) FIBRE__JOIN(FIBRE__ALIAS_, FIBRE__FORM(a))(pread64, fibre_pread, a, __VA_ARGS__)
#define __open_alias(a, ...) FIBRE__JOIN(FIBRE__ALIAS_, FIBRE__FORM(a))(open, fibre_open, a, __VA_ARGS__)
#define __open64_alias(a, ...) FIBRE__JOIN(FIBRE__ALIAS_, FIBRE__FORM(a))(open64, fibre_open, a, __VA_ARGS__)
#define __openat_alias(a, ...) FIBRE__JOIN(FIBRE__ALIAS_, FIBRE__FORM(a))(openat, fibre_openat, a, __VA_ARGS__)
#define __openat64_alias(a, ...) FIBRE__JOIN(FIBRE__ALIAS_, FIBRE__FORM(a))(openat64, fibre_openat, a, __VA_ARGS__)
#define __open_2(a, ...) FIBRE__JOIN(FIBRE__ALIAS_, FIBRE__FORM(a))(open_2, fibre_open, a, __VA_ARGS__)
#define __open64_2(a, ...) FIBRE__JOIN(FIBRE__ALIAS_, FIBRE__FORM(a))(open64_2, fibre_open, a, __VA_ARGS__)
#define __openat_2(a, ...) FIBRE__JOIN(FIBRE__ALIAS_, FIBRE__FORM(a))(openat_2, fibre_openat, a, __VA_ARGS__)
#define __openat64_2(a, ...) FIBRE__JOIN(FIBRE__ALIAS_, FIBRE__FORM(a))(openat64_2, fibre_openat, a, __VA_ARGS__)
#define __recv_alias(a, ...) FIBRE__JOIN(FIBRE__ALIAS_, FIBRE__FORM(a))(recv, fibre_recv, a, __VA_ARGS__)
#define __recvfrom_alias(a, ...) FIBRE__JOIN(FIBRE__ALIAS_, FIBRE__FORM(a))(recvfrom, fibre_recvfrom, a, __VA_ARGS__)
#define __poll_alias(a, ...) FIBRE__JOIN(FIBRE__ALIAS_, FIBRE__FORM(a))(poll, fibre_poll, a, __VA_ARGS__)
#define __ppoll_alias(a, ...) FIBRE__JOIN(FIBRE__ALIAS_, FIBRE__FORM(a))(ppoll, fibre_ppoll, a, __VA_ARGS__)

/* With _FILE_OFFSET_BITS=64 the system's headers declare these with a symbol of their own. With gcc, a declaration that comes before
 * keeps ours. Opening and the like are declared only if the command line says so: programs have static functions of these names. Clang takes the last
 * word for an error; there the macro goes, which on this machine changes names only, and pread, which has an inline definition, is left to
 * the aliases where calls are fortified. */
#ifndef __clang__
# ifdef __cplusplus
extern "C" {
# endif
struct iovec;
extern __PTRDIFF_TYPE__ pread(int, void *, __SIZE_TYPE__, long);
extern __PTRDIFF_TYPE__ pwrite(int, const void *, __SIZE_TYPE__, long);
extern __PTRDIFF_TYPE__ preadv(int, const struct iovec *, int, long);
extern __PTRDIFF_TYPE__ pwritev(int, const struct iovec *, int, long);
extern __PTRDIFF_TYPE__ sendfile(int, int, long *, __SIZE_TYPE__)
# ifdef __cplusplus
    throw()
# endif
    ;
extern int fcntl(int, int, ...);
# if defined _FILE_OFFSET_BITS && _FILE_OFFSET_BITS == 64
extern int open(const char *, int, ...);
extern int openat(int, const char *, int, ...);
extern int creat(const char *, unsigned int);
extern int lockf(int, int, long);
extern int fallocate(int, int, long, long);
extern int posix_fallocate(int, long, long);
extern __PTRDIFF_TYPE__ preadv2(int, const struct iovec *, int, long, int);
extern __PTRDIFF_TYPE__ pwritev2(int, const struct iovec *, int, long, int);
# endif
# ifdef __cplusplus
}
# endif
#else
# undef _FILE_OFFSET_BITS
/* Nor shall clang warn of a program's own static function of a name that is mapped. */
# pragma clang diagnostic ignored "-Wpragmas"
#endif

/* `errno` is `(*__errno_location ())`, of a function that the system declares const, so that compilers keep its answer across calls
 * that move a fibre to another thread. Uses go to a function that is not const; the declaration, which says `void`, stays. */
#define FIBRE__ERRNO_ __fibre_errno_location()
#define FIBRE__ERRNO_void __errno_location(void)
#define __errno_location(nothing) FIBRE__ERRNO_##nothing

/* ---- Threads ---- */

/* Threads. */
#pragma redefine_extname pthread_create fibre_create
#pragma redefine_extname pthread_join fibre_join
#pragma redefine_extname pthread_tryjoin_np fibre_tryjoin
#pragma redefine_extname pthread_timedjoin_np fibre_timedjoin
#pragma redefine_extname pthread_clockjoin_np fibre_clockjoin
#pragma redefine_extname pthread_detach fibre_detach
#pragma redefine_extname pthread_exit fibre_exit
#pragma redefine_extname pthread_self fibre_self
#pragma redefine_extname pthread_equal fibre_equal
#pragma redefine_extname pthread_once fibre_once
#pragma redefine_extname pthread_atfork fibre_atfork
#pragma redefine_extname pthread_kill fibre_kill
#pragma redefine_extname raise fibre_raise
#pragma redefine_extname pthread_sigqueue fibre_sigqueue
#pragma redefine_extname fork fibre_fork
#pragma redefine_extname pthread_sigmask fibre_sigmask
#pragma redefine_extname sigprocmask fibre_sigprocmask
#pragma redefine_extname sigpending fibre_sigpending
#pragma redefine_extname sigblock fibre_sigblock
#pragma redefine_extname sigsetmask fibre_sigsetmask
#pragma redefine_extname siggetmask fibre_siggetmask
#pragma redefine_extname sighold fibre_sighold
#pragma redefine_extname sigrelse fibre_sigrelse
#pragma redefine_extname sigset fibre_sigset
/* The floating-point environment. */
#pragma redefine_extname feclearexcept fibre_feclearexcept
#pragma redefine_extname feraiseexcept fibre_feraiseexcept
#pragma redefine_extname fesetexcept fibre_fesetexcept
#pragma redefine_extname fesetexceptflag fibre_fesetexceptflag
#pragma redefine_extname fetestexcept fibre_fetestexcept
#pragma redefine_extname fesetround fibre_fesetround
#pragma redefine_extname feholdexcept fibre_feholdexcept
#pragma redefine_extname fesetenv fibre_fesetenv
#pragma redefine_extname feupdateenv fibre_feupdateenv
#pragma redefine_extname fesetmode fibre_fesetmode
#pragma redefine_extname feenableexcept fibre_feenableexcept
#pragma redefine_extname fedisableexcept fibre_fedisableexcept
/* The locale. */
#pragma redefine_extname uselocale fibre_uselocale

/* Waiting for signals. */
#pragma redefine_extname sigwait fibre_sigwait
#pragma redefine_extname sigwaitinfo fibre_sigwaitinfo
#pragma redefine_extname sigtimedwait fibre_sigtimedwait
#pragma redefine_extname pthread_getattr_np fibre_getattr
#pragma redefine_extname pthread_getattr_default_np fibre_getattr_default
#pragma redefine_extname pthread_setattr_default_np fibre_setattr_default
#pragma redefine_extname pthread_getname_np fibre_getname
#pragma redefine_extname pthread_setname_np fibre_setname
#pragma redefine_extname pthread_getaffinity_np fibre_getaffinity
#pragma redefine_extname pthread_setaffinity_np fibre_setaffinity
#pragma redefine_extname pthread_getschedparam fibre_getschedparam
#pragma redefine_extname pthread_setschedparam fibre_setschedparam
#pragma redefine_extname pthread_setschedprio fibre_setschedprio
#pragma redefine_extname pthread_getconcurrency fibre_getconcurrency
#pragma redefine_extname pthread_setconcurrency fibre_setconcurrency
#pragma redefine_extname pthread_getcpuclockid fibre_getcpuclockid

/* Attributes of threads. */
#pragma redefine_extname pthread_attr_init fibre_attr_init
#pragma redefine_extname pthread_attr_destroy fibre_attr_destroy
#pragma redefine_extname pthread_attr_getdetachstate fibre_attr_getdetachstate
#pragma redefine_extname pthread_attr_setdetachstate fibre_attr_setdetachstate
#pragma redefine_extname pthread_attr_getguardsize fibre_attr_getguardsize
#pragma redefine_extname pthread_attr_setguardsize fibre_attr_setguardsize
#pragma redefine_extname pthread_attr_getstacksize fibre_attr_getstacksize
#pragma redefine_extname pthread_attr_setstacksize fibre_attr_setstacksize
#pragma redefine_extname pthread_attr_getstack fibre_attr_getstack
#pragma redefine_extname pthread_attr_setstack fibre_attr_setstack
#pragma redefine_extname pthread_attr_getstackaddr fibre_attr_getstackaddr
#pragma redefine_extname pthread_attr_setstackaddr fibre_attr_setstackaddr
#pragma redefine_extname pthread_attr_getinheritsched fibre_attr_getinheritsched
#pragma redefine_extname pthread_attr_setinheritsched fibre_attr_setinheritsched
#pragma redefine_extname pthread_attr_getschedparam fibre_attr_getschedparam
#pragma redefine_extname pthread_attr_setschedparam fibre_attr_setschedparam
#pragma redefine_extname pthread_attr_getschedpolicy fibre_attr_getschedpolicy
#pragma redefine_extname pthread_attr_setschedpolicy fibre_attr_setschedpolicy
#pragma redefine_extname pthread_attr_getscope fibre_attr_getscope
#pragma redefine_extname pthread_attr_setscope fibre_attr_setscope
#pragma redefine_extname pthread_attr_getaffinity_np fibre_attr_getaffinity
#pragma redefine_extname pthread_attr_setaffinity_np fibre_attr_setaffinity
#pragma redefine_extname pthread_attr_getsigmask_np fibre_attr_getsigmask
#pragma redefine_extname pthread_attr_setsigmask_np fibre_attr_setsigmask

/* Cancellation. */
#pragma redefine_extname pthread_cancel fibre_cancel
#pragma redefine_extname pthread_testcancel fibre_testcancel
#pragma redefine_extname pthread_setcancelstate fibre_setcancelstate
#pragma redefine_extname pthread_setcanceltype fibre_setcanceltype

/* Thread-specific data. */
#pragma redefine_extname pthread_key_create fibre_key_create
#pragma redefine_extname pthread_key_delete fibre_key_delete
#pragma redefine_extname pthread_getspecific fibre_getspecific
#pragma redefine_extname pthread_setspecific fibre_setspecific

/* Mutexes. */
#pragma redefine_extname pthread_mutex_init fibre_mutex_init
#pragma redefine_extname pthread_mutex_destroy fibre_mutex_destroy
#pragma redefine_extname pthread_mutex_lock fibre_mutex_lock
#pragma redefine_extname pthread_mutex_trylock fibre_mutex_trylock
#pragma redefine_extname pthread_mutex_timedlock fibre_mutex_timedlock
#pragma redefine_extname pthread_mutex_clocklock fibre_mutex_clocklock
#pragma redefine_extname pthread_mutex_unlock fibre_mutex_unlock
#pragma redefine_extname pthread_mutex_consistent fibre_mutex_consistent
#pragma redefine_extname pthread_mutex_getprioceiling fibre_mutex_getprioceiling
#pragma redefine_extname pthread_mutex_setprioceiling fibre_mutex_setprioceiling
#pragma redefine_extname pthread_mutexattr_init fibre_mutexattr_init
#pragma redefine_extname pthread_mutexattr_destroy fibre_mutexattr_destroy
#pragma redefine_extname pthread_mutexattr_gettype fibre_mutexattr_gettype
#pragma redefine_extname pthread_mutexattr_settype fibre_mutexattr_settype
#pragma redefine_extname pthread_mutexattr_getprotocol fibre_mutexattr_getprotocol
#pragma redefine_extname pthread_mutexattr_setprotocol fibre_mutexattr_setprotocol
#pragma redefine_extname pthread_mutexattr_getprioceiling fibre_mutexattr_getprioceiling
#pragma redefine_extname pthread_mutexattr_setprioceiling fibre_mutexattr_setprioceiling
#pragma redefine_extname pthread_mutexattr_getpshared fibre_mutexattr_getpshared
#pragma redefine_extname pthread_mutexattr_setpshared fibre_mutexattr_setpshared
#pragma redefine_extname pthread_mutexattr_getrobust fibre_mutexattr_getrobust
#pragma redefine_extname pthread_mutexattr_setrobust fibre_mutexattr_setrobust
#pragma redefine_extname pthread_mutexattr_getrobust_np fibre_mutexattr_getrobust
#pragma redefine_extname pthread_mutexattr_setrobust_np fibre_mutexattr_setrobust
#pragma redefine_extname pthread_mutex_consistent_np fibre_mutex_consistent

/* Condition variables. */
#pragma redefine_extname pthread_cond_init fibre_cond_init
#pragma redefine_extname pthread_cond_destroy fibre_cond_destroy
#pragma redefine_extname pthread_cond_wait fibre_cond_wait
#pragma redefine_extname pthread_cond_timedwait fibre_cond_timedwait
#pragma redefine_extname pthread_cond_clockwait fibre_cond_clockwait
#pragma redefine_extname pthread_cond_signal fibre_cond_signal
#pragma redefine_extname pthread_cond_broadcast fibre_cond_broadcast
#pragma redefine_extname pthread_condattr_init fibre_condattr_init
#pragma redefine_extname pthread_condattr_destroy fibre_condattr_destroy
#pragma redefine_extname pthread_condattr_getclock fibre_condattr_getclock
#pragma redefine_extname pthread_condattr_setclock fibre_condattr_setclock
#pragma redefine_extname pthread_condattr_getpshared fibre_condattr_getpshared
#pragma redefine_extname pthread_condattr_setpshared fibre_condattr_setpshared

/* Read-write locks. */
#pragma redefine_extname pthread_rwlock_init fibre_rwlock_init
#pragma redefine_extname pthread_rwlock_destroy fibre_rwlock_destroy
#pragma redefine_extname pthread_rwlock_rdlock fibre_rwlock_rdlock
#pragma redefine_extname pthread_rwlock_tryrdlock fibre_rwlock_tryrdlock
#pragma redefine_extname pthread_rwlock_timedrdlock fibre_rwlock_timedrdlock
#pragma redefine_extname pthread_rwlock_clockrdlock fibre_rwlock_clockrdlock
#pragma redefine_extname pthread_rwlock_wrlock fibre_rwlock_wrlock
#pragma redefine_extname pthread_rwlock_trywrlock fibre_rwlock_trywrlock
#pragma redefine_extname pthread_rwlock_timedwrlock fibre_rwlock_timedwrlock
#pragma redefine_extname pthread_rwlock_clockwrlock fibre_rwlock_clockwrlock
#pragma redefine_extname pthread_rwlock_unlock fibre_rwlock_unlock
#pragma redefine_extname pthread_rwlockattr_init fibre_rwlockattr_init
#pragma redefine_extname pthread_rwlockattr_destroy fibre_rwlockattr_destroy
#pragma redefine_extname pthread_rwlockattr_getkind_np fibre_rwlockattr_getkind
#pragma redefine_extname pthread_rwlockattr_setkind_np fibre_rwlockattr_setkind
#pragma redefine_extname pthread_rwlockattr_getpshared fibre_rwlockattr_getpshared
#pragma redefine_extname pthread_rwlockattr_setpshared fibre_rwlockattr_setpshared

/* Barriers and spin locks. */
#pragma redefine_extname pthread_barrier_init fibre_barrier_init
#pragma redefine_extname pthread_barrier_destroy fibre_barrier_destroy
#pragma redefine_extname pthread_barrier_wait fibre_barrier_wait
#pragma redefine_extname pthread_barrierattr_init fibre_barrierattr_init
#pragma redefine_extname pthread_barrierattr_destroy fibre_barrierattr_destroy
#pragma redefine_extname pthread_barrierattr_getpshared fibre_barrierattr_getpshared
#pragma redefine_extname pthread_barrierattr_setpshared fibre_barrierattr_setpshared
#pragma redefine_extname pthread_spin_init fibre_spin_init
#pragma redefine_extname pthread_spin_destroy fibre_spin_destroy
#pragma redefine_extname pthread_spin_lock fibre_spin_lock
#pragma redefine_extname pthread_spin_trylock fibre_spin_trylock
#pragma redefine_extname pthread_spin_unlock fibre_spin_unlock

/* Semaphores. */
#pragma redefine_extname sem_init fibre_sem_init
#pragma redefine_extname sem_destroy fibre_sem_destroy
#pragma redefine_extname sem_wait fibre_sem_wait
#pragma redefine_extname sem_trywait fibre_sem_trywait
#pragma redefine_extname sem_timedwait fibre_sem_timedwait
#pragma redefine_extname sem_clockwait fibre_sem_clockwait
#pragma redefine_extname sem_post fibre_sem_post
#pragma redefine_extname sem_getvalue fibre_sem_getvalue
#pragma redefine_extname sem_open fibre_sem_open
#pragma redefine_extname sem_close fibre_sem_close
#pragma redefine_extname sem_unlink fibre_sem_unlink
#ifdef __cplusplus
/* The inline parts of the C++ library (std::mutex, std::condition_variable, ...) work together with compiled ones, which know only
 * the system's threads. So the headers that have such parts come first, while these names mean the system's functions. */
# include <pthread.h>
# include <semaphore.h>
extern "C" {
extern __typeof__(pthread_once) __fibre_system_pthread_once __asm__("pthread_once");
extern __typeof__(pthread_getspecific) __fibre_system_pthread_getspecific __asm__("pthread_getspecific");
extern __typeof__(pthread_setspecific) __fibre_system_pthread_setspecific __asm__("pthread_setspecific");
extern __typeof__(pthread_key_create) __fibre_system_pthread_key_create __asm__("pthread_key_create");
extern __typeof__(pthread_key_delete) __fibre_system_pthread_key_delete __asm__("pthread_key_delete");
extern __typeof__(pthread_create) __fibre_system_pthread_create __asm__("pthread_create");
extern __typeof__(pthread_join) __fibre_system_pthread_join __asm__("pthread_join");
extern __typeof__(pthread_detach) __fibre_system_pthread_detach __asm__("pthread_detach");
extern __typeof__(pthread_equal) __fibre_system_pthread_equal __asm__("pthread_equal");
extern __typeof__(pthread_self) __fibre_system_pthread_self __asm__("pthread_self");
extern __typeof__(pthread_cancel) __fibre_system_pthread_cancel __asm__("pthread_cancel");
extern __typeof__(pthread_mutex_init) __fibre_system_pthread_mutex_init __asm__("pthread_mutex_init");
extern __typeof__(pthread_mutex_destroy) __fibre_system_pthread_mutex_destroy __asm__("pthread_mutex_destroy");
extern __typeof__(pthread_mutex_lock) __fibre_system_pthread_mutex_lock __asm__("pthread_mutex_lock");
extern __typeof__(pthread_mutex_trylock) __fibre_system_pthread_mutex_trylock __asm__("pthread_mutex_trylock");
extern __typeof__(pthread_mutex_timedlock) __fibre_system_pthread_mutex_timedlock __asm__("pthread_mutex_timedlock");
extern __typeof__(pthread_mutex_clocklock) __fibre_system_pthread_mutex_clocklock __asm__("pthread_mutex_clocklock");
extern __typeof__(pthread_mutex_unlock) __fibre_system_pthread_mutex_unlock __asm__("pthread_mutex_unlock");
extern __typeof__(pthread_mutexattr_init) __fibre_system_pthread_mutexattr_init __asm__("pthread_mutexattr_init");
extern __typeof__(pthread_mutexattr_destroy) __fibre_system_pthread_mutexattr_destroy __asm__("pthread_mutexattr_destroy");
extern __typeof__(pthread_mutexattr_settype) __fibre_system_pthread_mutexattr_settype __asm__("pthread_mutexattr_settype");
extern __typeof__(pthread_cond_init) __fibre_system_pthread_cond_init __asm__("pthread_cond_init");
extern __typeof__(pthread_cond_destroy) __fibre_system_pthread_cond_destroy __asm__("pthread_cond_destroy");
extern __typeof__(pthread_cond_wait) __fibre_system_pthread_cond_wait __asm__("pthread_cond_wait");
extern __typeof__(pthread_cond_timedwait) __fibre_system_pthread_cond_timedwait __asm__("pthread_cond_timedwait");
extern __typeof__(pthread_cond_clockwait) __fibre_system_pthread_cond_clockwait __asm__("pthread_cond_clockwait");
extern __typeof__(pthread_cond_signal) __fibre_system_pthread_cond_signal __asm__("pthread_cond_signal");
extern __typeof__(pthread_cond_broadcast) __fibre_system_pthread_cond_broadcast __asm__("pthread_cond_broadcast");
extern __typeof__(pthread_rwlock_init) __fibre_system_pthread_rwlock_init __asm__("pthread_rwlock_init");
extern __typeof__(pthread_rwlock_destroy) __fibre_system_pthread_rwlock_destroy __asm__("pthread_rwlock_destroy");
extern __typeof__(pthread_rwlock_rdlock) __fibre_system_pthread_rwlock_rdlock __asm__("pthread_rwlock_rdlock");
extern __typeof__(pthread_rwlock_tryrdlock) __fibre_system_pthread_rwlock_tryrdlock __asm__("pthread_rwlock_tryrdlock");
extern __typeof__(pthread_rwlock_timedrdlock) __fibre_system_pthread_rwlock_timedrdlock __asm__("pthread_rwlock_timedrdlock");
extern __typeof__(pthread_rwlock_clockrdlock) __fibre_system_pthread_rwlock_clockrdlock __asm__("pthread_rwlock_clockrdlock");
extern __typeof__(pthread_rwlock_wrlock) __fibre_system_pthread_rwlock_wrlock __asm__("pthread_rwlock_wrlock");
extern __typeof__(pthread_rwlock_trywrlock) __fibre_system_pthread_rwlock_trywrlock __asm__("pthread_rwlock_trywrlock");
extern __typeof__(pthread_rwlock_timedwrlock) __fibre_system_pthread_rwlock_timedwrlock __asm__("pthread_rwlock_timedwrlock");
extern __typeof__(pthread_rwlock_clockwrlock) __fibre_system_pthread_rwlock_clockwrlock __asm__("pthread_rwlock_clockwrlock");
extern __typeof__(pthread_rwlock_unlock) __fibre_system_pthread_rwlock_unlock __asm__("pthread_rwlock_unlock");
extern __typeof__(sem_init) __fibre_system_sem_init __asm__("sem_init");
extern __typeof__(sem_destroy) __fibre_system_sem_destroy __asm__("sem_destroy");
extern __typeof__(sem_wait) __fibre_system_sem_wait __asm__("sem_wait");
extern __typeof__(sem_trywait) __fibre_system_sem_trywait __asm__("sem_trywait");
extern __typeof__(sem_timedwait) __fibre_system_sem_timedwait __asm__("sem_timedwait");
extern __typeof__(sem_clockwait) __fibre_system_sem_clockwait __asm__("sem_clockwait");
extern __typeof__(sem_post) __fibre_system_sem_post __asm__("sem_post");
}
# define pthread_once __fibre_system_pthread_once
# define pthread_getspecific __fibre_system_pthread_getspecific
# define pthread_setspecific __fibre_system_pthread_setspecific
# define pthread_key_create __fibre_system_pthread_key_create
# define pthread_key_delete __fibre_system_pthread_key_delete
# define pthread_create __fibre_system_pthread_create
# define pthread_join __fibre_system_pthread_join
# define pthread_detach __fibre_system_pthread_detach
# define pthread_equal __fibre_system_pthread_equal
# define pthread_self __fibre_system_pthread_self
# define pthread_cancel __fibre_system_pthread_cancel
# define pthread_mutex_init __fibre_system_pthread_mutex_init
# define pthread_mutex_destroy __fibre_system_pthread_mutex_destroy
# define pthread_mutex_lock __fibre_system_pthread_mutex_lock
# define pthread_mutex_trylock __fibre_system_pthread_mutex_trylock
# define pthread_mutex_timedlock __fibre_system_pthread_mutex_timedlock
# define pthread_mutex_clocklock __fibre_system_pthread_mutex_clocklock
# define pthread_mutex_unlock __fibre_system_pthread_mutex_unlock
# define pthread_mutexattr_init __fibre_system_pthread_mutexattr_init
# define pthread_mutexattr_destroy __fibre_system_pthread_mutexattr_destroy
# define pthread_mutexattr_settype __fibre_system_pthread_mutexattr_settype
# define pthread_cond_init __fibre_system_pthread_cond_init
# define pthread_cond_destroy __fibre_system_pthread_cond_destroy
# define pthread_cond_wait __fibre_system_pthread_cond_wait
# define pthread_cond_timedwait __fibre_system_pthread_cond_timedwait
# define pthread_cond_clockwait __fibre_system_pthread_cond_clockwait
# define pthread_cond_signal __fibre_system_pthread_cond_signal
# define pthread_cond_broadcast __fibre_system_pthread_cond_broadcast
# define pthread_rwlock_init __fibre_system_pthread_rwlock_init
# define pthread_rwlock_destroy __fibre_system_pthread_rwlock_destroy
# define pthread_rwlock_rdlock __fibre_system_pthread_rwlock_rdlock
# define pthread_rwlock_tryrdlock __fibre_system_pthread_rwlock_tryrdlock
# define pthread_rwlock_timedrdlock __fibre_system_pthread_rwlock_timedrdlock
# define pthread_rwlock_clockrdlock __fibre_system_pthread_rwlock_clockrdlock
# define pthread_rwlock_wrlock __fibre_system_pthread_rwlock_wrlock
# define pthread_rwlock_trywrlock __fibre_system_pthread_rwlock_trywrlock
# define pthread_rwlock_timedwrlock __fibre_system_pthread_rwlock_timedwrlock
# define pthread_rwlock_clockwrlock __fibre_system_pthread_rwlock_clockwrlock
# define pthread_rwlock_unlock __fibre_system_pthread_rwlock_unlock
# define sem_init __fibre_system_sem_init
# define sem_destroy __fibre_system_sem_destroy
# define sem_wait __fibre_system_sem_wait
# define sem_trywait __fibre_system_sem_trywait
# define sem_timedwait __fibre_system_sem_timedwait
# define sem_clockwait __fibre_system_sem_clockwait
# define sem_post __fibre_system_sem_post
# include <cstddef>
# if defined __has_include
#  if __has_include(<bits/gthr.h>)
#   include <bits/gthr.h>
#  endif
# endif
# if __cplusplus >= 201103L
#  include <mutex>
#  include <thread>
# endif
# if __cplusplus >= 201402L
#  include <shared_mutex>
# endif
# if __cplusplus >= 202002L
#  include <semaphore>
# endif
# undef pthread_once
# undef pthread_getspecific
# undef pthread_setspecific
# undef pthread_key_create
# undef pthread_key_delete
# undef pthread_create
# undef pthread_join
# undef pthread_detach
# undef pthread_equal
# undef pthread_self
# undef pthread_cancel
# undef pthread_mutex_init
# undef pthread_mutex_destroy
# undef pthread_mutex_lock
# undef pthread_mutex_trylock
# undef pthread_mutex_timedlock
# undef pthread_mutex_clocklock
# undef pthread_mutex_unlock
# undef pthread_mutexattr_init
# undef pthread_mutexattr_destroy
# undef pthread_mutexattr_settype
# undef pthread_cond_init
# undef pthread_cond_destroy
# undef pthread_cond_wait
# undef pthread_cond_timedwait
# undef pthread_cond_clockwait
# undef pthread_cond_signal
# undef pthread_cond_broadcast
# undef pthread_rwlock_init
# undef pthread_rwlock_destroy
# undef pthread_rwlock_rdlock
# undef pthread_rwlock_tryrdlock
# undef pthread_rwlock_timedrdlock
# undef pthread_rwlock_clockrdlock
# undef pthread_rwlock_wrlock
# undef pthread_rwlock_trywrlock
# undef pthread_rwlock_timedwrlock
# undef pthread_rwlock_clockwrlock
# undef pthread_rwlock_unlock
# undef sem_init
# undef sem_destroy
# undef sem_wait
# undef sem_trywait
# undef sem_timedwait
# undef sem_clockwait
# undef sem_post
#endif

/* The system declares pthread_self const, and pthread_yield with the symbol of sched_yield. */
#define FIBRE__SELF_ __fibre_self()
#define FIBRE__SELF_void pthread_self(void)
#define pthread_self(nothing) FIBRE__SELF_##nothing
#define FIBRE__YIELD_ __fibre_yield()
#define FIBRE__YIELD_void pthread_yield(void)
#define pthread_yield(nothing) FIBRE__YIELD_##nothing

/* pthread_cleanup_push and pthread_cleanup_pop are macros of the system's header. In C they make a buffer, jump back to it when the
 * thread ends, and keep routine and argument beside it: ours lies in that buffer, and is run where the fibre ends. (The system's do
 * so unless exceptions are compiled in, for which C has no use, and which would leave all to an unwinder.) A declaration is told by
 * the last word of the argument, __buf. */
#ifndef __cplusplus
# undef __EXCEPTIONS
# define __buf_FIBRE_LAST ~, DECLARED,
# define FIBRE__ENDING(buffer) FIBRE__PICK(buffer##_FIBRE_LAST, CALLED)
# define FIBRE__ENTER_CALLED(buffer) __fibre_cleanup_enter(buffer, __cancel_routine, __cancel_arg)
# define FIBRE__LEAVE_CALLED(buffer) __fibre_cleanup_leave(buffer, 0)
# define FIBRE__ENTER_DECLARED(buffer) __fibre_unused_enter(buffer)
# define FIBRE__LEAVE_DECLARED(buffer) __fibre_unused_leave(buffer)
# define __pthread_register_cancel(buffer) FIBRE__JOIN(FIBRE__ENTER_, FIBRE__ENDING(buffer))(buffer)
# define __pthread_unregister_cancel(buffer) FIBRE__JOIN(FIBRE__LEAVE_, FIBRE__ENDING(buffer))(buffer)
# define __pthread_register_cancel_defer(buffer) FIBRE__JOIN(FIBRE__ENTER_, FIBRE__ENDING(buffer))(buffer)
# define __pthread_unregister_cancel_restore(buffer) FIBRE__JOIN(FIBRE__LEAVE_, FIBRE__ENDING(buffer))(buffer)
#else
/* A cleanup handler of C++: an object whose destructor runs it, or which ends with the fibre. */
class __fibre_cleanup {
    void *frame[4];
    void (*routine)(void *);
    void *argument;
    int wanted;

  public:
    __fibre_cleanup(void (*r)(void *), void *a) : routine(r), argument(a), wanted(1) { __fibre_cleanup_enter(frame, r, a); }
    ~__fibre_cleanup() {
        __fibre_cleanup_leave(frame, 0);
        if (wanted)
            routine(argument);
    }
    void want(int w) { wanted = w; }
};
# undef pthread_cleanup_push
# undef pthread_cleanup_pop
# undef pthread_cleanup_push_defer_np
# undef pthread_cleanup_pop_restore_np
# define pthread_cleanup_push(routine, argument) \
    do { \
        __fibre_cleanup __fibre_frame(routine, argument)
# define pthread_cleanup_pop(execute) \
        __fibre_frame.want(execute); \
    } while (0)
# define pthread_cleanup_push_defer_np(routine, argument) pthread_cleanup_push(routine, argument)
# define pthread_cleanup_pop_restore_np(execute) pthread_cleanup_pop(execute)
#endif

/* ---- main ---- */

#ifdef FIBRE_MAIN
/* The program's beginning is taken over where the C library calls main, whatever main looks like: of all objects that say so, the
 * linker keeps one such function, and it hides it from the libraries. */
# ifdef __cplusplus
extern "C" {
# endif
extern int __fibre_start_main(int (*program)(int, char **, char **), int argc, char **argv, void (*init)(void), void (*fini)(void),
                              void (*rtld_fini)(void), void *stack_end) __asm__("fibre_start_main");
__attribute__((__weak__, __visibility__("hidden"), __used__)) int
__libc_start_main(int (*program)(int, char **, char **), int argc, char **argv, void (*init)(void), void (*fini)(void),
                  void (*rtld_fini)(void), void *stack_end)
{
    return __fibre_start_main(program, argc, argv, init, fini, rtld_fini, stack_end);
}
# ifdef __cplusplus
}
# endif
#endif

#endif /* neither assembler nor off */
#endif /* FIBRE_PTHREAD_H */
