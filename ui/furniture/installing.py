"""The button that installs the model package, for whoever sits at the machine that serves the app."""

from __future__ import annotations

import streamlit as st

from core.live.errors import ModelMissing
from core.live.install import Installation, Installer, from_this_machine
from ui import sources
from ui.shell import errors
from ui.shell.i18n import _

_MEGABYTE = 1e6


@st.cache_resource(show_spinner=False)
def installer() -> Installer:
    """The one installer of this server."""
    return Installer()


def possible() -> bool:
    """Whether this session may install, asked anew at every run and every click. Behind a socket file there is always
    a proxy. Streamlit gives no address for the loopback ones, and no headers where there is no browser."""
    behind_proxy = str(st.get_option("server.address") or "").startswith("unix://")
    return not behind_proxy and from_this_machine(st.context.ip_address or "127.0.0.1", st.context.headers.to_dict())


def offer(missing: ModelMissing) -> None:
    """What is missing, with a button that installs it; or how far that is; or why it failed, and the button again."""
    if installer().progress() is not None:
        _under_way()
        return
    failure = installer().failure()
    if failure is None:
        st.info(_("The live model is not installed here. The worked examples and the toy do everything without it."))
    else:
        st.error(_("The live model could not be installed.") + " " + errors.explain(failure))
    with st.container(horizontal=True, vertical_alignment="center"):
        st.button(_("Install the live model") if failure is None else _("Try the installation again"),
                  on_click=_start, key="install")
        st.button(_("Look again"), on_click=sources.loader().forget, key="try-again",
                  help=_("Press this after you have installed it in another way."))
        st.caption(_("What you see below are the last good numbers."))
    with st.expander(_("The same in a terminal, in the app's folder")):
        st.code(missing.command, language=None, wrap_lines=True)
    if failure is not None and failure.lines:
        with st.expander(_("What pip said last")):
            st.code("\n".join(failure.lines), language=None, wrap_lines=True)


def _start() -> None:
    if possible():
        installer().start()


def _stop() -> None:
    if possible():
        installer().stop()


@st.fragment(run_every="0.4s")
def _under_way() -> None:
    """The progress, with a way to end it; runs the page again when it is over."""
    now = installer().progress()
    if now is None:
        sources.loader().forget()
        st.rerun()
    with st.container(horizontal=True, vertical_alignment="center"):
        st.progress(min(now.got / now.size, 1.0) if now.size else 0.0, text=_words(now))
        st.button(_("Stop"), on_click=_stop, key="install-stop")


def _words(now: Installation) -> str:
    if now.stage == "fetch" and now.size:
        return _("The live model is being fetched: {got} of {size} MB, {seconds} s.").format(
            got=f"{now.got / _MEGABYTE:.1f}", size=f"{now.size / _MEGABYTE:.1f}", seconds=int(now.seconds))
    stage = {"start": _("pip is starting"), "fetch": _("being fetched"), "unpack": _("being unpacked")}[now.stage]
    return _("The live model is being installed: {stage}, {seconds} s.").format(stage=stage, seconds=int(now.seconds))
