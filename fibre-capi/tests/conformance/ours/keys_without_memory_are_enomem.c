/* pthread_key_create: ENOMEM if there is no memory for another key; those that there are stay as they were. */
#include "../check.h"

/* More than there is memory for. */
#define MOST (1 << 22)

/* Whether the calling thread gets no memory, which all others do. Volatile, as compilers take it that calls of pthreads come back
 * to no function of this file. */
static _Thread_local volatile int starves;

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *memory, size_t size);
void *__libc_memalign(size_t alignment, size_t size);

void *malloc(size_t size) { return starves ? NULL : __libc_malloc(size); }

/* Of this size is what glibc keeps of a thread-local's destructor; it ends the process itself without. */
#define DESTRUCTOR 32

void *calloc(size_t count, size_t size)
{
    return starves && !(count == 1 && size == DESTRUCTOR) ? NULL : __libc_calloc(count, size);
}

void *realloc(void *old, size_t size) { return starves ? NULL : __libc_realloc(old, size); }
void *aligned_alloc(size_t alignment, size_t size) { return starves ? NULL : __libc_memalign(alignment, size); }

int posix_memalign(void **place, size_t alignment, size_t size)
{
    *place = starves ? NULL : __libc_memalign(alignment, size);
    return *place ? 0 : ENOMEM;
}

static void test(void)
{
    pthread_key_t first, key;
    int number = 0;
    OK(pthread_key_create(&first, NULL));
    OK(pthread_setspecific(first, &first));
    for (int count = 0; count < MOST && number == 0; count++) {
        starves = 1;
        number = pthread_key_create(&key, NULL);
        starves = 0;
    }
    IS(number, ENOMEM);
    CHECK(pthread_getspecific(first) == &first);
    OK(pthread_key_create(&key, NULL));
    CHECK(pthread_getspecific(key) == NULL);
    OK(pthread_setspecific(key, &key));
    CHECK(pthread_getspecific(key) == &key);
    OK(pthread_key_delete(key));
    OK(pthread_key_delete(first));
}

int main(void)
{
    return on_both(test);
}
