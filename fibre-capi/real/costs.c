/* costs FILE COMMAND…: runs a command, and writes what it took: wall seconds, CPU seconds, and the most memory that one of
 * its processes had, in kB. Ends as the command does. */

#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double seconds(struct timeval time) {
    return (double)time.tv_sec + (double)time.tv_usec * 1e-6;
}

int main(int count, char **words) {
    struct timespec begin, end;
    struct rusage used;
    int status;
    if (count < 3)
        return 2;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    pid_t child = fork();
    if (child == 0) {
        execvp(words[2], words + 2);
        perror(words[2]);
        _exit(127);
    }
    if (child < 0 || wait4(child, &status, 0, &used) != child)
        return 2;
    clock_gettime(CLOCK_MONOTONIC, &end);
    FILE *file = fopen(words[1], "w");
    if (file == NULL)
        return 2;
    fprintf(file, "%.3f %.3f %ld\n", (double)(end.tv_sec - begin.tv_sec) + (double)(end.tv_nsec - begin.tv_nsec) * 1e-9,
            seconds(used.ru_utime) + seconds(used.ru_stime), used.ru_maxrss);
    fclose(file);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
