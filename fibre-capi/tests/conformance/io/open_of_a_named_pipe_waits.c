/* open: of a named pipe for reading waits until another thread opens it for writing, and the other way round. */
#include "../check.h"

#include <sys/stat.h>

static char name[50];

static void *read_end(void *unused)
{
    char bytes[4];
    int end = open(name, O_RDONLY);
    CHECK(end >= 0);
    IS(read(end, bytes, 4), 2);
    OK(close(end));
    return unused;
}

static void *write_end(void *unused)
{
    int end = open(name, O_WRONLY);
    CHECK(end >= 0);
    IS(write(end, "xy", 2), 2);
    OK(close(end));
    return unused;
}

static void test(void)
{
    snprintf(name, sizeof name, "/tmp/pipe-%d", (int)getpid());
    OK(mkfifo(name, 0600));
    for (int turn = 0; turn < 2; turn++) {
        pthread_t first = start(turn ? write_end : read_end, NULL);
        let_block();
        pthread_t second = start(turn ? read_end : write_end, NULL);
        finish(first);
        finish(second);
    }
    OK(unlink(name));
}

int main(void)
{
    return on_both(test);
}
