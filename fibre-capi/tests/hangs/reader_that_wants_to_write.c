/* pthread_rwlock_wrlock: a reader that wants to write: it is named, and its place. */
/* only: ours */
/* patience: 120 */
#include "hangs.h"

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;

__attribute__((noinline)) static void *upgrades(void *unused)
{
    OK(pthread_rwlock_rdlock(&lock));
    OK(pthread_rwlock_wrlock(&lock));
    OK(pthread_rwlock_unlock(&lock));
    return unused;
}

static void hang(void)
{
    start_named("upgrader", upgrades, NULL);
}

int main(int argc, char **argv)
{
    static const struct told told = {
        .dump = {"\"upgrader\" waits for the read-write lock at 0x", "upgrades at ",
                 "reader_that_wants_to_write.c:", NULL},
        .deadlock = {"the only fibre waits, ", "\"upgrader\" waits for the read-write lock", "upgrades",
                     "reader_that_wants_to_write.c:"},
    };
    return hangs(argc, argv, hang, &told);
}
