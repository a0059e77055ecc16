/* pthread_getattr_np, pthread_setname_np, pthread_getname_np: of threads of the C++ library, which the system's make. */
#include "../check.h"

#include <atomic>
#include <thread>

static std::atomic<int> asked;
static std::atomic<pthread_t> other;
static std::atomic<char *> there;

static void look(pthread_t thread, char *inside)
{
    pthread_attr_t attr;
    void *low = nullptr;
    size_t size = 0;
    OK(pthread_getattr_np(thread, &attr));
    OK(pthread_attr_getstack(&attr, &low, &size));
    CHECK((char *)low <= inside && inside < (char *)low + size);
    OK(pthread_attr_destroy(&attr));
}

static void run()
{
    char here = 0, name[16] = "", line[32] = "";
    look(pthread_self(), &here);
    OK(pthread_setname_np(pthread_self(), "standard"));
    OK(pthread_getname_np(pthread_self(), name, sizeof name));
    OK(strcmp(name, "standard"));
    FILE *file = fopen("/proc/thread-self/comm", "r");
    CHECK(file && fgets(line, sizeof line, file));
    OK(fclose(file));
    OK(strcmp(line, "standard\n"));
    there = &here;
    other = pthread_self();
    AWAIT(asked);
    OK(pthread_getname_np(pthread_self(), name, sizeof name));
    OK(strcmp(name, "renamed"));
}

static void test(void)
{
    char name[16] = "";
    asked = 0;
    other = 0;
    std::thread thread(run);
    AWAIT(other != 0);
    look(other, there);
    OK(pthread_getname_np(other, name, sizeof name));
    OK(strcmp(name, "standard"));
    OK(pthread_setname_np(other, "renamed"));
    asked = 1;
    thread.join();
}

int main(void)
{
    return on_both(test);
}
