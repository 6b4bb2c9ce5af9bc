# SPDX-License-Identifier: MIT
"""Programs with windows, on an X server without a screen. They wait on timers, so CPU time is what is compared."""

from __future__ import annotations

from model import Program, Step
from normalise import only

DEMOS = ("textview", "listbox", "iconview", "css_shadows", "pixbufs")

PROGRAMS = [
    Program(
        name="gtk",
        what=f"`gtk3-demo`: {', '.join(DEMOS)}, each until it quits by itself",
        packages={"gtk3-demo": "gtk-3-examples", "Xvfb": "xvfb"},
        version=("gtk3-demo", "--version"),
        display=True,
        waits=True,
        environment={"GDK_BACKEND": "x11", "DBUS_SESSION_BUS_ADDRESS": "disabled:", "GSETTINGS_BACKEND": "memory"},
        steps=tuple(Step(("gtk3-demo", f"--run={demo}", "--autoquit")) for demo in DEMOS),
    ),
    Program(
        name="qt",
        what="`qmlscene`: a list of 2000 rows that scrolls, with animations and a canvas, until it quits by itself",
        packages={
            "qmlscene": "qmlscene",
            "Xvfb": "xvfb",
            "/usr/lib/*/qt5/qml/QtQuick.2/libqtquick2plugin.so": "qml-module-qtquick2",
            "/usr/lib/*/qt5/qml/QtQuick/Controls.2/qmldir": "qml-module-qtquick-controls2",
            "/usr/lib/*/qt5/qml/QtQuick/Window.2/qmldir": "qml-module-qtquick-window2",
        },
        version=("dpkg-query", "-W", "-f", "${Version}", "qmlscene"),
        probe=("qmlscene", "{workloads}/scene.qml"),
        display=True,
        waits=True,
        environment={
            "QT_QPA_PLATFORM": "xcb",
            "QT_QUICK_BACKEND": "software",
            "QT_SELECT": "qt5",
            "XDG_RUNTIME_DIR": "{run}",
        },
        steps=(Step(("qmlscene", "{workloads}/scene.qml"), messages=only("^qml: ")),),
    ),
    Program(
        name="xterm",
        what="a terminal that prints 20,000 coloured lines and ends",
        packages={"xterm": "xterm", "Xvfb": "xvfb"},
        version=("xterm", "-version"),
        display=True,
        waits=True,
        steps=(
            Step(
                ("xterm", "-sl", "5000", "-e", "/bin/sh", "{workloads}/lines.sh", "{run}/printed"),
                artifacts=("printed",),
            ),
        ),
    ),
]
