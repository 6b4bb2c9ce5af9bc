/* SPDX-License-Identifier: MIT */
/* refaults: a window's returns are one entry, so that the ring reaches as far back as something went back at all. */
#include "tuning/refaults.h"

void
hew_refaults_returned(struct hew_refaults *refaults, uint64_t now_ms, uint64_t bytes)
{
    if (bytes != 0) {
        refaults->newest = (refaults->newest + 1) % HEW_REFAULTS_ENTRIES;
        refaults->entries[refaults->newest] = (struct hew_refaults_entry){now_ms, bytes};
    }
}

struct hew_refaults_again
hew_refaults_taken(struct hew_refaults *refaults, uint64_t now_ms, uint64_t bytes, uint64_t soon_ms)
{
    struct hew_refaults_again again = {0};
    for (unsigned looked = 0; looked < HEW_REFAULTS_ENTRIES && bytes != 0; looked++) {
        unsigned index = (refaults->newest + HEW_REFAULTS_ENTRIES - looked) % HEW_REFAULTS_ENTRIES;
        struct hew_refaults_entry *entry = &refaults->entries[index];
        uint64_t served = entry->bytes < bytes ? entry->bytes : bytes;
        entry->bytes -= served;
        bytes -= served;
        again.ever += served;
        again.soon += now_ms - entry->at_ms <= soon_ms ? served : 0;
    }
    return again;
}
