/* sched_yield: in a handler of an exception, and in a destructor while one is thrown; the exception is still the thread's own. */
#include "../check.h"
/* with: FIBRE_THREAD_LOCALS=own */
/* flags: -std=c++17 */
/* mutant: uncaught_exceptions() 0 */

#include <exception>

using std::uncaught_exceptions;

struct Waits {
    int before = uncaught_exceptions();
    ~Waits()
    {
        usleep(50);
        IS(uncaught_exceptions(), before + 1);
        sched_yield();
        IS(uncaught_exceptions(), before + 1);
    }
};

static void *run(void *number)
{
    long own = reinterpret_cast<intptr_t>(number);
    for (int round = 0; round < 20; round++) {
        try {
            try {
                Waits waits;
                throw own + round;
            } catch (long) {
                sched_yield();
                try {
                    throw round;
                } catch (int inner) {
                    usleep(50);
                    IS(inner, round);
                }
                sched_yield();
                throw;
            }
        } catch (long again) {
            IS(again, own + round);
        }
        CHECK(std::current_exception() == nullptr);
    }
    return nullptr;
}

int main()
{
    watch();
    pthread_t threads[20];
    for (intptr_t i = 0; i < 20; i++)
        threads[i] = start(run, reinterpret_cast<void *>(i * 1000));
    for (pthread_t thread : threads)
        finish(thread);
    return 0;
}
