/* fibre_init, fibre_cluster_create: with own_thread_locals each fibre has its __thread variables; together with fibres_stay it is EINVAL. */
/* unmapped */
#include "../check.h"
#include <fibre.h>

__thread int depth = 7;

static void *run(void *number)
{
    int own = (int)(intptr_t)number;
    int *place = &depth;
    IS(depth, 7);
    for (int round = 0; round < 50; round++) {
        depth = own + round;
        fibre_yield();
        CHECK(place == &depth);
        IS(depth, own + round);
    }
    return NULL;
}

static void crowd(fibre_cluster_t *cluster)
{
    fibre_attr_t attr;
    fibre_t fibres[20];
    OK(fibre_attr_init(&attr));
    OK(fibre_attr_setcluster(&attr, cluster));
    for (intptr_t i = 0; i < 20; i++)
        OK(fibre_create(&fibres[i], &attr, run, (void *)(i * 100)));
    for (int i = 0; i < 20; i++)
        OK(fibre_join(fibres[i], NULL));
}

int main(void)
{
    fibre_cluster_t *other;
    fibre_config_t config;
    watch();
    memset(&config, 0, sizeof config);
    config.size = sizeof config;
    config.own_thread_locals = 1;
    config.fibres_stay = 1;
    IS(fibre_init(&config), EINVAL);
    IS(fibre_cluster_create(&other, &config), EINVAL);
    config.fibres_stay = 0;
    OK(fibre_init(&config));
    crowd(NULL);
    config.processors = 2;
    OK(fibre_cluster_create(&other, &config));
    crowd(other);
    OK(fibre_cluster_destroy(other));
    /* A program that does not know the field, which has come where its padding ended. */
    IS(offsetof(fibre_config_t, own_thread_locals), 120);
    config.size = 120;
    config.reserved = -1;
    config.fibres_stay = 1;
    OK(fibre_cluster_create(&other, &config));
    OK(fibre_cluster_destroy(other));
    return 0;
}
