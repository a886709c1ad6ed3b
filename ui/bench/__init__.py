"""What is on the bench: the source, the sizes, the place looked at, the edits. One typed object.

This package is the only reader of session state and of the address. Plain widget values are bound to the address by
Streamlit; what Streamlit cannot bind (choices whose labels are translated, the typed text, edits, the pinned cell) is
kept here: read from the address when it holds something that this app did not write itself (a link, Back, Forward), and
written back after each run. What can be chosen is declared as a parameter (`ui.bench.parameters`): what holds on every
page in `ui.bench.choices`, what does not in the module of its stage.
"""

from ui.bench.arrival import as_then, begin, check, finish, leave, share_link
from ui.bench.controls import fits_toy, look_at, looked_at, pick, place_of, set_toy
from ui.bench.edits import (
    all_edits,
    discard_edits,
    edits_shown,
    edits_taker,
    fitting,
    replace_edits,
    revision,
)
from ui.bench.location import read_number
from ui.bench.pins import (
    flipped,
    order,
    order_taker,
    pin_for,
    pin_taker,
    place_for,
    place_taker,
    switch_taker,
    window,
    window_taker,
)
from ui.bench.session import MaskChoice, examples
from ui.bench.state import Bench, choose, chosen, current, model_name

__all__ = [
    "Bench",
    "MaskChoice",
    "all_edits",
    "as_then",
    "begin",
    "check",
    "choose",
    "chosen",
    "current",
    "discard_edits",
    "edits_shown",
    "edits_taker",
    "examples",
    "finish",
    "fits_toy",
    "fitting",
    "flipped",
    "leave",
    "look_at",
    "looked_at",
    "model_name",
    "order",
    "order_taker",
    "pick",
    "pin_for",
    "pin_taker",
    "place_for",
    "place_of",
    "place_taker",
    "read_number",
    "replace_edits",
    "revision",
    "set_toy",
    "share_link",
    "switch_taker",
    "window",
    "window_taker",
]
