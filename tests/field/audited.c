/* SPDX-License-Identifier: MIT */
/* audited: run with LD_AUDIT=audit_library; threads allocate and a library is loaded, whose opening the auditor hears. */
#include "field.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>

static void *
work(void *unused)
{
    for (int i = 1; i < 20000; i++) {
        free(memset(malloc((size_t)i % 5000), 1, (size_t)i % 5000));
    }
    return unused;
}

/* The loader only warns of an auditor that it cannot load. */
static bool
is_audited(void)
{
    char line[4096];
    bool found = false;
    FILE *maps = fopen("/proc/self/maps", "r");
    while (maps != NULL && fgets(line, sizeof line, maps) != NULL) {
        found = found || strstr(line, "field_audit_library") != NULL;
    }
    fclose(maps);
    return found;
}

int
main(void)
{
    FIELD_EXPECT(getenv("LD_AUDIT") == NULL || is_audited(), "the auditor is there");
    pthread_t threads[4];
    for (int i = 0; i < 4; i++) {
        pthread_create(&threads[i], NULL, work, NULL);
    }
    void *library = dlopen("libm.so.6", RTLD_NOW);
    for (int i = 0; i < 4; i++) {
        pthread_join(threads[i], NULL);
    }
    FIELD_EXPECT(library != NULL && dlclose(library) == 0, "a library can be loaded");
    return 0;
}
