/* pthread_join, pthread_detach, pthread_cancel, pthread_setname_np: ESRCH for numbers that no thread ever had. */
#include "../check.h"

static void test(void)
{
    static const unsigned long numbers[] = {0, 12345, 0x7fffffff, 0xffffffff00000000, 0xffffffffffffffff};
    for (int i = 0; i < 5; i++) {
        pthread_t none = (pthread_t)numbers[i];
        IS(pthread_join(none, NULL), ESRCH);
        IS(pthread_detach(none), ESRCH);
        IS(pthread_cancel(none), ESRCH);
        IS(pthread_setname_np(none, "none"), ESRCH);
    }
}

int main(void)
{
    return on_both(test);
}
