/* select, pthread_join, pthread_cond_wait, pthread_cond_timedwait, sem_wait, sem_timedwait, sigwait: a pending request acts in a
 * call that would fail, or end at once. */
#include "../cancel/table.h"

#include <sys/select.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER, foreign = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static sem_t sem, gone;
static pthread_t ended;

static void *nothing(void *unused)
{
    return unused;
}

static int turn(int number)
{
    struct timespec wrong = bad_time(CLOCK_REALTIME), past = {0, 0};
    struct timeval no_time = {0, -1};
    TRY(select(0, NULL, NULL, NULL, &no_time));
    TRY(pthread_join(ended, NULL));
    TRY(pthread_join(0, NULL));
    TRY(pthread_join(pthread_self(), NULL));
    TRY(pthread_timedjoin_np(pthread_self(), NULL, &wrong));
    TRY(pthread_cond_wait(&cond, &foreign));
    TRY(pthread_cond_timedwait(&cond, &mutex, &wrong));
    TRY(pthread_cond_timedwait(&cond, &foreign, &past));
    TRY(pthread_cond_clockwait(&cond, &mutex, CLOCK_PROCESS_CPUTIME_ID, &past));
    TRY(sem_wait(&gone));
    TRY(sem_timedwait(&sem, &wrong));
    TRY(sem_timedwait(&sem, &past));
    TRY(sem_clockwait(&sem, CLOCK_PROCESS_CPUTIME_ID, &past));
    TRY(clock_nanosleep(CLOCK_PROCESS_CPUTIME_ID, 0, &past, NULL));
    TRY(sigwait(nowhere, nowhere));
    return 0;
}

int main(void)
{
    OK(sem_init(&sem, 0, 0));
    OK(sem_init(&gone, 0, 0));
    OK(sem_destroy(&gone));
    ended = start(nothing, NULL);
    OK(on_both(each_ends_its_thread));
    finish(ended);
    return 0;
}
