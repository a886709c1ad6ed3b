"""Generation and the KV cache in Chromium: step, run, stop, look back; the digits are the core's own."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from playwright.sync_api import Page, expect

from core import live, worked
from core.generation import GenerationStep, generate
from core.model import decoder_of
from core.stage import At
from core.stages import generation
from core.stages.generation import mistakes
from core.trace import Trace
from tests.browser.on_page import (
    Shown,
    cell,
    check_pointing,
    choose,
    dock,
    settled,
    unfold,
    wait_for_slice,
)
from ui.shell.numbers import format_number

SLIDER = ".st-key-controls [data-testid=stSlider] input"
ATTENTION = ("q", "k_all", "scores", "scaled", "weights", "v_all", "context")


def steps_of(trace: Trace, **choices: object) -> list[GenerationStep]:
    """The core's own generation from a worked example, to the end of its positions."""
    ids = trace["tokens"]
    return list(generate(decoder_of(trace), ids, max_tokens=trace.config.max_positions - ids.shape[1] + 1, trace=True,
                         **choices))  # type: ignore[arg-type]


def traced(step: GenerationStep) -> Trace:
    assert step.trace is not None
    return step.trace


def visit(page: Page, address: str) -> Page:
    page.goto(address)
    page.locator("[role=gridcell]").first.wait_for()
    return page


def press(page: Page, name: str) -> None:
    page.locator(f".st-key-run-{name} button").click()


def wait_for_step(page: Page, step: GenerationStep, head: int = 0) -> None:
    """Wait until the equation shows this step."""
    for short in ("scores", "context"):
        wait_for_slice(page, traced(step), f"blocks.0.{short}", head=head, decimals=2)
    for short in ("k_all", "v_all"):
        wait_for_slice(page, traced(step), f"blocks.0.{short}", head=head, decimals=2, transposed=short == "k_all")


@pytest.mark.parametrize(("parts", "kv_heads", "head"), [("", 2, 0), ("&example=block_shared&head=2", 1, 1)])
def test_step_by_step_and_back(page: Page, url: str, parts: str, kv_heads: int, head: int) -> None:
    steps = steps_of(worked.block(kv_heads))  # type: ignore[arg-type]
    visit(page, f"{url}/generation?lang=en&decimals=2{parts}")
    wait_for_step(page, steps[1], head)
    press(page, "over")
    expect(page.locator("[role=gridcell]")).to_have_count(0)
    for step in steps:
        press(page, "step")
        wait_for_step(page, step, head)
        assert step.token is not None
        expect(page.locator(".text p b.next").first).to_have_text(worked.BLOCK_VOCABULARY[int(step.token)])
        expect(page.locator(".text p:first-child b.now")).to_have_count(step.inputs.shape[1])
        expect(page.locator(".text p:first-child b.cached")).to_have_count(step.cached)
    expect(page.locator(".st-key-run-step button")).to_be_disabled()
    handle = page.locator(SLIDER).first  # while a run draws, the slider of the step before may still stand
    for place in (4, 3):
        handle.press("ArrowLeft")
        wait_for_step(page, steps[place - 1], head)


def test_new_rows_are_marked_and_pointing_lights_what_a_score_is_made_of(page: Page, url: str) -> None:
    visit(page, f"{url}/generation?lang=en&decimals=2")
    fresh = page.locator("[data-name='blocks.0.k_all'] .cell.fresh")
    expect(fresh).to_have_count(2)  # one column of two
    trace = traced(steps_of(worked.block())[1])
    for col in range(5):
        cell(page, "blocks.0.scores", 0, col).hover()
        lit = page.locator(".cell.lit").evaluate_all(
            "all => all.map(n => [n.closest('[role=grid]').dataset.name, n.parentNode.ariaRowIndex - 1,"
            " n.ariaColIndex - 1])")
        assert sorted(map(tuple, lit)) == sorted(
            [("blocks.0.q", 0, d) for d in range(2)] + [("blocks.0.k_all", d, col) for d in range(2)])
        value = format_number(float(trace["blocks.0.scores"][0, 0, 0, col]), 2)
        assert dock(page).endswith(value)


def test_weights_times_v_is_the_core_s_cell_for_cell(page: Page, url: str) -> None:
    visit(page, f"{url}/generation?lang=en&decimals=2")
    step = steps_of(worked.block())[1]
    wait_for_step(page, step)
    names = {short: f"blocks.0.{short}" for short in ATTENTION}
    frames = [Shown(names["weights"]), Shown(names["v_all"]), Shown(names["context"], names["context"])]
    assert check_pointing(page, 1, traced(step), frames, decimals=2, labels=traced(step).key_tokens) == 17


def test_it_runs_by_itself_and_stops_at_once(own_page: Page, url: str) -> None:
    page = own_page
    page.clock.install()
    visit(page, f"{url}/generation?lang=en&source=toy&new=256&T=4")
    press(page, "go")
    stop = page.locator(".st-key-run-stop button")
    expect(stop).to_have_text("Stop")
    place = stop.bounding_box()
    handle = page.locator(SLIDER).first  # while a run draws, the slider of the step before may still stand
    expect(handle).not_to_have_attribute("max", "2")  # as many as a page makes when it opens
    assert stop.bounding_box() == place  # whoever aims at it hits it
    stop.click()
    expect(page.locator(".st-key-run-go button")).to_have_text("Run")
    expect(page.locator(".st-key-run-go button")).to_be_enabled()  # stopped, and not at its end
    made = int(handle.get_attribute("max") or 0)
    for _ in range(2):
        page.clock.fast_forward(1200)  # more than three ticks
        settled(page)
    assert int(handle.get_attribute("max") or 0) <= made + 1  # what was on its way when it was stopped is drawn
    press(page, "go")
    expect(page.get_by_text("The run ends here")).to_be_visible()
    expect(page.locator(".st-key-run-go button")).to_be_disabled()


