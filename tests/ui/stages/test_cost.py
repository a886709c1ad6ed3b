"""The page on costs through AppTest: its numbers are the core's, in both languages, for every model and setting."""

from __future__ import annotations

import html
import re
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from core import cost, notation
from core.config import PRESETS, ModelConfig
from core.machine import ledger
from core.machine.datasheet import DEVICES
from core.machine.ledger import Workload
from core.machine.timing import Timing
from core.shapes import MODELS
from core.toy import ToySizes, toy
from tests.ui.on_page import arrived, everything, messages, opened
from tests.waiting import until
from ui.shell.numbers import format_bytes, percent, quantity
from ui.stages.cost import measured, tables
from ui.stages.cost.measured import Measured, Measurement

PAGE = "pages/inference/cost.py"
SECTIONS = ("crossover", "sharing", "fused", "savings", "machine", "wrong", "code", "share", "predict")
LLAMA = Workload(PRESETS["llama-2-7b"], 1, 2048)


def cost_page(**parts: str) -> AppTest:
    at = opened(PAGE, **parts)
    assert not at.exception
    return at


def unfolded(**parts: str) -> AppTest:
    at = cost_page(**parts)
    for key in SECTIONS:
        at.session_state[f"open-{key}"] = True
    at.run()
    assert not at.exception
    return at


def ledgers(at: AppTest) -> list[list[list[str]]]:
    """Every table of the page: rows of texts."""
    found = [element.proto.body for element in at.get("html") if 'class="ledger"' in element.proto.body]
    return [[[html.unescape(re.sub("<[^>]+>", "", cell)) for cell in re.findall("<t[hd].*?</t[hd]>", row)]
             for row in re.findall("<tr.*?</tr>", body)] for body in found]


def assert_ledger(at: AppTest, load: Workload) -> None:
    """The first table holds the ledger's numbers, in its order."""
    lines = [line for line in ledger.ledger(load) if any(line[1:])]
    units = ("", "FLOP", "B", "FLOP", "B")
    wanted = [[quantity(value, unit) if value else "" for value, unit in zip(line[1:], units, strict=True)]
              for line in lines]
    assert [row[1:] for row in ledgers(at)[0][2:]] == wanted


def test_it_opens_with_the_model_of_d1() -> None:
    at = cost_page(lang="en")
    assert messages(at) == []
    assert_ledger(at, LLAMA)
    assert "6,738,415,616 parameters by formula, 6,738,415,616 in the tensors" in at.main.caption[-1].value
    assert ledgers(at)[0][-1] == ["Total", "6.74 G", "28.7 TFLOP", "13.3 GiB", "14.3 GFLOP", "13.3 GiB"]


@pytest.mark.parametrize("lang", ["en", "zh"])
@pytest.mark.parametrize("model", MODELS)
def test_every_model_shows_its_own_numbers_in_every_section(model: str, lang: str) -> None:
    at = unfolded(lang=lang, cost_of=model, cT="600", cB="8", wtype="int4", ctype="int8", device="h100")
    assert messages(at) == []
    load = Workload(MODELS[model].config, 8, 600, "int4", "int8")
    assert_ledger(at, load)
    assert len(ledgers(at)) == 8
    moved = [cost.attention_traffic(load.config, 8, 600, bytes_per_element=1, fused=fused)["total"]
             for fused in (False, True)]
    assert [row[-1] for row in ledgers(at)[5][1:]] == [quantity(amount, "B") for amount in moved]
    assert "result = {" in at.code[0].value


def test_controls_change_the_numbers() -> None:
    at = cost_page(lang="en")
    at.number_input(key="cT").set_value(4096).run()
    assert_ledger(at, LLAMA._replace(tokens=4096))
    at.select_slider(key="cB").set_value(64).run()
    assert_ledger(at, LLAMA._replace(tokens=4096, batch=64))
    at.selectbox(key="wtype").set_value("int8").run()
    at.selectbox(key="device").set_value("rtx-4090").run()
    load = LLAMA._replace(tokens=4096, batch=64, weights="int8")
    assert_ledger(at, load)
    found = ledger.estimate(load, "decode", DEVICES["rtx-4090"])
    assert ledgers(at)[1][2][4] == quantity(found.seconds, "s")
    assert "cannot hold them" in everything(at)
    assert not at.exception


