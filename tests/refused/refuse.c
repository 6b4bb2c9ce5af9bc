/* SPDX-License-Identifier: MIT */
/*
 * refuse: runs a program under a preloaded library whose system calls are refused by chance, all from one seed.
 *
 *     refuse SEED SECONDS AFTER CALL:PERMILLE:ERROR[,CALL:PERMILLE:ERROR...] LIBRARY PROGRAM [ARGUMENT...]
 *
 * After the first AFTER calls of the kinds named, a call is refused with the error's number in so many of 1,000 cases.  Only the
 * library's own calls are: the loader and libc go on.  libc's functions that the library uses (sbrk, threads) are refused to all.
 * brk:PERMILLE:0 is refused as the kernel does it: the break stays where it is.
 *
 * Promises  the program's exit status, or 128 and its signal; 124 when it makes no call for SECONDS (it is killed); 77 when the
 *           system has no seccomp notification (Linux 5.5).  The last line on stderr counts the calls of each kind.
 * How       a filter stops the program's thread at each such call and asks this process (seccomp_unotify(2)).
 */
#include "fakes/random.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/futex.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { KINDS_MOST = 32, PLACES_MOST = 256, HANGS = 124, SKIPPED = 77, POLL_MS = 50 };

static const struct {
    const char *name;
    int number;
    bool of_libc;
} known[] = {{"mmap", SYS_mmap, false},
             {"munmap", SYS_munmap, false},
             {"mprotect", SYS_mprotect, false},
             {"mremap", SYS_mremap, false},
             {"madvise", SYS_madvise, false},
             {"process_madvise", 440, false},
             {"mincore", SYS_mincore, false},
             {"brk", SYS_brk, true},
             {"clone", SYS_clone, true},
             {"clone3", 435, true},
             {"futex", SYS_futex, false},
             {"openat", SYS_openat, false},
             {"read", SYS_read, false},
             {"pread64", SYS_pread64, false},
             {"readlinkat", SYS_readlinkat, false},
             {"write", SYS_write, false},
             {"lseek", SYS_lseek, false},
             {"prlimit64", SYS_prlimit64, false},
             {"sched_getaffinity", SYS_sched_getaffinity, false},
             {"sysinfo", SYS_sysinfo, false},
             {"rt_sigprocmask", SYS_rt_sigprocmask, false},
             {"prctl", SYS_prctl, false},
             {"socket", SYS_socket, false}};

struct kind {
    const char *name;
    int number, error;
    bool of_libc;
    unsigned permille;
    unsigned long calls, refused;
};
static struct kind kinds[KINDS_MOST];
static unsigned kinds_count;

/* Where calls came from, and whether that is the library. */
static struct place {
    uint64_t address;
    bool own;
} places[PLACES_MOST];
static unsigned places_count;

static _Noreturn void
give_up(const char *what)
{
    fprintf(stderr, "refuse: %s: %s\n", what, strerror(errno));
    exit(2);
}

static void
add_kind(const char *name, unsigned permille, int error)
{
    for (size_t i = 0; i < sizeof known / sizeof known[0] && kinds_count < KINDS_MOST; i++) {
        if (strcmp(known[i].name, name) == 0) {
            kinds[kinds_count++] =
                (struct kind){known[i].name, known[i].number, error, known[i].of_libc, permille, 0, 0};
            return;
        }
    }
    errno = EINVAL;
    give_up(name);
}

static void
read_kinds(char *text)
{
    for (char *rest = text, *word; (word = strsep(&rest, ",")) != NULL;) {
        char name[32];
        unsigned permille;
        int error;
        if (sscanf(word, "%31[^:]:%u:%d", name, &permille, &error) != 3) {
            errno = EINVAL;
            give_up(word);
        }
        add_kind(name, permille, error);
    }
}

/* The listener, or -1. */
static int
install_filter(void)
{
    struct sock_filter rules[2 * KINDS_MOST + 2];
    unsigned short count = 0;
    rules[count++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    for (unsigned i = 0; i < kinds_count; i++) {
        rules[count++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)kinds[i].number, 0, 1);
        rules[count++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF);
    }
    rules[count++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    struct sock_fprog program = {count, rules};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) {
        return -1;
    }
    return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &program);
}

/* In the child, which shares its files with the parent until exec: so the parent has the listener, too.  The calls that the filter
 * asks about are answered from then on. */
static _Noreturn void
run_program(const char *library, char **program, _Atomic int *listener)
{
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    setenv("LD_PRELOAD", library, 1);
    int file = install_filter();
    *listener = file < 0 ? -errno : file;
    if (file >= 0) {
        execvp(program[0], program);
    }
    _exit(126);
}

/* Whether the address lies in a file of the process, by its list of mappings. */
static bool
lies_in(pid_t process, uint64_t address, const char *file)
{
    char path[64], line[4096 + 100];
    bool found = false;
    snprintf(path, sizeof path, "/proc/%d/maps", (int)process);
    FILE *maps = fopen(path, "re");
    while (maps != NULL && !found && fgets(line, sizeof line, maps) != NULL) {
        unsigned long start, end;
        found = sscanf(line, "%lx-%lx", &start, &end) == 2 && address >= start && address < end &&
                strstr(line, file) != NULL;
    }
    if (maps != NULL) {
        fclose(maps);
    }
    return found;
}

