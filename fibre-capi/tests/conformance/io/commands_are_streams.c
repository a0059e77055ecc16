/* popen, pclose, fgets, fputs: a command's output is read as it comes, while other threads go on; its input is written; pclose
 * says how it has ended. */
#include "../check.h"

#include <sys/wait.h>

static atomic_int goes_on;

/* Counts, as long as others let it. */
static void *count(void *counter)
{
    while (goes_on) {
        ++*(atomic_int *)counter;
        usleep(1000);
    }
    return NULL;
}

static void test(void)
{
    char line[100];
    atomic_int counter = 0;
    goes_on = 1;
    pthread_t counting = start(count, &counter);
    FILE *command = popen("echo first; sleep 0.3; echo second; exit 3", "r");
    CHECK(command != NULL);
    CHECK(fileno(command) >= 0);
    CHECK(fgets(line, sizeof line, command) != NULL);
    OK(strcmp(line, "first\n"));
    int before = counter;
    CHECK(fgets(line, sizeof line, command) != NULL);
    OK(strcmp(line, "second\n"));
    CHECK(counter > before);
    CHECK(fgets(line, sizeof line, command) == NULL);
    int status = pclose(command);
    CHECK(WIFEXITED(status));
    IS(WEXITSTATUS(status), 3);

    CHECK((command = popen("read word; test \"$word\" = given", "w")) != NULL);
    CHECK(fputs("given\n", command) >= 0);
    OK(pclose(command));
    CHECK((command = popen("exit 7", "re")) != NULL);
    status = pclose(command);
    IS(WEXITSTATUS(status), 7);
    goes_on = 0;
    finish(counting);
}

int main(void)
{
    return on_both(test);
}
