/* SPDX-License-Identifier: MIT */
/* info: monitoring reads mallinfo(), whose fields are int, of a program with more than 2 GiB; and mallinfo2(). */
#include "field.h"

#include <limits.h>
#include <malloc.h>

#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 33)

int
main(void)
{
    enum { PIECES = 30, SMALL = 100000 };
    static char *pieces[PIECES], *small[SMALL];
    struct mallinfo2 empty = mallinfo2();
    for (int i = 0; i < PIECES; i++) {
        pieces[i] = malloc(100 << 20); /* 3 GiB, not touched */
        FIELD_EXPECT(pieces[i] != NULL, "the memory is there");
    }
    for (int i = 0; i < SMALL; i++) {
        small[i] = malloc(100);
    }
    struct mallinfo2 full = mallinfo2();
    struct mallinfo narrow = mallinfo();
    size_t used = full.uordblks + full.hblkhd - empty.uordblks - empty.hblkhd;
    printf("mallinfo2 used %zu, mallinfo uordblks %d hblkhd %d\n", used, narrow.uordblks, narrow.hblkhd);
    FIELD_EXPECT(used >= (size_t)PIECES * (100 << 20) && used < (size_t)4 << 30, "mallinfo2 counts what is used");
    FIELD_EXPECT(narrow.uordblks >= 0 && narrow.hblkhd >= 0 && narrow.arena >= 0, "nothing is negative");
    for (int i = 0; i < PIECES; i++) {
        free(pieces[i]);
    }
    for (int i = 0; i < SMALL; i++) {
        free(small[i]);
    }
    struct mallinfo2 again = mallinfo2();
    FIELD_EXPECT(again.uordblks + again.hblkhd < empty.uordblks + empty.hblkhd + (100 << 20), "it sees frees");
    return 0;
}

#else

int
main(void)
{
    puts("SKIP: no mallinfo2() here");
    return FIELD_SKIPPED;
}

#endif
