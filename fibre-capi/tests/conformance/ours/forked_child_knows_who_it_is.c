/* pthread_self, pthread_cleanup_push, fork: in a child, before it calls exec, one may ask who one is, and push handlers. */
#include "../check.h"

#include <sys/wait.h>

static void *nothing(void *unused)
{
    return unused;
}

/* In the child. */
static void child(void)
{
    CHECK(pthread_equal(pthread_self(), pthread_self()));
    pthread_cleanup_push(free, NULL);
    pthread_cleanup_pop(1);
    execl("/bin/true", "true", (char *)NULL);
    _exit(1);
}

static void test(void)
{
    int status;
    finish(start(nothing, NULL));
    pid_t pid = fork();
    CHECK(pid >= 0);
    if (pid == 0)
        child();
    IS(waitpid(pid, &status, 0), pid);
    IS(status, 0);
}

int main(void)
{
    return on_both(test);
}
