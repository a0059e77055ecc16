/* pthread_getname_np: ERANGE if there is no room for the longest name, however short this one is. */
#include "../check.h"

static void test(void)
{
    char name[16] = "untouched";
    OK(pthread_setname_np(pthread_self(), "one"));
    for (size_t room = 0; room < 16; room++)
        IS(pthread_getname_np(pthread_self(), name, room), ERANGE);
    OK(strcmp(name, "untouched"));
    OK(pthread_getname_np(pthread_self(), name, 16));
    OK(strcmp(name, "one"));
}

int main(void)
{
    return on_both(test);
}
