/* main: compiled to be the first fibre, it is a thread if the environment says so. */
/* only: ours */
/* flags: -DFIBRE_MAIN */
/* with: FIBRE_MAIN=0 */
/* ends: exit 3 */
#include "../conformance/check.h"

int main(void)
{
    watch();
    return syscall(SYS_gettid) == getpid() ? 3 : 4;
}
