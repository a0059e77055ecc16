/* A C library that waits: the other half of main.rs. */
#include <unistd.h>

/* Waits for a byte; returns what read(2) does. */
ssize_t waits_for_a_byte(int fd)
{
    char byte;
    return read(fd, &byte, 1);
}
