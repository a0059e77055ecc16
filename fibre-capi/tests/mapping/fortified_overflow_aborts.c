/* read: a fortified call that would write beyond its buffer ends the process. */
/* flags: -O2 -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2 */
/* ends: signal 6 */
#include "../conformance/check.h"

int main(void)
{
    char bytes[8];
    volatile size_t length = 9;
    int ends[2];
    watch();
    OK(pipe(ends));
    IS(write(ends[1], "too long", 9), 9);
    return (int)read(ends[0], bytes, length);
}
