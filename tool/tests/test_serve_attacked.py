# SPDX-License-Identifier: MIT
"""The server of `hew serve` under attack: strangers' names, pages, paths, bodies and slow clients."""

import socket

import pytest

from hew.model.address import Guard, read_address
from hew.model.errors import HewError
from hew.sources.serve import listen
from web import TOKEN, MadeUp, served

DATA_PATHS = [
    "/api/processes",
    "/api/process/1",
    "/api/kept",
    "/api/fleet",
    "/metrics",
    "/debug/pprof/heap",
    "/debug/pprof/allocs",
]


def test_a_name_that_is_not_ours_is_not_served() -> None:
    with served(MadeUp(), hosts=("box.example",)) as one:
        for path in ("/", "/assets/page.js", *DATA_PATHS):
            for host in ("localhost", f"127.0.0.1:{one.port}", "[::1]:1", "BOX.example"):
                assert one.ask(path, Host=host).status == 200, (path, host)
            for host in ("evil.example", f"evil.example:{one.port}", "127.0.0.1.evil.example", "", "localhost@evil"):
                assert one.ask(path, Host=host).status == 421, (path, host)


def test_pages_of_other_sites_see_and_change_nothing() -> None:
    site = MadeUp()
    with served(site) as one:
        for origin in ("http://evil.example", "null", f"http://localhost:{one.port + 1}", "http://127.0.0.1", "*"):
            for path in DATA_PATHS:
                assert one.ask(path, Origin=origin).status == 403, (path, origin)
            assert one.post("/api/process/1/apply", {"rule": "x"}, Origin=origin).status == 403, origin
        for from_ in ("cross-site", "same-site"):
            assert one.ask("/api/processes", Sec_Fetch_Site=from_).status == 403
            assert one.post("/api/process/1/keep", {}, Sec_Fetch_Site=from_).status == 403
        assert one.ask("/api/processes", Origin=one.url, Sec_Fetch_Site="same-origin").status == 200
    assert site.done == []


def test_every_change_needs_the_token_even_where_looking_needs_none() -> None:
    site = MadeUp()
    with served(site) as one:
        for path in ("/api/process/1/apply", "/api/process/1/keep", "/", "/api/processes", "/metrics", "/nowhere"):
            almost = (f"Bearer {TOKEN}x", f"Bearer {TOKEN[1:]}", f"Bearer {TOKEN}, Bearer {TOKEN}")
            for wrong in ("", "Bearer", "Bearer wrong", f"Basic {TOKEN}", TOKEN, *almost):
                answer = one.post(path, {"rule": "x"}, Authorization=wrong)
                assert answer.status == 401, (path, wrong)
                assert b"open the link" in answer.body
        assert site.done == []
        assert one.post("/api/process/7/apply", {"rule": "x"}).document["rule"] == "x"
        assert one.post("/api/process/7/keep", {}, Origin="").status == 200  # a program sends no Origin
    assert site.done == [("apply", 7, "x"), ("keep", 7)]


def test_a_change_is_a_small_json_object_and_nothing_that_a_form_can_send() -> None:
    site = MadeUp()
    with served(site) as one:
        for kind in ("", "text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"):
            assert one.post("/api/process/7/apply", {"rule": "x"}, Content_Type=kind).status == 415, kind
        documents: tuple[object, ...] = ([], "x", 1, None, {}, {"rule": 1}, {"rule": ["x"]})
        for document in documents:
            assert one.post("/api/process/7/apply", document).status == 400, document
        assert one.post("/api/process/7/apply", {"rule": "x" * 5000}).status == 413
        headers = {"Content_Type": "application/json", "Authorization": f"Bearer {TOKEN}"}
        for body in (b"", b"{", b"[" * 4000, b"\xff"):
            assert one.ask("/api/process/7/apply", "POST", body, **headers).status == 400, body
        for method in ("PUT", "DELETE", "OPTIONS", "PATCH", "TRACE"):
            assert one.ask("/api/process/7/apply", method).status == 405
        assert one.ask("/api/process/7/apply").status == 405
    assert site.done == []


def test_paths_lead_to_no_other_file_and_numbers_are_numbers() -> None:
    with served(MadeUp()) as one:
        for path in (
            "/assets/../page.js",
            "/assets/%2e%2e/%2e%2e/web_assets.py",
            "/assets/..%2fweb_assets.py",
            "/assets//etc/passwd",
            "/assets/vendor/uplot/ORIGIN.md",
            "/../../etc/passwd",
            "/api/process/1/../../../etc/passwd",
            "/api/process/-1",
            "/api/process/1x",
            "/api/process/99999999999999999999",
            "/debug/pprof/",
        ):
            assert one.ask(path).status == 404, path
        for path in ("/api/compare", "/api/compare?before=1&after=x", "/api/compare?before=-1&after=1"):
            assert one.ask(path).status == 400, path
        for path in ("/debug/pprof/heap?pid=x", "/debug/pprof/heap?pid=", "/api/process/1?since=x"):
            assert one.ask(path).status == 400, path


def test_every_answer_forbids_scripts_that_are_not_ours_and_frames() -> None:
    with served(MadeUp()) as one:
        for path in ("/", "/assets/page.js", "/nowhere", *DATA_PATHS):
            headers = one.ask(path).headers
            policy = headers["content-security-policy"]
            assert "default-src 'none'" in policy
            assert "unsafe" not in policy
            assert "frame-ancestors 'none'" in policy
            assert headers["x-content-type-options"] == "nosniff"
            assert headers["cache-control"] == "no-store"
            assert "access-control-allow-origin" not in headers
        assert one.ask("/", Host="evil.example").headers["content-security-policy"]


def test_beyond_loopback_nothing_of_a_process_is_shown_without_the_token() -> None:
    with pytest.raises(HewError, match=r"0\.0\.0\.0 can be reached from other machines: give --token-file"):
        Guard(read_address("0.0.0.0:4390"))
    with served(MadeUp(), "0.0.0.0:0", TOKEN) as one:
        assert one.ask("/").status == 200  # the page itself, which asks with the token
        for path in DATA_PATHS:
            assert one.ask(path).status == 401, path
            assert one.ask(path, Authorization="Bearer wrong").status == 401, path
            assert one.ask(path, Authorization=f"Bearer {TOKEN}").status == 200, path


def test_a_client_that_asks_for_nothing_whole_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listen, "PATIENCE", 0.5)
    with served(MadeUp()) as one:
        for sent in (b"", b"GET / HTTP/1.1\r\nHost: local", b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\nGET /ap"):
            with socket.create_connection(("127.0.0.1", one.port), 60) as client:
                client.sendall(sent)
                while client.recv(1 << 16):
                    pass
        with socket.create_connection(("127.0.0.1", one.port), 60) as client:
            client.sendall(b"GET / HTTP/1.1\r\nX: " + b"x" * 100_000 + b"\r\n\r\n")
            assert b" 400 " in client.recv(1 << 16).splitlines()[0]
        assert one.ask("/").status == 200
