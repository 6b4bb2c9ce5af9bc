/* SPDX-License-Identifier: MIT */
/* due: see due.h.  A file of its own, so that what a heap is made of can say that something is due without the heap. */
#include "page/due.h"

_Atomic uint32_t hew_page_due;
_Atomic size_t hew_page_mapped;
