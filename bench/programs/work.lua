-- SPDX-License-Identifier: MIT
-- What Lua programs ask of malloc: tables that grow, strings, closures, and a collector that frees them in sweeps.
local state = 12345
local function chance(below)
  state = (state * 1103515245 + 12345) % 2147483648
  return state // 65536 % below
end

local function round()
  local words, order = {}, {}
  for number = 1, 30000 do
    local key = "key" .. chance(4000)
    local list = words[key]
    if not list then
      list = {}
      words[key] = list
      order[#order + 1] = key
    end
    list[#list + 1] = { number = number, text = string.rep("x", chance(50)), length = function(self) return #self.text end }
  end
  table.sort(order)
  local parts, sum = {}, 0
  for _, key in ipairs(order) do
    for _, item in ipairs(words[key]) do
      sum = (sum * 31 + item:length() + item.number) % 1000000007
    end
    parts[#parts + 1] = key .. ":" .. #words[key]
  end
  return sum, #table.concat(parts, ","):gsub("%d+", "<%0>")
end

for _ = 1, tonumber(arg[1]) do
  print(round())
end
