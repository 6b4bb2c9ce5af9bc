# SPDX-License-Identifier: MIT
"""Video and pictures."""

from __future__ import annotations

from model import Program, Step

DETERMINISTIC = "sliced-threads=1:sync-lookahead=0"
"""With frame threads, x264's output varied in about one run of five under glibc too, on a busy machine; so it did not vary
in 60 runs."""

PROGRAMS = [
    Program(
        name="ffmpeg",
        what="encode a synthetic film with sound (H.264 and AAC, 4 threads), decode it, digest every frame",
        packages={"ffmpeg": "ffmpeg"},
        version=("ffmpeg", "-version"),
        sizes={"seconds": ("2", "12")},
        steps=(
            Step(
                (
                    "ffmpeg",
                    "-nostdin",
                    "-v",
                    "error",
                    "-f",
                    "lavfi",
                    "-i",
                    "testsrc2=size=960x540:rate=25",
                    "-f",
                    "lavfi",
                    "-i",
                    "sine=frequency=440:beep_factor=4",
                    "-t",
                    "{seconds}",
                    "-c:v",
                    "libx264",
                    "-threads",
                    "4",
                    "-x264-params",
                    DETERMINISTIC,
                    "-preset",
                    "fast",
                    "-c:a",
                    "aac",
                    "-bitexact",
                    "film.mkv",
                ),
                artifacts=("film.mkv",),
            ),
            Step(
                (
                    "ffmpeg",
                    "-nostdin",
                    "-v",
                    "error",
                    "-threads",
                    "4",
                    "-i",
                    "film.mkv",
                    "-vf",
                    "scale=640:360,hue=s=0,unsharp",
                    "-f",
                    "framemd5",
                    "-",
                )
            ),
        ),
    ),
    Program(
        name="imagemagick",
        what="draw, distort, blur, quantize and write a picture in three formats",
        packages={"convert-im6.q16": "imagemagick"},
        version=("convert-im6.q16", "-version"),
        sizes={"side": ("400", "800")},
        steps=(
            Step(
                (
                    "convert-im6.q16",
                    "-seed",
                    "5",
                    "-size",
                    "{side}x{side}",
                    "plasma:red-blue",
                    "-swirl",
                    "120",
                    "-gaussian-blur",
                    "0x3",
                    "-distort",
                    "Arc",
                    "120",
                    "-strip",
                    "-define",
                    "png:exclude-chunks=date,time",
                    "picture.png",
                ),
                artifacts=("picture.png",),
            ),
            Step(
                (
                    "convert-im6.q16",
                    "picture.png",
                    "-resize",
                    "70%",
                    "-colors",
                    "64",
                    "-strip",
                    "+set",
                    "date:create",
                    "+set",
                    "date:modify",
                    "picture.gif",
                ),
                artifacts=("picture.gif",),
            ),
            Step(
                ("convert-im6.q16", "picture.gif", "-rotate", "33", "-strip", "-quality", "88", "picture.jpg"),
                artifacts=("picture.jpg",),
            ),
            Step(("identify-im6.q16", "-format", "%m %w %h %k %#\n", "picture.png", "picture.gif", "picture.jpg")),
        ),
    ),
]
