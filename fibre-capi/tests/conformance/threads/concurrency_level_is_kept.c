/* pthread_setconcurrency, pthread_getconcurrency: 0 at first; what was set is got; EINVAL if negative. */
#include "../check.h"

int main(void)
{
    watch();
    IS(pthread_getconcurrency(), 0);
    OK(pthread_setconcurrency(4));
    IS(pthread_getconcurrency(), 4);
    IS(pthread_setconcurrency(-1), EINVAL);
    IS(pthread_getconcurrency(), 4);
    OK(pthread_setconcurrency(0));
    return 0;
}
