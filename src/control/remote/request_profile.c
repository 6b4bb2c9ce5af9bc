/* SPDX-License-Identifier: MIT */
#include "control/remote/request.h"

#include "base/options.h"
#include "base/text.h"
#include "os/file.h"
#include "prof/dump.h"

static bool
put_file(struct hew_reply *reply, int file)
{
    for (uint64_t offset = 0;;) {
        char *room = hew_reply_room(reply, HEW_FILE_PIECE);
        long got = room == NULL ? -1 : hew_file_read_piece(file, offset, room, HEW_FILE_PIECE);
        if (got <= 0) {
            return got == 0;
        }
        hew_reply_filled(reply, (size_t)got);
        offset += (uint64_t)got;
    }
}

void
hew_request_profile(struct hew_reply *reply)
{
    char path[HEW_FILE_OWN_PATH];
    if (!hew_options.prof) {
        hew_reply_refuse(reply, "not-permitted", "the process has no heap profile: start it with prof:true", "");
        return;
    }
    int file = hew_file_in_memory(path);
    bool written = file >= 0 && hew_dump_write_file(file, path) && put_file(reply, file);
    if (file >= 0) {
        hew_file_close(file);
    }
    if (written) {
        hew_reply_end(reply, hew_options.prof_format == HEW_PROF_FORMAT_PPROF ? "pprof" : "heap_v2");
    } else {
        hew_reply_refuse(reply, "failed",
                         "the profile could not be written: the process has no memory for it, or no descriptor left",
                         "");
    }
}
