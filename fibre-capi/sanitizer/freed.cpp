/* Reads what another fibre has freed: AddressSanitizer must say so. */
#include <pthread.h>
#include <unistd.h>

static void *give_back(void *number)
{
    delete (int *)number;
    return nullptr;
}

int main()
{
    int *number = new int(0);
    pthread_t thread;
    if (pthread_create(&thread, nullptr, give_back, number) != 0)
        return 2;
    pthread_join(thread, nullptr);
    return *(volatile int *)number == 0 ? 0 : 3;
}
