/* pthread_rwlockattr_setkind_np, pthread_rwlockattr_getkind_np, pthread_rwlockattr_setpshared, pthread_rwlockattr_getpshared: what was set is got; EINVAL for unknown values. */
#include "../check.h"

static void test(void)
{
    static const int kinds[] = {PTHREAD_RWLOCK_PREFER_READER_NP, PTHREAD_RWLOCK_PREFER_WRITER_NP,
                                PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP};
    pthread_rwlockattr_t attr;
    int value = -1;
    OK(pthread_rwlockattr_init(&attr));
    OK(pthread_rwlockattr_getkind_np(&attr, &value));
    IS(value, PTHREAD_RWLOCK_DEFAULT_NP);
    for (int i = 0; i < 3; i++) {
        OK(pthread_rwlockattr_setkind_np(&attr, kinds[i]));
        OK(pthread_rwlockattr_getkind_np(&attr, &value));
        IS(value, kinds[i]);
    }
    IS(pthread_rwlockattr_setkind_np(&attr, 77), EINVAL);
    OK(pthread_rwlockattr_getpshared(&attr, &value));
    IS(value, PTHREAD_PROCESS_PRIVATE);
    OK(pthread_rwlockattr_setpshared(&attr, PTHREAD_PROCESS_PRIVATE));
    IS(pthread_rwlockattr_setpshared(&attr, 77), EINVAL);
    OK(pthread_rwlockattr_destroy(&attr));
}

int main(void)
{
    return on_both(test);
}
