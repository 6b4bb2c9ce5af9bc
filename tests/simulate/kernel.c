/* SPDX-License-Identifier: MIT */
/* kernel: which system call is which; see kernel.h.  A call that is not here is a finding: it needs a model first. */
#include "kernel.h"

#include "machine.h"

#include <errno.h>
#include <linux/futex.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <sys/uio.h>
#include <time.h>

#define CALL_NS 300 /* what a system call takes */
#define FILE_GROUP 100
#define FILE_QUOTA 101

long simulated_system_call(long number, const long *arguments);

static long
futex(const _Atomic uint32_t *word, int operation, uint32_t value, const struct timespec *timeout)
{
    machine_drain(machine_self);
    if ((operation & FUTEX_CMD_MASK) == FUTEX_WAKE) {
        return machine_wake((const void *)word, value);
    }
    if (*word != value) {
        return -EAGAIN;
    }
    if (kernel_refuses(KERNEL_FUTEX)) {
        return -EINTR;
    }
    uint64_t ns = timeout == NULL ? 0 : (uint64_t)timeout->tv_sec * 1000000000 + (uint64_t)timeout->tv_nsec;
    return machine_wait((const void *)word, ns) ? 0 : -ETIMEDOUT;
}

/* Several ranges at once: the kernel tells how far it came. */
static long
advise_ranges(const struct iovec *ranges, long count, int advice)
{
    long bytes = 0;
    if (!kernel_habits.knows_ranges) {
        return -EINVAL;
    }
    for (long i = 0; i < count; i++) {
        if (kernel_refuses(KERNEL_MADVISE_RANGES) ||
            kernel_madvise((uintptr_t)ranges[i].iov_base, ranges[i].iov_len, advice) != 0) {
            return bytes != 0 ? bytes : -EINVAL;
        }
        bytes += (long)ranges[i].iov_len;
    }
    return bytes;
}

static long
open_file(const char *path)
{
    if (kernel_refuses(KERNEL_FILE)) {
        return -EACCES;
    }
    if (strcmp(path, "/proc/self/cgroup") == 0) {
        return FILE_GROUP;
    }
    return strstr(path, "/cpu.max") != NULL && kernel_habits.quota != 0 ? FILE_QUOTA : -ENOENT;
}

static long
read_file(long file, char *bytes, size_t most)
{
    char text[64];
    int length = file == FILE_GROUP ? snprintf(text, sizeof text, "0::/simulated\n")
                                    : snprintf(text, sizeof text, "%u 100000\n", kernel_habits.quota * 100000);
    if ((size_t)length > most) {
        length = (int)most;
    }
    memcpy(bytes, text, (size_t)length);
    return length;
}

static long
affinity(unsigned char *mask, size_t size)
{
    size_t bytes = size < 32 ? size : 32;
    memset(mask, 0, bytes);
    for (unsigned i = 0; i < kernel_habits.processors && i < bytes * 8; i++) {
        mask[i / 8] = (unsigned char)(mask[i / 8] | 1u << i % 8);
    }
    return (long)bytes;
}

static long
limit(int resource, struct rlimit *old)
{
    size_t most =
        resource == RLIMIT_AS && kernel_habits.bytes_most != SIZE_MAX ? kernel_habits.bytes_most : RLIM_INFINITY;
    if (old != NULL) {
        *old = (struct rlimit){most, most};
    }
    return 0;
}

static long
machine_memory(struct sysinfo *info)
{
    memset(info, 0, sizeof *info);
    info->totalram = UINT64_C(16) << 30;
    info->mem_unit = 1;
    return 0;
}

static long
tell_time(int clock, struct timespec *time)
{
    uint64_t now = machine_choose != NULL && machine_self != NULL ? machine_self->clock_ns : machine_now_ns;
    if (clock == CLOCK_PROCESS_CPUTIME_ID && machine_work_ns != 0) {
        now = machine_work_ns;
    }
    *time = (struct timespec){(time_t)(now / 1000000000), (long)(now % 1000000000)};
    return 0;
}

