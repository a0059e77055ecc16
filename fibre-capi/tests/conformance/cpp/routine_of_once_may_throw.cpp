/* pthread_once, pthread_cleanup_push: if the routine throws, it is as if it had never been called, and nothing of it is left behind. */
#include "../check.h"

static pthread_once_t control;
static int runs, cleaned;

static void initialise()
{
    if (runs++ < 2)
        throw runs;
}

/* Writes over what was below. */
static void dive(int depth)
{
    volatile char frame[256];
    memset((void *)frame, 0x55, sizeof frame);
    if (depth > 0)
        dive(depth - 1);
    CHECK(frame[depth] == 0x55);
}

static void clean(void *)
{
    cleaned++;
}

static void *run(void *unused)
{
    pthread_once_t fresh = PTHREAD_ONCE_INIT;
    control = fresh;
    runs = 0;
    for (int attempt = 1; attempt <= 2; attempt++) {
        try {
            pthread_once(&control, initialise);
            CHECK(!"thrown by now");
        } catch (int number) {
            IS(number, attempt);
        }
        dive(10);
    }
    OK(pthread_once(&control, initialise));
    OK(pthread_once(&control, initialise));
    IS(runs, 3);
    pthread_cleanup_push(clean, NULL);
    pthread_exit(unused);
    pthread_cleanup_pop(0);
    return unused;
}

int main()
{
    watch();
    for (int round = 1; round <= 3; round++) {
        finish(start(run, NULL));
        IS(cleaned, round);
    }
    return 0;
}
