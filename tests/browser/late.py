"""A server that answers late: what it sends is held for so long; what the browser sends goes out at once."""

from __future__ import annotations

import re
import time
from collections import deque
from collections.abc import Callable

from playwright.sync_api import Page, WebSocketRoute

PATIENCE = 90.0  # seconds, for a machine that does much else


class Late:
    """The answers of a page's server, `delay` milliseconds late, in their order: they come while `pass_on` or `until`
    runs. In time until `delay` is set, and again from `end` on."""

    def __init__(self, page: Page) -> None:
        self.page, self.delay = page, 0
        self._held: deque[tuple[float, WebSocketRoute, str | bytes]] = deque()
        page.route_web_socket(re.compile("_stcore/stream"), self._joined)

    def _joined(self, route: WebSocketRoute) -> None:
        server = route.connect_to_server()
        server.on_message(lambda message: self._answer(route, message))

    def _answer(self, route: WebSocketRoute, message: str | bytes) -> None:
        if self.delay == 0 and not self._held:
            route.send(message)
        else:
            self._held.append((time.monotonic() + self.delay / 1000, route, message))

    def pass_on(self) -> None:
        """Give the page what is due."""
        while self._held and self._held[0][0] <= time.monotonic():
            _due, route, message = self._held.popleft()
            route.send(message)

    def end(self) -> None:
        """From here on the server answers in time; what was held goes out."""
        self.delay = 0
        while self._held:
            _due, route, message = self._held.popleft()
            route.send(message)

    def until(self, done: Callable[[], bool]) -> None:
        """Give the page its answers as they fall due until `done`; what is never done fails."""
        end = time.monotonic() + PATIENCE
        while not done():
            assert time.monotonic() < end
            self.page.wait_for_timeout(20)
            self.pass_on()
