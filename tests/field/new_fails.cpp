/* SPDX-License-Identifier: MIT */
/* new_fails: no memory is left for small objects either: new throws, the exception itself finds memory, handlers may throw what
 * they like, and memory works again afterwards. */
#include "field.h"

#include <exception>
#include <new>
#include <string>
#include <sys/resource.h>
#include <vector>

namespace
{

struct own_failure : std::bad_alloc {
    const char *
    what() const noexcept override
    {
        return "own";
    }
};

struct node {
    node *next;
    char fill[40];
};

node *all, *reserve;
int handled;

node *
fill()
{
    for (;;) {
        node *one = new node;
        one->next = all;
        all = one;
    }
}

void
throw_own()
{
    handled++;
    throw own_failure();
}

void
give_back_once()
{
    handled++;
    if (reserve == nullptr)
        throw std::bad_alloc();
    while (reserve != nullptr) {
        node *next = reserve->next;
        delete reserve;
        reserve = next;
    }
}

void
drop()
{
    while (all != nullptr) {
        node *next = all->next;
        delete all;
        all = next;
    }
}

} // namespace

int
main()
{
    unsigned long data = 0; /* private memory that can be written */
    FILE *file = fopen("/proc/self/statm", "r");
    FIELD_EXPECT(file != nullptr && fscanf(file, "%*u %*u %*u %*u %*u %lu", &data) == 1, "the size can be read");
    fclose(file);
    rlimit limit = {data * 4096 + (64 << 20), RLIM_INFINITY};
    FIELD_EXPECT(setrlimit(RLIMIT_DATA, &limit) == 0, "memory can be limited");
    for (int turn = 0; turn < 3; turn++) {
        bool caught = false;
        try {
            fill();
        } catch (const std::bad_alloc &) {
            caught = true;
        }
        FIELD_EXPECT(caught, "new throws bad_alloc");
        for (int i = 0; i < 100; i++) { /* with nothing left */
            try {
                std::vector<std::string> words(1u << 22, "too much");
                FIELD_EXPECT(false, "nothing is left");
            } catch (const std::bad_alloc &) {
            }
        }
        std::set_new_handler(throw_own);
        caught = false;
        try {
            fill();
        } catch (const own_failure &) {
            caught = true;
        }
        FIELD_EXPECT(caught && handled > 0, "the handler's own exception arrives");
        for (int i = 0; i < 10000 && all != nullptr; i++) {
            node *next = all->next;
            all->next = reserve;
            reserve = all;
            all = next;
        }
        std::set_new_handler(give_back_once);
        handled = 0;
        try {
            fill();
        } catch (const std::bad_alloc &) {
        }
        FIELD_EXPECT(handled >= 2, "the handler's memory is used, and it is asked again");
        std::set_new_handler(nullptr);
        drop();
        std::string works(1 << 20, 'x');
        FIELD_EXPECT(works.back() == 'x', "memory works again");
    }
    return 0;
}
