/* pthread_attr_setaffinity_np, pthread_setaffinity_np, pthread_create: EINVAL if the machine has none of the CPUs, and only then. */
#include "../check.h"

static void *run(void *unused)
{
    return unused;
}

/* What creating a thread comes to that may run on these CPUs. */
static int create_on(const cpu_set_t *set)
{
    pthread_t thread;
    pthread_attr_t attr;
    OK(pthread_attr_init(&attr));
    OK(pthread_attr_setaffinity_np(&attr, sizeof *set, set));
    int result = pthread_create(&thread, &attr, run, NULL);
    if (result == 0)
        finish(thread);
    OK(pthread_attr_destroy(&attr));
    return result;
}

static void test(void)
{
    long cpus = sysconf(_SC_NPROCESSORS_CONF);
    cpu_set_t set, there;
    OK(sched_getaffinity(getpid(), sizeof there, &there));
    for (long cpu = 0; cpu < cpus + 8 && cpu < 63; cpu++) {
        CPU_ZERO(&set);
        CPU_SET(cpu, &set);
        if (CPU_ISSET(cpu, &there))
            OK(create_on(&set));
        if (cpu < cpus)
            continue;
        IS(create_on(&set), EINVAL);
        IS(pthread_setaffinity_np(pthread_self(), sizeof set, &set), EINVAL);
        CPU_OR(&set, &set, &there);
        OK(create_on(&set));
    }
    /* What a thread is told that it may run on, it may. */
    OK(pthread_getaffinity_np(pthread_self(), sizeof set, &set));
    OK(pthread_setaffinity_np(pthread_self(), sizeof set, &set));
    for (long cpu = 0; cpu < 64; cpu++)
        if (CPU_ISSET(cpu, &set)) {
            cpu_set_t one;
            CPU_ZERO(&one);
            CPU_SET(cpu, &one);
            OK(create_on(&one));
        }
}

int main(void)
{
    return on_both(test);
}