static bool
is_own(pid_t process, uint64_t address, const char *library)
{
    for (unsigned i = 0; i < places_count; i++) {
        if (places[i].address == address) {
            return places[i].own;
        }
    }
    bool own = lies_in(process, address, library);
    if (places_count < PLACES_MOST) {
        places[places_count++] = (struct place){address, own};
    }
    return own;
}

/* What brk tells when it refuses: the end of the heap, or where it would begin. */
static int64_t
current_break(pid_t process)
{
    char path[64], text[4096];
    unsigned long start = 0, end = 0;
    snprintf(path, sizeof path, "/proc/%d/maps", (int)process);
    FILE *file = fopen(path, "re");
    while (file != NULL && fgets(text, sizeof text, file) != NULL) { /* the last of its mappings */
        if (strstr(text, "[heap]") != NULL) {
            sscanf(text, "%lx-%lx", &start, &end);
        }
    }
    if (file != NULL) {
        fclose(file);
    }
    snprintf(path, sizeof path, "/proc/%d/stat", (int)process);
    file = end != 0 ? NULL : fopen(path, "re");
    if (file != NULL) {
        size_t length = fread(text, 1, sizeof text - 1, file);
        text[length] = '\0';
        char *field = strrchr(text, ')');
        for (unsigned number = 2; field != NULL && number < 47; number++) {
            field = strchr(field + 1, ' ');
        }
        end = field == NULL ? 0 : strtoul(field, NULL, 10);
        fclose(file);
    }
    return (int64_t)end;
}

static bool
is_wake(const struct seccomp_data *call)
{
    return call->nr == SYS_futex && (call->args[1] & FUTEX_CMD_MASK) == FUTEX_WAKE;
}

struct refusals {
    uint64_t dice;
    unsigned long after, seen;
    const char *library;
};

static void
answer(int listener, const struct seccomp_notif *request, struct refusals *refusals)
{
    struct seccomp_notif_resp response = {.id = request->id, .flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE};
    unsigned i = 0;
    while (kinds[i].number != request->data.nr) {
        i++;
    }
    struct kind *kind = &kinds[i];
    pid_t process = (pid_t)request->pid;
    if (kind->of_libc || is_own(process, request->data.instruction_pointer, refusals->library)) {
        kind->calls++;
        refusals->seen++;
        bool refuse = random_below(&refusals->dice, 1000) < kind->permille && refusals->seen > refusals->after &&
                      !is_wake(&request->data);
        if (refuse) {
            kind->refused++;
            response.flags = 0;
            response.error = -kind->error;
            response.val = kind->error == 0 ? current_break(process) : 0;
        }
    }
    ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &response); /* a process that has gone meanwhile needs no answer */
}

static double
now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

/* Answers until the program has ended; its status, or HANGS after so many seconds without a call. */
static int
answer_all(int listener, pid_t program, double patience, struct refusals *refusals)
{
    int status;
    double until = now() + patience;
    while (waitpid(program, &status, WNOHANG) != program) {
        if (now() > until) {
            kill(-program, SIGKILL);
            waitpid(program, &status, 0);
            return HANGS;
        }
        struct pollfd ready = {listener, POLLIN, 0};
        struct seccomp_notif request = {0};
        if (poll(&ready, 1, POLL_MS) > 0 && (ready.revents & POLLIN) != 0 &&
            ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &request) == 0) {
            answer(listener, &request, refusals);
            until = now() + patience;
        }
    }
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

/* Starts the program; `*listener` is where its calls are answered, or a negative error. */
static pid_t
start(const char *library, char **words, int *listener)
{
    _Atomic int *told = mmap(NULL, sizeof *told, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (told == MAP_FAILED) {
        give_up("mmap");
    }
    pid_t program = (pid_t)syscall(SYS_clone, SIGCHLD | CLONE_FILES, 0, 0, 0, 0);
    if (program == 0) {
        run_program(library, words, told);
    }
    while (program > 0 && *told == 0) {
        usleep(1000);
    }
    *listener = *told;
    return program;
}

static void
say(int status)
{
    fprintf(stderr, "refuse: status %d;", status);
    for (unsigned i = 0; i < kinds_count; i++) {
        fprintf(stderr, " %s %lu of %lu", kinds[i].name, kinds[i].refused, kinds[i].calls);
    }
    fprintf(stderr, "\n");
}

int
main(int argc, char **argv)
{
    if (argc < 7) {
        fprintf(stderr, "usage: refuse SEED SECONDS AFTER CALL:PERMILLE:ERROR,... LIBRARY PROGRAM [ARGUMENT...]\n");
        return 2;
    }
    read_kinds(argv[4]);
    struct refusals refusals = {strtoull(argv[1], NULL, 0), strtoul(argv[3], NULL, 0), 0, realpath(argv[5], NULL)};
    if (refusals.library == NULL) {
        give_up(argv[5]);
    }
    int listener, program = start(argv[5], argv + 6, &listener);
    int status = listener < 0 ? SKIPPED : answer_all(listener, program, strtod(argv[2], NULL), &refusals);
    if (listener < 0) {
        fprintf(stderr, "refuse: no seccomp notification here: %s\n", strerror(-listener));
        kill(program, SIGKILL);
    } else {
        say(status);
    }
    return status;
}
