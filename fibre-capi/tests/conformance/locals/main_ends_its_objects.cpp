/* exit: the thread that ends the process destroys its thread_local objects, and then the static ones; others' objects stay. */
#include "../check.h"
/* with: FIBRE_THREAD_LOCALS=own */
/* flags: -std=c++17 */
/* flags: -std=c++17 -DFIBRE_MAIN */
/* flags: -std=c++17 -DFIBRE_MAIN -DBY_RETURN */
/* flags: -std=c++17 -DFIBRE_MAIN -DIN_A_THREAD */
/* ends: exit 5 */

struct Static {
    int objects = 0;
    ~Static()
    {
        if (objects == 1)
            return;
        end_with("not one object of a thread was destroyed\n");
    }
} all;

struct Object {
    bool is_mine = false;
    ~Object()
    {
        sched_yield();
        if (is_mine)
            all.objects++;
        else
            end_with("an object of another thread was destroyed\n");
    }
};

thread_local Object object;
static sem_t touched;

static void *touch(void *forever)
{
    object.is_mine = !forever;
    OK(sem_post(&touched));
    if (forever)
        for (;;)
            usleep(1000);
    exit(5);
}

int main()
{
    watch();
    OK(sem_init(&touched, 0, 0));
    pthread_t other = start(touch, &touched);
    OK(sem_wait(&touched));
    OK(pthread_detach(other));
#ifdef IN_A_THREAD
    finish(start(touch, NULL));
#endif
    object.is_mine = true;
    sched_yield();
#ifdef BY_RETURN
    return 5;
#else
    exit(5);
#endif
}