static long
tell_processor(unsigned *processor)
{
    unsigned thread = machine_self == NULL ? 0 : (unsigned)(machine_self - machine_threads);
    bool moves = machine_choose == NULL && machine_self != NULL && machine_below(8) == 0;
    *processor = (moves ? (unsigned)machine_below(1024) : thread) % kernel_habits.processors;
    return 0;
}

static long
memory_call(long number, const long *a)
{
    if (machine_self != NULL) {
        machine_drain(machine_self); /* who changes pages makes sure that no store is on its way */
    }
    switch (number) {
    case SYS_mmap:
        return kernel_mmap((uintptr_t)a[0], (size_t)a[1], (int)a[2], (int)a[3]);
    case SYS_munmap:
        return kernel_munmap((uintptr_t)a[0], (size_t)a[1]);
    case SYS_mprotect:
        return kernel_mprotect((uintptr_t)a[0], (size_t)a[1], (int)a[2]);
    case SYS_madvise:
        return kernel_madvise((uintptr_t)a[0], (size_t)a[1], (int)a[2]);
    case SYS_process_madvise:
        return advise_ranges((const struct iovec *)a[1], a[2], (int)a[3]);
    case SYS_mremap:
        return kernel_mremap((uintptr_t)a[0], (size_t)a[1], (size_t)a[2], (int)a[3], (uintptr_t)a[4]);
    case SYS_brk:
        return (long)kernel_brk((uintptr_t)a[0]);
    case SYS_mincore:
        return kernel_mincore((uintptr_t)a[0], (size_t)a[1], (unsigned char *)a[2]);
    default:
        machine_finding("the simulated kernel does not know system call %ld: give it a model in kernel.c", number);
    }
}

/* Each other thread that there is has had a processor once. */
static long
usage(int who, struct rusage *usage)
{
    *usage = (struct rusage){.ru_nvcsw = 1};
    for (unsigned i = 0; who == RUSAGE_SELF && i < MACHINE_THREADS; i++) {
        usage->ru_nvcsw += &machine_threads[i] != machine_self && machine_threads[i].state != MACHINE_FREE;
    }
    return 0;
}

static long
other_call(long number, const long *a)
{
    switch (number) {
    case SYS_futex:
        return futex((const _Atomic uint32_t *)a[0], (int)a[1], (uint32_t)a[2], (const struct timespec *)a[3]);
    case SYS_openat:
        return open_file((const char *)a[1]);
    case SYS_read:
        return read_file(a[0], (char *)a[1], (size_t)a[2]);
    case SYS_write: /* warnings: not read */
        return a[2];
    case SYS_close:
        return 0;
    case SYS_readlinkat:
        return -ENOENT;
    case SYS_sched_getaffinity:
        return affinity((unsigned char *)a[2], (size_t)a[1]);
    case SYS_prlimit64:
        return limit((int)a[1], (struct rlimit *)a[3]);
    case SYS_sysinfo:
        return machine_memory((struct sysinfo *)a[0]);
    case SYS_getrusage:
        return usage((int)a[0], (struct rusage *)a[1]);
    case SYS_rt_sigprocmask:
        return 0;
    case SYS_tgkill:
        machine_finding("the library has ended the process");
    case SYS_gettid:
    case SYS_getpid:
        return 1000 + (number == SYS_gettid ? machine_self - machine_threads : 0);
    case SYS_geteuid:
        return 1000;
    default:
        return memory_call(number, a);
    }
}

/* Before the call and after it another thread may go on.  The time and the processor are no calls on a true machine: the vdso, and
 * memory that the kernel keeps up to date. */
long
simulated_system_call(long number, const long *arguments)
{
    if (number == SYS_clock_gettime) {
        return tell_time((int)arguments[0], (struct timespec *)arguments[1]);
    }
    if (number == SYS_getcpu) {
        return tell_processor((unsigned *)arguments[0]);
    }
    if (machine_choose == NULL) {
        machine_now_ns += CALL_NS;
        machine_preempt();
    } else if (machine_self != NULL) {
        machine_self->clock_ns += CALL_NS;
    }
    long result = other_call(number, arguments);
    if (machine_choose == NULL) {
        machine_preempt();
    }
    return result;
}
