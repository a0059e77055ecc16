/* read, accept, poll, nanosleep, sigwait and their kin: in a forked child each returns, fails, or ends the process; none hangs. */
/* flags: -Wno-unused-result */
/* flags: -Wno-unused-result -DFIBRE_MAIN */
#include "../forked.h"

#include <netdb.h>
#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <sys/wait.h>

/* A pair on which a thread of the parent waits; one with bytes in it; an empty one. */
static int waited_for[2], full[2], empty[2], listener;
static struct sockaddr_in place;
static char bytes[100];
static struct iovec part = {bytes, 1};

static void *read_one(void *unused)
{
    char byte;
    IS(read(waited_for[0], &byte, 1), 1);
    return unused;
}

static void in_reads(void)
{
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    read(full[0], bytes, 1);
    readv(full[0], &part, 1);
    recv(full[0], bytes, 1, 0);
    recvfrom(full[0], bytes, 1, 0, NULL, NULL);
    recvmsg(full[0], &message, 0);
}

static void in_writes(void)
{
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    write(empty[1], bytes, 1);
    writev(empty[1], &part, 1);
    send(empty[1], bytes, 1, 0);
    sendto(empty[1], bytes, 1, 0, NULL, 0);
    sendmsg(empty[1], &message, 0);
}

static void in_read_that_waits(void)
{
    struct timeval limit = {0, 5000};
    setsockopt(waited_for[0], SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    recv(waited_for[0], bytes, 1, 0);
}

static void in_own_pipe(void)
{
    int ends[2];
    OK(pipe(ends));
    if (fork() == 0) {
        usleep(5000);
        write(ends[1], "x", 1);
        _exit(0);
    }
    IS(read(ends[0], bytes, 1), 1);
    close(ends[0]);
    close(ends[1]);
}

static void in_sockets(void)
{
    struct sockaddr_in own = {.sin_family = AF_INET};
    socklen_t size = sizeof own;
    int server = socket(AF_INET, SOCK_STREAM, 0), client = socket(AF_INET, SOCK_STREAM, 0);
    own.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (bind(server, (void *)&own, size) || listen(server, 1))
        return;
    getsockname(server, (void *)&own, &size);
    connect(client, (void *)&own, size);
    int accepted = accept(server, NULL, NULL);
    write(accepted, "x", 1);
    read(client, bytes, 1);
    shutdown(accepted, SHUT_RDWR);
    close(accepted);
    close(client);
    close(server);
}

static void in_connect_to_the_parent(void)
{
    int client = socket(AF_INET, SOCK_STREAM, 0);
    connect(client, (void *)&place, sizeof place);
    int accepted = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    close(accepted);
    close(client);
}

static void in_polls(void)
{
    struct pollfd one = {empty[0], POLLIN, 0}, other = {full[0], POLLIN, 0};
    struct timespec nap = {0, 1000000};
    struct timeval limit = {0, 1000};
    struct epoll_event event = {.events = EPOLLIN};
    fd_set set;
    poll(&one, 1, 2);
    poll(&other, 1, -1);
    ppoll(&one, 1, &nap, NULL);
    FD_ZERO(&set);
    FD_SET(empty[0], &set);
    select(empty[0] + 1, &set, NULL, NULL, &limit);
    pselect(0, NULL, NULL, NULL, &nap, NULL);
    int epoll = epoll_create1(0);
    epoll_ctl(epoll, EPOLL_CTL_ADD, full[0], &event);
    epoll_wait(epoll, &event, 1, -1);
    epoll_ctl(epoll, EPOLL_CTL_DEL, full[0], NULL);
    epoll_wait(epoll, &event, 1, 2);
    close(epoll);
}

static void in_sleeps(void)
{
    struct timespec nap = {0, 1000000};
    nanosleep(&nap, NULL);
    clock_nanosleep(CLOCK_MONOTONIC, 0, &nap, NULL);
    usleep(1000);
    sleep(0);
}

static void in_signals(void)
{
    struct timespec nap = {0, 1000000};
    sigset_t set, old;
    int taken;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &set, &old);
    sigtimedwait(&set, NULL, &nap);
    raise(SIGUSR1);
    sigpending(&old);
    sigwait(&set, &taken);
    pthread_kill(pthread_self(), SIGUSR1);
    sigwaitinfo(&set, NULL);
    pthread_sigmask(SIG_UNBLOCK, &set, NULL);
}

