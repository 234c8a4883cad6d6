"""The parameters of the experiment: `params.yaml`, typed and strict.

Every stage reads them through `load_params`. An unknown key, a missing one, a number that YAML read as a
string and a value out of range are errors that name the key, the value and what is allowed.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    model_validator,
)

from searchless_rl.cells import Cell, CellError, Tau, Term, Variant
from searchless_rl.files import write_atomically
from searchless_rl.plain_yaml import PlainYamlError, read_plain_yaml
from searchless_rl.text import quoted


class ParamsError(ValueError):
    """A parameter file that cannot be used."""


def _int_as_float(value: object) -> object:
    """YAML writes 1 and 1.0 alike; everything else that is no float stays an error."""
    return float(value) if isinstance(value, int) and not isinstance(value, bool) else value


def _check_even(count: int) -> int:
    if count % 2:
        raise ValueError("an even number: every opening is played from both colours")
    return count


def _check_cell(text: str) -> str:
    Cell.parse(text)
    return text


FilePath = Annotated[str, AfterValidator(os.path.expanduser)]
"""A file; a leading ~ is the user's home."""
Number = Annotated[float, BeforeValidator(_int_as_float)]
PositiveInt = Annotated[int, Field(ge=1)]
Rate = Annotated[Number, Field(ge=0, le=1)]
Fraction = Annotated[Number, Field(ge=0, lt=1)]
CellId = Annotated[str, AfterValidator(_check_cell)]


