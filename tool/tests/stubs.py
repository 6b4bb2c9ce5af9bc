# SPDX-License-Identifier: MIT
"""Small C programs that the tests look at from outside while they sleep."""

import os
import signal
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from conftest import environment, wait_until
from hew.sources.processes import stat_fields

# Allocates, says that it has, and waits to be killed.
SLEEPER = """
#include <stdlib.h>
#include <unistd.h>
int main(void)
{
    volatile char *object = malloc(1000);
    object[0] = 'r';
    write(1, (const char *)object, 1);
    pause();
    free((void *)object);
    return 0;
}
"""

# `threads` threads, each with a heap of its own that it writes and frees but for the last piece.
THREADS = """
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
enum { THREADS = 12, PIECES = 800, PIECE = 20000 };
static pthread_barrier_t all;
static void *work(void *unused)
{
    char *held[PIECES];
    for (int i = 0; i < PIECES; i++)
        memset(held[i] = malloc(PIECE), 1, PIECE);
    pthread_barrier_wait(&all);
    for (int i = 0; i < PIECES - 1; i++)
        free(held[i]);
    pthread_barrier_wait(&all);
    pause();
    return unused;
}
int main(void)
{
    pthread_t thread;
    pthread_barrier_init(&all, NULL, THREADS + 1);
    for (int i = 0; i < THREADS; i++)
        pthread_create(&thread, NULL, work, NULL);
    pthread_barrier_wait(&all);
    pthread_barrier_wait(&all);
    write(1, "r", 1);
    pause();
    return 0;
}
"""

# Writes a title over its words and its environment, as servers do.
TITLED = """
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
extern char **environ;
int main(int argc, char **argv)
{
    char *end = argv[argc - 1] + strlen(argv[argc - 1]);
    for (char **one = environ; *one != NULL; one++)
        end = *one + strlen(*one);
    volatile char *object = malloc(1000);
    memset(argv[0], 0, (size_t)(end - argv[0]));
    strcpy(argv[0], "title");
    object[0] = 'r';
    write(1, (const char *)object, 1);
    pause();
    return 0;
}
"""

# What a build of jemalloc with the prefix je_ leaves in a program: its functions, its variable's name, its messages.
PREFIXED = """
#include <stdlib.h>
#include <unistd.h>
const char *const je_text = "<jemalloc>: Abort (abort_conf:true) on invalid conf value (see above).";
const char je_version[] = "\\0" "5.3.0-0-g54eaed1d8b56b1aa528be3bdd1877e59c56fa90c";
const char je_variable[] = "\\0" "JE_MALLOC_CONF";
void *je_malloc(size_t size) { return malloc(size); }
int je_mallctlnametomib(const char *name, size_t *mib, size_t *length)
{
    (void)mib, (void)length;
    return name == je_text || name == je_version || name == je_variable;
}
int main(void)
{
    volatile char *object = je_malloc(1000);
    object[0] = je_mallctlnametomib("", NULL, NULL) ? 'x' : 'r';
    write(1, (const char *)object, 1);
    pause();
    return 0;
}
"""


@contextmanager
def running(program: Path | list[str], changes: Mapping[str, str | None] | None = None) -> Iterator[int]:
    """The process of a stub that has allocated; killed at the end."""
    clean = {name: None for name in os.environ if "MALLOC" in name or name in {"LD_PRELOAD", "GLIBC_TUNABLES"}}
    started = subprocess.Popen(program, env=environment(clean | dict(changes or {})), stdout=subprocess.PIPE)
    try:
        assert started.stdout is not None
        assert started.stdout.read(1) == b"r"
        wait_until(lambda: stat_fields(started.pid)[0] == "S", "the program does not come to rest")
        yield started.pid
    finally:
        started.send_signal(signal.SIGKILL)
        started.wait()
        if started.stdout:
            started.stdout.close()
