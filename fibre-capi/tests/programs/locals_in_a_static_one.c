/* fibre_init: thread-locals of each fibre's own are ENOTSUP in a program linked with -static, as standard error says; else fibres have them. */
/* unmapped */
#define _GNU_SOURCE
#include <fibre.h>
#include <assert.h>
#include <errno.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
static __thread int value = 7;
static void *run(void *a)
{
    int before = value;
    value = 8;
    fibre_yield();
    *(int *)a = before;
    return a;
}
/* Whether a loader has begun the program: looks at the first module, which is that. */
static int look(struct dl_phdr_info *module, size_t size, void *found)
{
    (void)size;
    for (int i = 0; i < module->dlpi_phnum; i++)
        if (module->dlpi_phdr[i].p_type == PT_INTERP)
            *(int *)found = 1;
    return 1;
}
int main(void)
{
    int is_shared = 0, ends[2], seen[2] = {0, 0};
    char said[300] = "";
    dl_iterate_phdr(look, &is_shared);
    fibre_config_t config;
    memset(&config, 0, sizeof config);
    config.size = sizeof config;
    config.processors = 1;
    config.own_thread_locals = 1;
    assert(!pipe(ends));
    int saved = dup(2);
    assert(dup2(ends[1], 2) == 2 && write(2, "said: ", 6) == 6);
    int outcome = fibre_init(&config);
    assert(dup2(saved, 2) == 2 && read(ends[0], said, sizeof said - 1) > 0);
    fibre_t fibres[2];
    if (is_shared) {
        assert(!outcome);
    } else {
        assert(outcome == ENOTSUP);
        assert(strstr(said, "the program is not linked with glibc as a shared library"));
        assert(!fibre_init(NULL));
    }
    for (int i = 0; i < 2; i++)
        assert(!fibre_create(&fibres[i], NULL, run, &seen[i]));
    for (int i = 0; i < 2; i++)
        assert(!fibre_join(fibres[i], NULL));
    assert(!is_shared || (seen[0] == 7 && seen[1] == 7));
    puts(is_shared ? "own" : "refused");
    return 0;
}
