/* SPDX-License-Identifier: MIT */
/*
 * plugin: a C++ library for dlopen_loop.c: static and thread_local objects that own memory, and exceptions inside.
 */
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

namespace
{

std::map<std::string, int> table = {{"one of the first keys", 1}, {"another key, longer than a short string", 2}};
thread_local std::vector<std::string> lines;

} // namespace

extern "C" long
plugin_work(long rounds)
{
    long sum = 0;
    for (long i = 0; i < rounds; i++) {
        lines.push_back(std::string(static_cast<std::size_t>(i % 300), 'l'));
        try {
            if (i % 7 == 0)
                throw std::runtime_error("round " + std::to_string(i) + " of a plugin that throws now and then");
            sum += static_cast<long>(lines.back().size()) + table.begin()->second;
        } catch (const std::runtime_error &) {
            sum++;
        }
    }
    return sum;
}

/* What the library allocated, the program frees. */
extern "C" char *
plugin_text(void)
{
    char *text = static_cast<char *>(__builtin_malloc(64));
    for (int i = 0; i < 63; i++)
        text[i] = 't';
    text[63] = '\0';
    return text;
}
