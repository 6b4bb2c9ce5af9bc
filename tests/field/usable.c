/* SPDX-License-Identifier: MIT */
/* usable: programs write as far as malloc_usable_size() says, and then let realloc() move all of it. */
#include "field.h"

#include <malloc.h>

int
main(void)
{
    for (size_t size = 1; size < (9 << 20); size += size / 5 + 1) {
        unsigned char *object = malloc(size);
        size_t usable = malloc_usable_size(object);
        FIELD_EXPECT(usable >= size && malloc_usable_size(object) == usable, "%zu bytes are usable, and stay so", size);
        for (size_t i = 0; i < usable; i++) {
            object[i] = (unsigned char)(i * 7 + size);
        }
        object = realloc(object, usable);
        FIELD_EXPECT(malloc_usable_size(object) >= usable, "the usable size may be asked for");
        for (int turn = 0; turn < 3; turn++) {
            object = realloc(object, usable + (size_t)turn * 40000 + 1);
            for (size_t i = 0; i < usable; i++) {
                FIELD_EXPECT(object[i] == (unsigned char)(i * 7 + size), "byte %zu of %zu has moved along", i, usable);
            }
        }
        free(object);
    }
    return 0;
}
