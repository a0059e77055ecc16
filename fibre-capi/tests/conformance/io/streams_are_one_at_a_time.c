/* fgets, fprintf: threads that share a stream get whole lines, each once, while they wait for more. */
#include "../check.h"

#include <sys/socket.h>

#define READERS 4
#define LINES 400

static FILE *shared;
static atomic_int seen[LINES], total;

static void *read_lines(void *unused)
{
    char line[100];
    int number, twice;
    (void)unused;
    while (fgets(line, sizeof line, shared) != NULL) {
        IS(sscanf(line, "%d %d", &number, &twice), 2);
        CHECK(number >= 0 && number < LINES);
        IS(twice, 2 * number);
        seen[number]++;
        total++;
        sched_yield();
    }
    return NULL;
}

static void test(void)
{
    int pair[2];
    pthread_t readers[READERS];
    char line[100];
    total = 0;
    for (int one = 0; one < LINES; one++)
        seen[one] = 0;
    OK(socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
    CHECK((shared = fdopen(pair[0], "r")) != NULL);
    for (int one = 0; one < READERS; one++)
        readers[one] = start(read_lines, NULL);
    for (int one = 0; one < LINES; one++) {
        int length = snprintf(line, sizeof line, "%d %d\n", one, 2 * one);
        /* In two parts, so that a reader waits in the middle of a line. */
        IS(write(pair[1], line, 2), 2);
        sched_yield();
        IS(write(pair[1], line + 2, length - 2), length - 2);
        if (one % 50 == 0)
            let_block();
    }
    OK(close(pair[1]));
    for (int one = 0; one < READERS; one++)
        finish(readers[one]);
    for (int one = 0; one < LINES; one++)
        IS(seen[one], 1);
    IS(total, LINES);
    OK(fclose(shared));
}

int main(void)
{
    return on_both(test);
}
