// SPDX-License-Identifier: MIT
import QtQuick 2.15
import QtQuick.Controls 2.15

Item {
    id: root
    width: 800
    height: 600
    property int ticks: 0

    ListView {
        id: list
        width: parent.width / 2
        height: parent.height
        model: 2000
        delegate: Row {
            spacing: 6
            Rectangle { width: 24; height: 24; radius: index % 12; color: Qt.hsla((index % 100) / 100, 0.6, 0.5, 1) }
            Text { text: "row " + index + ": " + "memory cut to fit ".repeat(1 + index % 3) }
            Button { text: "press " + index; height: 24 }
        }
    }

    Canvas {
        id: canvas
        x: parent.width / 2
        width: parent.width / 2
        height: parent.height
        onPaint: {
            var context = getContext("2d")
            context.clearRect(0, 0, width, height)
            for (var i = 0; i < 300; i++) {
                context.fillStyle = Qt.hsla(((i + root.ticks) % 300) / 300, 0.8, 0.5, 0.7)
                context.fillRect((i * 37) % width, (i * 91 + root.ticks * 5) % height, 20, 20)
            }
        }
    }

    Timer {
        interval: 30
        running: true
        repeat: true
        onTriggered: {
            root.ticks += 1
            list.contentY = root.ticks * 180
            canvas.requestPaint()
            if (root.ticks === 60) {
                console.log("scrolled to", list.indexAt(1, list.contentY + 1), "of", list.count)
                Qt.quit()
            }
        }
    }
}
