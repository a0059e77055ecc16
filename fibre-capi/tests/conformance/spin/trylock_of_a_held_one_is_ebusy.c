/* pthread_spin_trylock: EBUSY if the lock is held, else locks it. */
#include "../check.h"

static pthread_spinlock_t lock;

static void *try_it(void *want)
{
    IS(pthread_spin_trylock(&lock), (intptr_t)want);
    if (!want)
        OK(pthread_spin_unlock(&lock));
    return NULL;
}

static void test(void)
{
    OK(pthread_spin_init(&lock, PTHREAD_PROCESS_PRIVATE));
    OK(pthread_spin_lock(&lock));
    finish(start(try_it, (void *)(intptr_t)EBUSY));
    OK(pthread_spin_unlock(&lock));
    finish(start(try_it, (void *)0));
    OK(pthread_spin_trylock(&lock));
    finish(start(try_it, (void *)(intptr_t)EBUSY));
    OK(pthread_spin_unlock(&lock));
    OK(pthread_spin_destroy(&lock));
}

int main(void)
{
    return on_both(test);
}
