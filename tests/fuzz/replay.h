/* SPDX-License-Identifier: MIT */
/*
 * replay: runs a fuzz target without a fuzzer, on inputs made from a seed.
 *
 * A target defines LLVMFuzzerTestOneInput and fuzz_make_input.  Built with clang's -fsanitize=fuzzer it is a libFuzzer
 * target; linked with replay.c it is a normal program that ctest runs:  TARGET [COUNT [SEED]]
 * When an input fails, a line tells the arguments that repeat it alone.
 */
#ifndef HEW_TESTS_FUZZ_REPLAY_H
#define HEW_TESTS_FUZZ_REPLAY_H

#include <stddef.h>
#include <stdint.h>

/* Returns 0; whatever is wrong ends the program. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Fills data with an input that comes near the interesting ones and returns its size. */
size_t fuzz_make_input(uint64_t *random, uint8_t *data, size_t capacity);

/* splitmix64: the next number of the sequence that *random stands for. */
static inline uint64_t
fuzz_random(uint64_t *random)
{
    uint64_t mixed = *random += 0x9e3779b97f4a7c15;

    mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9;
    mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111eb;
    return mixed ^ (mixed >> 31);
}

#endif
