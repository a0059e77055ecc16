/* pthread_setname_np: the name of the initial thread is that of the process. */
/* flags: -O2 */
/* flags: -DFIBRE_MAIN */
#include "../check.h"

static pthread_t main_thread;

static void *rename_main(void *unused)
{
    OK(pthread_setname_np(main_thread, "by another"));
    return unused;
}

static void is_named(const char *name)
{
    char line[32] = "", own[16] = "";
    FILE *file = fopen("/proc/self/comm", "r");
    CHECK(file && fgets(line, sizeof line, file));
    OK(fclose(file));
    line[strcspn(line, "\n")] = 0;
    OK(strcmp(line, name));
    OK(pthread_getname_np(main_thread, own, sizeof own));
    OK(strcmp(own, name));
}

int main(void)
{
    watch();
    main_thread = pthread_self();
    OK(pthread_setname_np(main_thread, "fifteen letters"));
    is_named("fifteen letters");
    IS(pthread_setname_np(main_thread, "sixteen letters!"), ERANGE);
    is_named("fifteen letters");
    finish(start(rename_main, NULL));
    is_named("by another");
    return 0;
}
