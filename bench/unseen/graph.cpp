/* SPDX-License-Identifier: MIT */
/*
 * graph: adjacency lists that grow edge by edge, a few of them very long, are cut and compacted, and walked.
 *
 * Each vertex has a vector that doubles, so that blocks of all powers of two from 16 bytes to some MiB come and go; a third of
 * the edges is removed again, vertices are merged, and lists are shrunk to what they hold, as in social or road graphs.
 */
#include "workload.h"

#include <algorithm>
#include <vector>

namespace
{

using Graph = std::vector<std::vector<uint32_t>>;

/* The smaller a number, the more often it is drawn. */
uint32_t
drawn(uint64_t &random, uint64_t vertices)
{
    uint64_t reach = workload_between(&random, 1, vertices);
    return static_cast<uint32_t>(workload_random(&random) % workload_between(&random, 1, reach));
}

void
add_edges(Graph &graph, long edges, uint64_t &random)
{
    for (long i = 0; i < edges; i++) {
        uint32_t from = drawn(random, graph.size()), to = drawn(random, graph.size());
        graph[from].push_back(to);
        graph[to].push_back(from);
    }
}

void
cut(Graph &graph, uint64_t &random)
{
    for (auto &edges : graph) {
        size_t keep = edges.size() - edges.size() / 3;
        edges.resize(keep);
        if (workload_random(&random) % 4 == 0)
            edges.shrink_to_fit();
        if (workload_random(&random) % 50 == 0)
            edges = {};
    }
}

/* What one more step reaches from `front`. */
std::vector<uint32_t>
next_front(const Graph &graph, const std::vector<uint32_t> &front, std::vector<bool> &seen)
{
    std::vector<uint32_t> next;
    for (uint32_t at : front) {
        for (uint32_t to : graph[at]) {
            if (!seen[to]) {
                seen[to] = true;
                next.push_back(to);
            }
        }
    }
    return next;
}

uint64_t
reached(const Graph &graph)
{
    std::vector<bool> seen(graph.size());
    uint64_t count = 0;
    for (std::vector<uint32_t> front{0}; !front.empty(); front = next_front(graph, front, seen))
        count += front.size();
    return count;
}

} // namespace

int
main(int argc, char **argv)
{
    static long vertices = 200000, edges = 900000, rounds = 4;
    const struct workload_option options[] = {
        {"vertices", &vertices, "vertices"},
        {"edges", &edges, "edges that a round adds"},
        {"rounds", &rounds, "rounds"},
    };
    workload_parse(argc, argv, "Adjacency lists that grow and are cut.", options, 3);
    workload_require("vertices", vertices, 2, 1l << 28);
    double start = workload_seconds();
    uint64_t random = 1, checksum = 0;
    {
        Graph graph(static_cast<size_t>(vertices));
        for (long round = 0; round < rounds; round++) {
            add_edges(graph, edges, random);
            checksum = workload_mix(checksum, reached(graph));
            cut(graph, random);
        }
    }
    workload_report("graph", static_cast<uint64_t>(rounds * edges), workload_seconds() - start, checksum);
    return 0;
}
