/*
 * Places where nothing can be read or written, for programs about EFAULT.
 */
#ifndef NOWHERE_H
#define NOWHERE_H

#include "../check.h"

#include <sys/mman.h>

/* How many there are. */
#define PLACES 3

/* The last byte before a page that is not there. */
static char *edge;

static inline void make_places(void)
{
    long page = sysconf(_SC_PAGESIZE);
    char *start = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(start != MAP_FAILED);
    OK(munmap(start + page, page));
    edge = start + page - 4;
}

/* One that begins where nothing is, one beyond all addresses, and one of which the last bytes are missing. */
static inline void *nowhere(int number)
{
    return number == 0 ? edge + 4 : number == 1 ? (void *)-4096L : edge;
}

#endif
