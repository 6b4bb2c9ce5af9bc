/* SPDX-License-Identifier: MIT */
/* low_addresses: programs such as LuaJIT need the first 2 GiB of addresses for themselves (MAP_32BIT).  Linked without PIE, so
 * that the data segment lies there, too. */
#include "field.h"

#include <stdint.h>
#include <sys/mman.h>

enum { OBJECTS = 100000, PIECE = 16 << 20, LEAST_MIB = 800 };

int
main(void)
{
    static char *objects[OBJECTS];
    size_t low = 0, mib = 0;
    for (int i = 0; i < OBJECTS; i++) {
        size_t size = i % 100 == 0 ? 300000 : (size_t)i % 4000 + 1;
        objects[i] = malloc(size);
        memset(objects[i], 1, size < 4096 ? size : 4096);
        low += (uintptr_t)objects[i] >> 31 == 0;
    }
    while (mmap(NULL, PIECE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_32BIT, -1, 0) !=
           MAP_FAILED) {
        mib += PIECE >> 20;
    }
    printf("%zu of %d objects below 2 GiB, %zu MiB left there for the program\n", low, OBJECTS, mib);
    FIELD_EXPECT(mib >= LEAST_MIB, "the low addresses are the program's");
    return 0;
}
