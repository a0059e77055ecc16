/*
 * Exceptions in fibres that move: 200 threads throw through 20 frames and catch, 20 times each. Some of them compute for so long
 * that spare processors run the others, on kernel threads that are younger than most stacks.
 */
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <stdexcept>
#include <vector>

static std::atomic<int> caught;

/* Throws from below as many frames. */
static int throws(int depth)
{
    volatile char frame[512];
    memset((void *)frame, depth, sizeof frame);
    if (depth == 0)
        throw std::runtime_error("as meant");
    return throws(depth - 1) + frame[0];
}

/* Milliseconds of some clock. */
static long now()
{
    timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000 + time.tv_nsec / 1000000;
}

static void *run(void *computes)
{
    for (int one = 0; one < 20; one++) {
        try {
            throws(20);
        } catch (const std::exception &) {
            caught++;
        }
        for (long start = now(); computes && now() < start + 30;)
            ;
        usleep(1000);
    }
    return nullptr;
}

int main()
{
    char computes;
    std::vector<pthread_t> threads(200);
    for (size_t one = 0; one < threads.size(); one++)
        if (pthread_create(&threads[one], nullptr, run, one % 50 == 0 ? &computes : nullptr) != 0)
            return 2;
    for (pthread_t thread : threads)
        pthread_join(thread, nullptr);
    printf("caught %d\n", (int)caught);
    return caught == 4000 ? 0 : 1;
}
