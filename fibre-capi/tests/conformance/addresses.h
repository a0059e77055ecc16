/*
 * Limits on the addresses of a process, for programs that try what becomes of threads when these run
 * out. The limit holds from then on; what is mapped already stays.
 */
#ifndef ADDRESSES_H
#define ADDRESSES_H

#include "check.h"

#include <sys/resource.h>

/* Lets the process have so many bytes of addresses more than it has now. */
static inline void limit_addresses(size_t more)
{
    struct rlimit limit;
    unsigned long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    CHECK(file && fscanf(file, "%lu", &pages) == 1);
    fclose(file);
    OK(getrlimit(RLIMIT_AS, &limit));
    limit.rlim_cur = pages * 4096 + more;
    OK(setrlimit(RLIMIT_AS, &limit));
}

/* Lifts the limit. */
static inline void unlimit_addresses(void)
{
    struct rlimit limit;
    OK(getrlimit(RLIMIT_AS, &limit));
    limit.rlim_cur = limit.rlim_max;
    OK(setrlimit(RLIMIT_AS, &limit));
}

#endif
