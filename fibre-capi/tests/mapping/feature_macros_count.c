/* errno, strerror_r: the feature-test macros that a program defines at its top decide what the headers declare. */
/* flags: -std=gnu99 */
/* flags: -std=c11 */
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

/* What the headers have understood. */
#ifdef __USE_GNU
enum { GNU = 1 };
#else
enum { GNU = 0 };
#endif
#ifdef __USE_XOPEN2K8
enum { POSIX = 1 };
#else
enum { POSIX = 0 };
#endif

int main(void)
{
    char text[80] = "";
    pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    /* The form of POSIX returns a number, that of GNU a pointer. */
    int result = strerror_r(ENOENT, text, sizeof text);
    errno = 0;
    if (close(-1) != -1 || errno != EBADF)
        return 1;
    if (pthread_mutex_lock(&lock) != 0 || pthread_mutex_unlock(&lock) != 0)
        return 2;
    if (GNU || !POSIX)
        return 3;
    return result != 0 || text[0] == '\0';
}
