/* pthread_exit: of the system's library, by code that is not compiled with the header, ends the process with a word where it would end a processor. */
#include "../check.h"
/* with: FIBRE_THREAD_LOCALS=own */
/* ends: exit 9 */
/* mutant: _exit(code) (void)(code) */
#include <dlfcn.h>
#include <sys/wait.h>

static void *run(void *leave)
{
    sched_yield();
    void (*end)(void *);
    *(void **)&end = dlsym(RTLD_DEFAULT, "pthread_exit");
    end(leave);
    return NULL;
}

int main(void)
{
    int ends[2], status;
    char said[500] = "";
    watch();
    OK(pipe(ends));
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        dup2(ends[1], 2);
        finish(start(run, NULL));
        _exit(0);
    }
    IS(waitpid(child, &status, 0), child);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
    CHECK(read(ends[0], said, sizeof said - 1) > 0);
    CHECK(strstr(said, "fibre: pthread_exit in a fibre with thread-locals of its own"));
    _exit(9);
}
