/* SPDX-License-Identifier: MIT */
/*
 * columns: a data frame: columns of 64 KiB to some MiB, filtered, joined and grouped, with temporaries for each step.
 *
 * Each query makes masks, picked columns and a hash table of groups, keeps the result in a cache of the last 24, and drops the
 * rest: large blocks of ever other sizes, as in analytics over Arrow-like buffers. Two threads ask.
 */
#include "workload.h"

#include <deque>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

namespace
{

using Column = std::vector<double>;

struct Frame {
    std::vector<Column> columns;
};

Frame
made(uint64_t &random)
{
    size_t rows = workload_log_size(&random, 13, 19);
    Frame frame;
    for (unsigned i = 0; i < 4; i++) {
        Column column(rows);
        for (size_t row = 0; row < rows; row++)
            column[row] = static_cast<double>((row * 2654435761u + i) % 1000);
        frame.columns.push_back(std::move(column));
    }
    return frame;
}

Frame
filtered(const Frame &frame, double below)
{
    std::vector<uint8_t> mask(frame.columns[0].size());
    for (size_t row = 0; row < mask.size(); row++)
        mask[row] = frame.columns[0][row] < below;
    Frame picked;
    for (const Column &column : frame.columns) {
        Column part;
        for (size_t row = 0; row < mask.size(); row++)
            if (mask[row])
                part.push_back(column[row]);
        picked.columns.push_back(std::move(part));
    }
    return picked;
}

std::unordered_map<int, std::string>
grouped(const Frame &frame)
{
    std::unordered_map<int, double> sums;
    for (size_t row = 0; row < frame.columns[1].size(); row++)
        sums[static_cast<int>(frame.columns[1][row])] += frame.columns[2][row];
    std::unordered_map<int, std::string> named;
    for (const auto &[key, sum] : sums)
        named[key] = "group " + std::to_string(key) + " has a sum of " + std::to_string(sum);
    return named;
}

void
ask(long queries, uint64_t seed, uint64_t *checksum)
{
    uint64_t random = seed;
    std::deque<Frame> cache;
    for (long i = 0; i < queries; i++) {
        Frame base = made(random);
        Frame part = filtered(base, static_cast<double>(workload_between(&random, 50, 950)));
        auto groups = grouped(part);
        for (Column &column : part.columns)
            column.shrink_to_fit();
        *checksum = workload_mix(*checksum, part.columns[3].size() + groups.size());
        cache.push_back(std::move(part));
        if (cache.size() > 24)
            cache.pop_front();
    }
}

} // namespace

int
main(int argc, char **argv)
{
    static long queries = 60, threads = 2;
    const struct workload_option options[] = {
        {"queries", &queries, "queries of a thread"},
        {"threads", &threads, "threads"},
    };
    workload_parse(argc, argv, "Queries over columns, with temporaries.", options, 2);
    workload_require("threads", threads, 1, 256);
    double start = workload_seconds();
    std::vector<uint64_t> sums(static_cast<size_t>(threads));
    std::vector<std::thread> pool;
    for (size_t i = 0; i < sums.size(); i++)
        pool.emplace_back(ask, queries, i + 1, &sums[i]);
    for (std::thread &thread : pool)
        thread.join();
    uint64_t checksum = 0;
    for (uint64_t sum : sums)
        checksum += sum;
    workload_report("columns", static_cast<uint64_t>(queries * threads), workload_seconds() - start, checksum);
    return 0;
}
