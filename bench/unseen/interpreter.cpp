/* SPDX-License-Identifier: MIT */
/*
 * interpreter: a small dynamic language: every number and string is an object with a count of references.
 *
 * Calls make frames with a table of locals; numbers are boxed at each step, strings are joined, lists grow and are sliced:
 * short lives in great number, of 24 to some hundred bytes, with some that stay.
 */
#include "workload.h"

#include <string>
#include <unordered_map>
#include <vector>

namespace
{

struct Object {
    long count = 1;
    virtual ~Object() = default;
};

class Ref
{
  public:
    Ref() = default;
    explicit Ref(Object *object) : object_(object)
    {
    }
    Ref(const Ref &other) : object_(other.object_)
    {
        if (object_ != nullptr)
            object_->count++;
    }
    Ref(Ref &&other) noexcept : object_(other.object_)
    {
        other.object_ = nullptr;
    }
    Ref &
    operator=(Ref other) noexcept
    {
        std::swap(object_, other.object_);
        return *this;
    }
    ~Ref()
    {
        if (object_ != nullptr && --object_->count == 0)
            delete object_;
    }
    template <class Kind>
    Kind &
    as() const
    {
        return *static_cast<Kind *>(object_);
    }

  private:
    Object *object_ = nullptr;
};

struct Number : Object {
    long value;
    explicit Number(long v) : value(v)
    {
    }
};

struct Text : Object {
    std::string value;
    explicit Text(std::string v) : value(std::move(v))
    {
    }
};

struct List : Object {
    std::vector<Ref> items;
};

using Locals = std::unordered_map<std::string, Ref>;

Ref
number(long value)
{
    return Ref(new Number(value));
}

Ref
fibonacci(const Ref &n)
{
    Locals locals;
    locals["n"] = n;
    if (locals["n"].as<Number>().value < 2)
        return locals["n"];
    Ref one = fibonacci(number(locals["n"].as<Number>().value - 1));
    Ref two = fibonacci(number(locals["n"].as<Number>().value - 2));
    return number(one.as<Number>().value + two.as<Number>().value);
}

Ref
names(long many)
{
    Ref list(new List);
    for (long i = 0; i < many; i++) {
        Ref text(new Text("item"));
        for (long k = 0; k < 3; k++)
            text = Ref(new Text(text.as<Text>().value + "-" + std::to_string(i * k)));
        list.as<List>().items.push_back(text);
    }
    return list;
}

Ref
slice(const Ref &list, size_t step)
{
    Ref part(new List);
    for (size_t i = 0; i < list.as<List>().items.size(); i += step)
        part.as<List>().items.push_back(list.as<List>().items[i]);
    return part;
}

} // namespace

int
main(int argc, char **argv)
{
    static long rounds = 300, depth = 17;
    const struct workload_option options[] = {
        {"rounds", &rounds, "rounds"},
        {"depth", &depth, "the number whose Fibonacci number is asked for"},
    };
    workload_parse(argc, argv, "A dynamic language's objects.", options, 2);
    workload_require("depth", depth, 1, 40);
    double start = workload_seconds();
    uint64_t checksum = 0;
    {
        Ref kept(new List);
        for (long round = 0; round < rounds; round++) {
            checksum = workload_mix(checksum, static_cast<uint64_t>(fibonacci(number(depth)).as<Number>().value));
            Ref list = names(3000);
            kept.as<List>().items.push_back(slice(list, 7));
            checksum = workload_mix(checksum, list.as<List>().items.back().as<Text>().value.size());
        }
    }
    workload_report("interpreter", static_cast<uint64_t>(rounds), workload_seconds() - start, checksum);
    return 0;
}
