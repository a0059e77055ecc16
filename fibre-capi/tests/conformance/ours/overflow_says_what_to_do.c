/* pthread_setname_np, pthread_attr_setstacksize: a stack overflow ends the process with the thread's name, its stack's size, how to get a larger one and the functions. */
/* flags: -O2 */
/* flags: -O2 -DFIBRE_MAIN */
#include "../check.h"

#include <sys/resource.h>
#include <sys/wait.h>

__attribute__((noinline)) static int recurse(int depth)
{
    volatile char frame[512];
    frame[depth % 512] = (char)depth;
    if (depth == INT_MAX)
        return 0;
    return recurse(depth + 1) + frame[0];
}

static void *overflow(void *unused)
{
    OK(pthread_setname_np(pthread_self(), "glutton"));
    recurse(0);
    return unused;
}

/* What a program of its own does: overflows a stack of so many bytes, or the default one. */
static int play(const char *role)
{
    struct rlimit no_core = {0, 0};
    pthread_attr_t attr;
    pthread_t thread;
    setrlimit(RLIMIT_CORE, &no_core);
    if (!strcmp(role, "main"))
        recurse(0);
    OK(pthread_attr_init(&attr));
    if (atol(role) > 0)
        OK(pthread_attr_setstacksize(&attr, (size_t)atol(role)));
    OK(pthread_create(&thread, &attr, overflow, NULL));
    finish(thread);
    return 0;
}

/* Lets a program play this, and checks that it is ended with these words. */
static void expect(const char *role, const char *const *words)
{
    char said[8000] = "";
    int ends[2], status;
    OK(pipe(ends));
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        dup2(ends[1], STDERR_FILENO);
        execl("/proc/self/exe", "overflow", role, (char *)NULL);
        _exit(2);
    }
    close(ends[1]);
    for (ssize_t has = 0, got = 1; got > 0 && has < (ssize_t)sizeof said - 1; has += got)
        got = read(ends[0], said + has, sizeof said - 1 - has);
    close(ends[0]);
    IS(waitpid(child, &status, 0), child);
    for (; *words; words++)
        if (!strstr(said, *words)) {
            fprintf(stderr, "no \"%s\" in \"%s\"\n", *words, said);
            CHECK(!*words);
        }
    CHECK(!strstr(said, "Builder"));
    CHECK(WIFSIGNALED(status));
    IS(WTERMSIG(status), SIGABRT);
}

static void test(void)
{
    expect("0", (const char *[]){"stack overflow in thread 'glutton'", " 1048576 bytes ", "default is 1048576",
                                 "pthread_attr_setstacksize", "FIBRE_STACK_SIZE", "innermost calls:\n    recurse", NULL});
    expect("65536", (const char *[]){"thread 'glutton'", " 65536 bytes ", "default is 1048576", NULL});
    OK(setenv("FIBRE_STACK_SIZE", "131072", 1));
    expect("0", (const char *[]){" 131072 bytes ", "default is 131072", NULL});
    OK(unsetenv("FIBRE_STACK_SIZE"));
#ifdef FIBRE_MAIN
    expect("main", (const char *[]){"thread 'main'", "ulimit -s", NULL});
#endif
}

int main(int count, char **arguments)
{
    return count > 1 ? play(arguments[1]) : on_both(test);
}
