/* SPDX-License-Identifier: MIT */
/*
 * growing: a buffer grows by half again and again with realloc, beside idle memory in pieces.  Says the most memory that the process
 * held; no more than 91 MiB are live at a time.
 *
 * growing [MIB]: fails when the process held more than so much.
 */
#include "under_test.h"

#include <sys/resource.h>

enum { ROUNDS = 6, BLOCKS = 6000, MIB = 1 << 20, LIVE = 91 * MIB, BESIDE = 71 * MIB, PAGE = 4096, MARK = 2 };

/* Small and medium blocks, all of which are freed, each other one first. */
static void
leave_pieces(unsigned round)
{
    static char *blocks[BLOCKS];
    size_t sum = 0;
    for (unsigned i = 0; i < BLOCKS && sum < BESIDE; i++) {
        size_t size = 3000 + (i * 7919 + round * 131) % 21000;
        blocks[i] = malloc(size);
        memset(blocks[i], 1, size);
        sum += size;
    }
    for (unsigned i = 0; i < 2 * BLOCKS; i += 2) {
        unsigned at = i < BLOCKS ? i : i - BLOCKS + 1;
        free(blocks[at]);
        blocks[at] = NULL;
    }
}

/* False when its contents were lost. */
static bool
grow_buffer(void)
{
    size_t size = PAGE;
    char *buffer = malloc(size);
    memset(buffer, MARK, size);
    while (size < LIVE) {
        size_t next = size + size / 2 < LIVE ? size + size / 2 : LIVE;
        buffer = realloc(buffer, next);
        memset(buffer + size, MARK, next - size);
        size = next;
    }
    size_t kept = 0;
    while (kept < size && buffer[kept] == MARK) {
        kept += PAGE / 2;
    }
    free(buffer);
    return kept >= size;
}

int
main(int count, char **words)
{
    for (unsigned round = 0; round < ROUNDS; round++) {
        leave_pieces(round);
        if (!grow_buffer()) {
            puts("contents are lost");
            return 1;
        }
    }
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    printf("memory %ld KiB\n", usage.ru_maxrss);
    return count > 1 && usage.ru_maxrss > atol(words[1]) * 1024;
}
