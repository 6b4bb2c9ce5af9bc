/* SPDX-License-Identifier: MIT */
/*
 * launch: runs one command under a preloaded library and reports what it took.
 *
 * Owns      the moment between fork and exec, and the wait4 that follows.
 * Promises  the peak RSS is the command's own (or its largest descendant's): a process inherits its parent's peak
 *           through fork, so a measured command must not be a direct child of a large Python process.
 * Usage     launch REPORT_FD LIBRARY COMMAND...      an empty LIBRARY preloads nothing
 * Report    "pid N", then "seconds WALL CPU kilobytes PEAK status WAITSTATUS", one line each, on REPORT_FD.
 * Not here  timeouts and killing: execute.py owns the session that this process leads.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double
seconds_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static double
seconds_of(struct timeval interval)
{
    return (double)interval.tv_sec + (double)interval.tv_usec * 1e-6;
}

static void
become(const char *library, char **command, int report)
{
    close(report);
    if (library[0] != '\0') {
        setenv("LD_PRELOAD", library, 1);
    }
    execvp(command[0], command);
    fprintf(stderr, "launch: %s: %s\n", command[0], strerror(errno));
    _exit(127);
}

int
main(int argc, char **argv)
{
    if (argc < 4) {
        fprintf(stderr, "usage: launch REPORT_FD LIBRARY COMMAND...\n");
        return 2;
    }
    int report = atoi(argv[1]);
    double start = seconds_now();
    pid_t child = fork();
    if (child < 0) {
        perror("launch: fork");
        return 2;
    }
    if (child == 0) {
        become(argv[2], argv + 3, report);
    }
    dprintf(report, "pid %d\n", (int)child);

    int status = 0;
    struct rusage usage;
    while (wait4(child, &status, 0, &usage) < 0) {
        if (errno != EINTR) {
            perror("launch: wait4");
            return 2;
        }
    }
    dprintf(report, "seconds %.6f %.6f kilobytes %ld status %d\n", seconds_now() - start,
            seconds_of(usage.ru_utime) + seconds_of(usage.ru_stime), usage.ru_maxrss, status);
    return 0;
}
