/* pthread_attr_setstacksize: below the frame of a thread's routine lie as many bytes as were asked for, and can be written. */
#include "../check.h"
/* not: own */

/* Enough that no two stacks of a size lie alike. */
#define THREADS 40

/* What the routine itself may need above its own frame pointer: the return address and saved registers. */
#define FRAME 16

static pthread_barrier_t barrier;

static void *use(void *asked)
{
    char *frame = __builtin_frame_address(0);
    pthread_attr_t attr;
    void *low;
    size_t size = 0;
    OK(pthread_getattr_np(pthread_self(), &attr));
    OK(pthread_attr_getstack(&attr, &low, &size));
    size_t below = frame + FRAME - (char *)low;
    if (below < (size_t)asked)
        IS(below, (size_t)asked);
    if (getenv("SHOW_ENTRY"))
        printf("entry %ld\n", (long)((char *)low + size - frame));
    /* From the top down, as a program would; what is deeper than the frames in use is nobody's. */
    for (volatile char *byte = (char *)&attr - 2048; byte >= (char *)low; byte--)
        *byte = 1;
    pthread_barrier_wait(&barrier);
    return NULL;
}

static void check(size_t asked)
{
    pthread_attr_t attr;
    pthread_t threads[THREADS];
    OK(pthread_attr_init(&attr));
    if (asked)
        OK(pthread_attr_setstacksize(&attr, asked));
    OK(pthread_attr_getstacksize(&attr, &asked));
    OK(pthread_barrier_init(&barrier, NULL, THREADS));
    for (int one = 0; one < THREADS; one++)
        OK(pthread_create(&threads[one], &attr, use, (void *)asked));
    for (int one = 0; one < THREADS; one++)
        finish(threads[one]);
    OK(pthread_barrier_destroy(&barrier));
    OK(pthread_attr_destroy(&attr));
}

static void test(void)
{
    const size_t kib = 1024, sizes[] = {0, 32, 64, 100, 128, 512, 1024, 4096, 8192};
    for (size_t one = 0; one < sizeof sizes / sizeof *sizes; one++)
        check(sizes[one] * kib);
    check(PTHREAD_STACK_MIN);
}

int main(void)
{
    return on_both(test);
}
