# SPDX-License-Identifier: MIT
"""Source code for compilers to chew on: each unit uses the standard library's heaviest parts and differs a little from
the next, so that nothing is instantiated only once."""

from __future__ import annotations

from pathlib import Path

CPP_HEAD = """\
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <random>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <tuple>
#include <unordered_map>
#include <variant>
#include <vector>
"""

CPP_UNIT = """
namespace unit_@N@ {
struct Record { std::uint32_t key; std::string name; std::array<std::uint8_t, @N@ + 1> bytes{}; };
using Value = std::variant<int, double, std::string, std::vector<Record>, std::array<char, @N@ + 2>>;
struct Order {
    bool operator()(const Record &a, const Record &b) const
    {
        return std::tie(a.name, a.key) < std::tie(b.name, b.key);
    }
};

template <class T> std::uint64_t
fold(const T &items)
{
    return std::accumulate(items.begin(), items.end(), std::uint64_t{@N@}, [](std::uint64_t sum, const auto &item) {
        return sum * 31 + item.second.size();
    });
}

std::uint64_t
work(std::uint32_t seed)
{
    std::mt19937 random(seed + @N@);
    std::map<std::string, std::vector<Record>> tree;
    std::unordered_map<std::uint32_t, std::string> table;
    std::multiset<Record, Order> sorted;
    for (int i = 0; i < 400; i++) {
        Record record{static_cast<std::uint32_t>(random() % 997), "name-" + std::to_string(random() % 89), {}};
        tree[record.name].push_back(record);
        table[record.key] += record.name;
        sorted.insert(record);
    }
    std::vector<Value> values;
    for (auto &[name, records] : tree) {
        std::stable_sort(records.begin(), records.end(), [](const auto &a, const auto &b) { return a.key > b.key; });
        values.emplace_back(records);
        values.emplace_back(name);
        values.emplace_back(static_cast<double>(records.size()));
    }
    std::vector<std::function<std::uint64_t()>> actions;
    for (const auto &value : values) {
        actions.push_back([&value] {
            return std::visit([](const auto &held) -> std::uint64_t {
                using Held = std::decay_t<decltype(held)>;
                if constexpr (std::is_arithmetic_v<Held>) return static_cast<std::uint64_t>(held);
                else return held.size();
            }, value);
        });
    }
    std::uint64_t sum = fold(tree) ^ fold(table);
    for (auto &action : actions) sum = sum * 33 + action();
    std::ostringstream text;
    for (const auto &record : sorted) text << record.name << ':' << record.key << ' ';
    static const std::regex pattern("name-([0-9]+)@N@:([0-9]+)");
    const std::string all = text.str();
    for (std::sregex_iterator match(all.begin(), all.end(), pattern), end; match != end; ++match) {
        sum += (*match)[1].length();
    }
    using Pair = std::tuple<Record, Value>;
    auto shared = std::make_shared<std::optional<Pair>>(Pair{*sorted.begin(), values.back()});
    return sum + shared->has_value();
}
}
"""


def write_cpp(path: Path, units: int) -> None:
    """One translation unit with `units` namespaces, and a main that prints what they compute."""
    calls = "".join(
        f"    sum = sum * 131 + unit_{number}::work(static_cast<std::uint32_t>(sum));\n" for number in range(units)
    )
    end = '    std::printf("%llx\\n", (unsigned long long)sum);\n'
    main = f"\nint\nmain()\n{{\n    std::uint64_t sum = 1;\n{calls}{end}}}\n"
    body = "".join(CPP_UNIT.replace("@N@", str(number)) for number in range(units))
    path.write_text(CPP_HEAD + "#include <array>\n" + body + main, encoding="utf-8")


