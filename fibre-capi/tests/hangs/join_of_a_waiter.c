/* pthread_join: a thread joins one that waits for what it holds, while a listener is open: both are named. */
/* only: ours */
/* patience: 120 */
#include "hangs.h"

static pthread_mutex_t held;

__attribute__((noinline)) static void *waits_for_its_joiner(void *unused)
{
    OK(pthread_mutex_lock(&held));
    OK(pthread_mutex_unlock(&held));
    return unused;
}

__attribute__((noinline)) static void *joins(void *unused)
{
    OK(pthread_mutex_lock(&held));
    OK(pthread_join(start_named("joined", waits_for_its_joiner, NULL), NULL));
    OK(pthread_mutex_unlock(&held));
    return unused;
}

static void hang(void)
{
    listen_too();
    OK(pthread_mutex_init(&held, NULL));
    start_named("joiner", joins, NULL);
}

int main(int argc, char **argv)
{
    static const struct told told = {
        .dump = {"\"joiner\" waits for the end of the fibre at 0x", "joins at ", "join_of_a_waiter.c:", NULL,
                 "they wait for each other: fibre "},
        .deadlock = {"they wait for each other: fibre ", ", which is fibre ", "\"joined\" waits for the mutex",
                     ", held by fibre ", "join_of_a_waiter.c:"},
    };
    return hangs(argc, argv, hang, &told);
}
