/* SPDX-License-Identifier: MIT */
/*
 * sorter: lines of text are split among threads, sorted, and merged by the first one, which drops what is double.
 *
 * Each thread makes its lines and its words; the merge moves them out of their threads' vectors and frees half of them, so
 * half a million small strings change hands at once, in an order that has nothing to do with that in which they were made.
 */
#include "workload.h"

#include <algorithm>
#include <queue>
#include <string>
#include <thread>
#include <vector>

namespace
{

using Lines = std::vector<std::string>;

void
make_sorted(Lines *lines, long count, uint64_t seed)
{
    uint64_t random = seed;
    for (long i = 0; i < count; i++) {
        std::string line = "key " + std::to_string(workload_random(&random) % 200000);
        line.append(workload_scramble(line.size() * 31 + static_cast<unsigned char>(line.back())) % 120, '.');
        lines->push_back(std::move(line));
    }
    std::sort(lines->begin(), lines->end());
}

Lines
merged(std::vector<Lines> &parts)
{
    using Place = std::pair<size_t, size_t>;
    auto later = [&](const Place &a, const Place &b) { return parts[a.first][a.second] > parts[b.first][b.second]; };
    std::priority_queue<Place, std::vector<Place>, decltype(later)> heads(later);
    for (size_t i = 0; i < parts.size(); i++)
        if (!parts[i].empty())
            heads.push({i, 0});
    Lines all;
    while (!heads.empty()) {
        Place at = heads.top();
        heads.pop();
        std::string line = parts[at.first][at.second];
        if (all.empty() || all.back() != line)
            all.push_back(std::move(line));
        if (at.second + 1 < parts[at.first].size())
            heads.push({at.first, at.second + 1});
    }
    return all;
}

} // namespace

int
main(int argc, char **argv)
{
    static long threads = 4, lines = 40000, rounds = 4;
    const struct workload_option options[] = {
        {"threads", &threads, "threads"},
        {"lines", &lines, "lines of a thread"},
        {"rounds", &rounds, "rounds"},
    };
    workload_parse(argc, argv, "Lines sorted by threads and merged.", options, 3);
    workload_require("threads", threads, 1, 256);
    double start = workload_seconds();
    uint64_t checksum = 0;
    for (long round = 0; round < rounds; round++) {
        std::vector<Lines> parts(static_cast<size_t>(threads));
        std::vector<std::thread> pool;
        for (size_t i = 0; i < parts.size(); i++)
            pool.emplace_back(make_sorted, &parts[i], lines, i * 100 + static_cast<uint64_t>(round));
        for (std::thread &thread : pool)
            thread.join();
        Lines all = merged(parts);
        checksum = workload_mix(checksum, all.size());
    }
    workload_report("sorter", static_cast<uint64_t>(rounds * threads * lines), workload_seconds() - start, checksum);
    return 0;
}
