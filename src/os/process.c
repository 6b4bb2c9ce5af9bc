/* SPDX-License-Identifier: MIT */
#include "os/process.h"

#include "os/environment.h"
#include "os/memory.h"
#include "os/syscall.h"

#include <elf.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/sysinfo.h>

static size_t
limit_of(int resource)
{
    struct {
        uint64_t soft, hard;
    } limit = {0, 0};
    bool known = hew_syscall4(SYS_prlimit64, 0, resource, NULL, &limit) == 0;
    return known && limit.soft != (uint64_t)-1 ? (size_t)limit.soft : SIZE_MAX;
}

size_t
hew_os_address_space_limit(void)
{
    return limit_of(RLIMIT_AS);
}

size_t
hew_os_locked_limit(void)
{
    return limit_of(RLIMIT_MEMLOCK);
}

int
hew_os_lock_all(int flags)
{
    return hew_os_is_refused("mlockall") ? -ENOMEM : (int)hew_syscall1(SYS_mlockall, flags);
}

size_t
hew_os_machine_memory(void)
{
    struct sysinfo info;
    bool known = hew_syscall1(SYS_sysinfo, &info) == 0;
    return known ? ((size_t)info.totalram + info.totalswap) * info.mem_unit : SIZE_MAX;
}

uintptr_t
hew_os_program_address(void)
{
    return hew_environment_auxiliary(AT_PHDR);
}

uintptr_t
hew_os_stack_address(void)
{
    return hew_environment_auxiliary(AT_RANDOM); /* the kernel puts these bytes above the first frame */
}

uint64_t
hew_os_random_seed(void)
{
    uint64_t drawn[2] = {0, 0};
    const void *sixteen_bytes = (const void *)hew_environment_auxiliary(AT_RANDOM);
    if (sixteen_bytes != NULL) {
        memcpy(drawn, sixteen_bytes, sizeof drawn);
    }
    return drawn[0] ^ (drawn[1] << 32 | drawn[1] >> 32) ^ (uintptr_t)sixteen_bytes;
}
