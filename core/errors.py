"""What can go wrong in the core, as types that carry the offending values.

    WorkbenchError
    ├── ConfigError            a model configuration that cannot be built
    │   ├── Indivisible        one size must be a multiple of another and is not
    │   ├── SizeOutOfRange     a size below 1, or above what the app allocates
    │   ├── UnknownOption      a choice that is not among the known ones
    │   └── UnsupportedModel   an architecture this code does not implement
    ├── ShapeError             tensors whose shapes do not fit the operation
    ├── TokenOutOfRange        a token id that has no row in the table
    ├── UnknownName            a trace name that is not registered, or not available here
    ├── EditError              an edit of a cell that does not exist, or to a value that is no finite number
    ├── CacheError             a KV cache that cannot take or give what is asked
    │   ├── CacheFull          more tokens than it has room for
    │   ├── CacheMismatch      it was made for another model, batch or device
    │   └── CacheOverwritten   rows that a sliding window no longer holds
    ├── SamplingError          a distribution that cannot be sampled from
    │   ├── SettingOutOfRange  a temperature or limit outside its range
    │   └── LogitsInvalid      logits that are NaN or +∞, or all −∞
    └── core.live.errors       everything about model files and typed text

The message is plain English for logs and developers. `ui.errors` words each type in the user's language from the
attributes, so nothing may depend on the message.
"""

from __future__ import annotations

from collections.abc import Sequence


class WorkbenchError(Exception):
    """Root of every error that the core raises on purpose."""


class ConfigError(WorkbenchError, ValueError):
    """A model configuration that cannot be built."""


class Indivisible(ConfigError):
    """`value` must be a multiple of `divisor`; `fits` lists values near it that are, `divisors` those of `value`."""

    def __init__(self, field: str, value: int, by: str, divisor: int) -> None:
        self.field, self.value, self.by, self.divisor = field, value, by, divisor
        below = value // divisor * divisor
        self.fits = [n for n in (below, below + divisor) if n > 0]
        self.divisors = [n for n in range(1, min(value, 64) + 1) if value % n == 0]
        super().__init__(f"{field}={value} is not a multiple of {by}={divisor}; {self.fits} would be")


class SizeOutOfRange(ConfigError):
    """`field` must lie in `low`..`high`."""

    def __init__(self, field: str, value: object, low: int, high: int) -> None:
        self.field, self.value, self.low, self.high = field, value, low, high
        super().__init__(f"{field}={value!r} must be a whole number from {low} to {high}")


class UnknownOption(ConfigError):
    """`field` must be one of `known`."""

    def __init__(self, field: str, value: object, known: Sequence[str]) -> None:
        self.field, self.value, self.known = field, value, list(known)
        super().__init__(f"{field}={value!r} is not one of {self.known}")


class UnsupportedModel(ConfigError):
    """`model_type` is not implemented; `supported` lists what is."""

    def __init__(self, model_type: object, supported: Sequence[str], why: str = "") -> None:
        self.model_type, self.supported, self.why = model_type, list(supported), why
        super().__init__(f"model type {model_type!r} is not supported{why and ': ' + why}; supported: {self.supported}")


class NotJson(ConfigError):
    """A text of `length` characters that is no JSON, or longer than the `limit` that is read."""

    def __init__(self, length: int, limit: int) -> None:
        self.length, self.limit = length, limit
        super().__init__(f"{length} characters that are no JSON text of at most {limit}")


class ShapeError(WorkbenchError, ValueError):
    """Shapes that do not fit; `rule` says what must hold."""

    def __init__(self, rule: str, **shapes: Sequence[int]) -> None:
        self.rule = rule
        self.shapes = {name: tuple(shape) for name, shape in shapes.items()}
        got = ", ".join(f"{name} {list(shape)}" for name, shape in self.shapes.items())
        super().__init__(f"{rule}; got {got}")


class TokenOutOfRange(WorkbenchError, IndexError):
    """`token` has no row: ids run from 0 to `vocab` − 1. NumPy would wrap a negative one silently."""

    def __init__(self, token: int, vocab: int) -> None:
        self.token, self.vocab = token, vocab
        super().__init__(f"token id {token} is outside 0..{vocab - 1}")


class UnknownName(WorkbenchError, KeyError):
    """`name` is not registered, or this trace has no such tensor; `known` lists what it has. With `given` it has the
    tensor, but a step was asked for and nothing computes it; `known` then lists what is computed."""

    def __init__(self, name: str, known: Sequence[str] = (), *, given: bool = False) -> None:
        self.name, self.known, self.given = name, list(known), given
        what = f"{name!r} was given and not computed" if given else f"no tensor {name!r}"
        super().__init__(what + (f"; this trace {'computes' if given else 'has'} {self.known}" if known else ""))


class EditError(WorkbenchError, ValueError):
    """An edit of `name` at `index` that cannot be applied."""

    def __init__(self, name: str, index: Sequence[int], why: str) -> None:
        self.name, self.index, self.why = name, tuple(index), why
        super().__init__(f"{name}{list(index)}: {why}")


class CacheError(WorkbenchError, ValueError):
    """A KV cache that cannot take or give what is asked."""


class CacheFull(CacheError):
    """`length` tokens are cached and `new` do not fit any more: there is room for `max_tokens`."""

    def __init__(self, length: int, new: int, max_tokens: int) -> None:
        self.length, self.new, self.max_tokens = length, new, max_tokens
        super().__init__(f"{length} + {new} tokens do not fit into a cache for {max_tokens}; make a longer one")


class CacheMismatch(CacheError):
    """The cache was made for `cached` of `field`, and is used with `given`."""

    def __init__(self, field: str, cached: object, given: object) -> None:
        self.field, self.cached, self.given = field, cached, given
        super().__init__(f"the cache was made for {field}={cached}, not for {given}; make one for this model and batch")


class CacheOverwritten(CacheError):
    """Cropping to `length` needs rows before `oldest`, the first that a window of `rows` still holds."""

    def __init__(self, length: int, oldest: int, rows: int) -> None:
        self.length, self.oldest, self.rows = length, oldest, rows
        super().__init__(f"cropping to {length} needs rows before {oldest}, which a window of {rows} has overwritten; "
                         "start again from the text")


class SamplingError(WorkbenchError, ValueError):
    """A distribution that cannot be sampled from."""


class SettingOutOfRange(SamplingError):
    """`field` is `value`; `allowed` says in mathematical notation what it may be."""

    def __init__(self, field: str, value: object, allowed: str) -> None:
        self.field, self.value, self.allowed = field, value, allowed
        super().__init__(f"{field}={value!r}; allowed is {allowed}")


class LogitsInvalid(SamplingError):
    """`count` of the logits are `what` ("nan", "+inf"), or all of a row are "-inf"."""

    def __init__(self, what: str, count: int) -> None:
        self.what, self.count = what, count
        super().__init__(f"{count} logits are {what}; there is nothing to choose from")
