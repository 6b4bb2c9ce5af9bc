/* SPDX-License-Identifier: MIT */
/*
 * rope: an editor's text as a tree of shared pieces, with a history to undo.
 *
 * Each edit copies the path to the place and shares the rest, so nodes live as long as some version of the last thousand
 * holds them. Pieces are split where an insertion falls; the text is flattened now and then, as when it is saved.
 */
#include "workload.h"

#include <deque>
#include <memory>
#include <string>

namespace
{

struct Node;
using Rope = std::shared_ptr<const Node>;

struct Node {
    size_t length;
    uint64_t priority;
    std::string piece;
    Rope left, right;
};

size_t
length_of(const Rope &rope)
{
    return rope ? rope->length : 0;
}

Rope
make(uint64_t priority, const std::string &piece, Rope left, Rope right)
{
    size_t length = length_of(left) + piece.size() + length_of(right);
    return std::make_shared<const Node>(Node{length, priority, piece, std::move(left), std::move(right)});
}

Rope
join(const Rope &left, const Rope &right)
{
    if (!left || !right)
        return left ? left : right;
    if (left->priority > right->priority)
        return make(left->priority, left->piece, left->left, join(left->right, right));
    return make(right->priority, right->piece, join(left, right->left), right->right);
}

void
split(Rope rope, size_t at, Rope &left, Rope &right)
{
    if (!rope) {
        left = right = nullptr;
        return;
    }
    size_t before = length_of(rope->left), here = rope->piece.size();
    Rope middle;
    if (at <= before) {
        split(rope->left, at, left, middle);
        right = make(rope->priority, rope->piece, middle, rope->right);
    } else if (at >= before + here) {
        split(rope->right, at - before - here, middle, right);
        left = make(rope->priority, rope->piece, rope->left, middle);
    } else {
        left = make(rope->priority, rope->piece.substr(0, at - before), rope->left, nullptr);
        right = make(workload_scramble(rope->priority), rope->piece.substr(at - before), nullptr, rope->right);
    }
}

void
flatten(const Rope &rope, std::string &out)
{
    if (!rope)
        return;
    flatten(rope->left, out);
    out += rope->piece;
    flatten(rope->right, out);
}

Rope
edited(const Rope &text, uint64_t &random)
{
    Rope left, middle, right;
    size_t at = workload_random(&random) % (text->length + 1);
    split(text, at, left, right);
    if (workload_random(&random) % 3 == 0 && right) {
        split(right, workload_random(&random) % 40, middle, right);
        return join(left, right) ? join(left, right) : text;
    }
    std::string typed(workload_between(&random, 1, 60), static_cast<char>('a' + at % 26));
    return join(join(left, make(workload_random(&random), typed, nullptr, nullptr)), right);
}

} // namespace

int
main(int argc, char **argv)
{
    static long edits = 120000, versions = 1000;
    const struct workload_option options[] = {
        {"edits", &edits, "edits"},
        {"versions", &versions, "versions that can be undone"},
    };
    workload_parse(argc, argv, "A text editor's rope with a history.", options, 2);
    workload_require("versions", versions, 1, 1l << 20);
    double start = workload_seconds();
    uint64_t random = 1, checksum = 0;
    {
        std::deque<Rope> history{make(7, std::string(4000, '.'), nullptr, nullptr)};
        for (long i = 1; i <= edits; i++) {
            if (workload_random(&random) % 20 == 0 && history.size() > 1)
                history.pop_back();
            else
                history.push_back(edited(history.back(), random));
            if (history.size() > static_cast<size_t>(versions))
                history.pop_front();
            if (i % 10000 == 0) {
                std::string text;
                flatten(history.back(), text);
                checksum = workload_mix(checksum, text.size() + static_cast<unsigned char>(text[text.size() / 2]));
            }
        }
    }
    workload_report("rope", static_cast<uint64_t>(edits), workload_seconds() - start, checksum);
    return 0;
}
