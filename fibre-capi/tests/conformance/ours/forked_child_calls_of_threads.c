/* pthread_create, pthread_exit, pthread_join and their kin: in a forked child each returns, fails, or ends the process; none hangs. */
/* flags: -O2 */
/* flags: -O2 -DFIBRE_MAIN */
#include "../forked.h"

static pthread_t other, ended;
static pthread_key_t key;
static atomic_int done;

static void *linger(void *unused)
{
    while (!done)
        usleep(1000);
    return unused;
}

static void *nothing(void *unused)
{
    return unused;
}

static void routine(void)
{
}

static void in_exit(void)
{
    pthread_exit(NULL);
}

static void handler(void *unused)
{
    (void)unused;
    _exit(0);
}

static void in_exit_with_handler(void)
{
    pthread_cleanup_push(handler, NULL);
    pthread_exit(NULL);
    pthread_cleanup_pop(0);
}

static void in_exit_with_values(void)
{
    pthread_setspecific(key, &key);
    pthread_exit(NULL);
}

static void in_create(void)
{
    pthread_t one;
    int error = pthread_create(&one, NULL, nothing, NULL);
    if (error == 0)
        pthread_join(one, NULL);
}

static void in_create_that_exits(void)
{
    pthread_t one;
    pthread_create(&one, NULL, nothing, NULL);
    pthread_exit(NULL);
}

static void in_join(void) { pthread_join(other, NULL); }
static void in_join_of_ended(void) { pthread_join(ended, NULL); }
static void in_join_of_itself(void) { pthread_join(pthread_self(), NULL); }
static void in_tryjoin(void) { pthread_tryjoin_np(other, NULL); }

static void in_timedjoin(void)
{
    struct timespec at = in_ms(CLOCK_REALTIME, 5);
    pthread_timedjoin_np(other, NULL, &at);
    pthread_clockjoin_np(other, NULL, CLOCK_REALTIME, &at);
}

static void in_detach(void)
{
    pthread_detach(other);
    pthread_detach(pthread_self());
}

static void in_cancel(void) { pthread_cancel(other); }

static void in_cancel_of_itself(void)
{
    pthread_cancel(pthread_self());
    pthread_testcancel();
    usleep(1000);
}

static void in_cancel_states(void)
{
    int old;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &old);
    pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, &old);
    pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &old);
    pthread_testcancel();
}

static void in_keys(void)
{
    pthread_key_t own;
    if (pthread_key_create(&own, handler) == 0) {
        pthread_setspecific(own, NULL);
        pthread_getspecific(own);
        pthread_key_delete(own);
    }
    pthread_setspecific(key, NULL);
}

static void in_once(void)
{
    pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, routine);
    pthread_once(&once, routine);
}

static void in_yield(void) { sched_yield(); }

static void in_names(void)
{
    char name[16];
    pthread_setname_np(pthread_self(), "child");
    pthread_getname_np(pthread_self(), name, sizeof name);
    pthread_setname_np(other, "other");
    pthread_getname_np(other, name, sizeof name);
}

static void in_attributes(void)
{
    pthread_attr_t attr;
    cpu_set_t set;
    void *stack;
    size_t size;
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, 1 << 20);
    if (pthread_getattr_np(pthread_self(), &attr) == 0)
        pthread_attr_getstack(&attr, &stack, &size);
    pthread_getattr_np(other, &attr);
    pthread_attr_destroy(&attr);
    CPU_ZERO(&set);
    pthread_getaffinity_np(pthread_self(), sizeof set, &set);
    pthread_setaffinity_np(pthread_self(), sizeof set, &set);
    pthread_getattr_default_np(&attr);
}

static void in_scheduling(void)
{
    struct sched_param param = {0};
    clockid_t clock;
    int policy;
    pthread_getschedparam(pthread_self(), &policy, &param);
    pthread_setschedparam(pthread_self(), SCHED_OTHER, &param);
    pthread_setschedprio(pthread_self(), 0);
    pthread_setconcurrency(2);
    pthread_getconcurrency();
    pthread_getcpuclockid(pthread_self(), &clock);
}

static void in_atfork(void) { pthread_atfork(routine, routine, routine); }
static void in_return(void) { exit(0); }
static void in_quick_end(void) { _exit(0); }

static const struct call CALLS[] = {
    CALL(in_exit), CALL(in_exit_with_handler), CALL(in_exit_with_values), CALL(in_create),
    CALL(in_create_that_exits), CALL(in_join), CALL(in_join_of_ended), CALL(in_join_of_itself),
    CALL(in_tryjoin), CALL(in_timedjoin), CALL(in_detach), CALL(in_cancel),
    CALL(in_cancel_of_itself), CALL(in_cancel_states), CALL(in_keys), CALL(in_once),
    CALL(in_yield), CALL(in_names), CALL(in_attributes), CALL(in_scheduling),
    CALL(in_atfork), CALL(in_return), CALL(in_quick_end),
};

static void test(void)
{
    done = 0;
    other = start(linger, NULL);
    ended = start(nothing, NULL);
    OK(pthread_key_create(&key, handler));
    let_block();
    each_in_a_child(CALLS, sizeof CALLS / sizeof *CALLS);
    done = 1;
    finish(other);
    finish(ended);
    OK(pthread_key_delete(key));
}

int main(void)
{
    return on_both(test);
}
