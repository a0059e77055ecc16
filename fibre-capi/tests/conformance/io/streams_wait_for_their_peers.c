/* fdopen, fgets, fprintf, fflush, fileno, fclose: streams of sockets and pipes carry lines in both directions, however many threads
 * wait for each other; EOF comes when the other end is closed. */
/* with: FIBRE_MAX_SPARE=0 */
#include "../check.h"

#include <sys/socket.h>

#define PAIRS 40
#define LINES 50

/* A stream over a descriptor, which knows it. */
static FILE *stream_of(int number, const char *mode)
{
    FILE *stream = fdopen(number, mode);
    CHECK(stream != NULL);
    IS(fileno(stream), number);
    return stream;
}

/* Answers each line with the same. */
static void *answer(void *number)
{
    int own = *(int *)number, count = 0;
    FILE *in = stream_of(own, "r"), *out = stream_of(dup(own), "w");
    char line[100];
    while (fgets(line, sizeof line, in) != NULL) {
        count++;
        CHECK(fprintf(out, "%s", line) > 0);
        OK(fflush(out));
    }
    CHECK(feof(in) && !ferror(in));
    OK(fclose(in));
    OK(fclose(out));
    IS(count, LINES);
    return NULL;
}

/* Asks, and compares. */
static void *ask(void *number)
{
    int own = *(int *)number;
    FILE *in = stream_of(own, "r"), *out = stream_of(dup(own), "w");
    char line[100], expected[100];
    setvbuf(out, NULL, _IOLBF, BUFSIZ);
    for (int one = 0; one < LINES; one++) {
        snprintf(expected, sizeof expected, "line %d of %p\n", one, number);
        CHECK(fputs(expected, out) >= 0);
        CHECK(fgets(line, sizeof line, in) == line);
        OK(strcmp(line, expected));
    }
    OK(fclose(out));
    OK(shutdown(own, SHUT_WR));
    IS(fgetc(in), EOF);
    OK(fclose(in));
    return NULL;
}

/* A pipe takes more than it has room for, while its reader takes its time. */
static void *write_much(void *stream)
{
    for (int one = 0; one < 20000; one++)
        CHECK(fprintf((FILE *)stream, "%d\n", one) > 0);
    OK(fclose((FILE *)stream));
    return NULL;
}

static void many_bytes(void)
{
    int ends[2], number = -1, count = 0;
    OK(pipe(ends));
    FILE *in = stream_of(ends[0], "r");
    pthread_t writer = start(write_much, stream_of(ends[1], "w"));
    for (; fscanf(in, "%d", &number) == 1; count++)
        IS(number, count);
    IS(count, 20000);
    finish(writer);
    OK(fclose(in));
}

static void test(void)
{
    static int numbers[PAIRS][2];
    pthread_t threads[PAIRS][2];
    for (int one = 0; one < PAIRS; one++) {
        OK(socketpair(AF_UNIX, SOCK_STREAM, 0, numbers[one]));
        threads[one][0] = start(answer, &numbers[one][0]);
        threads[one][1] = start(ask, &numbers[one][1]);
    }
    for (int one = 0; one < PAIRS; one++) {
        finish(threads[one][0]);
        finish(threads[one][1]);
    }
    many_bytes();
}

int main(void)
{
    return on_both(test);
}
