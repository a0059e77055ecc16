/* pthread_key_create, exit: the end of the process calls no destructors, not those of the one that returns from main either. */
/* flags: */
/* flags: -DFIBRE_MAIN */
/* flags: -DCALL_EXIT */
/* flags: -DCALL_EXIT -DFIBRE_MAIN */
#include "../check.h"

static pthread_key_t key;
static atomic_int started;

static void destroy(void *unused)
{
    (void)unused;
    _exit(1);
}

static void *run(void *unused)
{
    OK(pthread_setspecific(key, &key));
    started = 1;
    sleep(WATCHDOG);
    return unused;
}

int main(void)
{
    watch();
    OK(pthread_key_create(&key, destroy));
    OK(pthread_setspecific(key, &key));
    start(run, NULL);
    AWAIT(started);
#ifdef CALL_EXIT
    exit(0);
#endif
    return 0;
}
