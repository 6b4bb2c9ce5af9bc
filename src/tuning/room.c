/* SPDX-License-Identifier: MIT */
/* room: windows of a trial are numbered from 0. */
#include "tuning/room.h"

#define REST_LEAST_MS 4000u
#define DOUBLINGS_MOST 6u
#define FIRST_MS 2000u           /* until the first trial: depots have to have come to their room */
#define SLOWER_PERCENT 102u      /* of the time for an operation without the room */
#define OPERATIONS_LEAST 100000u /* in a window: fewer tell nothing */

void
hew_room_begin(struct hew_room *room)
{
    *room = (struct hew_room){.left_ms = FIRST_MS};
}

static void
begin_rest(struct hew_room *room)
{
    room->state = HEW_ROOM_RESTS;
    room->windows = 0;
    room->left_ms = (uint64_t)REST_LEAST_MS << room->trials;
    room->trials += room->trials < DOUBLINGS_MOST;
}

void
hew_room_leave(struct hew_room *room)
{
    room->denied = false;
    begin_rest(room);
}

/* With, without, without, with. */
static bool
is_without(unsigned window)
{
    return (window & 2) != 0;
}

bool
hew_room_denies(const struct hew_room *room)
{
    return room->state == HEW_ROOM_TRIES ? is_without(room->windows) : room->denied;
}

bool
hew_room_grants(const struct hew_room *room)
{
    return room->state == HEW_ROOM_TRIES ? !is_without(room->windows) : room->granted;
}

uint64_t
hew_room_middle(const uint64_t pairs[HEW_ROOM_PAIRS])
{
    uint64_t least = pairs[0], most = pairs[0], sum = 0;
    for (unsigned pair = 0; pair < HEW_ROOM_PAIRS; pair++) {
        least = pairs[pair] < least ? pairs[pair] : least;
        most = pairs[pair] > most ? pairs[pair] : most;
        sum += pairs[pair];
    }
    return (sum - least - most) / (HEW_ROOM_PAIRS - 2);
}

/* As a whole, and in all pairs of windows but one, since any of them may be interrupted. */
static bool
is_slower(const uint64_t ours[HEW_ROOM_PAIRS], const uint64_t other[HEW_ROOM_PAIRS])
{
    unsigned slower = 0;
    for (unsigned pair = 0; pair < HEW_ROOM_PAIRS; pair++) {
        slower += ours[pair] > other[pair];
    }
    return slower + 1 >= HEW_ROOM_PAIRS && hew_room_middle(ours) * 100 > hew_room_middle(other) * SLOWER_PERCENT;
}

/* What was there stays unless that is slower; what was not comes if the usual room is. */
static enum hew_room_outcome
judge(struct hew_room *room)
{
    bool slower = is_slower(room->with, room->without), faster = is_slower(room->without, room->with);
    room->denied = slower && room->there;
    room->granted = !slower && (room->granted || (faster && room->asked));
    begin_rest(room);
    return room->granted || (room->there && !slower) ? HEW_ROOM_KEPT : HEW_ROOM_UNDONE;
}

/* The one that ends; the first lets depots fill, and is not judged. */
static enum hew_room_outcome
note_window(struct hew_room *room, const struct hew_room_window *window)
{
    if (window->more == 0 || window->operations < OPERATIONS_LEAST || window->cpu_ns == 0) {
        hew_room_leave(room);
        return HEW_ROOM_LEFT;
    }
    unsigned at = room->windows++;
    if (at != 0) {
        uint64_t *pairs = is_without(at) ? room->without : room->with;
        pairs[(at - 1) / 2] = window->cpu_ns * 1000 / window->operations;
    }
    return room->windows > 2 * HEW_ROOM_PAIRS ? judge(room) : HEW_ROOM_NOTHING;
}

enum hew_room_outcome
hew_room_step(struct hew_room *room, const struct hew_room_window *window)
{
    if (room->state == HEW_ROOM_TRIES) {
        return note_window(room, window);
    }
    if (window->more == 0) {
        room->denied = false; /* there is nothing that could be denied */
        return HEW_ROOM_NOTHING;
    }
    room->left_ms -= room->left_ms < window->passed_ms ? room->left_ms : window->passed_ms;
    if (room->left_ms != 0) {
        return HEW_ROOM_NOTHING;
    }
    room->state = HEW_ROOM_TRIES;
    room->there = room->granted || window->more > window->asked;
    room->asked = window->asked != 0;
    return HEW_ROOM_TRIED;
}
