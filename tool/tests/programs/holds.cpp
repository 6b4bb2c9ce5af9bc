/* SPDX-License-Identifier: MIT */
/* Holds 100,000 nodes of 112 bytes and 64 buffers of 40,960, and tells so; a word makes it wait for the end of its input, a second one
 * leave without any ado. */
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

namespace app {

struct Node {
    char bytes[112];
};

__attribute__((noinline)) void
keep_nodes(std::vector<std::unique_ptr<Node>> &nodes, int count)
{
    for (int i = 0; i < count; i++)
        nodes.emplace_back(new Node);
}

static inline void *
inlined_buffer(size_t size)
{
    return malloc(size);
}

__attribute__((noinline)) void
keep_buffers(std::vector<void *> &buffers, int count)
{
    for (int i = 0; i < count; i++)
        buffers.push_back(inlined_buffer(40960));
}

} // namespace app

int
main(int argc, char **)
{
    std::vector<std::unique_ptr<app::Node>> nodes;
    std::vector<void *> buffers;
    nodes.reserve(100000);
    buffers.reserve(64);
    app::keep_nodes(nodes, 100000);
    app::keep_buffers(buffers, 64);
    std::puts("ready");
    std::fflush(stdout);
    if (argc > 1)
        std::getchar();
    if (argc > 2)
        std::_Exit(3);
    return 0;
}
