/* pthread_setname_np, pthread_getname_np: ERANGE for a name of more than 15 bytes, and for a buffer of less than 16. */
#include "../check.h"

static void *run(void *unused)
{
    char is[16] = "";
    pthread_t self = pthread_self();
    OK(pthread_setname_np(self, "fifteen bytes.."));
    OK(pthread_getname_np(self, is, sizeof is));
    CHECK(strcmp(is, "fifteen bytes..") == 0);
    IS(pthread_setname_np(self, "sixteen bytes..."), ERANGE);
    IS(pthread_getname_np(self, is, 3), ERANGE);
    OK(pthread_getname_np(self, is, sizeof is));
    CHECK(strcmp(is, "fifteen bytes..") == 0);
    return unused;
}

static void test(void)
{
    finish(start(run, NULL));
}

int main(void)
{
    return on_both(test);
}
