/* poll, select, pselect, nanosleep, clock_nanosleep, usleep, sleep, sigtimedwait, wait, waitpid, waitid, msgsnd, msgrcv, mq_send, mq_receive,
 * msync, system: a pending request acts in a call that would fail, or end at once. */
#include "table.h"

#include <mqueue.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/select.h>
#include <sys/wait.h>

static int turn(int number)
{
    char bytes[16] = "";
    struct pollfd one = {.fd = -1};
    struct timespec none = {0, 0}, wrong = {0, -1};
    sigset_t set;
    sigemptyset(&set);
    TRY(poll(&one, (nfds_t)minus_one, 0));
    TRY(poll(&one, 1, 0));
    TRY(poll(nowhere, 1, 0));
    TRY(select(-1, NULL, NULL, NULL, NULL));
    TRY(pselect(-1, NULL, NULL, NULL, NULL, NULL));
    TRY(pselect(0, NULL, NULL, NULL, &none, &set));
    TRY(nanosleep(&wrong, NULL));
    TRY(nanosleep(&none, NULL));
    TRY(clock_nanosleep(CLOCK_MONOTONIC, 0, &wrong, NULL));
    TRY(clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &none, NULL));
    TRY(usleep(0));
    TRY(sleep(0));
    TRY(sigtimedwait(&set, NULL, &none));
    TRY(sigtimedwait(&set, NULL, &wrong));
    TRY(wait(NULL));
    TRY(waitpid(-1, NULL, WNOHANG));
    TRY(waitpid(getpid(), NULL, 0));
    TRY(waitid(P_PID, getpid(), NULL, WEXITED));
    TRY(waitid(P_PID, getpid(), NULL, 0));
    TRY(msgsnd(-1, bytes, 1, 0));
    TRY(msgsnd(-1, bytes, 1, IPC_NOWAIT));
    TRY(msgrcv(-1, bytes, 1, 0, 0));
    TRY(msgrcv(-1, bytes, 1, 0, IPC_NOWAIT));
    TRY(mq_send(-1, bytes, 1, 0));
    TRY(mq_receive(-1, bytes, 1, NULL));
    TRY(msync(bytes + 1, 1, MS_SYNC));
    TRY(system("exit 3"));
    return 0;
}

int main(void)
{
    return on_both(each_ends_its_thread);
}
