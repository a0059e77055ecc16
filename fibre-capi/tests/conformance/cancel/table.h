/*
 * Programs that make calls with a request pending, each in a thread of its own.
 *
 * A program has a function `turn(n)`, made of TRY lines: it makes call number `n`, and returns 0 if there
 * are not so many. `each_ends_its_thread` runs them all.
 */
#ifndef TABLE_H
#define TABLE_H

#include "../check.h"

static int turn(int number);

/* The call that is made, and what it has returned, for a debugger. */
static const char *volatile what;
static volatile long result;

/* What compilers do not see through: they know what some calls must not be given. */
static void *volatile nowhere = NULL;
static volatile int minus_one = -1;

/* Makes a call, if it is its turn. */
#define TRY(call)                                               \
    do {                                                        \
        if (number-- == 0) {                                    \
            what = #call;                                       \
            result = (long)(call);                              \
            return 1;                                           \
        }                                                       \
    } while (0)

/* Makes call number `*number`, with a request pending. */
static void *make(void *number)
{
    OK(pthread_cancel(pthread_self()));
    return turn(*(int *)number) ? "goes on" : NULL;
}

/* Makes all calls; each must end its thread. */
static inline void each_ends_its_thread(void)
{
    for (int number = 0;; number++) {
        void *ending = finish(start(make, &number));
        if (ending == NULL) {
            CHECK(number > 1);
            return;
        }
        if (ending != PTHREAD_CANCELED)
            failed(__FILE__, number, what, result, result);
    }
}

#endif
