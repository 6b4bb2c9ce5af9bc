/* SPDX-License-Identifier: MIT */
/* sanitized: a program built with AddressSanitizer, run with an allocator preloaded: the sanitizer's own calls at the start must find
 * memory, and threads work. */
#include "field.h"

#include <pthread.h>

static void *
work(void *unused)
{
    for (size_t i = 1; i < 20000; i++) {
        char *object = malloc(i % 3000 + 1);
        memset(object, 1, i % 3000 + 1);
        object = realloc(object, i % 5000 + 1);
        FIELD_EXPECT(object[0] == 1, "an object holds what was written");
        free(object);
    }
    return unused;
}

int
main(void)
{
    pthread_t threads[3];
    for (int i = 0; i < 3; i++) {
        FIELD_EXPECT(pthread_create(&threads[i], NULL, work, NULL) == 0, "a thread starts");
    }
    for (int i = 0; i < 3; i++) {
        pthread_join(threads[i], NULL);
    }
    return 0;
}
