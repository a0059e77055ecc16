/* fork: numbers that the child opens anew are its own; threads of the parent that wait for theirs of the same number go on waiting. */
#include "../check.h"

#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/wait.h>

#define PAIRS 8

static int pairs[PAIRS][2];
static atomic_int woken;

static void *run(void *pair)
{
    char byte;
    IS(read(*(int *)pair, &byte, 1), 1);
    woken++;
    return NULL;
}

static void child(void)
{
    int ends[2], number;
    for (int one = 0; one < PAIRS; one++) {
        close(pairs[one][0]);
        close(pairs[one][1]);
    }
    for (int one = 0; one < PAIRS / 2; one++) {
        if (pipe(ends) || (number = eventfd(0, 0)) < 0 || close(number))
            _exit(1);
        if (open("/dev/null", O_RDONLY) < 0 || socket(AF_UNIX, SOCK_STREAM, 0) < 0)
            _exit(2);
    }
    _exit(3);
}

static void test(void)
{
    pthread_t threads[PAIRS];
    int status;
    woken = 0;
    for (int one = 0; one < PAIRS; one++) {
        OK(socketpair(AF_UNIX, SOCK_STREAM, 0, pairs[one]));
        threads[one] = start(run, pairs[one]);
    }
    let_block();
    pid_t forked = fork();
    if (forked == 0)
        child();
    CHECK(forked > 0);
    IS(waitpid(forked, &status, 0), forked);
    CHECK(WIFEXITED(status));
    IS(WEXITSTATUS(status), 3);
    IS(woken, 0);
    for (int one = 0; one < PAIRS; one++) {
        IS(write(pairs[one][1], "x", 1), 1);
        finish(threads[one]);
        OK(close(pairs[one][0]));
        OK(close(pairs[one][1]));
    }
}

int main(void)
{
    return on_both(test);
}
