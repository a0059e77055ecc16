/* pthread_kill, pthread_sigqueue: EINVAL for what is no signal of the program. */
#include "../check.h"

static void test(void)
{
    union sigval value = {0};
    int none[] = {32, 33, 65, -1};
    OK(pthread_kill(pthread_self(), 0));
    for (int i = 0; i < 4; i++) {
        IS(pthread_kill(pthread_self(), none[i]), EINVAL);
        IS(pthread_sigqueue(pthread_self(), none[i], value), EINVAL);
        FAILS(raise(none[i]), EINVAL);
    }
}

int main(void)
{
    return on_both(test);
}