RUST_UNIT = """\
use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::fmt::Debug;

pub trait Shape@N@: Debug { fn weight(&self) -> u64; fn grow(&mut self, by: u64); }
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Node { Leaf(u64), Branch(Vec<Node>), Named(String, Box<Node>), Sized([u8; @N@ + 1]) }

impl Shape@N@ for Node {
    fn weight(&self) -> u64 {
        match self {
            Node::Leaf(value) => *value,
            Node::Branch(items) => items
                .iter()
                .fold(@N@, |sum, item| sum.wrapping_mul(31).wrapping_add(item.weight())),
            Node::Named(name, inner) => name.len() as u64 + inner.weight(),
            Node::Sized(bytes) => bytes.len() as u64,
        }
    }
    fn grow(&mut self, by: u64) {
        match self {
            Node::Leaf(value) => *value = value.wrapping_add(by),
            Node::Branch(items) => items.iter_mut().for_each(|item| item.grow(by)),
            Node::Named(name, inner) => { name.push_str("x"); inner.grow(by) }
            Node::Sized(bytes) => bytes[0] = by as u8,
        }
    }
}

fn gather<T: Ord + Clone + Debug, F: Fn(&T) -> String>(items: &[T], name: F) -> BTreeMap<String, Vec<T>> {
    let mut map: BTreeMap<String, Vec<T>> = BTreeMap::new();
    for item in items { map.entry(name(item)).or_default().push(item.clone()); }
    for list in map.values_mut() { list.sort_by(|a, b| b.cmp(a)); list.dedup(); }
    map
}

pub fn work(seed: u64) -> u64 {
    let mut state = seed ^ 0x9e37_79b9_7f4a_7c15u64.wrapping_mul(@N@ + 1);
    let mut nodes = Vec::new();
    let mut queue = VecDeque::new();
    for _ in 0..2000 {
        state ^= state << 13; state ^= state >> 7; state ^= state << 17;
        let node = match state % 4 {
            0 => Node::Leaf(state % 100),
            1 => Node::Named(format!("n{}", state % 50), Box::new(Node::Leaf(state % 7))),
            2 => Node::Branch(
                nodes.iter().rev().take(3).filter(|node| !matches!(node, Node::Branch(_))).cloned().collect(),
            ),
            _ => Node::Sized([1; @N@ + 1]),
        };
        queue.push_back(node.clone());
        if queue.len() > 64 { queue.pop_front(); }
        nodes.push(node);
    }
    let map = gather(&nodes, |node| format!("{:?}", node).chars().take(6).collect());
    let set: HashSet<Node> = nodes.iter().cloned().collect();
    let mut table: HashMap<u64, Vec<String>> = HashMap::new();
    for node in &set { table.entry(node.weight() % 97).or_default().push(format!("{:?}", node)); }
    let mut last = queue.pop_back().unwrap();
    last.grow(seed);
    let mut sum = last.weight();
    for (key, list) in &map { sum = sum.wrapping_mul(33) ^ (key.len() + list.len()) as u64; }
    for key in 0..97 {
        let length = table.get(&key).map_or(0, |list| list.iter().map(|one| one.len() as u64).sum());
        sum = sum.wrapping_mul(131) ^ length;
    }
    sum
}
"""


