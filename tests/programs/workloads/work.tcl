# SPDX-License-Identifier: MIT
# Dictionaries, lists, strings and regular expressions; each round prints what it made.
proc tables {seed} {
    set table [dict create]
    for {set i 0} {$i < 20000} {incr i} {
        set seed [expr {($seed * 1103515245 + 12345) & 0x7fffffff}]
        dict lappend table key[expr {$seed % 2003}] [list $i [string repeat v [expr {$seed % 60}]]]
    }
    set lengths {}
    dict for {key list} $table { lappend lengths [list [llength $list] $key] }
    return [lrange [lsort -integer -decreasing -index 0 [lsort -index 1 $lengths]] 0 2]
}

proc strings {} {
    set words {}
    for {set i 0} {$i < 4000} {incr i} { lappend words "name-[expr {$i * 7919 % 9973}]:$i" }
    set text [join $words " "]
    set count [regexp -all {name-\d+5:} $text]
    set changed [regsub -all {name-(\d+)} $text {n\1_}]
    array set byLength {}
    foreach word [split $changed] { lappend byLength([string length $word]) [string toupper $word] }
    set total 0
    foreach length [lsort -integer [array names byLength]] { incr total [expr {$length * [llength $byLength($length)]}] }
    return [list $count $total [llength [lsort -unique $words]]]
}

for {set round 1} {$round <= [lindex $argv 0]} {incr round} {
    puts [tables $round]
    puts [strings]
}