class Section(BaseModel):
    """A strict, frozen group of parameters."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)


class SuiteParams(Section):
    """Puzzle suites cut from one source file (paper section 3.1, Metrics)."""

    source: FilePath
    seed: Annotated[int, Field(ge=0)]
    selection: PositiveInt
    main: PositiveInt
    hard: PositiveInt
    mate_cap: PositiveInt | None
    control_pool: PositiveInt | None
    winning: FilePath | None
    any_forced_mate: bool
    game_moves: FilePath | None

    @model_validator(mode="after")
    def _mates_are_searched(self) -> SuiteParams:
        if self.any_forced_mate and self.winning is None:
            raise ValueError("any_forced_mate: True needs a table of searched mates in suites.winning")
        return self


class CalibrationParams(Section):
    """Games of the base with itself that its value head is judged by, and calibrated on where asked."""

    games: PositiveInt
    seed: Annotated[int, Field(ge=0)]
    batch_size: PositiveInt


class LearningRates(Section):
    """Peak rate of each parameter group (paper Table 2)."""

    backbone: Rate
    final_block: Rate
    policy_head: Rate
    value_head: Rate


class SelfPlayParams(Section):
    """Training of one cell (paper Table 2 and appendix G).

    From `temperature_source` on, the keys in which the paper and its released code differ (`presets`), and
    what the paper names as extensions.
    """

    games: PositiveInt
    steps: PositiveInt
    max_plies: Annotated[int, Field(ge=2)]
    warm_start_moves: Annotated[int, Field(ge=0, le=250)]
    learning_rates: LearningRates
    adam_beta1: Fraction
    adam_beta2: Fraction
    weight_decay: Rate
    warmup_steps: Annotated[int, Field(ge=0)]
    value_coefficient: Annotated[Number, Field(ge=0)]
    ema_decay: Fraction
    importance_cap: Annotated[Number, Field(gt=0)] | None
    temperature_source: Literal["ema", "online"]
    cap_target: Literal["draw", "bootstrap"]
    promotions: Literal["separate", "merged"]
    reverse_kl_floor: Fraction
    base_wdl_coefficient: Annotated[Number, Field(ge=0)]
    root_randomization: Annotated[int, Field(ge=0, le=250)]
    beta_final: Rate
    precision: Literal["auto", "float32", "bf16"]
    compile: bool
    micro_batch: PositiveInt
    diagnostics_every: PositiveInt
    checkpoint_every: PositiveInt

    @model_validator(mode="after")
    def _warm_up_ends(self) -> SelfPlayParams:
        if self.warmup_steps > self.steps:
            raise ValueError(f"warmup_steps {self.warmup_steps} exceeds steps {self.steps}")
        if 2 * self.warm_start_moves >= self.max_plies:
            raise ValueError(
                f"warm_start_moves {self.warm_start_moves} can reach max_plies {self.max_plies} before step 1"
            )
        if 2 * self.root_randomization >= self.max_plies:
            raise ValueError(
                f"root_randomization {self.root_randomization} can reach max_plies {self.max_plies} unplayed"
            )
        return self


class GridParams(Section):
    """The study's cells, spelled out: cell id -> the warm-start games it begins from.

    The games are those of the cell's seed; they are written beside it because the pipeline's templates
    cannot take an id apart.
    """

    cells: dict[CellId, str]
    warm_starts: dict[str, Annotated[int, Field(ge=0)]]

    @model_validator(mode="after")
    def _games_of_the_seed(self) -> GridParams:
        for name, seed in self.warm_starts.items():
            if name != f"s{seed}":
                raise ValueError(
                    f"warm_starts.{name}: {seed} is not allowed; the games of seed {seed} are s{seed}"
                )
        for cell, games in self.cells.items():
            seed = Cell.parse(cell).seed
            if games != f"s{seed}" or games not in self.warm_starts:
                raise ValueError(
                    f"cells.{cell}: {games!r} is not allowed; write s{seed}, named under grid.warm_starts"
                )
        return self


class EvaluationParams(Section):
    """Measuring a network on puzzles."""

    batch_size: PositiveInt
    suites: tuple[Literal["selection", "main"], ...]

    @model_validator(mode="after")
    def _selection_is_scored(self) -> EvaluationParams:
        if "selection" not in self.suites or len(set(self.suites)) < len(self.suites):
            raise ValueError(f"suites {list(self.suites)}: name selection, and each suite once")
        return self


class CoverageParams(Section):
    """Trajectory coverage (paper section 3.1)."""

    plies: Annotated[int, Field(ge=1, le=6)]
    mass_floor: Fraction


EvenCount = Annotated[int, Field(ge=0), AfterValidator(_check_even)]


class Anchor(Section):
    """A rating of the base from outside, which moves the ladder to an absolute axis."""

    elo: Number
    half_width: Annotated[Number, Field(ge=0)]


class ArenaParams(Section):
    """Games between searchless players (paper appendix F)."""

    book: FilePath | None
    openings: PositiveInt
    seed: Annotated[int, Field(ge=0)]
    pool: Literal["selected", "swept"]
    games: EvenCount
    games_against_base: EvenCount
    games_swept: EvenCount
    sampled_games: EvenCount
    max_plies: Annotated[int, Field(ge=2)]
    batch_size: PositiveInt
    shape_positions: PositiveInt
    base_temperatures: tuple[Annotated[Number, Field(gt=0, le=10)], ...]
    anchor: Anchor | None

    @model_validator(mode="after")
    def _openings_suffice(self) -> ArenaParams:
        for key in ("games", "games_against_base", "games_swept", "sampled_games"):
            if getattr(self, key) > 2 * self.openings:
                raise ValueError(f"{key} {getattr(self, key)} needs more than {self.openings} openings")
        if not self.games_against_base:
            raise ValueError("games_against_base 0 leaves nothing to compare with the base")
        return self


class ControlParams(Section):
    """The puzzle-tuned control; everything else of it is as in self-play (paper section 3.6)."""

    seed: Annotated[int, Field(ge=0)]


class StockfishParams(Section):
    """An outside judge; null leaves its columns empty."""

    path: FilePath | None
    nodes: PositiveInt


class TrackingParams(Section):
    """Where runs are mirrored (MLFLOW_TRACKING_URI takes precedence over the local default)."""

    experiment: Annotated[str, Field(min_length=1)]


class Params(Section):
    """The whole of params.yaml."""

    scale: Literal["smoke", "mini", "mini-maia", "paper"]
    base: Annotated[FilePath, Field(min_length=1)]
    base_value: Literal["file", "calibrated"]
    calibration: CalibrationParams
    threads: Annotated[int, Field(ge=1, le=1024)]
    headline_beta: Annotated[Number, Field(gt=0)]
    term: Term
    tau: Tau
    beta: Number
    seed: Annotated[int, Field(ge=0)]
    variant: Variant
    suites: SuiteParams
    selfplay: SelfPlayParams
    grid: GridParams
    evaluation: EvaluationParams
    coverage: CoverageParams
    control: ControlParams
    arena: ArenaParams
    stockfish: StockfishParams
    tracking: TrackingParams

    @model_validator(mode="after")
    def _cell_exists(self) -> Params:
        _ = self.cell
        return self

    @property
    def cell(self) -> Cell:
        """The single cell of the top-level keys term, tau, beta, seed and variant."""
        return Cell(self.term, self.tau, self.beta, self.seed, self.variant)


def _explain(problem: dict[str, Any]) -> str:
    key = ".".join(str(part) for part in problem["loc"])
    kind, given = problem["type"], problem.get("input")
    if kind == "extra_forbidden":
        return f"{key}: unknown key (value {quoted(given)}); remove it or correct its spelling"
    if kind == "missing":
        return f"{key}: missing; every scale file in scales/ has it"
    message = str(problem["msg"]).removeprefix("Value error, ").replace("Input should be", "allowed:")
    if not key:
        return message
    if isinstance(given, str) and kind == "float_type":
        message = "allowed: a number (YAML read a string: remove the quotes, or write 0.00001 for 1e-05)"
    if isinstance(given, dict):
        return f"{key}: {message}"
    return f"{key}: {quoted(given)} is not allowed; {message}"


WAY_BACK = (
    "Correct the value there, or give `dvc exp run -S` a right one. `git checkout params.yaml` takes back "
    "every change since the last commit, the scale too."
)


def load_params(path: str | Path = "params.yaml") -> Params:
    """Read and check a parameter file of the experiment.

    Raises:
        ParamsError: see `read_sections`.
    """
    path = Path(path)
    return read_sections(
        Params,
        path,
        missing="in the repository, `searchless scale mini` writes one",
        way_back=[WAY_BACK] if path.name == "params.yaml" else [],
    )


_Sections = TypeVar("_Sections", bound=Section)


def read_sections(
    kind: type[_Sections], path: Path, *, missing: str, way_back: Sequence[str] = ()
) -> _Sections:
    """Read and check a parameter file of some kind.

    Args:
        kind: what the file must hold.
        path: of the file.
        missing: what to do if there is no such file.
        way_back: lines that end the message of an error in the file.

    Raises:
        ParamsError: missing file, not YAML, or keys and values that are not allowed (all of them listed).
    """
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise ParamsError(f"{path}: no such file; {missing}") from None
    except UnicodeDecodeError as error:
        raise ParamsError(f"{path}: not readable as YAML: {error}") from error
    try:
        return kind.model_validate(read_plain_yaml(text))
    except PlainYamlError as error:
        problems = [str(error)]
    except ValidationError as error:
        problems = [_explain(dict(problem)) for problem in error.errors()]
    except CellError as error:
        problems = [str(error)]
    raise ParamsError("\n".join([*(f"{path}: {problem}" for problem in problems), *way_back]))


def write_scale(name: str, scales: Path = Path("scales"), target: Path = Path("params.yaml")) -> Path:
    """Copy the complete parameter file of a scale over params.yaml; nothing is written if it is faulty.

    Raises:
        ParamsError: an unknown scale or a faulty file.
    """
    known = sorted(path.stem for path in scales.glob("*.yaml"))
    if name not in known:
        raise ParamsError(f"scale {name!r} is unknown; allowed: {', '.join(known) or f'none in {scales}/'}")
    source = scales / f"{name}.yaml"
    load_params(source)
    write_atomically(target, source.read_bytes())
    return target
