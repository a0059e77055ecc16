/* pthread_spin_lock: returns when the holder has unlocked, though that one sleeps meanwhile. */
#include "../check.h"

static pthread_spinlock_t lock;
static atomic_int held, unlocked;

static void *hold(void *unused)
{
    OK(pthread_spin_lock(&lock));
    held = 1;
    let_block();
    unlocked = 1;
    OK(pthread_spin_unlock(&lock));
    return unused;
}

static void test(void)
{
    held = unlocked = 0;
    OK(pthread_spin_init(&lock, PTHREAD_PROCESS_PRIVATE));
    pthread_t thread = start(hold, NULL);
    AWAIT(held);
    OK(pthread_spin_lock(&lock));
    IS(unlocked, 1);
    OK(pthread_spin_unlock(&lock));
    finish(thread);
    OK(pthread_spin_destroy(&lock));
}

int main(void)
{
    return on_both(test);
}
