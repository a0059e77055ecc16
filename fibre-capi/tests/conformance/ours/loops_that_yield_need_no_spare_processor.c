/* sched_yield: loops that call it, pauses in between, keep no processor from others: no spare processor is started. */
#include "../check.h"

int fibre_cluster_processors(const void *cluster);

#define THREADS 9

static atomic_int begun, go, turns;

static void *run(void *unused)
{
    begun++;
    while (!go) {
        for (int i = 0; i < 10; i++)
            __builtin_ia32_pause();
        OK(sched_yield());
        turns++;
    }
    return unused;
}

/* How many threads of this process are processors. */
static int processors(void)
{
    int count = 0;
    char path[300], name[32] = "";
    DIR *tasks = opendir("/proc/self/task");
    CHECK(tasks != NULL);
    for (struct dirent *task; (task = readdir(tasks)) != NULL;) {
        snprintf(path, sizeof path, "/proc/self/task/%s/comm", task->d_name);
        FILE *file = fopen(path, "r");
        count += file && fgets(name, sizeof name, file) && strncmp(name, "fibre/", 6) == 0;
        if (file)
            fclose(file);
    }
    closedir(tasks);
    return count;
}

static void test(void)
{
    pthread_t threads[THREADS];
    begun = go = turns = 0;
    for (int i = 0; i < THREADS; i++)
        threads[i] = start(run, NULL);
    AWAIT(begun == THREADS);
    AWAIT(turns > 100000);
    IS(processors(), fibre_cluster_processors(NULL));
    go = 1;
    for (int i = 0; i < THREADS; i++)
        finish(threads[i]);
}

int main(void)
{
    return on_both(test);
}
