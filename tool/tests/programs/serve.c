/* serve PORT [exits|batches]: for each byte from a client, blocks of 64 KiB come and go for 0.3 s of CPU.
 * `exits`: SIGTERM is exit().  `batches`: 2,500 times so many small objects come and go that caches and depots have no
 * room for them, on a heap that is large enough to be tuned. */
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
#define SMALL 200
#define MANY 40000
#define ROUNDS 2500

static volatile sig_atomic_t over;
static char *blocks[MANY];

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
come_and_go(size_t size, int count)
{
    for (int i = 0; i < count; i++) {
        blocks[i] = malloc(size);
        memset(blocks[i], 1, size);
    }
    for (int i = 0; i < count; i++) {
        free(blocks[i]);
    }
}

static void
work(int small)
{
    for (int i = 0; small && i < ROUNDS; i++) {
        come_and_go(SMALL, MANY);
    }
    for (double until = now() + 0.3; !small && now() < until;) {
        come_and_go(BLOCK, BLOCKS);
    }
}

int
main(int count, char **words)
{
    struct sockaddr_in place = {.sin_family = AF_INET, .sin_port = htons((unsigned short)atoi(words[1]))};
    struct sigaction ending = {.sa_handler = end};
    int exits = count > 2 && strcmp(words[2], "exits") == 0, small = count > 2 && strcmp(words[2], "batches") == 0;
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
            work(small);
            if (write(talk, &byte, 1) != 1) {
                break;
            }
        }
        close(talk);
    }
    return 0;
}
