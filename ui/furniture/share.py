"""The link, the state file and the numbers of a page as a file."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import streamlit as st

from core.trace import Trace
from ui import bench as bench_module
from ui.bench import Bench, state_file
from ui.shell.i18n import _


def share(
    bench: Bench, trace: Trace, *, key: str, names: Sequence[str] = (), numbers: Mapping[str, np.ndarray] | None = None,
) -> None:
    """The link that restores this page, a state file when it would be too long, and the numbers as a file: those of the
    layer, of the tensors in `names`, or `numbers` that are not of the trace."""
    share_file(_("All numbers of this page (.npz)"),
               lambda: npz(_arrays(trace, bench.layer, names) if numbers is None else numbers), f"{trace.source}.npz",
               key=key)


def share_file(label: str, data: Callable[[], bytes], file_name: str, *, key: str) -> None:
    """As `share`, with the file of numbers given."""
    link = bench_module.share_link()
    if link:
        st.caption(_("This address opens the same page, with edits, pinned cell and language:"))
        st.code(link, language=None, wrap_lines=True)
    else:
        st.caption(_("The edits are too many for an address. Save them as a file and open it in the other browser."))
    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.download_button(_("Save the edits as a file"), state_file.saved(), file_name="workbench-state.json",
                           mime="application/json", key=f"{key}-state")
        st.download_button(label, data, file_name=file_name, mime="application/octet-stream", key=f"{key}-npz")
    file = st.file_uploader(_("Open saved edits"), type="json", key=f"{key}-open", max_upload_size=1)
    if file is not None:
        state_file.take(file.file_id, file.getvalue())


def _arrays(trace: Trace, layer: int, chosen: Sequence[str]) -> dict[str, np.ndarray]:
    """The computed tensors of one layer under their trace names; parameters are left out, they can be very large."""
    own = [name for name in trace.names() if name.startswith(f"blocks.{layer}.") and name in trace.steps]
    names = [name for name in chosen if name in trace] or own
    return {name: trace[name].detach().cpu().numpy() for name in names}


def npz(arrays: Mapping[str, np.ndarray]) -> bytes:
    """Arrays as the bytes of an .npz file."""
    buffer = io.BytesIO()
    np.savez(buffer, allow_pickle=False, **dict(arrays))
    return buffer.getvalue()
