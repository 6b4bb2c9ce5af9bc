# SPDX-License-Identifier: MIT
"""Documents and drawings."""

from __future__ import annotations

from generate import documents
from model import Place, Program, Step


def markdown(place: Place) -> None:
    documents.write_markdown(place.inputs / "book.md", int(place.sizes["sections"]))


def web_page(place: Place) -> None:
    documents.write_html(place.inputs / "book.html", int(place.sizes["sections"]))


def pdf(place: Place) -> None:
    documents.write_pdf(place.inputs / "book.pdf", int(place.sizes["pages"]))


def drawing(place: Place) -> None:
    documents.write_svg(place.inputs / "drawing.svg", int(place.sizes["shapes"]))


SAME_DATE = {"SOURCE_DATE_EPOCH": "1600000000"}

PROGRAMS = [
    Program(
        name="pandoc",
        what="a book in Markdown to HTML, LaTeX and OpenDocument's XML",
        packages={"pandoc": "pandoc"},
        version=("pandoc", "--version"),
        sizes={"sections": ("60", "300")},
        environment=SAME_DATE,
        prepare=markdown,
        steps=tuple(
            Step(
                ("pandoc", "-s", "--toc", "-o", f"book.{kind}", "-t", to, "{inputs}/book.md"),
                artifacts=(f"book.{kind}",),
            )
            for kind, to in (("html", "html5"), ("tex", "latex"), ("xml", "opendocument"))
        ),
        note="GHC's heap is not malloc's",
    ),
    Program(
        name="libreoffice",
        what="`soffice --headless` of a long page to text and PDF",
        packages={"soffice": "libreoffice-writer-nogui", "pdftotext": "poppler-utils"},
        version=("dpkg-query", "-W", "-f", "${Version}", "libreoffice-writer-nogui"),
        probe=("/usr/lib/libreoffice/program/soffice.bin", "--version"),
        sizes={"sections": ("10", "60")},
        environment=SAME_DATE,
        prepare=web_page,
        steps=(
            Step(
                ("soffice", "-env:UserInstallation=file://{run}/profile", "--headless", "--infilter=HTML (StarWriter)")
                + ("--convert-to", "txt:Text", "--outdir", "{run}", "{inputs}/book.html"),
                normalise=lambda _: "",
                artifacts=("book.txt",),
            ),
            Step(
                ("soffice", "-env:UserInstallation=file://{run}/profile", "--headless", "--infilter=HTML (StarWriter)")
                + ("--convert-to", "pdf:writer_pdf_Export", "--outdir", "{run}", "{inputs}/book.html"),
                normalise=lambda _: "",
            ),
            Step(("pdftotext", "book.pdf", "-"), timed=False, under_library=False),
        ),
        timeout=580,
    ),
    Program(
        name="poppler",
        what="`pdftotext`, `pdftoppm` and `pdftocairo` of a PDF of text and drawings",
        packages={"pdftotext": "poppler-utils"},
        version=("pdftotext", "-v"),
        sizes={"pages": ("12", "80")},
        environment=SAME_DATE,
        prepare=pdf,
        steps=(
            Step(("pdftotext", "-layout", "{inputs}/book.pdf", "-")),
            Step(("mkdir", "pages"), timed=False, under_library=False),
            Step(("pdftoppm", "-r", "70", "-png", "{inputs}/book.pdf", "pages/page"), artifacts=("pages",)),
            Step(("pdftocairo", "-svg", "-f", "1", "-l", "1", "{inputs}/book.pdf", "one.svg"), artifacts=("one.svg",)),
        ),
    ),
    Program(
        name="vips",
        what="`vips`: a picture from Perlin noise, sharpened, blurred, turned, made smaller, written in three formats",
        packages={"vips": "libvips-tools"},
        version=("vips", "--version"),
        sizes={"side": ("800", "2400")},
        environment={"VIPS_CONCURRENCY": "2"},
        steps=(
            Step(("vips", "perlin", "noise.v", "{side}", "{side}", "--seed", "5", "--uchar")),
            Step(("vips", "copy", "noise.v", "grey.v", "--interpretation", "b-w")),
            Step(("vips", "sharpen", "grey.v", "sharp.png"), artifacts=("sharp.png",)),
            Step(("vips", "gaussblur", "noise.v", "blurred.png", "6"), artifacts=("blurred.png",)),
            Step(("vips", "similarity", "noise.v", "turned.tif", "--angle", "33"), artifacts=("turned.tif",)),
            Step(("vipsthumbnail", "blurred.png", "--size", "300", "-o", "{run}/small.jpg"), artifacts=("small.jpg",)),
            Step(("vips", "avg", "turned.tif")),
        ),
    ),
    Program(
        name="cairo",
        what="`rsvg-convert` of a drawing of thousands of paths, gradients and texts to PNG and PDF",
        packages={"rsvg-convert": "librsvg2-bin"},
        version=("rsvg-convert", "--version"),
        sizes={"shapes": ("1500", "12000")},
        environment=SAME_DATE,
        prepare=drawing,
        steps=tuple(
            Step(
                ("rsvg-convert", "--unlimited", "-f", kind, "-o", f"drawing.{kind}", "{inputs}/drawing.svg"),
                artifacts=(f"drawing.{kind}",),
            )
            for kind in ("png", "pdf")
        ),
    ),
]
