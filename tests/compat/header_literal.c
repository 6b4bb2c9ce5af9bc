/* SPDX-License-Identifier: MIT */
/* The names are je_malloc ... to the letter: with a library whose prefix is je_. */
#define JEMALLOC_NO_RENAME
#define JEMALLOC_NO_DEMANGLE
#define COMPAT(name) je_##name
#include "header_all.h"
