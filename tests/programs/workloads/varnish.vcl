# SPDX-License-Identifier: MIT
# Pages come from files by way of the error that a missing backend makes, and are kept like any other.
vcl 4.1;
import std;

backend nobody none;

sub vcl_recv {
    unset req.http.Cookie;
    return (hash);
}

sub vcl_backend_error {
    if (bereq.url ~ "^/small") {
        set beresp.body = std.fileread("@INPUTS@/small");
    } elsif (bereq.url ~ "^/medium") {
        set beresp.body = std.fileread("@INPUTS@/medium");
    } else {
        set beresp.body = std.fileread("@INPUTS@/big");
    }
    set beresp.status = 200;
    set beresp.http.Content-Type = "text/plain";
    set beresp.ttl = 1s;
    set beresp.grace = 0s;
    return (deliver);
}