def test_a_changed_setting_makes_the_steps_again(page: Page, url: str) -> None:
    visit(page, f"{url}/generation?lang=en&decimals=2")
    wait_for_step(page, steps_of(worked.block())[1])
    page.locator(".st-key-controls").get_by_text("Settings").click()
    field = page.locator(".st-key-chunk input")
    field.fill("3")
    field.press("Enter")
    steps = steps_of(worked.block(), chunk=3)
    wait_for_step(page, steps[1])  # the rest of the prompt
    page.keyboard.press("Escape")
    page.wait_for_url("**chunk=3**")
    press(page, "step")
    wait_for_step(page, steps[2])


def test_a_question_hides_the_score_and_names_the_slip(page: Page, url: str) -> None:
    visit(page, f"{url}/generation?lang=en&pin=none")
    trace = traced(steps_of(worked.block())[1])
    question = generation.QUESTIONS["step"].ask(At(trace), 0)
    section = unfold(page, "predict")
    section.locator(".st-key-generation-question-ask button").click()
    place = cell(page, "blocks.0.scores", question.row, question.column)
    expect(place).to_have_text("?")
    section.locator("input").fill(str(float(trace["blocks.0.scaled"][0, 0, question.row, question.column])))
    section.locator("[data-testid=stFormSubmitButton] button").first.click()
    expect(section.locator("[data-testid=stAlert]")).to_contain_text("already divided")
    section.locator("input").fill(str(question.answer))
    section.locator("[data-testid=stFormSubmitButton] button").first.click()
    expect(place).not_to_have_text("?")


def test_two_learners_do_not_mix(open_page: Callable[..., Page], url: str) -> None:
    one, other = (visit(open_page(), f"{url}/generation?lang=en&decimals=2{parts}")
                  for parts in ("", "&example=block_shared"))
    mine, theirs = steps_of(worked.block()), steps_of(worked.block(1))
    for place in (2, 3):
        press(one, "step")
        wait_for_step(one, mine[place])
        press(other, "step")
        wait_for_step(other, theirs[place])
    press(one, "over")
    expect(one.locator("[role=gridcell]")).to_have_count(0)
    wait_for_step(other, theirs[3])


def test_the_live_model_goes_on_from_a_typed_text(page: Page, url: str) -> None:
    visit(page, f"{url}/generation?lang=en&source=live&text=A+small+red+fox&layer=3&head=5")
    expect(page.locator("[data-name='blocks.2.k_all']")).to_be_visible()
    model = live.load()
    ids = torch.tensor([model.encode("A small red fox").ids])
    steps = list(generate(model.decoder, ids, max_tokens=20, trace=True, stop_ids=model.stop_ids))
    seen = cell(page, "blocks.2.scores", 0, steps[1].shapes["scores"][-1] - 2).get_attribute("aria-label") or ""
    value = float(seen.rsplit(": ", 1)[1].replace("−", "-"))
    assert value == pytest.approx(float(traced(steps[1])["blocks.2.scores"][0, 4, 0, -2]), abs=1e-3)
    press(page, "go")
    expect(page.get_by_text("The run ends here")).to_be_visible()
    shown = page.locator(".text p:first-child b").all_inner_texts()
    last = steps[-1]
    assert last.token is not None
    assert shown == [model.tokenizer.label(token) for token in [*last.text[0].tolist(), int(last.token)]]


def test_mistakes_are_shown_beside_what_is_right(page: Page, url: str) -> None:
    visit(page, f"{url}/generation?lang=en&decimals=2")
    unfold(page, "wrong")
    trace = traced(steps_of(worked.block())[1])
    for number, kind in enumerate(mistakes.KINDS):
        choose(page, "slip", number)
        result = generation.MISTAKES[kind](At(trace))
        assert result.wrong is not None
        for name, tensor in (("wrong", result.wrong), ("right", result.right)):
            wanted = [format_number(float(value), 2) for value in tensor[0, 0].flatten()]
            expect(page.locator(f"[data-name='{name}'] [role=gridcell]")).to_have_text(wanted)


def test_an_address_makes_the_steps_that_it_names_and_shows_the_one_looked_at(page: Page, url: str) -> None:
    prompt = "text=The+cat+sat&source=live"
    page.goto(f"{url}/generation?lang=en&{prompt}&made=7&at=3")
    page.wait_for_function("path => document.querySelector(path)?.max === '7'", arg=SLIDER)
    settled(page)
    expect(page.locator(SLIDER)).to_have_value("3")
    assert "made=7" in page.url
    assert "at=3" in page.url
    for wrong in ("made=-1&at=0", "made=x", "made=1e9&at=99"):
        page.goto(f"{url}/generation?lang=en&{wrong}")
        expect(page.get_by_text("chosen next")).to_be_visible()
        assert not page.locator("[data-testid=stException]").count()
