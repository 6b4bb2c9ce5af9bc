# SPDX-License-Identifier: MIT
# A Rack application over records in memory: a search, a page from a template, a sum.
require "json"
require "erb"

RECORDS = JSON.parse(File.read(ENV["RECORDS"])).freeze
TABLE = ERB.new("<table>\n<% rows.each do |one| %><tr><td><%= one['id'] %></td><td><%= one['title'] %></td></tr>\n<% end %></table>\n")

def search(number)
  wanted = Regexp.new(RECORDS[number]["tags"][0] + "\\s+(\\w+)")
  step = [1, RECORDS.length / 400].max
  some = (0...RECORDS.length).step(step).map { |at| RECORDS[at].merge("match" => RECORDS[at]["body"].scan(wanted).flatten) }
  JSON.generate(some.reject { |one| one["match"].empty? })
end

def page(number)
  rows = RECORDS[number, 300].sort_by { |one| [one["title"], one["id"]] }
  TABLE.result(binding)
end

def sum(number)
  sums = Hash.new(0)
  RECORDS[number, 500].each { |one| sums[one["tags"].join(" ")] += (one["price"] * 100).round }
  JSON.generate(sums.sort)
end

run lambda { |environment|
  _, action, number = environment["PATH_INFO"].split("/")
  body = { "search" => method(:search), "page" => method(:page), "sum" => method(:sum) }.fetch(action).call(number.to_i)
  [200, { "content-type" => "text/plain", "content-length" => body.bytesize.to_s }, [body]]
}
