/* SPDX-License-Identifier: MIT */
/*
 * json_tree: a JSON document parsed into a C++ tree, walked, changed and destroyed, again and again.
 *
 * Strings, vectors that grow, map nodes and one heap object per value: the way C++ programs allocate, through operator
 * new and sized delete.  The document is made once from a seed; every tree is walked twice, before and after a change.
 */
#include "workload.h"

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace
{

struct Value {
    enum class Kind { number, text, list, object };
    explicit Value(Kind what) : kind(what)
    {
    }
    Kind kind;
    double number = 0;
    std::string text;
    std::vector<std::unique_ptr<Value>> list;
    std::map<std::string, std::unique_ptr<Value>> object;
};

void
write_text(std::string &out, uint64_t &random)
{
    size_t length = workload_between(&random, 1, 48);
    out += '"';
    out.append(length, static_cast<char>('a' + workload_random(&random) % 26));
    out += '"';
}

void
write_value(std::string &out, uint64_t &random, long depth, long width)
{
    uint64_t draw = workload_random(&random) % 8;
    if (depth == 0 || draw < 2) {
        if (draw % 2 == 0)
            out += std::to_string(workload_random(&random) % 1000000);
        else
            write_text(out, random);
        return;
    }
    bool object = draw % 2 == 0;
    out += object ? '{' : '[';
    for (uint64_t i = workload_between(&random, 1, static_cast<uint64_t>(width)); i > 0; i--) {
        if (object) {
            out += "\"key " + std::to_string(i) + std::string(workload_random(&random) % 24, 'k') + "\":";
        }
        write_value(out, random, depth - 1, width);
        if (i > 1)
            out += ',';
    }
    out += object ? '}' : ']';
}

class Parser
{
  public:
    explicit Parser(std::string_view document) : rest_(document)
    {
    }

    std::unique_ptr<Value>
    parse()
    {
        nodes_++;
        switch (rest_.front()) {
        case '{':
            return parse_object();
        case '[':
            return parse_list();
        case '"': {
            auto value = std::make_unique<Value>(Value::Kind::text);
            value->text = parse_text();
            return value;
        }
        default: {
            auto value = std::make_unique<Value>(Value::Kind::number);
            size_t length = rest_.find_first_not_of("0123456789");
            value->number = std::stod(std::string(rest_.substr(0, length)));
            rest_.remove_prefix(length == std::string_view::npos ? rest_.size() : length);
            return value;
        }
        }
    }

    uint64_t
    nodes() const
    {
        return nodes_;
    }

  private:
    std::string
    parse_text()
    {
        size_t end = rest_.find('"', 1);
        std::string text(rest_.substr(1, end - 1));
        rest_.remove_prefix(end + 1);
        return text;
    }

    /* Steps over what stands between two members; false at the closing bracket. */
    bool
    another(char close)
    {
        char found = rest_.front();
        rest_.remove_prefix(1);
        return found != close;
    }

    std::unique_ptr<Value>
    parse_list()
    {
        auto value = std::make_unique<Value>(Value::Kind::list);
        rest_.remove_prefix(1);
        do
            value->list.push_back(parse());
        while (another(']'));
        return value;
    }

    std::unique_ptr<Value>
    parse_object()
    {
        auto value = std::make_unique<Value>(Value::Kind::object);
        rest_.remove_prefix(1);
        do {
            std::string key = parse_text();
            rest_.remove_prefix(1);
            value->object.insert_or_assign(std::move(key), parse());
        } while (another('}'));
        return value;
    }

    std::string_view rest_;
    uint64_t nodes_ = 0;
};

uint64_t
walk(const Value &value, uint64_t sum)
{
    sum = workload_mix(sum, static_cast<uint64_t>(value.number) + value.text.size());
    for (const auto &child : value.list)
        sum = walk(*child, sum);
    for (const auto &[key, child] : value.object)
        sum = walk(*child, workload_mix(sum, key.size()));
    return sum;
}

/* What programs do to a document: lengthen strings, drop some members, add others. */
void
change(Value &value, uint64_t &random)
{
    if (value.kind == Value::Kind::text)
        value.text += " and more of it, added later";
    if (value.list.size() > 2)
        value.list.erase(value.list.begin() + static_cast<long>(value.list.size() / 2));
    if (!value.object.empty() && workload_random(&random) % 4 == 0) {
        value.object.erase(value.object.begin());
        value.object.emplace("a new member with a long name", std::make_unique<Value>(Value::Kind::number));
    }
    for (auto &child : value.list)
        change(*child, random);
    for (auto &[key, child] : value.object)
        change(*child, random);
}

} // namespace

int
main(int argc, char **argv)
{
    long rounds = 8, depth = 9, width = 6, kept = 2;
    const workload_option options[] = {
        {"rounds", &rounds, "documents parsed"},
        {"depth", &depth, "levels of brackets"},
        {"width", &width, "members per level, at most"},
        {"kept", &kept, "documents alive at once"},
    };
    workload_parse(argc, argv, "JSON trees in C++: parse, walk, change, destroy.", options, 4);
    workload_require("depth", depth, 1, 20);
    workload_require("width", width, 1, 1000);
    workload_require("kept", kept, 1, 1000);
    uint64_t random = 31, checksum = 0, operations = 0;
    std::string document = "[";
    for (long i = 0; i < 64; i++) {
        write_value(document, random, depth, width);
        document += i < 63 ? "," : "]";
    }
    double start = workload_seconds();
    std::vector<std::unique_ptr<Value>> alive(static_cast<size_t>(kept));
    for (long round = 0; round < rounds; round++) {
        Parser parser(document);
        auto &root = alive[static_cast<size_t>(round % kept)];
        root = parser.parse();
        operations += parser.nodes();
        checksum = walk(*root, checksum);
        change(*root, random);
        checksum = walk(*root, checksum);
    }
    alive.clear();
    workload_report("json_tree", operations, workload_seconds() - start, checksum);
    return 0;
}
