/* getpwnam, getpwuid, getpwnam_r, getpwuid_r, getgrnam, getgrgid, getgrnam_r, getgrgid_r, getservbyname, getservbyport, getservbyname_r, getservbyport_r, gethostbyname2, gethostbyname2_r, gethostbyaddr_r: find what there is, tell what there is not, and leave errno alone then. */
#include "../check.h"

#include <arpa/inet.h>
#include <grp.h>
#include <netdb.h>
#include <netinet/in.h>
#include <pwd.h>
#include <sys/socket.h>

static char room[4096];

static void users(void)
{
    struct passwd entry, *found = getpwuid(0);
    CHECK(found != NULL && found->pw_uid == 0);
    char *name = strdup(found->pw_name);
    found = getpwnam(name);
    CHECK(found != NULL && found->pw_uid == 0);
    OK(getpwnam_r(name, &entry, room, sizeof room, &found));
    CHECK(found == &entry && entry.pw_uid == 0);
    OK(getpwuid_r(0, &entry, room, sizeof room, &found));
    CHECK(found == &entry && strcmp(entry.pw_name, name) == 0);
    IS(getpwuid_r(0, &entry, room, 1, &found), ERANGE);
    free(name);
    errno = 0;
    CHECK(getpwnam("nobody has this name") == NULL);
    IS(errno, 0);
}

static void groups(void)
{
    struct group entry, *found = getgrgid(0);
    CHECK(found != NULL && found->gr_gid == 0);
    char *name = strdup(found->gr_name);
    found = getgrnam(name);
    CHECK(found != NULL && found->gr_gid == 0);
    OK(getgrnam_r(name, &entry, room, sizeof room, &found));
    CHECK(found == &entry && entry.gr_gid == 0);
    OK(getgrgid_r(0, &entry, room, sizeof room, &found));
    CHECK(found == &entry && strcmp(entry.gr_name, name) == 0);
    free(name);
}

/* There may be none. */
static void services(void)
{
    struct servent entry, *found = getservbyname("http", "tcp");
    if (found == NULL)
        return;
    int port = found->s_port;
    found = getservbyport(port, "tcp");
    CHECK(found != NULL && strcmp(found->s_name, "http") == 0);
    OK(getservbyname_r("http", "tcp", &entry, room, sizeof room, &found));
    CHECK(found == &entry && entry.s_port == port);
    OK(getservbyport_r(port, "tcp", &entry, room, sizeof room, &found));
    CHECK(found == &entry && strcmp(entry.s_name, "http") == 0);
    CHECK(getservbyname("nothing has this name", "tcp") == NULL);
}

static void hosts(void)
{
    struct hostent entry, *found = gethostbyname2("127.0.0.1", AF_INET);
    struct in_addr loopback = {htonl(INADDR_LOOPBACK)};
    int error = 0;
    CHECK(found != NULL && memcmp(found->h_addr_list[0], &loopback, 4) == 0);
    OK(gethostbyname2_r("127.0.0.1", AF_INET, &entry, room, sizeof room, &found, &error));
    CHECK(found == &entry && memcmp(entry.h_addr_list[0], &loopback, 4) == 0);
    IS(gethostbyaddr_r(&loopback, 4, AF_INET, &entry, room, 1, &found, &error), ERANGE);
}

static void test(void)
{
    users();
    groups();
    services();
    hosts();
}

int main(void)
{
    return on_both(test);
}
