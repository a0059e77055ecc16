/* pthread_cleanup_push: in a handler the request that ends the thread acts no more; the handler may wait. */
#include "../check.h"

static sem_t go;
static atomic_int cleaned;

static void clean(void *unused)
{
    (void)unused;
    pthread_testcancel();
    OK(usleep(1000));
    OK(sem_wait(&go));
    cleaned = 1;
}

static void *run(void *unused)
{
    pthread_cleanup_push(clean, NULL);
    for (;;)
        sleep(WATCHDOG);
    pthread_cleanup_pop(0);
    return unused;
}

static void test(void)
{
    cleaned = 0;
    OK(sem_init(&go, 0, 0));
    pthread_t thread = start(run, NULL);
    let_block();
    OK(pthread_cancel(thread));
    let_block();
    OK(sem_post(&go));
    CHECK(finish(thread) == PTHREAD_CANCELED);
    IS(cleaned, 1);
}

int main(void)
{
    return on_both(test);
}
