/* pthread_mutex_init: a mutex may lie in a structure, an array or on the heap, and keeps to its own bytes. */
#include "../check.h"

struct guarded {
    unsigned char before[8];
    pthread_mutex_t mutex;
    unsigned char after[8];
};

static void use(struct guarded *object)
{
    memset(object, 0x5a, sizeof *object);
    OK(pthread_mutex_init(&object->mutex, NULL));
    OK(pthread_mutex_lock(&object->mutex));
    IS(pthread_mutex_trylock(&object->mutex), EBUSY);
    OK(pthread_mutex_unlock(&object->mutex));
    OK(pthread_mutex_destroy(&object->mutex));
    for (int i = 0; i < 8; i++) {
        IS(object->before[i], 0x5a);
        IS(object->after[i], 0x5a);
    }
}

static void test(void)
{
    struct guarded array[3];
    for (int i = 0; i < 3; i++)
        use(&array[i]);
    struct guarded *heap = malloc(sizeof *heap);
    use(heap);
    free(heap);
}

int main(void)
{
    return on_both(test);
}
