/* SPDX-License-Identifier: MIT */
/* sparse: a table of 256 MiB by calloc, a byte in each 64 KiB touched; huge pages would make all of it resident. */
#include "field.h"

enum { TABLE = 256 << 20, STEP = 64 << 10, MOST_MIB = 40 };

static size_t
resident_mib(void)
{
    unsigned long all, resident = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    FIELD_EXPECT(file != NULL && fscanf(file, "%lu %lu", &all, &resident) == 2, "the size can be read");
    fclose(file);
    return resident * 4096 >> 20;
}

/* Then the kernel makes huge pages of any memory, and no allocator asked for them. */
static bool
huge_pages_always(void)
{
    char mode[64] = "";
    FILE *file = fopen("/sys/kernel/mm/transparent_hugepage/enabled", "r");
    bool read = file != NULL && fgets(mode, sizeof mode, file) != NULL;
    if (file != NULL) {
        fclose(file);
    }
    return read && strstr(mode, "[always]") != NULL;
}

int
main(void)
{
    if (huge_pages_always()) {
        puts("SKIP: the kernel makes all memory huge");
        return FIELD_SKIPPED;
    }
    for (int turn = 0; turn < 4; turn++) {
        char *table = calloc(TABLE, 1);
        for (size_t i = 0; i < TABLE; i += STEP) {
            FIELD_EXPECT(table[i] == 0, "calloc gives zeros");
            table[i] = 1;
        }
        size_t mib = resident_mib();
        printf("turn %d: %zu MiB resident\n", turn, mib);
        FIELD_EXPECT(mib < MOST_MIB, "only what is touched is resident");
        free(table);
    }
    return 0;
}
