/* SPDX-License-Identifier: MIT */
/*
 * deepbind_module: a C library for deepbind.c that hands memory to the program and takes it from there.
 */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

void *module_make(size_t size);
void *module_grow(void *object, size_t size);
void module_free(void *object);
void *module_open(const char *name);

void *
module_make(size_t size)
{
    void *object = malloc(size);
    return object != NULL ? memset(object, 7, size) : NULL;
}

void *
module_grow(void *object, size_t size)
{
    return realloc(object, size);
}

void
module_free(void *object)
{
    free(object);
}

void *
module_open(const char *name)
{
    void *volatile library =
        dlopen(name, RTLD_NOW | RTLD_DEEPBIND); /* volatile: no tail call, so that we are the caller */
    return library;
}
