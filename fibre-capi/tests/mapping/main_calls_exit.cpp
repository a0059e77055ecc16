/* exit: main as the first fibre may end the process from deep inside, and destructors of static objects run. */
/* only: ours */
/* flags: -DFIBRE_MAIN -std=c++17 */
/* ends: exit 5 */
#include "../conformance/check.h"

static bool may_end;

struct last {
    ~last()
    {
        if (!may_end)
            _exit(1);
    }
} object;

static void end(int code)
{
    may_end = true;
    exit(code);
}

/* A form of main that no macro would have found. */
auto main() -> int
{
    watch();
    CHECK(syscall(SYS_gettid) != getpid());
    end(5);
    return 1;
}
