"""The way through the pages follows the model, and each page says what comes after it."""

from __future__ import annotations

import numpy as np
import pytest

from core import worked
from core.config import ModelConfig
from core.notation import AXES
from tests.ui.on_page import BUILT, OWN, PROJECTIONS, everything, opened
from ui.bench.limits import DEFAULT_EXAMPLE
from ui.shell.syllabus import STAGES, line, stage, way

PRE_ROPE = ModelConfig(vocab=4, width=4, layers=1, heads=1, kv_heads=1, head_dim=4, ffn_width=4, max_positions=4)
# The way through a decoder with learned positions, and the stages that a page of it may leave out.
WAY = ["tokens", "embedding", "projections", "scores", "mask", "mixing", "heads", "ffn", "block", "logits", "sampling",
       "generation", "kv_cache", "cost"]
LINE = [slug for slug in WAY if slug in BUILT]


def walk(model: ModelConfig, built: list[str]) -> list[str]:
    """The pages from tokens on, by next, until the map."""
    seen = ["tokens"]
    while (after := way(seen[-1], built, model).after) is not None and after.slug != "home":
        assert way(after.slug, built, model).before == stage(seen[-1])
        seen.append(after.slug)
        assert len(seen) < 40
    return seen


def test_next_goes_on_along_the_model_and_leaves_out_what_is_not_built() -> None:
    plain, everything_ = worked.block().config.with_(norm="none"), [entry.slug for entry in STAGES]
    assert walk(worked.block().config, BUILT) == LINE
    assert walk(PRE_ROPE, BUILT) == [*LINE[:3], "rope", *LINE[3:]]
    assert walk(PRE_ROPE, everything_)[:5] == ["tokens", "embedding", "norms", "projections", "rope"]
    assert "norms" not in walk(plain, everything_)
    assert way("home", BUILT, plain).after == stage("tokens")


@pytest.mark.parametrize(("slug", "before", "after"), [
    ("matmul", "embedding", "projections"), ("sharing", "heads", LINE[7]), ("order", "heads", LINE[7]),
    ("rope", "projections", "scores")])
def test_a_page_beside_the_line_leads_back_to_it(slug: str, before: str, after: str) -> None:
    found = way(slug, BUILT, worked.block().config)
    assert (found.before, found.after) == (stage(before), stage(after))


@pytest.mark.parametrize("slug", [slug for slug in BUILT if slug != "home"])
def test_the_foot_of_a_page_bridges_to_the_next(slug: str) -> None:
    at = opened(stage(slug).page, lang="en", v="3")
    model = worked.EXAMPLES[OWN.get(slug, DEFAULT_EXAMPLE)]().config
    following = way(slug, BUILT, model).after
    assert following is not None
    assert following.bridge
    assert following.bridge in [element.value for element in at.markdown]
    assert "to come" not in everything(at)


def test_the_stages_stand_by_name_in_the_order_of_the_model_with_this_one_lit() -> None:
    assert [entry.slug for entry in line("scores", BUILT, worked.block().config)] == LINE
    assert [entry.slug for entry in line("rope", BUILT, PRE_ROPE)] == [*LINE[:3], "rope", *LINE[3:]]
    assert [entry.slug for entry in line("matmul", BUILT, worked.block().config)][:4] == [
        "tokens", "embedding", "matmul", "projections"]


@pytest.mark.parametrize("slug", [slug for slug in BUILT if slug != "home"])
def test_each_page_answers_its_question_in_words_without_letters(slug: str) -> None:
    lead = stage(slug).lead
    assert lead in [element.value for element in opened(stage(slug).page, lang="en", v="3").markdown]
    assert 1 <= lead.count(". ") + lead.endswith(".") <= 2
    letters = {one for word in lead.split() if (one := word.strip(".,;:()")) in AXES or len(one) == 1}
    assert letters <= {"a", "A"}


def test_the_norm_between_embedding_and_projections_stands_in_digits() -> None:
    at = opened(PROJECTIONS, lang="en", v="3")
    x = worked.block()["blocks.0.in"][0, 2].double().numpy()
    root = np.sqrt((x * x).mean() + 1e-5)
    formulas = [element.value for element in at.markdown if r"X_1[3,\cdot]" in element.value]
    assert any(f"{{{root:.3f}}}" in text and f"{x[1] / root:.3f}" in text for text in formulas), formulas
    assert not any("RMSNorm" in element.value for element in opened(PROJECTIONS, lang="en", v="3",
                                                                      example="matrices").markdown)
