/* SPDX-License-Identifier: MIT */
/* An auditing library (LD_AUDIT) that allocates; the loader keeps it in a namespace of its own. */
#include <link.h>
#include <stdlib.h>
#include <string.h>

static char *names[1000];
static unsigned count;

unsigned
la_version(unsigned version)
{
    free(malloc(100));
    return version;
}

unsigned
la_objopen(struct link_map *map, Lmid_t space, uintptr_t *cookie)
{
    (void)space, (void)cookie;
    names[count++ % 1000] = strdup(map->l_name);
    return LA_FLG_BINDTO | LA_FLG_BINDFROM;
}

void
la_preinit(uintptr_t *cookie)
{
    (void)cookie;
    for (unsigned i = 0; i < 1000; i++) {
        free(names[i]);
        names[i] = NULL;
    }
}
