/* SPDX-License-Identifier: MIT */
/*
 * launch: runs one command under a preloaded library and reports what it and its descendants took.
 *
 * Owns      the moment between fork and exec, the waiting, and the samples of memory.
 * Promises  processor time and page faults are of all processes that have ended below the command; the peak is that of
 *           the largest of them, of its own: a process inherits its parent's peak through fork, so a measured command
 *           must not be a direct child of a large Python process.
 *           The sampler takes at most a tenth of one processor.
 * Usage     launch REPORT_FD SAMPLES LIBRARY COMMAND...
 *           SAMPLES is a file for the memory of the whole tree over time, empty for none: then nothing is read while the
 *           command runs.  An empty LIBRARY preloads nothing.
 * Report    "pid N", then "seconds WALL user USER system SYSTEM kilobytes PEAK faults MINOR calls CALLS status STATUS",
 *           one line each, on REPORT_FD.  CALLS are system calls, -1 where they cannot be counted or nothing is sampled.
 * Samples   "TIME KILOBYTES PROCESSES" a line: monotonic seconds; the sum of the proportional set sizes, in which a page
 *           that several processes share counts once; how many processes that is.
 * Not here  timeouts and killing: execute.py owns the session that this process leads.
 */
#define _GNU_SOURCE
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MOST_PROCESSES 8192
#define SHORTEST_PERIOD 0.01
/* The sampler rests nine times as long as it works. */
#define REST 9.0
#define SYSTEM_CALLS "/sys/kernel/tracing/events/raw_syscalls/sys_enter/id"

struct process {
    pid_t pid;
    pid_t parent;
    bool below;
};

static struct process processes[MOST_PROCESSES];

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

/* Reads the beginning of a file as a string; false when it is gone. */
static bool
read_text(const char *path, char *text, size_t size)
{
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) {
        return false;
    }
    ssize_t length = read(file, text, size - 1);
    close(file);
    text[length > 0 ? length : 0] = '\0';
    return length > 0;
}

static pid_t
parent_of(pid_t pid)
{
    char path[64], text[512];
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    if (!read_text(path, text, sizeof text)) {
        return 0;
    }
    /* The name in parentheses may hold anything. */
    const char *rest = strrchr(text, ')');
    return rest != NULL && strlen(rest) > 4 ? atoi(rest + 4) : 0;
}

static long
proportional_kilobytes(pid_t pid)
{
    char path[64], text[2048];
    snprintf(path, sizeof path, "/proc/%d/smaps_rollup", (int)pid);
    if (!read_text(path, text, sizeof text)) {
        return 0;
    }
    const char *line = strstr(text, "\nPss:");
    return line != NULL ? atol(line + 5) : 0;
}

/* All processes of the machine with their parents; returns how many. */
static int
list_processes(void)
{
    DIR *all = opendir("/proc");
    if (all == NULL) {
        return 0;
    }
    int count = 0;
    for (struct dirent *entry = readdir(all); entry != NULL && count < MOST_PROCESSES; entry = readdir(all)) {
        if (isdigit((unsigned char)entry->d_name[0])) {
            pid_t pid = atoi(entry->d_name);
            processes[count++] = (struct process){pid, parent_of(pid), false};
        }
    }
    closedir(all);
    return count;
}

static bool
is_below(pid_t pid, int count)
{
    for (int i = 0; i < count; i++) {
        if (processes[i].pid == pid) {
            return processes[i].below;
        }
    }
    return false;
}

/* Marks all descendants of this process; orphans among them are our children (PR_SET_CHILD_SUBREAPER). */
static void
mark_descendants(int count)
{
    pid_t self = getpid();
    for (bool more = true; more;) {
        more = false;
        for (int i = 0; i < count; i++) {
            struct process *one = &processes[i];
            if (!one->below && one->parent > 0 && (one->parent == self || is_below(one->parent, count))) {
                one->below = true;
                more = true;
            }
        }
    }
}

static void
take_sample(FILE *samples)
{
    double now = seconds_now();
    int count = list_processes(), members = 0;
    long kilobytes = 0;
    mark_descendants(count);
    for (int i = 0; i < count; i++) {
        if (processes[i].below) {
            long of_one = proportional_kilobytes(processes[i].pid);
            kilobytes += of_one;
            members += of_one > 0;
        }
    }
    if (members > 0) {
        fprintf(samples, "%.6f %ld %d\n", now, kilobytes, members);
        fflush(samples);
    }
}

/* Counts system calls of the command and all that it starts, from its exec on; -1 without the right to. */
static int
open_counter(void)
{
    char text[32];
    if (!read_text(SYSTEM_CALLS, text, sizeof text)) {
        return -1;
    }
    struct perf_event_attr wanted = {0};
    wanted.type = PERF_TYPE_TRACEPOINT;
    wanted.size = sizeof wanted;
    wanted.config = strtoull(text, NULL, 10);
    wanted.disabled = 1;
    wanted.inherit = 1;
    wanted.enable_on_exec = 1;
    return (int)syscall(SYS_perf_event_open, &wanted, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

static long long
read_counter(int counter)
{
    long long calls = -1;
    return counter >= 0 && read(counter, &calls, sizeof calls) == (ssize_t)sizeof calls ? calls : -1;
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

/* Waits for any child; true once the command itself has ended. */
static bool
reap(pid_t command, int flags, int *status)
{
    for (;;) {
        int one = 0;
        pid_t ended = waitpid(-1, &one, flags);
        if (ended == command) {
            *status = one;
            return true;
        }
        if (ended == 0 || (ended < 0 && errno != EINTR)) {
            return false;
        }
    }
}

static int
wait_sampling(pid_t command, FILE *samples)
{
    int status = 0;
    while (!reap(command, WNOHANG, &status)) {
        double start = seconds_now();
        take_sample(samples);
        double rest = (seconds_now() - start) * REST;
        rest = rest > SHORTEST_PERIOD ? rest : SHORTEST_PERIOD;
        nanosleep(&(struct timespec){(time_t)rest, (long)((rest - (double)(time_t)rest) * 1e9)}, NULL);
    }
    return status;
}

int
main(int argc, char **argv)
{
    if (argc < 5) {
        fprintf(stderr, "usage: launch REPORT_FD SAMPLES LIBRARY COMMAND...\n");
        return 2;
    }
    int report = atoi(argv[1]);
    FILE *samples = argv[2][0] != '\0' ? fopen(argv[2], "we") : NULL;
    int counter = samples != NULL ? open_counter() : -1;
    prctl(PR_SET_CHILD_SUBREAPER, 1);

    double start = seconds_now();
    pid_t command = fork();
    if (command < 0) {
        perror("launch: fork");
        return 2;
    }
    if (command == 0) {
        become(argv[3], argv + 4, report);
    }
    dprintf(report, "pid %d\n", (int)command);

    int status = 0;
    if (samples != NULL) {
        status = wait_sampling(command, samples);
    } else if (!reap(command, 0, &status)) {
        perror("launch: waitpid");
        return 2;
    }
    double wall = seconds_now() - start;
    struct rusage usage;
    getrusage(RUSAGE_CHILDREN, &usage);
    dprintf(report, "seconds %.6f user %.6f system %.6f kilobytes %ld faults %ld calls %lld status %d\n", wall,
            seconds_of(usage.ru_utime), seconds_of(usage.ru_stime), usage.ru_maxrss, usage.ru_minflt,
            read_counter(counter), status);
    return 0;
}
