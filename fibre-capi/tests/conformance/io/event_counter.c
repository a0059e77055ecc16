/* eventfd, read, write: a read waits until the counter is above 0, and takes all of it. */
#include "../check.h"

#include <sys/eventfd.h>

static int counter;

static void *add_later(void *unused)
{
    uint64_t two = 2;
    let_block();
    IS(write(counter, &two, sizeof two), sizeof two);
    return unused;
}

static void test(void)
{
    uint64_t value = 0;
    CHECK((counter = eventfd(0, 0)) >= 0);
    pthread_t thread = start(add_later, NULL);
    IS(read(counter, &value, sizeof value), sizeof value);
    IS(value, 2);
    finish(thread);
    FAILS(read(counter, &value, 1), EINVAL);
    OK(close(counter));
}

int main(void)
{
    return on_both(test);
}
