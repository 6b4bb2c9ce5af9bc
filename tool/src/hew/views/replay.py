# SPDX-License-Identifier: MIT
"""`hew top --replay`: the same screens, of a recording."""

from typing import ClassVar, Protocol

from textual.binding import Binding, BindingType

from hew.model.live import Feed
from hew.views.top import TopApp

FASTEST = 0.05  # seconds between two looks: more would not be seen


class Steps(Feed, Protocol):
    """A feed that is stepped through."""

    @property
    def title(self) -> str:
        """Where it stands."""
        ...

    def step(self, count: int) -> bool:
        """Forward or back; whether that moved."""
        ...


class ReplayApp(TopApp):
    """Goes on by one look each time; space holds it, the arrows step."""

    TITLE = "hew top --replay"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("space", "pause", "pause", priority=True),
        Binding("left", "step(-1)", "back", priority=True),
        Binding("right", "step(1)", "on", priority=True),
    ]

    def __init__(self, feed: Steps, every: float, pid: int | None = None) -> None:
        super().__init__(feed, max(every, FASTEST), pid)
        self._steps = feed
        self._begun = False

    def on_interval(self) -> None:
        """One look further, unless it stands."""
        if self._paused:
            return
        if self._begun:
            self._steps.step(1)
        self._begun = True
        self.refresh_now()

    def action_pause(self) -> None:
        """Stand still, or go on."""
        super().action_pause()
        self._entitle()

    def action_step(self, count: int) -> None:
        """To the look before, or the next one; it stands there."""
        self._paused = True
        self._steps.step(count)
        self.refresh_now()

    def may_read(self) -> bool:
        """What stands is read, too: it was stepped to."""
        return True

    def refresh_now(self) -> None:
        """And where we are."""
        self._entitle()
        super().refresh_now()

    def _entitle(self) -> None:
        self.sub_title = self._steps.title + (", paused" if self._paused else "")
