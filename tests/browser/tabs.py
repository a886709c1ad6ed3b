"""Pages for the tests: each test gets new ones, in windows that have compiled the app's scripts before.

A new browser context reads and compiles several megabytes of JavaScript again, which costs a test more than all that
it does. So the contexts are kept, one for each way of opening a page. Their windows are opened by a page that stays,
and so share its process and what is compiled there. What a test leaves behind (storage, cookies) is cleared after it.
"""

from __future__ import annotations

from urllib.parse import urlsplit

from playwright.sync_api import Browser, BrowserContext, Page

PATIENCE = 120_000  # milliseconds: nothing is asked to be quick here, and the machine may be busy or slow
HOST = "http://127.0.0.1"  # of all servers of the tests; which port it is makes no other site
KEPT = "cookies,local_storage,indexeddb,cache_storage,service_workers"  # what a page can leave behind


class _Kept:
    """A context, and the page in it that opens the others."""

    def __init__(self, browser: Browser, options: dict[str, object]) -> None:
        self.context: BrowserContext = browser.new_context(**options)  # type: ignore[arg-type]
        self.context.set_default_timeout(PATIENCE)
        self.opener = self.context.new_page()
        self.opener.route("**/*", lambda route: route.fulfill(body="", content_type="text/html"))
        self.opener.goto(HOST)
        self.devtools = self.context.new_cdp_session(self.opener)

    def open(self) -> Page:
        with self.context.expect_page() as found:
            self.opener.evaluate("void open('about:blank')")
        return found.value

    def clear(self, origins: set[str]) -> None:
        for page in self.context.pages:
            if page is not self.opener:
                page.close()
        assert not self.opener.evaluate("'__pwClock' in globalThis"), "a stopped clock is for `own_page`"
        self.context.clear_cookies()
        for origin in sorted(origins):
            self.devtools.send("Storage.clearDataForOrigin", {"origin": origin, "storageTypes": KEPT})


class Tabs:
    """All contexts of this process."""

    def __init__(self, browser: Browser) -> None:
        self._browser = browser
        self._kept: dict[str, _Kept] = {}
        self._own: list[BrowserContext] = []
        self._origins: set[str] = set()

    def open(self, *, shared: bool = True, **options: object) -> Page:
        """A new page in the context with these options (keywords as `Browser.new_context`), or in one of its own."""
        if not shared:
            context = self._browser.new_context(**options)  # type: ignore[arg-type]
            context.set_default_timeout(PATIENCE)
            self._own.append(context)
            return context.new_page()
        key = repr(sorted(options.items()))
        if key not in self._kept:
            self._kept[key] = _Kept(self._browser, options)
        page = self._kept[key].open()
        page.on("request", lambda request: self._origins.add("{0.scheme}://{0.netloc}".format(urlsplit(request.url))))
        return page

    def clear(self) -> None:
        """Close all pages that tests opened, and forget what they stored."""
        for context in self._own:
            context.close()
        for kept in self._kept.values():
            kept.clear({origin for origin in self._origins if origin.startswith(HOST)})
        self._own.clear()
        self._origins.clear()
