/* fesetround, feclearexcept, feraiseexcept, fetestexcept: a thread has a floating-point environment of its own, which lasts over calls that block, and which the
 * threads that it creates begin with. */
/* flags: -Wl,--no-as-needed -lm */
/* flags: -DFIBRE_MAIN -Wl,--no-as-needed -lm */
#include "../check.h"

#include <fenv.h>

static const int modes[] = {FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};

static void *inherits(void *mode)
{
    CHECK(fegetround() == *(const int *)mode);
    sched_yield();
    CHECK(fegetround() == *(const int *)mode);
    return NULL;
}

static void *keep(void *mode)
{
    OK(fesetround(*(const int *)mode));
    OK(feclearexcept(FE_ALL_EXCEPT));
    if (*(const int *)mode == FE_UPWARD)
        OK(feraiseexcept(FE_DIVBYZERO));
    for (int turn = 0; turn < 200; turn++) {
        sched_yield();
        if (turn % 50 == 0)
            usleep(100);
        CHECK(fegetround() == *(const int *)mode);
        IS(fetestexcept(FE_DIVBYZERO), *(const int *)mode == FE_UPWARD ? FE_DIVBYZERO : 0);
    }
    finish(start(inherits, mode));
    return NULL;
}

/* One that changes nothing. */
static void *plain(void *unused)
{
    for (int turn = 0; turn < 200; turn++) {
        sched_yield();
        CHECK(fegetround() == FE_TONEAREST);
    }
    return unused;
}

static void test(void)
{
    pthread_t threads[12];
    for (int i = 0; i < 12; i++)
        threads[i] = start(i % 3 ? keep : plain, (void *)&modes[i % 4]);
    for (int i = 0; i < 12; i++)
        finish(threads[i]);
    CHECK(fegetround() == FE_TONEAREST);
}

int main(void)
{
    return on_both(test);
}
