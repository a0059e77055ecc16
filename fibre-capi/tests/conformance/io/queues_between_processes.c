/* msgrcv, msgsnd, semop, semtimedop, mq_receive, mq_send, mq_timedreceive, mq_timedsend: a thread waits for a message, for room or for a semaphore while the others go on. */
#include "../check.h"

#include <mqueue.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/sem.h>

struct message {
    long kind;
    char text[8];
};

static int queue, set;
static mqd_t posix_queue;

static void *receive(void *unused)
{
    struct message message = {0};
    IS(msgrcv(queue, &message, sizeof message.text, 7, 0), 3);
    IS(message.kind, 7);
    CHECK(memcmp(message.text, "abc", 3) == 0);
    return unused;
}

static void *send_more(void *unused)
{
    struct message message = {7, "more"};
    OK(msgsnd(queue, &message, sizeof message.text, 0));
    return unused;
}

static void system_v_messages(void)
{
    struct message message = {7, "abc"};
    struct msqid_ds status;
    queue = msgget(IPC_PRIVATE, 0600);
    CHECK(queue >= 0);
    FAILS(msgrcv(queue, &message, 8, 0, IPC_NOWAIT), ENOMSG);
    pthread_t thread = start(receive, NULL);
    let_block();
    OK(msgsnd(queue, &message, 3, 0));
    finish(thread);
    /* Room for one. */
    OK(msgctl(queue, IPC_STAT, &status));
    status.msg_qbytes = sizeof message.text;
    OK(msgctl(queue, IPC_SET, &status));
    OK(msgsnd(queue, &message, sizeof message.text, IPC_NOWAIT));
    FAILS(msgsnd(queue, &message, sizeof message.text, IPC_NOWAIT), EAGAIN);
    thread = start(send_more, NULL);
    let_block();
    IS(msgrcv(queue, &message, sizeof message.text, 0, 0), 8);
    finish(thread);
    IS(msgrcv(queue, &message, sizeof message.text, 0, 0), 8);
    CHECK(strcmp(message.text, "more") == 0);
    OK(msgctl(queue, IPC_RMID, NULL));
}

static void *take(void *unused)
{
    struct sembuf down = {0, -1, 0};
    struct timespec late = {20, 0};
    OK(semop(set, &down, 1));
    OK(semtimedop(set, &down, 1, &late));
    return unused;
}

static void system_v_semaphores(void)
{
    struct sembuf up = {0, 1, 0}, down = {0, -1, 0};
    struct timespec soon = {0, 1000000};
    set = semget(IPC_PRIVATE, 1, 0600);
    CHECK(set >= 0);
    FAILS(semtimedop(set, &down, 1, &soon), EAGAIN);
    pthread_t thread = start(take, NULL);
    for (int i = 0; i < 2; i++) {
        let_block();
        OK(semop(set, &up, 1));
    }
    finish(thread);
    OK(semctl(set, 0, IPC_RMID));
}

static void *receive_twice(void *unused)
{
    char text[8];
    unsigned priority = 0;
    struct timespec late = in_ms(CLOCK_REALTIME, 20000);
    IS(mq_receive(posix_queue, text, sizeof text, &priority), 2);
    IS(priority, 5);
    IS(mq_timedreceive(posix_queue, text, sizeof text, NULL, &late), 2);
    return unused;
}

static void *send_twice(void *unused)
{
    struct timespec late = in_ms(CLOCK_REALTIME, 20000);
    OK(mq_send(posix_queue, "ef", 2, 0));
    OK(mq_timedsend(posix_queue, "gh", 2, 0, &late));
    return unused;
}

static void posix_messages(void)
{
    char name[40], text[8];
    struct mq_attr room = {.mq_maxmsg = 1, .mq_msgsize = sizeof text};
    snprintf(name, sizeof name, "/fibre-%d", (int)getpid());
    posix_queue = mq_open(name, O_RDWR | O_CREAT | O_EXCL, 0600, &room);
    CHECK(posix_queue != (mqd_t)-1);
    OK(mq_unlink(name));
    struct timespec soon = in_ms(CLOCK_REALTIME, 1);
    FAILS(mq_timedreceive(posix_queue, text, sizeof text, NULL, &soon), ETIMEDOUT);
    pthread_t thread = start(receive_twice, NULL);
    for (int i = 0; i < 2; i++) {
        let_block();
        OK(mq_send(posix_queue, "ab", 2, 5));
    }
    finish(thread);
    OK(mq_send(posix_queue, "cd", 2, 0));
    thread = start(send_twice, NULL);
    for (int i = 0; i < 3; i++) {
        let_block();
        IS(mq_receive(posix_queue, text, sizeof text, NULL), 2);
        IS(text[0], 'c' + 2 * i);
    }
    finish(thread);
    OK(mq_close(posix_queue));
}

static void test(void)
{
    system_v_messages();
    system_v_semaphores();
    posix_messages();
}

int main(void)
{
    return on_both(test);
}
