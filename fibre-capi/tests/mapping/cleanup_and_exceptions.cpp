/* pthread_cleanup_push: in C++ a handler runs when an exception passes it, and when the thread ends. */
#include "../conformance/check.h"

#include <stdexcept>

static char trace[16];

static void note(void *letter)
{
    strcat(trace, static_cast<const char *>(letter));
}

static void pass(bool exit)
{
    pthread_cleanup_push(note, const_cast<char *>("b"));
    if (exit)
        pthread_exit(nullptr);
    throw std::runtime_error("passes");
    pthread_cleanup_pop(0);
}

static void *run(void *exit)
{
    pthread_cleanup_push(note, const_cast<char *>("a"));
    try {
        pass(exit != nullptr);
    } catch (const std::runtime_error &) {
        strcat(trace, "!");
    }
    pthread_cleanup_pop(1);
    return nullptr;
}

static void test()
{
    trace[0] = '\0';
    finish(start(run, nullptr));
    OK(strcmp(trace, "b!a"));
    trace[0] = '\0';
    finish(start(run, trace));
    OK(strcmp(trace, "ba"));
}

int main()
{
    return on_both(test);
}
