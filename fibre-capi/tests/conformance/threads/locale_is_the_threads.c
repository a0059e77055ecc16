/* uselocale: a thread has a locale of its own, which lasts over calls that block; a new thread begins with that of the process. */
/* flags: -O1 */
/* flags: -DFIBRE_MAIN */
#include "../check.h"

#include <langinfo.h>
#include <locale.h>

static locale_t locales[3];
static const char *const codesets[3] = {"ANSI_X3.4-1968", "UTF-8", "ANSI_X3.4-1968"};
static pthread_key_t key;

/* The C library follows this locale, before and after others have run. */
static void check(intptr_t which)
{
    for (int turn = 0; turn < 40; turn++) {
        CHECK(uselocale((locale_t)0) == locales[which]);
        CHECK(strcmp(nl_langinfo(CODESET), codesets[which]) == 0);
        turn % 20 ? sched_yield() : usleep(100);
    }
}

static void at_end(void *which)
{
    check((intptr_t)which);
}

static void *as_it_is(void *which)
{
    check((intptr_t)which);
    return NULL;
}

/* Sets one, another one, that of the process, and the first one again. */
static void *sets(void *number)
{
    intptr_t which = (intptr_t)number;
    CHECK(uselocale(locales[which]) == LC_GLOBAL_LOCALE);
    check(which);
    finish(start(as_it_is, NULL));
    CHECK(uselocale(locales[3 - which]) == locales[which]);
    check(3 - which);
    CHECK(uselocale(LC_GLOBAL_LOCALE) == locales[3 - which]);
    check(0);
    CHECK(uselocale(locales[which]) == LC_GLOBAL_LOCALE);
    OK(pthread_setspecific(key, number));
    return NULL;
}

static void test(void)
{
    pthread_t threads[12];
    locales[0] = LC_GLOBAL_LOCALE;
    CHECK(locales[1] = newlocale(LC_ALL_MASK, "C.UTF-8", (locale_t)0));
    CHECK(locales[2] = newlocale(LC_ALL_MASK, "POSIX", (locale_t)0));
    OK(pthread_key_create(&key, at_end));
    for (intptr_t i = 0; i < 12; i++)
        threads[i] = i % 3 ? start(sets, (void *)(i % 2 + 1)) : start(as_it_is, NULL);
    for (int i = 0; i < 12; i++)
        finish(threads[i]);
    check(0);
}

int main(void)
{
    return on_both(test);
}