static void in_files(void)
{
    char path[] = "/tmp/fibre-forked-XXXXXX";
    int file = mkstemp(path);
    unlink(path);
    pwrite(file, bytes, sizeof bytes, 0);
    pread(file, bytes, sizeof bytes, 0);
    preadv(file, &part, 1, 0);
    pwritev(file, &part, 1, 0);
    fsync(file);
    fdatasync(file);
    flock(file, LOCK_EX);
    lockf(file, F_LOCK, 0);
    posix_fallocate(file, 0, 10);
    fcntl(file, F_GETFL);
    lseek(file, 0, SEEK_SET);
    sendfile(empty[1], file, NULL, 10);
    close(file);
    close(open("/dev/null", O_RDWR));
}

static void in_numbers(void)
{
    int number = dup(full[0]);
    dup2(full[0], number);
    dup3(full[0], number, O_CLOEXEC);
    fcntl(number, F_SETFL, O_NONBLOCK);
    close(number);
    close(waited_for[0]);
    close(eventfd(1, 0));
    close(timerfd_create(CLOCK_MONOTONIC, 0));
    FILE *stream = fopen("/dev/null", "r");
    if (stream)
        fclose(stream);
}

static void in_names(void)
{
    struct addrinfo *found = NULL, hints = {.ai_flags = AI_NUMERICHOST};
    if (getaddrinfo("127.0.0.1", "80", &hints, &found) == 0)
        freeaddrinfo(found);
    getnameinfo((void *)&place, sizeof place, bytes, sizeof bytes, NULL, 0, NI_NUMERICHOST);
    gethostbyname("127.0.0.1");
}

static void in_children(void)
{
    int status;
    pid_t child = fork();
    if (child == 0)
        _exit(3);
    waitpid(child, &status, 0);
    wait(&status);
    status = system("exit 0");
    FILE *stream = popen("exit 0", "r");
    if (stream)
        pclose(stream);
}

static void in_exec(void)
{
    execl("/bin/true", "true", (char *)NULL);
}

static const struct call CALLS[] = {
    CALL(in_reads), CALL(in_writes), CALL(in_read_that_waits), CALL(in_own_pipe), CALL(in_sockets),
    CALL(in_connect_to_the_parent), CALL(in_polls), CALL(in_sleeps), CALL(in_signals),
    CALL(in_files), CALL(in_numbers), CALL(in_names), CALL(in_children), CALL(in_exec),
};

static void test(void)
{
    socklen_t size = sizeof place;
    OK(socketpair(AF_UNIX, SOCK_STREAM, 0, waited_for));
    OK(socketpair(AF_UNIX, SOCK_STREAM, 0, full));
    OK(socketpair(AF_UNIX, SOCK_STREAM, 0, empty));
    place = (struct sockaddr_in){.sin_family = AF_INET};
    place.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    listener = socket(AF_INET, SOCK_STREAM, 0);
    OK(bind(listener, (void *)&place, size));
    OK(listen(listener, 50));
    OK(getsockname(listener, (void *)&place, &size));
    pthread_t reader = start(read_one, NULL);
    let_block();
    for (size_t one = 0; one < sizeof CALLS / sizeof *CALLS; one++) {
        IS(write(full[1], "0123456789", 10), 10);
        each_in_a_child(&CALLS[one], 1);
    }
    IS(write(waited_for[1], "x", 1), 1);
    finish(reader);
    close(listener);
    for (int end = 0; end < 2; end++) {
        close(waited_for[end]);
        close(full[end]);
        close(empty[end]);
    }
}

int main(void)
{
    return on_both(test);
}