def test_the_sizes_of_the_map_and_of_the_bench() -> None:
    sizes = {"mD": "48", "mH": "6", "mHkv": "2", "mF": "100", "mV": "77", "mL": "3"}
    config = ModelConfig.from_width(width=48, heads=6, kv_heads=2, ffn_width=100, vocab=77, layers=3, max_positions=4,
                                    positions="none")
    assert_ledger(cost_page(lang="en", cost_of="map", cT="9", mffn="swiglu", **sizes), Workload(config, 1, 9))
    at = cost_page(lang="en", cost_of="bench", source="toy", D="16", H="4", Hkv="2", cT="5")
    assert_ledger(at, Workload(toy(ToySizes(width=16, heads=4, kv_heads=2), 0).config, 1, 5))


def test_sizes_that_cannot_work_say_why_and_the_page_stands() -> None:
    at = cost_page(lang="zh", cost_of="map", mD="8", mH="3")
    assert "D = 8" in at.error[0].value
    assert_ledger(at, LLAMA)


@pytest.mark.parametrize("parts", [
    {"cT": "0"}, {"cT": "1e9"}, {"cT": "abc"}, {"cB": "-1"}, {"cB": "99999"}, {"cB": "x"}])
def test_numbers_that_cannot_be_are_left_out_and_told(parts: dict[str, str]) -> None:
    assert len(arrived(lang="en", **parts).warning) == 1
    assert_ledger(cost_page(lang="en", **parts), LLAMA)


@pytest.mark.parametrize("parts", [
    {"cB": "3"}, {"cost_of": "x"}, {"device": "here"}, {"wtype": "int3"}, {"ctype": "int4"}, {"shared": "x"},
    {"part": "norms"}, {"slip": "x"}])
def test_unknown_choices_leave_the_page_as_it_opens(parts: dict[str, str]) -> None:
    assert_ledger(unfolded(lang="en", **parts), LLAMA)


@pytest.mark.parametrize("slip", ledger.SLIPS)
def test_mistakes_are_carried_out(slip: str) -> None:
    at = unfolded(lang="en", slip=slip, cB="16")
    found = ledger.slip(LLAMA._replace(batch=16), DEVICES["a100"], slip)
    assert ledgers(at)[-1][1][1:3] == [quantity(found.right, found.unit), quantity(found.wrong, found.unit)]


def test_another_notation_renames_the_letters() -> None:
    text = everything(unfolded(lang="en", notation="hf")) + str(ledgers(cost_page(lang="en", notation="hf")))
    assert "q_proj.weightᵀ" in text
    assert "WQ" not in text


@pytest.mark.parametrize("code", [code for code in notation.NOTATIONS if code != notation.DEFAULT])
def test_letters_of_a_formula_are_replaced_once_and_all_at_the_same_time(code: str) -> None:
    """D1 calls T S and S S̃, PyTorch calls T L and L num_layers: what a letter became is not replaced again."""
    def letter(factor: ledger.Factor) -> str:
        written = {name: notation.as_latex(notation.axis(name, code)) for name in notation.AXES}
        own = {"": str(factor.size), "heads": f"({written['H']} + {written['Hkv']})",
               **{name: rf"{written['T']}_{{\mathrm{{{name}}}}}" for name in ("new", "read")}}
        return own.get(factor.name) or written[factor.name]

    at = cost_page(lang="en", notation=code)
    for part in ledger.PRODUCTS:
        at.session_state["part"] = part
        at.run()
        (shown,) = [element.value for element in at.markdown if r"\text{FLOP} = " in element.value]
        wanted = r"\text{FLOP} = " + r"\,".join(map(letter, ledger.factors(LLAMA, "prefill", part)))
        assert bare(shown) == bare(rf"$\displaystyle {wanted}$")


def bare(formula: str) -> str:
    """A formula without its grouping braces and without spaces: they change nothing that is read."""
    return re.sub(r"[{} ]|\\,", "", formula)


