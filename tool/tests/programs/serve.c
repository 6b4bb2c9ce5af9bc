/* serve PORT [exits]: for each byte from a client, blocks of 64 KiB come and go for 0.3 s of CPU.
 * `exits`: SIGTERM is exit(). */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define BLOCK 65536
#define BLOCKS 100 /* more than any allocator's caches keep */

static volatile sig_atomic_t over;
static char *blocks[BLOCKS];

static void
end(int number)
{
    (void)number;
    over = 1;
}

static double
now(void)
{
    struct timespec at;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &at); /* however busy the machine is */
    return (double)at.tv_sec + (double)at.tv_nsec / 1e9;
}

static void
work(void)
{
    for (double until = now() + 0.3; now() < until;) {
        for (int i = 0; i < BLOCKS; i++) {
            blocks[i] = malloc(BLOCK);
            memset(blocks[i], 1, BLOCK);
        }
        for (int i = 0; i < BLOCKS; i++) {
            free(blocks[i]);
        }
    }
}

int
main(int count, char **words)
{
    struct sockaddr_in place = {.sin_family = AF_INET, .sin_port = htons((unsigned short)atoi(words[1]))};
    struct sigaction ending = {.sa_handler = end};
    int exits = count > 2 && strcmp(words[2], "exits") == 0;
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    place.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (exits) {
        sigaction(SIGTERM, &ending, NULL);
    }
    if (bind(listener, (struct sockaddr *)&place, sizeof place) != 0 || listen(listener, 8) != 0) {
        return 1;
    }
    while (!over) {
        char byte;
        int talk = accept(listener, NULL, NULL);
        while (talk >= 0 && read(talk, &byte, 1) == 1) {
            work();
            if (write(talk, &byte, 1) != 1) {
                break;
            }
        }
        close(talk);
    }
    return 0;
}
