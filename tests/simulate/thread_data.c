/* SPDX-License-Identifier: MIT */
/* thread_data: see thread_data.h. */
#include "thread_data.h"

#include "machine.h"

#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

#define STACKS ((char *)0x310000000000)
#define STACK_BYTES ((size_t)128 << 10)
#define STACK_STEP ((size_t)65 << 12) /* neighbours' thread data differ in the bits from the page number on */
#define HAS_REGISTER 2                /* HWCAP2_FSGSBASE: the register may be written without the kernel */

static uintptr_t places[MACHINE_THREADS];
static uintptr_t host;
static struct {
    const char *image;
    size_t filled, size;
    size_t below; /* from the register down to the variables */
} variables;
static pthread_barrier_t all_there;

static void *
lend(void *place)
{
    *(uintptr_t *)place = (uintptr_t)__builtin_thread_pointer();
    pthread_barrier_wait(&all_there);
    for (;;) {
        pause();
    }
    return NULL;
}

static int
find_variables(struct dl_phdr_info *info, size_t size, void *context)
{
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];
        if (header->p_type == PT_TLS) {
            variables.image = (const char *)(info->dlpi_addr + header->p_vaddr);
            variables.filled = header->p_filesz;
            variables.size = header->p_memsz;
            variables.below = host - (uintptr_t)info->dlpi_tls_data;
        }
    }
    return 1; /* the program itself comes first */
}

static void
start(unsigned index)
{
    pthread_t thread;
    pthread_attr_t attributes;
    void *stack = mmap(STACKS + index * STACK_STEP, STACK_BYTES, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    pthread_attr_init(&attributes);
    if (stack == MAP_FAILED || pthread_attr_setstack(&attributes, stack, STACK_BYTES) != 0 ||
        pthread_create(&thread, &attributes, lend, &places[index]) != 0) {
        perror("simulate: no thread to lend its data");
        exit(2);
    }
    pthread_attr_destroy(&attributes);
}

void
thread_data_boot(unsigned threads)
{
    if ((getauxval(AT_HWCAP2) & HAS_REGISTER) == 0) {
        puts("simulate: this kernel or processor does not let programs set the register for thread data: skipped");
        exit(77);
    }
    host = (uintptr_t)__builtin_thread_pointer();
    dl_iterate_phdr(find_variables, NULL);
    pthread_barrier_init(&all_there, NULL, threads + 1);
    for (unsigned i = 0; i < threads; i++) {
        start(i);
    }
    pthread_barrier_wait(&all_there);
}

uintptr_t
thread_data_of(unsigned thread)
{
    return places[thread];
}

uintptr_t
thread_data_of_host(void)
{
    return host;
}

void
thread_data_renew(uintptr_t thread_data)
{
    char *at = (char *)thread_data - variables.below;
    memcpy(at, variables.image, variables.filled);
    memset(at + variables.filled, 0, variables.size - variables.filled);
}

void
thread_data_use(uintptr_t thread_data)
{
    __asm__ volatile("wrfsbase %0" : : "r"(thread_data) : "memory");
}
