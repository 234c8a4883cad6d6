"""pretrain/params.yaml, typed and strict."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from searchless_rl.params import FilePath, Number, PositiveInt, Section, read_sections

PATH = Path("pretrain") / "params.yaml"
NonNegative = Annotated[int, Field(ge=0)]


class SearchParams(Section):
    """The tree search of the games (`search.SearchConfig`)."""

    simulations: PositiveInt
    c_puct: Annotated[Number, Field(gt=0)]
    unvisited_reduction: Annotated[Number, Field(ge=0, le=2)]


class VisitParams(Section):
    """Games played by tree search, whose visit counts are the targets."""

    base: FilePath
    seed: NonNegative
    games: PositiveInt
    games_per_shard: PositiveInt
    opening_plies: NonNegative
    sampled_plies: NonNegative
    max_plies: Annotated[int, Field(ge=2, le=60_000)]
    search: SearchParams
    precision: Literal["auto", "float32", "bf16"]
    slots: PositiveInt
    batch_size: PositiveInt
    processes: PositiveInt


class StudentParams(Section):
    """A student distilled from labelled games, grown from the network that played them."""

    filters: PositiveInt
    blocks: PositiveInt
    se_hidden: PositiveInt
    seed: NonNegative
    steps: PositiveInt
    batch_size: PositiveInt
    learning_rate: Annotated[Number, Field(gt=0)]
    weight_decay: Annotated[Number, Field(ge=0)]
    warmup_steps: NonNegative
    value_coefficient: Annotated[Number, Field(ge=0)]
    outcome_share: Annotated[Number, Field(ge=0, le=1)]
    surprise_share: Annotated[Number, Field(ge=0, le=1)]
    validation_every: Annotated[int, Field(ge=2)]
    checkpoint_every: PositiveInt
    precision: Literal["auto", "float32", "bf16"]


class PriorParams(Section):
    """Priors of different origins, measured side by side."""

    networks: tuple[str, ...]
    games: PositiveInt
    arena_games: Annotated[int, Field(ge=2, multiple_of=2)]
    seed: NonNegative


class PretrainParams(Section):
    """Everything in pretrain/params.yaml."""

    threads: Annotated[int, Field(ge=1, le=1024)]
    visits: VisitParams
    student: StudentParams
    priors: PriorParams


def load_pretrain_params(path: Path = PATH) -> PretrainParams:
    """Read and check the file.

    Raises:
        ParamsError: see `params.read_sections`.
    """
    return read_sections(PretrainParams, path, missing="run this from the root of the project")