def test_predicted_stands_beside_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    """With times of a clock of our own: what is predicted is the roofline of the ceilings."""
    found = Measured(DEVICES["desktop-cpu"], PRESETS["smollm2-135m"], "float32", [Timing(8, 64, 5.0, 0.25)], None)
    done = Measurement()
    done.result = found
    monkeypatch.setattr(measured, "measurement", lambda: done)
    at = unfolded(lang="en", device="here")
    load = Workload(PRESETS["smollm2-135m"], 8, 64, "float32", "float32")
    least = [ledger.estimate(load, kind, found.ceilings).seconds for kind in ledger.PASSES]
    rows = next(table for table in ledgers(at) if table[0][-1] == "measured ÷ predicted")[1:]
    assert [row[2:4] for row in rows] == [[quantity(least[0], "s"), "5 s"], [quantity(least[1], "s"), "250 ms"]]
    assert rows[1][4] == f"×{0.25 / least[1]:.2f}"


def test_the_file_holds_the_ledger_in_full() -> None:
    lines = tables.as_csv(ledger.ledger(LLAMA)).decode().splitlines()
    assert lines[0] == "part,parameters,prefill_flops,prefill_bytes,decode_flops,decode_bytes"
    assert lines[-1] == "total," + ",".join(map(str, ledger.ledger(LLAMA)[-1][1:]))


@pytest.mark.parametrize(("value", "text"), [
    (0, "0 s"), (999, "999 s"), (1000, "1.00 ks"), (13_476_831_232, "13.5 Gs"), (999_999, "1.00 Ms"),
    (0.007008, "7.01 ms"), (1e25, "10.0 Ys"), (5e-11, "0.0500 ns"), (1.5, "1.50 s"), (4.6e-5, "46.0 µs")])
def test_quantities(value: float, text: str) -> None:
    assert quantity(value, "s") == text


@pytest.mark.parametrize(("value", "text"), [
    (0.9987, "0.999"), (0.9996, "1.00"), (1.003, "1.00"), (0.5, "0.500"), (0.00123, "0.00123"), (156.4, "156")])
def test_a_ratio_has_no_prefix_below_one(value: float, text: str) -> None:
    assert quantity(value) == text


def test_the_intensity_of_gpt2_is_a_plain_number() -> None:
    text = everything(cost_page(lang="en", cost_of="gpt2"))
    assert "a decode step does only 0.999 FLOP for each byte" in text


@pytest.mark.parametrize(("value", "text"), [
    (0, "0 B"), (640, "640 B"), (9999, "9999 B"), (10_240, "10 KiB"), (2**30, "1 GiB"), (1023 * 2**20, "0.999 GiB"),
    (13_476_831_232, "12.6 GiB"), (5 * 2**60, "5 EiB"), (2**72, "4.1e+03 EiB")])
def test_bytes_are_counted_in_one_way(value: float, text: str) -> None:
    assert format_bytes(value) == quantity(value, "B") == text


def test_the_page_names_the_window_and_how_bytes_are_counted() -> None:
    for tokens, window in (("2048", "1,024"), ("16384", "4,096")):
        at = cost_page(lang="en", cT=tokens)
        at.session_state["open-savings"] = True
        at.run()
        (row,) = [line for line in ledgers(at)[-1] if "window" in line[0]]
        assert row[0] == f"Sliding window of {window}"
        before, after = row[2].split(" → ")
        assert before != after
        assert before.endswith("GiB")
        assert any("steps of 1024" in element.value for element in at.caption)


@pytest.mark.parametrize(("share", "text"), [
    (0.0, "0 %"), (1e-5, "≈0 %"), (0.0066, "0.7 %"), (0.0999, "10 %"), (0.617, "62 %"), (1.0, "100 %")])
def test_percentages(share: float, text: str) -> None:
    assert percent(share) == text


def test_the_measurement_runs_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A second start while it runs, or after it, changes nothing; a machine without a model keeps its ceilings."""
    ran: list[Any] = []
    monkeypatch.setattr(measured, "measure_ceilings", lambda: ran.append(1) or DEVICES["desktop-cpu"])

    class NoModel:
        def model(self) -> None:
            raise ledger.UnknownOption("model", "none", [])

    clock = Measurement()
    clock.start(NoModel())  # type: ignore[arg-type]
    until(lambda: clock.result is not None)
    clock.start(NoModel())  # type: ignore[arg-type]
    assert ran == [1]
    assert clock.fraction is None
    assert clock.result is not None
    assert clock.result.ceilings is DEVICES["desktop-cpu"]
    assert isinstance(clock.result.problem, ledger.UnknownOption)
