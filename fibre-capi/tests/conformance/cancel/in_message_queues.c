/* pthread_cancel, msgrcv, msgsnd, mq_receive, mq_send: a cancelled thread ends in them, also while it waits, and takes and leaves no message. */
#include "../check.h"

#include <mqueue.h>
#include <sys/ipc.h>
#include <sys/msg.h>

static struct message {
    long kind;
    char text[8];
} message = {7, "abc"};

static int queue;
static mqd_t posix_queue;

static void *receive(void *unused)
{
    struct message got;
    msgrcv(queue, &got, sizeof got.text, 9, 0);
    return unused;
}

static void *send_one(void *unused)
{
    msgsnd(queue, &message, sizeof message.text, 0);
    return unused;
}

static void *receive_posix(void *unused)
{
    char text[8];
    mq_receive(posix_queue, text, sizeof text, NULL);
    return unused;
}

static void *send_posix(void *unused)
{
    mq_send(posix_queue, "ef", 2, 0);
    return unused;
}

/* One that waits, and one that has been cancelled before. */
static void cancel_in(void *(*routine)(void *))
{
    for (int waits = 0; waits < 2; waits++) {
        pthread_t thread = start(routine, NULL);
        if (waits)
            let_block();
        OK(pthread_cancel(thread));
        CHECK(finish(thread) == PTHREAD_CANCELED);
    }
}

static void test(void)
{
    struct msqid_ds status;
    char name[40];
    struct mq_attr room = {.mq_maxmsg = 1, .mq_msgsize = 8};
    queue = msgget(IPC_PRIVATE, 0600);
    CHECK(queue >= 0);
    OK(msgctl(queue, IPC_STAT, &status));
    status.msg_qbytes = sizeof message.text;
    OK(msgctl(queue, IPC_SET, &status));
    OK(msgsnd(queue, &message, sizeof message.text, 0));
    cancel_in(receive);
    cancel_in(send_one);
    OK(msgctl(queue, IPC_STAT, &status));
    IS(status.msg_qnum, 1);
    OK(msgctl(queue, IPC_RMID, NULL));

    snprintf(name, sizeof name, "/fibre-cancel-%d", (int)getpid());
    posix_queue = mq_open(name, O_RDWR | O_CREAT | O_EXCL, 0600, &room);
    CHECK(posix_queue != (mqd_t)-1);
    OK(mq_unlink(name));
    cancel_in(receive_posix);
    OK(mq_send(posix_queue, "ab", 2, 0));
    cancel_in(send_posix);
    OK(mq_getattr(posix_queue, &room));
    IS(room.mq_curmsgs, 1);
    OK(mq_close(posix_queue));
}

int main(void)
{
    return on_both(test);
}
