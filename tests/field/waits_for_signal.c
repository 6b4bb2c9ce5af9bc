/* SPDX-License-Identifier: MIT */
/* waits_for_signal: the usual way of servers: main allocates, frees much, blocks its signals and then takes them by sigwait().
 * A thread of the allocator's that does not block them ends the process. */
#include "field.h"

#include <pthread.h>
#include <signal.h>

enum { OBJECTS = 20000, SIZE = 4000 };

int
main(void)
{
    static char *objects[OBJECTS];
    sigset_t wanted;
    for (int turn = 0; turn < 3; turn++) { /* enough for threads that give back memory to start */
        for (int i = 0; i < OBJECTS; i++) {
            objects[i] = memset(malloc(SIZE), 1, SIZE);
        }
        for (int i = 0; i < OBJECTS; i++) {
            free(objects[i]);
        }
    }
    sigemptyset(&wanted);
    for (int number = 1; number < SIGRTMAX; number++) {
        if (number != SIGKILL && number != SIGSTOP && (number < 32 || number >= SIGRTMIN)) {
            sigaddset(&wanted, number);
        }
    }
    pthread_sigmask(SIG_BLOCK, &wanted, NULL);
    for (int number = 1; number < SIGRTMAX; number++) {
        int got = 0;
        if (sigismember(&wanted, number) == 1) {
            kill(getpid(), number);
            FIELD_EXPECT(sigwait(&wanted, &got) == 0 && got == number, "signal %d is got by who waits for it", number);
        }
    }
    return 0;
}
