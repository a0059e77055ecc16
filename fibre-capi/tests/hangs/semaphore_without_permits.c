/* sem_wait: of a semaphore that nobody posts any more: the waiter is named, and its place. */
/* only: ours */
/* patience: 120 */
#include "hangs.h"

static sem_t permits;

__attribute__((noinline)) static void *acquires(void *unused)
{
    OK(sem_wait(&permits));
    OK(sem_wait(&permits));
    return unused;
}

static void hang(void)
{
    OK(sem_init(&permits, 0, 1));
    start_named("client", acquires, NULL);
}

int main(int argc, char **argv)
{
    static const struct told told = {
        .dump = {"\"client\" waits for the semaphore at 0x", "acquires at ", "semaphore_without_permits.c:", NULL},
        .deadlock = {"the only fibre waits, ", "\"client\" waits for the semaphore", "acquires",
                     "semaphore_without_permits.c:"},
    };
    return hangs(argc, argv, hang, &told);
}
