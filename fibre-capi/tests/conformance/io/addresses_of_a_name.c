/* getaddrinfo, getnameinfo: resolve a numeric name, in many threads at once. */
#include "../check.h"

#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

static void *resolve(void *unused)
{
    struct addrinfo hints = {.ai_flags = AI_NUMERICHOST, .ai_family = AF_INET, .ai_socktype = SOCK_STREAM}, *found;
    char host[64], service[16];
    OK(getaddrinfo("127.0.0.1", "80", &hints, &found));
    struct sockaddr_in *address = (struct sockaddr_in *)found->ai_addr;
    IS(ntohl(address->sin_addr.s_addr), INADDR_LOOPBACK);
    IS(ntohs(address->sin_port), 80);
    OK(getnameinfo(found->ai_addr, found->ai_addrlen, host, sizeof host, service, sizeof service,
                   NI_NUMERICHOST | NI_NUMERICSERV));
    CHECK(strcmp(host, "127.0.0.1") == 0 && strcmp(service, "80") == 0);
    freeaddrinfo(found);
    IS(getaddrinfo("not a number", NULL, &hints, &found), EAI_NONAME);
    return unused;
}

static void test(void)
{
    pthread_t threads[5];
    for (int i = 0; i < 5; i++)
        threads[i] = start(resolve, NULL);
    for (int i = 0; i < 5; i++)
        finish(threads[i]);
}

int main(void)
{
    return on_both(test);
}
