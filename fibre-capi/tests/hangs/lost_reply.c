/* pthread_cond_wait: a reply that never comes: the asking thread is named, and its place. */
/* only: ours */
/* patience: 120 */
#include "hangs.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t replied = PTHREAD_COND_INITIALIZER;
static volatile int reply;

__attribute__((noinline)) static void *asks_for_a_reply(void *unused)
{
    OK(pthread_mutex_lock(&lock));
    while (!reply)
        OK(pthread_cond_wait(&replied, &lock));
    OK(pthread_mutex_unlock(&lock));
    return unused;
}

static void hang(void)
{
    start_named("asker", asks_for_a_reply, NULL);
}

int main(int argc, char **argv)
{
    static const struct told told = {
        .dump = {"\"asker\" waits for", "asks_for_a_reply at ", "lost_reply.c:", NULL},
        .deadlock = {"the only fibre waits, ", "\"asker\" waits for", "asks_for_a_reply", "lost_reply.c:"},
    };
    return hangs(argc, argv, hang, &told);
}
