/* pthread_create, pthread_key_create, pthread_mutex_init and their kin: whichever allocation fails, calls succeed or return an error. */
#include "../check.h"
/* patience: 60 */

#include <sys/wait.h>

/* How many allocations succeed before one fails, or, with `for_good`, all that follow. Negative: all succeed. */
static atomic_long left = -1;
static int for_good;
static atomic_int failed_one;

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *memory, size_t size);
void *__libc_memalign(size_t alignment, size_t size);

/* Whether this allocation is to fail. */
static int fails(void)
{
    if (left < 0)
        return 0;
    long now = left--;
    if (now > 0)
        return 0;
    failed_one = 1;
    if (for_good)
        left = 0;
    errno = ENOMEM;
    return 1;
}

void *malloc(size_t size) { return fails() ? NULL : __libc_malloc(size); }

/* Of this size is what glibc keeps of a thread-local's destructor; it ends the process itself without. */
#define DESTRUCTOR 32

void *calloc(size_t count, size_t size)
{
    int spared = count == 1 && size == DESTRUCTOR;
    return !spared && fails() ? NULL : __libc_calloc(count, size);
}

void *realloc(void *old, size_t size) { return fails() ? NULL : __libc_realloc(old, size); }
void *aligned_alloc(size_t alignment, size_t size) { return fails() ? NULL : __libc_memalign(alignment, size); }

int posix_memalign(void **place, size_t alignment, size_t size)
{
    *place = fails() ? NULL : __libc_memalign(alignment, size);
    return *place ? 0 : ENOMEM;
}

static void *run(void *value)
{
    sched_yield();
    return value;
}

/* The call must succeed or fail with one of these. */
static int went_well(int error)
{
    if (error && error != EAGAIN && error != ENOMEM)
        IS(error, EAGAIN);
    return !error;
}

/* Creates threads, plain and with all attributes. */
static void threads(void)
{
    pthread_t threads[100];
    pthread_attr_t attr;
    int created = 0;
    if (!went_well(pthread_attr_init(&attr)))
        return;
    for (int one = 0; one < 100; one++) {
        OK(pthread_attr_setstacksize(&attr, (size_t)(one % 5 ? 65536 : 8 << 20)));
        created += went_well(pthread_create(&threads[created], one % 2 ? &attr : NULL, run, NULL));
    }
    for (int one = 0; one < created; one++) {
        pthread_setname_np(threads[one], "worker");
        finish(threads[one]);
    }
    pthread_attr_destroy(&attr);
}

/* Initialises objects, and uses them for the first time. */
static void objects(void)
{
    struct timespec past = in_ms(CLOCK_REALTIME, -1);
    pthread_mutex_t mutex;
    pthread_cond_t cond;
    pthread_rwlock_t lock;
    pthread_barrier_t barrier;
    sem_t sem;
    pthread_key_t keys[100];
    int made = 0;
    if (went_well(pthread_mutex_init(&mutex, NULL)) && went_well(pthread_cond_init(&cond, NULL))) {
        OK(pthread_mutex_lock(&mutex));
        IS(pthread_cond_timedwait(&cond, &mutex, &past), ETIMEDOUT);
        OK(pthread_cond_signal(&cond));
        OK(pthread_mutex_unlock(&mutex));
    }
    if (went_well(pthread_rwlock_init(&lock, NULL))) {
        OK(pthread_rwlock_rdlock(&lock));
        OK(pthread_rwlock_unlock(&lock));
    }
    if (went_well(pthread_barrier_init(&barrier, NULL, 1)))
        IS(pthread_barrier_wait(&barrier), PTHREAD_BARRIER_SERIAL_THREAD);
    if (sem_init(&sem, 0, 1) == 0) {
        OK(sem_wait(&sem));
        IS(sem_timedwait(&sem, &past), -1);
    }
    while (made < 100 && went_well(pthread_key_create(&keys[made], NULL)))
        went_well(pthread_setspecific(keys[made++], &sem));
    while (made > 0)
        OK(pthread_key_delete(keys[--made]));
}

static void *all(void *unused)
{
    threads();
    objects();
    return unused;
}

/* Does all that with allocations that fail from the `nth` on; 0 if none had to. */
static int play(long nth, int for_all)
{
    pthread_t thread;
    watch();
    for_good = for_all;
    /* No memory before the first thread; then processors are there, whose threads are the system's. */
    left = for_all ? 0 : -1;
    if (went_well(pthread_create(&thread, NULL, run, NULL)))
        finish(thread);
    CHECK(!for_all || failed_one);
    left = -1;
    finish(start(run, NULL));
    failed_one = 0;
    left = nth;
    all(NULL);
    if (went_well(pthread_create(&thread, NULL, all, NULL)))
        finish(thread);
    left = -1;
    /* And afterwards all is well. */
    finish(start(run, NULL));
    return failed_one ? 3 : 0;
}

int main(int count, char **arguments)
{
    char number[20];
    int status;
    if (count > 2)
        return play(atol(arguments[1]), atoi(arguments[2]));
    for (int for_all = 0; for_all < 2; for_all++)
        for (long nth = 0, step = 1, more = 1; more; nth += step) {
            snprintf(number, sizeof number, "%ld", nth);
            pid_t child = fork();
            CHECK(child >= 0);
            if (child == 0) {
                execl("/proc/self/exe", "allocations", number, for_all ? "1" : "0", (char *)NULL);
                _exit(2);
            }
            IS(waitpid(child, &status, 0), child);
            if (!WIFEXITED(status) || (WEXITSTATUS(status) != 0 && WEXITSTATUS(status) != 3)) {
                fprintf(stderr, "allocation %ld%s\n", nth, for_all ? " and all that follow" : "");
                IS(status, 0);
            }
            more = WEXITSTATUS(status) == 3;
            step = 1 + nth / 40;
        }
    return 0;
}
