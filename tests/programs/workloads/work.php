<?php
// SPDX-License-Identifier: MIT
// Arrays, strings, regular expressions, JSON and objects; each round prints what it made.
final class Node
{
    public array $children = [];
    public function __construct(public int $value, public string $name) {}
    public function sum(): int { return $this->value + array_sum(array_map(fn ($one) => $one->sum(), $this->children)); }
}

function tree(int $depth, int $value): Node
{
    $node = new Node($value, str_repeat("n", $value % 40));
    for ($i = 0; $depth > 0 && $i < 4; $i++) {
        $node->children[] = tree($depth - 1, $value * 3 % 101 + $i);
    }
    return $node;
}

for ($round = 0; $round < (int) $argv[1]; $round++) {
    $table = [];
    $seed = $round + 1;
    for ($i = 0; $i < 60000; $i++) {
        $seed = ($seed * 1103515245 + 12345) & 0x7fffffff;
        $table["key" . $seed % 4001][] = ["number" => $i, "text" => str_repeat("v", $seed % 60)];
    }
    ksort($table);
    $lengths = array_map("count", $table);
    echo array_sum($lengths), " ", max($lengths), " ", md5(json_encode($table)), "\n";
    $text = implode(" ", array_map(fn ($i) => "name-" . $i * 7919 % 9973 . ":" . $i, range(1, 8000)));
    preg_match_all('/name-(\d+):(\d+)/', $text, $found, PREG_SET_ORDER);
    $changed = preg_replace_callback('/\d+/', fn ($one) => strrev($one[0]), $text);
    echo count($found), " ", md5($changed), " ", md5(serialize(json_decode(json_encode($found), true))), "\n";
    echo tree(7, $round)->sum(), "\n";
    usort($found, fn ($a, $b) => [$a[1], $a[2]] <=> [$b[1], $b[2]]);
    echo $found[100][0], " ", count(array_unique(array_column($found, 1))), "\n";
}
