/* SPDX-License-Identifier: MIT */
/* closes_all: a daemon closes every descriptor that it does not know, and opens its own, which get the same numbers.  What an
 * allocator has open must not be read, written or closed in their place. */
#include "field.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/socket.h>
#include <sys/stat.h>

enum { PAIRS = 30, OBJECTS = 20000, SIZE = 4000 };

static int pairs[PAIRS][2];
static char *objects[OBJECTS];

static void *
use_memory(void *unused)
{
    for (int i = 0; i < OBJECTS; i++) {
        objects[i] = memset(malloc(SIZE), 1, SIZE);
    }
    for (int i = 0; i < OBJECTS; i++) {
        free(objects[i]);
    }
    return unused;
}

static void
use_threads(void)
{
    pthread_t thread;
    for (int i = 0; i < 3; i++) {
        pthread_create(&thread, NULL, use_memory, NULL);
        pthread_join(thread, NULL);
        usleep(50000); /* others may work meanwhile; nothing here waits for it */
    }
}

int
main(void)
{
    struct stat before[PAIRS][2], after;
    use_threads();
    for (int number = 3; number < 1024; number++) {
        close(number);
    }
    for (int i = 0; i < PAIRS; i++) {
        FIELD_EXPECT(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pairs[i]) == 0, "sockets can be made");
        for (int k = 0; k < 2; k++) {
            fstat(pairs[i][k], &before[i][k]);
        }
        FIELD_EXPECT(write(pairs[i][0], "x", 1) == 1, "it can be written to");
    }
    use_threads();
    for (int i = 0; i < PAIRS; i++) {
        char got[16];
        for (int k = 0; k < 2; k++) {
            FIELD_EXPECT(fstat(pairs[i][k], &after) == 0 && after.st_ino == before[i][k].st_ino,
                         "descriptor %d is still ours", pairs[i][k]);
        }
        FIELD_EXPECT(read(pairs[i][1], got, sizeof got) == 1 && got[0] == 'x', "what was sent came, and nothing else");
        FIELD_EXPECT(read(pairs[i][0], got, sizeof got) == -1, "nothing came back");
    }
    return 0;
}