def write_rust(directory: Path, crates: int, modules: int) -> None:
    """A cargo workspace of library crates that depend on each other in a chain, and a program on top."""
    for crate in range(crates):
        folder = directory / f"part{crate}" / "src"
        folder.mkdir(parents=True)
        below = f'part{crate - 1} = {{ path = "../part{crate - 1}" }}\n' if crate else ""
        head = f'[package]\nname = "part{crate}"\nversion = "0.1.0"\nedition = "2021"\n\n[dependencies]\n{below}'
        (folder.parent / "Cargo.toml").write_text(head, encoding="utf-8")
        for module in range(modules):
            text = RUST_UNIT.replace("@N@", str(crate * modules + module))
            (folder / f"m{module}.rs").write_text(text, encoding="utf-8")
        lines = [f"pub mod m{module};" for module in range(modules)]
        calls = [f"    sum = sum.wrapping_mul(7) ^ m{module}::work(sum);" for module in range(modules)]
        first = f"part{crate - 1}::all(seed)" if crate else "seed"
        lines += ["pub fn all(seed: u64) -> u64 {", f"    let mut sum = {first};", *calls, "    sum", "}"]
        (folder / "lib.rs").write_text("\n".join(lines) + "\n", encoding="utf-8")
    source = directory / "src"
    source.mkdir()
    members = ", ".join(f'"part{crate}"' for crate in range(crates))
    manifest = (
        f'[workspace]\nmembers = [{members}]\n\n[package]\nname = "whole"\nversion = "0.1.0"\nedition = "2021"\n\n'
        f'[dependencies]\npart{crates - 1} = {{ path = "part{crates - 1}" }}\n'
    )
    (directory / "Cargo.toml").write_text(manifest, encoding="utf-8")
    (source / "main.rs").write_text(
        f'fn main() {{ println!("{{:x}}", part{crates - 1}::all(1)); }}\n', encoding="utf-8"
    )


JAVA_UNIT = """\
package units;
import java.util.*;
import java.util.function.*;
import java.util.stream.*;

public final class Unit@N@<T extends Comparable<? super T>> {
    public record Pair<A, B>(A first, B second) { }
    public sealed interface Shape permits Circle, Square, Group { }
    public record Circle(double radius) implements Shape { }
    public record Square(double side) implements Shape { }
    public record Group(List<Shape> shapes) implements Shape { }
    private final Map<T, List<Pair<T, Integer>>> table = new TreeMap<>();
    public static double area(Shape shape) {
        if (shape instanceof Circle circle) return circle.radius() * @N@;
        if (shape instanceof Square square) return square.side() * square.side();
        return shape instanceof Group group ? group.shapes().stream().mapToDouble(Unit@N@::area).sum() : 0;
    }
    public Map<T, Integer> count(Collection<? extends T> items, BiFunction<Integer, Integer, Integer> merge) {
        items.forEach(item -> table.computeIfAbsent(item, key -> new ArrayList<>()).add(new Pair<>(item, @N@)));
        return table.entrySet().stream().collect(Collectors.toMap(Map.Entry::getKey,
            entry -> entry.getValue().stream().map(Pair::second).reduce(0, merge::apply), merge::apply, TreeMap::new));
    }
    public static <K, V extends Comparable<V>> Optional<Map.Entry<K, V>> top(Map<K, V> map, Predicate<K> test) {
        return map.entrySet().stream().filter(entry -> test.test(entry.getKey())).max(Map.Entry.comparingByValue());
    }
    public static String run(int seed) {
        Unit@N@<String> unit = new Unit@N@<>();
        List<String> words = IntStream.range(0, 50).mapToObj(i -> "w" + (i * seed) % 17).collect(Collectors.toList());
        return switch (seed % 3) {
            case 0 -> unit.count(words, Integer::sum).toString();
            case 1 -> top(unit.count(words, Integer::sum), key -> key.length() > 1)
                .map(Object::toString).orElse("none");
            default -> String.valueOf(area(new Group(List.of(new Circle(seed), new Square(@N@)))));
        };
    }
}
"""


def write_java(directory: Path, units: int) -> None:
    """A package of `units` classes with generics, records and lambdas, and the list of its files for javac."""
    folder = directory / "units"
    folder.mkdir(parents=True)
    names = []
    for number in range(units):
        path = folder / f"Unit{number}.java"
        path.write_text(JAVA_UNIT.replace("@N@", str(number)), encoding="utf-8")
        names.append(str(path))
    (directory / "files").write_text("\n".join(names) + "\n", encoding="utf-8")


