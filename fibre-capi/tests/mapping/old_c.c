/* pthread_create, pthread_join, read: the header is for C89 as well as for what comes after C17. */
/* flags: -std=c89 -pedantic -D_XOPEN_SOURCE=600 */
/* flags: -std=gnu89 */
/* flags: -std=gnu2x */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int ready;

static void *run(void *ends)
{
    pthread_mutex_lock(&lock);
    ready = 1;
    pthread_cond_signal(&changed);
    pthread_mutex_unlock(&lock);
    return write(((int *)ends)[1], "c", 1) == 1 ? ends : NULL;
}

int main(void)
{
    pthread_t thread;
    void *value = NULL;
    int ends[2];
    char byte = 0;
    alarm(30);
    if (pipe(ends) != 0 || pthread_create(&thread, NULL, run, ends) != 0)
        return 1;
    pthread_mutex_lock(&lock);
    while (!ready)
        pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);
    if (read(ends[0], &byte, 1) != 1 || byte != 'c')
        return 2;
    if (pthread_join(thread, &value) != 0 || value != ends)
        return 3;
    errno = 0;
    return close(99) != -1 || errno != EBADF;
}
