/* tcdrain, tcsetattr: wait until a terminal has taken all, and say so of what is no terminal. */
#include "../check.h"

#include <termios.h>

static void test(void)
{
    struct termios settings;
    int master = posix_openpt(O_RDWR | O_NOCTTY);
    CHECK(master >= 0);
    OK(grantpt(master));
    OK(unlockpt(master));
    int terminal = open(ptsname(master), O_RDWR | O_NOCTTY);
    CHECK(terminal >= 0);
    OK(tcgetattr(terminal, &settings));
    settings.c_lflag &= ~(tcflag_t)ECHO;
    OK(tcsetattr(terminal, TCSADRAIN, &settings));
    OK(tcgetattr(terminal, &settings));
    IS(settings.c_lflag & ECHO, 0);
    settings.c_lflag |= ECHO;
    OK(tcsetattr(terminal, TCSANOW, &settings));
    OK(tcgetattr(terminal, &settings));
    IS(settings.c_lflag & ECHO, ECHO);
    OK(tcdrain(terminal));
    OK(close(terminal));
    OK(close(master));

    int ends[2];
    OK(pipe(ends));
    FAILS(tcdrain(ends[0]), ENOTTY);
    FAILS(tcsetattr(ends[0], TCSADRAIN, &settings), ENOTTY);
    OK(close(ends[0]));
    OK(close(ends[1]));
}

int main(void)
{
    return on_both(test);
}
