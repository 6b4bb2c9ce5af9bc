# SPDX-License-Identifier: MIT
# Hashes, strings, regular expressions, JSON, threads, and a forked child.
require "json"
require "digest"

def objects(seed)
  table = Hash.new { |hash, key| hash[key] = [] }
  60_000.times do |i|
    seed = (seed * 1103515245 + 12345) & 0x7fffffff
    table["key#{seed % 4001}"] << { number: i, text: "v" * (seed % 60) }
  end
  table.sort_by { |key, list| [-list.length, key] }.first(3).map { |key, list| [key, list.length, list.sum { |one| one[:text].length }] }
end

def strings
  text = (1..8000).map { |i| "name-#{i * 7919 % 9973}:#{i}" }.join(" ")
  pairs = text.scan(/name-(\d+):(\d+)/).map { |one, two| [one.to_i, two.to_i] }
  changed = text.gsub(/\d+/) { |digits| digits.reverse }.split.sort.uniq
  [pairs.sum { |one, two| one ^ two }, changed.length, Digest::SHA256.hexdigest(changed.join)]
end

def json
  tree = (0...1500).map { |i| { "id" => i, "tags" => %w[a b c].rotate(i), "inner" => { "x" => i * 0.5, "list" => [i] * (i % 9) } } }
  3.times { tree = JSON.parse(JSON.generate(tree)) }
  Digest::SHA256.hexdigest(JSON.generate(tree))
end

def threads
  (0...6).map { |number| Thread.new { (0...3000).map { |i| "t#{number}-#{i}" }.group_by(&:length).transform_values(&:count) } }.map(&:value).last.to_a
end

rounds = ARGV[0].to_i
rounds.times do |round|
  p objects(round + 1), strings, json, threads
  GC.start if round % 4 == 3
end
$stdout.flush
child = fork { p objects(99) }
Process.wait(child)
p $?.exitstatus
