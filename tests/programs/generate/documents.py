# SPDX-License-Identifier: MIT
"""Documents: a book as Markdown, HTML or PDF, a drawing, records for web applications."""

from __future__ import annotations

import json
import random
import zlib
from pathlib import Path

from generate.data import WORDS


def sentence(chance: random.Random) -> str:
    return " ".join(chance.choice(WORDS) for _ in range(chance.randint(6, 16))).capitalize() + "."


def paragraph(chance: random.Random) -> str:
    return " ".join(sentence(chance) for _ in range(chance.randint(3, 8)))


def write_markdown(path: Path, sections: int) -> None:
    """Headings, emphasis, lists, tables, code, footnotes and formulas."""
    chance = random.Random(21)
    with open(path, "w", encoding="ascii") as file:
        file.write("---\ntitle: A book of pages\nauthor: Nobody\n---\n\n")
        for number in range(sections):
            file.write(f"{'#' * (1 + number % 3)} Section {number}\n\n{paragraph(chance)}[^n{number}]\n\n")
            file.write(f"[^n{number}]: *{sentence(chance)}* and `{chance.choice(WORDS)}`.\n\n")
            file.writelines(f"{item + 1}. **{chance.choice(WORDS)}**: {sentence(chance)}\n" for item in range(6))
            file.write("\n| key | value | rest |\n|-----|------:|:----:|\n")
            file.writelines(
                f"| {chance.choice(WORDS)} | {chance.randrange(10**6)} | ${chance.choice('abc')}^{row}$ |\n"
                for row in range(8)
            )
            file.write(f"\n```python\nfor {chance.choice('xyz')} in range({number}):\n    print(1)\n```\n\n")
            file.write(f"> {paragraph(chance)}\n\nSee [section 0](#section-0) and <https://example.org/{number}>.\n\n")


def write_html(path: Path, sections: int) -> None:
    """The same kind of book with tables and styles, for a word processor."""
    chance = random.Random(22)
    with open(path, "w", encoding="ascii") as file:
        file.write("<html><head><title>Book</title></head><body>\n")
        for number in range(sections):
            file.write(f"<h2>Section {number}</h2><p>{paragraph(chance)}</p><p><i>{paragraph(chance)}</i></p><ul>\n")
            file.writelines(f"<li><b>{chance.choice(WORDS)}</b> {sentence(chance)}</li>\n" for _ in range(5))
            file.write('</ul><table border="1">\n')
            for _ in range(6):
                file.write("<tr>" + "".join(f"<td>{chance.choice(WORDS)}</td>" for _ in range(4)) + "</tr>\n")
            file.write("</table>\n")
        file.write("</body></html>\n")


def page_of_pdf(chance: random.Random, number: int) -> str:
    """Text in lines, then curves and filled shapes."""
    parts = ["BT /F1 10 Tf 12 TL 50 780 Td"]
    parts += [f"({sentence(chance)[:90]}) Tj T*" for _ in range(45)]
    parts += [f"(Page {number}) Tj ET"]
    for _ in range(120):
        x, y = chance.randrange(500), chance.randrange(200)
        colour = " ".join(f"{chance.random():.2f}" for _ in range(3))
        curve = " ".join(str(chance.randrange(40, 560)) for _ in range(6))
        parts.append(f"{colour} rg {x} {y} {chance.randrange(5, 40)} {chance.randrange(5, 40)} re f")
        parts.append(f"{colour} RG {x} {y} m {curve} c S")
    return "\n".join(parts)


def write_pdf(path: Path, pages: int) -> None:
    """A PDF with one font of the reader's own, compressed page by page."""
    chance = random.Random(23)
    kids = " ".join(f"{4 + 2 * number} 0 R" for number in range(pages))
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {pages} >>".encode(),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    for number in range(pages):
        stream = zlib.compress(page_of_pdf(chance, number).encode(), 6)
        objects.append(
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Resources << /Font << /F1 3 0 R >> >> "
            + f"/Contents {5 + 2 * number} 0 R >>".encode()
        )
        head = f"<< /Length {len(stream)} /Filter /FlateDecode >>\nstream\n".encode()
        objects.append(head + stream + b"\nendstream")
    text = bytearray(b"%PDF-1.4\n")
    places = []
    for number, body in enumerate(objects, 1):
        places.append(len(text))
        text += f"{number} 0 obj\n".encode() + body + b"\nendobj\n"
    start = len(text)
    text += f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n".encode()
    text += "".join(f"{place:010d} 00000 n \n" for place in places).encode()
    text += f"trailer\n<< /Size {len(objects) + 1} /Root 1 0 R >>\nstartxref\n{start}\n%%EOF\n".encode()
    path.write_bytes(text)


def write_svg(path: Path, shapes: int) -> None:
    """Paths, gradients, groups and texts."""
    chance = random.Random(24)

    def place() -> str:
        return f"{chance.uniform(0, 1000):.1f},{chance.uniform(0, 1000):.1f}"

    with open(path, "w", encoding="ascii") as file:
        file.write('<svg xmlns="http://www.w3.org/2000/svg" width="1000" height="1000">\n<defs>\n')
        for number in range(40):
            file.write(
                f'<linearGradient id="g{number}"><stop offset="0" stop-color="#{chance.randrange(1 << 24):06x}"/>'
            )
            file.write(f'<stop offset="1" stop-color="#{chance.randrange(1 << 24):06x}"/></linearGradient>\n')
        file.write("</defs>\n")
        for number in range(shapes):
            kind = number % 4
            fill = f'fill="url(#g{chance.randrange(40)})" fill-opacity="{chance.random():.2f}"'
            if kind == 0:
                file.write(f'<path {fill} d="M{place()} C{place()} {place()} {place()} S{place()} {place()} Z"/>\n')
            elif kind == 1:
                x, y = place().split(",")
                file.write(f'<circle {fill} cx="{x}" cy="{y}" r="{chance.randint(2, 30)}"/>\n')
            elif kind == 2:
                points = " ".join(place() for _ in range(12))
                turn = f'transform="rotate({chance.randrange(90)})"'
                file.write(
                    f'<g {turn}><polyline fill="none" stroke="#{chance.randrange(1 << 24):06x}" '
                    f'points="{points}"/></g>\n'
                )
            else:
                x, y = place().split(",")
                file.write(f'<text x="{x}" y="{y}" font-size="{chance.randint(6, 20)}">{chance.choice(WORDS)}</text>\n')
        file.write("</svg>\n")


def write_records(path: Path, count: int) -> None:
    """What a web application has in memory: articles with tags and comments."""
    chance = random.Random(25)
    records = [
        {
            "id": number,
            "title": sentence(chance),
            "body": paragraph(chance),
            "tags": [chance.choice(WORDS) for _ in range(4)],
            "comments": [{"by": chance.choice(WORDS), "text": sentence(chance)} for _ in range(chance.randrange(4))],
            "price": chance.randrange(10_000) / 100,
        }
        for number in range(count)
    ]
    path.write_text(json.dumps(records), encoding="ascii")
