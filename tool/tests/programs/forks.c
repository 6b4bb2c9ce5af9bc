// A process that forks a child, which forks none, and starts the program that its argument names.
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline))

static void *volatile last;

NOINLINE void
parent_here(void)
{
    for (int i = 0; i < 500; i++) {
        last = malloc(3000);
    }
}

NOINLINE void
child_here(void)
{
    for (int i = 0; i < 70; i++) {
        last = malloc(4000);
    }
}

int
main(int argc, char **argv)
{
    parent_here();
    if (fork() == 0) {
        child_here();
        return 0;
    }
    if (argc > 1 && fork() == 0) {
        execl(argv[1], argv[1], (char *)NULL);
        _exit(127);
    }
    while (wait(NULL) > 0) {
    }
    return 0;
}
