/* SPDX-License-Identifier: MIT */
/*
 * compiler: functions are parsed into trees, lowered to instructions with sets of live values, and printed, one after another.
 *
 * Names are interned for good; a tree dies when its code is made, the code when it is printed; the symbols of each file pile up
 * until its end: three kinds of lifetimes side by side, small objects all.
 */
#include "workload.h"

#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace
{

struct Tree {
    char kind;
    const std::string *name;
    std::vector<std::unique_ptr<Tree>> children;
};

struct Instruction {
    int target;
    std::string operation;
    std::vector<int> sources;
    std::set<int> live;
};

std::unordered_set<std::string> interned;

std::unique_ptr<Tree>
parsed(uint64_t &random, int depth)
{
    auto tree = std::make_unique<Tree>();
    tree->kind = "+-*/=?c"[workload_random(&random) % 7];
    tree->name = &*interned.insert("symbol_" + std::to_string(workload_random(&random) % 20000)).first;
    if (depth > 0)
        for (uint64_t i = workload_between(&random, 1, 3); i > 0; i--)
            tree->children.push_back(parsed(random, depth - 1));
    return tree;
}

int
lower(const Tree &tree, std::vector<Instruction> &code)
{
    Instruction made;
    for (const auto &child : tree.children)
        made.sources.push_back(lower(*child, code));
    made.operation = tree.kind + (" " + *tree.name);
    made.target = static_cast<int>(code.size());
    code.push_back(std::move(made));
    return static_cast<int>(code.size()) - 1;
}

void
find_live(std::vector<Instruction> &code)
{
    std::set<int> live;
    for (size_t i = code.size(); i-- > 0;) {
        live.erase(code[i].target);
        live.insert(code[i].sources.begin(), code[i].sources.end());
        if (i % 4 == 0)
            code[i].live = live;
    }
}

std::string
printed(const std::vector<Instruction> &code)
{
    std::string text;
    for (const Instruction &one : code) {
        text += "r" + std::to_string(one.target) + " = " + one.operation;
        for (int source : one.sources)
            text += " r" + std::to_string(source);
        text += '\n';
    }
    return text;
}

} // namespace

int
main(int argc, char **argv)
{
    static long files = 12, functions = 150;
    const struct workload_option options[] = {
        {"files", &files, "files"},
        {"functions", &functions, "functions of a file"},
    };
    workload_parse(argc, argv, "A compiler's trees, code and symbols.", options, 2);
    double start = workload_seconds();
    uint64_t random = 1, checksum = 0;
    for (long file = 0; file < files; file++) {
        std::unordered_map<std::string, std::vector<std::string>> symbols;
        for (long function = 0; function < functions; function++) {
            std::vector<Instruction> code;
            {
                std::unique_ptr<Tree> tree = parsed(random, 8);
                lower(*tree, code);
            }
            find_live(code);
            std::string text = printed(code);
            symbols["function " + std::to_string(function)].push_back(text.substr(0, 300));
            checksum = workload_mix(checksum, text.size());
        }
        checksum = workload_mix(checksum, symbols.size());
    }
    workload_report("compiler", static_cast<uint64_t>(files * functions), workload_seconds() - start, checksum);
    return 0;
}
