/* SPDX-License-Identifier: MIT */
/*
 * probe: statically defined tracepoints (USDT) for tracers.  SystemTap, bpftrace and the OpenTelemetry profiler find
 * them in the section .note.stapsdt.
 *
 * A probe is one nop, which the tracer replaces, and a note with its address and the registers that hold its arguments.
 * Source    The layout of the note: SystemTap's "User Space Probe Implementation", version 3.
 */
#ifndef HEW_OS_PROBE_H
#define HEW_OS_PROBE_H

#include "base/compiler.h"

#if defined(__x86_64__)
#define HEW_PROBE_1 "8@%%rdi"
#define HEW_PROBE_3 "8@%%rdi 8@%%rsi 8@%%rdx"
#define HEW_PROBE_REGISTER(name, number, value) register uint64_t name __asm__(number) = (uint64_t)(value)
#define HEW_PROBE_FIRST "rdi"
#define HEW_PROBE_SECOND "rsi"
#define HEW_PROBE_THIRD "rdx"
#elif defined(__aarch64__)
#define HEW_PROBE_1 "8@x0"
#define HEW_PROBE_3 "8@x0 8@x1 8@x2"
#define HEW_PROBE_REGISTER(name, number, value) register uint64_t name __asm__(number) = (uint64_t)(value)
#define HEW_PROBE_FIRST "x0"
#define HEW_PROBE_SECOND "x1"
#define HEW_PROBE_THIRD "x2"
#endif

/* The nop and its note.  The note contains: the probe's address; the address of a base, by which readers detect
 * relocation by prelink; no semaphore; the provider, the name and the arguments. */
#define HEW_PROBE_TEXT(provider, name, arguments)                                                                      \
    "990:\tnop\n"                                                                                                      \
    "\t.pushsection .note.stapsdt,\"?\",\"note\"\n"                                                                    \
    "\t.balign 4\n\t.4byte 992f-991f, 994f-993f, 3\n"                                                                  \
    "991:\t.asciz \"stapsdt\"\n992:\t.balign 4\n"                                                                      \
    "993:\t.8byte 990b, _.stapsdt.base, 0\n"                                                                           \
    "\t.asciz \"" provider "\"\n\t.asciz \"" name "\"\n\t.asciz \"" arguments "\"\n"                                   \
    "994:\t.balign 4\n\t.popsection\n"                                                                                 \
    "\t.ifndef _.stapsdt.base\n"                                                                                       \
    "\t.pushsection .stapsdt.base,\"aG\",\"progbits\",.stapsdt.base,comdat\n"                                          \
    "\t.weak _.stapsdt.base\n\t.hidden _.stapsdt.base\n"                                                               \
    "_.stapsdt.base:\t.space 1\n\t.size _.stapsdt.base, 1\n\t.popsection\n\t.endif\n"

/* OpenTelemetry's probes: a sampled object with the bytes that it represents, and its free. */
HEW_INLINE void
hew_probe_alloc(const void *object, size_t size, uint64_t weighted_bytes)
{
    HEW_PROBE_REGISTER(first, HEW_PROBE_FIRST, (uintptr_t)object);
    HEW_PROBE_REGISTER(second, HEW_PROBE_SECOND, size);
    HEW_PROBE_REGISTER(third, HEW_PROBE_THIRD, weighted_bytes);
    __asm__ volatile(HEW_PROBE_TEXT("otel_memory", "alloc", HEW_PROBE_3)
                     :
                     : "r"(first), "r"(second), "r"(third)
                     : "memory");
}

HEW_INLINE void
hew_probe_free(const void *object)
{
    HEW_PROBE_REGISTER(first, HEW_PROBE_FIRST, (uintptr_t)object);
    __asm__ volatile(HEW_PROBE_TEXT("otel_memory", "free", HEW_PROBE_1) : : "r"(first) : "memory");
}

#endif