TYPESCRIPT_UNIT = """\
import { Base@P@, Shape as Shape@P@ } from "./unit@P@";

export type Shape =
    { kind: "circle"; radius: number } | { kind: "square"; side: number } | { kind: "group"; of: Shape[] };
export type Getters<T> = { readonly [K in keyof T as `get${Capitalize<string & K>}`]: () => T[K] };
export type Deep<T> = T extends (infer U)[] ? Deep<U>[] : T extends object ? { [K in keyof T]?: Deep<T[K]> } : T;
export interface Settings@N@ { name: string; size: number; inner: { flags: boolean[]; table: Record<string, Shape> } }

export class Base@N@<T extends { id: number }> {
    private readonly items = new Map<number, T>();
    constructor(private readonly settings: Deep<Settings@N@> = {}) {}
    add<U extends T>(...more: U[]): this { more.forEach(one => this.items.set(one.id, one)); return this; }
    pick<K extends keyof T>(...keys: K[]): Pick<T, K>[] {
        const none = {} as Pick<T, K>;
        return [...this.items.values()].map(one => keys.reduce((sum, key) => ({ ...sum, [key]: one[key] }), none));
    }
    group<K extends string>(name: (one: T) => K): Partial<Record<K, T[]>> {
        const found: Partial<Record<K, T[]>> = {};
        for (const one of this.items.values()) (found[name(one)] ??= [] as T[])!.push(one);
        return found;
    }
    getters<O extends object>(of: O): Getters<O> {
        return Object.fromEntries(Object.entries(of).map(([key, value]) => [`get${key}`, () => value])) as Getters<O>;
    }
}

export function area(shape: Shape | Shape@P@): number {
    switch (shape.kind) {
        case "circle": return Math.PI * shape.radius ** 2;
        case "square": return shape.side ** 2;
        case "group": return shape.of.map(area).reduce((a, b) => a + b, @N@);
    }
}

export const tool@N@ = new Base@N@<{ id: number; tag: "a" | "b"; shape: Shape }>({ inner: { flags: [true] } })
    .add({ id: @N@, tag: "a", shape: { kind: "circle", radius: 2 } });
export const picked@N@ = tool@N@.pick("id", "tag").map(({ id, tag }) => `${id}${tag}` as const);
export const older@N@ = new Base@P@<{ id: number; name: string }>()
    .group(one => one.name.length > 3 ? "long" : "short");
"""


def write_typescript(directory: Path, units: int) -> None:
    """A package of modules that import each other in a ring."""
    directory.mkdir()
    for number in range(units):
        text = TYPESCRIPT_UNIT.replace("@N@", str(number)).replace("@P@", str((number + 1) % units))
        (directory / f"unit{number}.ts").write_text(text, encoding="ascii")
    (directory / "tsconfig.json").write_text(
        '{ "compilerOptions": { "strict": true, "target": "es2020", "module": "commonjs", "declaration": true,'
        ' "sourceMap": true, "types": [], "lib": ["es2020"] }, "include": ["*.ts"] }\n',
        encoding="ascii",
    )


def write_objects(directory: Path, count: int) -> None:
    """C files of a thousand small functions each, many of them alike, that call those of the next file."""
    directory.mkdir()
    for number in range(count):
        above = (number + 1) % count
        lines = [f"extern int shared_{above}_{one}(int);" for one in range(40)]
        for one in range(1000):
            scope = "" if one < 40 else "static "
            body = f"return a * {one % 7} + {f'shared_{above}_{one % 40}(a - 1)' if one % 3 == 0 else 'a'};"
            text = f'static const char text[] = "text {number} {one % 50}"; if (a <= 0) return text[0];'
            lines.append(f"{scope}int shared_{number}_{one}(int a) {{ {text} {body} }}")
        calls = " + ".join(f"shared_{number}_{one}(n)" for one in range(0, 1000, 2))
        lines.append(f"int start_{number}(int n) {{ return {calls}; }}")
        (directory / f"part{number}.c").write_text("\n".join(lines) + "\n", encoding="ascii")
