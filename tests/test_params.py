"""Parameters: strict, complete, and every scale alike."""

import contextlib
import random
import time
from pathlib import Path
from typing import get_args

import pytest
from ruamel.yaml import YAML

from searchless_rl.cells import Cell, CellError, format_beta
from searchless_rl.params import Params, ParamsError, load_params, write_scale
from searchless_rl.presets import METHOD_KEYS, preset_values, write_preset

ROOT = Path(__file__).resolve().parent.parent
SCALE = ROOT / "scales" / "mini-maia.yaml"
"""Whose values are spelled out below: it stays as it was recorded."""
SCALE_FILES = sorted((ROOT / "scales").glob("*.yaml"))


def _keys(value, prefix=""):
    if not isinstance(value, dict) or prefix in ("grid.cells.", "grid.warm_starts.", "arena.anchor."):
        return {prefix}
    return {key for name, item in value.items() for key in _keys(item, f"{prefix}{name}.")}


@pytest.mark.parametrize("path", SCALE_FILES, ids=lambda path: path.stem)
def test_every_scale_is_complete_and_named_after_its_file(path):
    assert load_params(path).scale == path.stem
    assert _keys(YAML(typ="safe").load(path)) == _keys(YAML(typ="safe").load(SCALE_FILES[0]))


@pytest.mark.parametrize("path", SCALE_FILES, ids=lambda path: path.stem)
def test_paper_scale_is_table_2_and_others_say_where_they_differ(path):
    selfplay = load_params(path).selfplay
    if path.stem == "paper":
        assert (selfplay.games, selfplay.steps, selfplay.max_plies, selfplay.warmup_steps) == (
            1024,
            2000,
            512,
            200,
        )
        assert selfplay.learning_rates.model_dump() == {
            "backbone": 3e-6,
            "final_block": 1e-5,
            "policy_head": 1e-5,
            "value_head": 3e-5,
        }
        assert (selfplay.adam_beta1, selfplay.adam_beta2, selfplay.weight_decay) == (0.9, 0.98, 0)
        assert (selfplay.value_coefficient, selfplay.ema_decay, selfplay.importance_cap) == (0.2, 0.995, 1)
        assert (selfplay.precision, selfplay.compile) == ("float32", False)
        assert selfplay.warm_start_moves == 60
    else:
        assert "paper" in path.read_text()


@pytest.mark.parametrize("path", SCALE_FILES, ids=lambda path: path.stem)
def test_every_scale_has_the_papers_method_and_no_extension(path):
    params = load_params(path)
    for key in METHOD_KEYS:
        assert key.read(params.selfplay) == key.paper(params.selfplay.learning_rates), key.key
    assert (params.selfplay.root_randomization, params.selfplay.beta_final) == (0, 1)
    assert params.variant == "full"


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("threads: 1", "threadz: 1", ("threadz", "unknown key")),
        ("threads: 1", "# gone", ("threads", "missing")),
        ("\nbeta: 0.01", "\nbeta: '1e-05'", ("beta", "'1e-05'", "quotes", "0.00001")),
        ("\nbeta: 0.01", "\nbeta: -0.01", ("beta", "-0.01", "1e-06 to 100")),
        ("\nbeta: 0.01", "\nbeta: .inf", ("beta", "finite")),
        ("\nbeta: 0.01", "\nbeta: true", ("beta", "True")),
        ("term: forward_kl", "term: forward", ("term", "'forward'", "'forward_kl'", "'none'")),
        ("tau: adaptive", "tau: 1", ("tau", "1", "'adaptive' or 'fixed'")),
        ("games: 128", "games: 0", ("selfplay.games", "0", "greater than or equal to 1")),
        ("games: 128", "games: 12.5", ("selfplay.games", "12.5")),
        ("ema_decay: 0.98", "ema_decay: 1.0", ("selfplay.ema_decay", "1.0", "less than 1")),
        ("precision: auto", "precision: half", ("selfplay.precision", "'half'", "'bf16'")),
        ("warmup_steps: 24", "warmup_steps: 2400", ("warmup_steps 2400 exceeds steps 240",)),
        ("suites: [selection, main]", "suites: [main]", ("name selection",)),
        ("  games: 20 #", "  games: 21 #", ("arena.games", "even number")),
        ("openings: 30", "openings: 20", ("games_against_base 60", "openings")),
        ("mass_floor: 1.0e-6", "mass_floor: 1.0", ("coverage.mass_floor", "less than 1")),
        ("[0.8, 0.6]", "[0.8, 0]", ("base_temperatures", "greater than 0")),
        ("pool: selected", "pool: all", ("arena.pool", "'selected' or 'swept'")),
        (
            "winning: data/lichess/torre_6605_winning.csv",
            "winning: null\n  any_forced_mate: true",
            ("any_forced_mate", "Duplicate"),
        ),
        ("suites: [selection, main]", "suites: [selection, selection]", ("each suite once",)),
        ("max_plies: 512", "max_plies: 60", ("warm_start_moves 30 can reach max_plies 60",)),
        ("threads: 1", "threads: 100000", ("threads", "100000", "1024")),
        ("backbone: 9.0e-6", "backbone: '9e-6'", ("selfplay.learning_rates.backbone", "quotes")),
        (
            "forward_kl-adaptive-0.01-s0: s0",
            "forward_kl-adaptive-1e-2-s0: s0",
            ("grid.cells", "does not parse"),
        ),
        ("forward_kl-adaptive-0.01-s0: s0", "forward_kl-adaptive-0.010-s0: s0", ("must be spelled",)),
        ("forward_kl-adaptive-0.01-s0: s0", "forward_kl-adaptive-0.01-s1: s0", ("write s1",)),
        ("forward_kl-adaptive-0.01-s0: s0", "forward_kl-adaptive-0.01-s1: s1", ("warm_starts",)),
        ("suites:\n  source", "suites: 3\nx:\n  source", ("suites", "3")),
        ("scale: mini", "scale: [mini", ("not readable as YAML",)),
    ],
)
def test_a_wrong_value_names_key_value_and_what_is_allowed(tmp_path, old, new, words):
    text = (SCALE).read_text()
    assert old in text
    path = tmp_path / "params.yaml"
    path.write_text(text.replace(old, new, 1))
    with pytest.raises(ParamsError) as error:
        load_params(path)
    for word in (*words, str(path)):
        assert word in str(error.value)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("\nseed: 0", "\nseed: !!bool x", ("seed: 'x' is not a valid bool",)),
        ("\nseed: 0", "\nseed: 2001-99-99", ("seed: '2001-99-99' is not a valid timestamp",)),
        ("\nseed: 0", "\nseed: !!int ten", ("seed: 'ten' is not a valid int",)),
        (
            "\nseed: 0",
            "\nseed: !!python/object/apply:os.getcwd []",
            ("seed: the tag 'python/object", "remove it"),
        ),
        ("\nseed: 0", "\nseed: &a [*a]", ("seed[0]: an alias (*a) is not allowed",)),
        ("threads: 1", "threads: &t 1\nx: *t", ("x: an alias (*t) is not allowed; write the value out",)),
        ("\nseed: 0", "\nseed: " + "[" * 50 + "]" * 50, ("seed", "nested too deeply")),
        ("\nseed: 0", "\nseed: " + "[" * 9000 + "]" * 9000, ("nested too deeply",)),
        ("threads: 1", "threads: 1\nthreads: 2", ("threads: Duplicate key",)),
        ("threads: 1", "? [a, b]\n: 1", ("a key must be a plain word",)),
        ("\nbeta: 0.01", "\nbeta: " + "x" * 70_000, ("beta: 'xxx", "(70000 characters)' is not allowed")),
    ],
)
def test_yaml_that_is_not_plain_is_refused_with_its_key(tmp_path, old, new, words):
    text = (ROOT / "scales" / "smoke.yaml").read_text()
    assert old in text
    path = tmp_path / "params.yaml"
    path.write_text(text.replace(old, new, 1))
    with pytest.raises(ParamsError) as error:
        load_params(path)
    for word in (*words, str(path)):
        assert word in str(error.value)
    assert len(str(error.value)) < 2000


def test_a_small_file_cannot_stand_for_a_large_one(tmp_path):
    """An alias bomb: thirty lines that would be a billion values."""
    lines = ["x0: &x0 [0, 0, 0, 0, 0, 0, 0, 0, 0, 0]"]
    lines += [f"x{n}: &x{n} [{', '.join([f'*x{n - 1}'] * 10)}]" for n in range(1, 10)]
    path = tmp_path / "params.yaml"
    path.write_text("\n".join(lines))
    begun = time.monotonic()
    with pytest.raises(ParamsError, match=r"x1\[0\]: an alias \(\*x0\)"):
        load_params(path)
    assert time.monotonic() - begun < 5


def test_a_damaged_file_is_always_an_error_of_its_own(tmp_path):
    """Bytes replaced, dropped and doubled at random: no other exception."""
    generator = random.Random(0)
    text = (ROOT / "scales" / "smoke.yaml").read_text()
    path, refused = tmp_path / "params.yaml", 0
    for _ in range(150):
        mutant = list(text)
        for _ in range(generator.randint(1, 4)):
            place = generator.randrange(len(mutant))
            mutant[place : place + generator.randint(0, 2)] = generator.choice(
                [
                    "",
                    ":",
                    "- ",
                    "!!x ",
                    "&a ",
                    "*a",
                    "{",
                    "]",
                    "'",
                    '"',
                    "\t",
                    "\x00",
                    "9999-99-99",
                    "\n",
                    "é",
                    "<<: ",
                ]
            )
        path.write_text("".join(mutant))
        with contextlib.suppress(ParamsError):
            load_params(path)
            continue
        refused += 1
    assert refused > 50


def test_the_way_back_from_a_bad_value_is_named(tmp_path):
    """`dvc exp run -S beta=abc` leaves the value in params.yaml, where the next command finds it."""
    path = tmp_path / "params.yaml"
    path.write_text((ROOT / "scales" / "mini.yaml").read_text().replace("\nbeta: 0.01", "\nbeta: abc"))
    with pytest.raises(ParamsError, match=r"(?s)beta: 'abc' is not allowed.*\n.*`git checkout params\.yaml`"):
        load_params(path)


def test_paths_begin_at_home_where_they_say_so(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", "/home/me")
    text = (SCALE).read_text()
    for old, new in (
        ("base: maia-1900", "base: ~/net.pb.gz"),
        ("source: data/lichess/torre_6605_2026.csv", "source: ~/puzzles.csv"),
        ("winning: data/lichess/torre_6605_winning.csv", "winning: ~/winning.csv"),
        ("game_moves: null", "game_moves: ~/moves.csv"),
        ("book: null", "book: ~/book.epd"),
        ("path: null", "path: ~/bin/stockfish"),
    ):
        assert old in text
        text = text.replace(old, new)
    path = tmp_path / "params.yaml"
    path.write_text(text)
    params = load_params(path)
    suites = params.suites
    named = (
        params.base,
        suites.source,
        suites.winning,
        suites.game_moves,
        params.arena.book,
        params.stockfish.path,
    )
    assert all(str(name).startswith("/home/me/") for name in named)


def test_every_scale_that_is_allowed_has_a_file():
    scales = get_args(Params.model_fields["scale"].annotation)
    assert {path.stem for path in SCALE_FILES} == set(scales)


def test_a_scale_is_written_past_a_link_left_under_its_part_name(tmp_path):
    """The temporary file has no fixed name that somebody could have linked elsewhere."""
    (tmp_path / "victim").write_text("precious")
    (tmp_path / "params.yaml.part").symlink_to(tmp_path / "victim")
    write_scale("mini", ROOT / "scales", tmp_path / "params.yaml")
    assert (tmp_path / "victim").read_text() == "precious"
    assert load_params(tmp_path / "params.yaml").scale == "mini"


def test_all_problems_are_listed_at_once(tmp_path):
    path = tmp_path / "params.yaml"
    text = (ROOT / "scales" / "mini.yaml").read_text()
    path.write_text(text.replace("games: 128", "games: 0").replace("threads: 1", "threads: -1"))
    with pytest.raises(ParamsError, match=r"(?s)threads.*selfplay\.games"):
        load_params(path)


def test_missing_file_says_how_to_write_one(tmp_path):
    with pytest.raises(ParamsError, match="searchless scale mini"):
        load_params(tmp_path / "params.yaml")


@pytest.mark.parametrize("spelling", ["1e-05", "0.00001"])
def test_an_unquoted_exponent_is_the_number_it_says(tmp_path, spelling):
    """`dvc exp run -S beta=1e-5` writes 1e-05 into params.yaml."""
    path = tmp_path / "params.yaml"
    text = (ROOT / "scales" / "mini.yaml").read_text().replace("\nbeta: 0.01", f"\nbeta: {spelling}", 1)
    path.write_text(text)
    assert load_params(path).beta == 1e-5
    assert load_params(path).cell.id == "forward_kl-adaptive-0.00001-s0"


def test_scale_writes_the_file_and_keeps_the_old_one_when_faulty(tmp_path):
    scales, target = tmp_path / "scales", tmp_path / "params.yaml"
    scales.mkdir()
    (scales / "mini.yaml").write_bytes((ROOT / "scales" / "mini.yaml").read_bytes())
    (scales / "smoke.yaml").write_text("scale: smoke\n")
    write_scale("mini", scales, target)
    assert target.read_bytes() == (scales / "mini.yaml").read_bytes()
    with pytest.raises(ParamsError, match="missing"):
        write_scale("smoke", scales, target)
    assert target.read_bytes() == (scales / "mini.yaml").read_bytes()
    with pytest.raises(ParamsError, match="'huge' is unknown; allowed: mini, smoke"):
        write_scale("huge", scales, target)


@pytest.mark.parametrize("beta", [1e-6, 1e-5, 0.0001, 0.0003, 0.003, 0.01, 0.1, 1.0, 3.0, 100.0])
@pytest.mark.parametrize("term", ["entropy", "reverse_kl", "forward_kl"])
def test_cell_ids_read_back(term, beta):
    cell = Cell(term, "fixed", beta, 7)
    assert "e" not in format_beta(beta)
    assert Cell.parse(cell.id) == cell
    assert Cell.parse("none-adaptive-0-s0") == Cell("none", "adaptive", 0.0, 0)


@pytest.mark.parametrize(
    "text",
    ["", "x", "forward_kl-adaptive-0.01", "forward_kl-adaptive-0.01-s-1", "forward_kl-adaptive-0.01-s01",
     "none-adaptive-0.01-s0", "forward_kl-adaptive-0-s0", "forward_kl-hot-0.01-s0", "kl-fixed-0.01-s0",
     "forward_kl-adaptive-..-s0", "forward_kl-adaptive-0.01-s0 ", "../forward_kl-adaptive-0.01-s0",
     "forward_kl-adaptive-1000-s0"],
)  # fmt: skip
def test_what_is_no_cell_is_refused(text):
    with pytest.raises(CellError):
        Cell.parse(text)


def test_presets_rewrite_the_methods_keys_and_nothing_else(tmp_path):
    target = tmp_path / "params.yaml"
    source = (SCALE).read_text()
    target.write_text(source)
    changed = write_preset("authors_code", target)
    assert changed == {
        "temperature_source": "online",
        "cap_target": "bootstrap",
        "learning_rates.value_head": 9e-06,  # the rate of the backbone, as in the released code
        "base_wdl_coefficient": 0.02,
        "promotions": "merged",
        "reverse_kl_floor": 1e-08,
    }
    params = load_params(target).selfplay
    assert (
        {key.key: key.read(params) for key in METHOD_KEYS} == changed == preset_values("authors_code", params)
    )
    lines = target.read_text().splitlines()
    different = [new for old, new in zip(source.splitlines(), lines, strict=True) if old != new]
    assert len(different) == len(changed)  # comments and every other line are as they were
    assert all("#" in line for line in different if "value_head" not in line)
    assert write_preset("authors_code", target) == {}
    write_preset("paper", target)
    assert load_params(target) == load_params(SCALE)


def test_the_released_codes_value_head_trains_at_three_millionths_at_paper_scale(tmp_path):
    target = tmp_path / "params.yaml"
    target.write_text((ROOT / "scales" / "paper.yaml").read_text())
    assert write_preset("authors_code", target)["learning_rates.value_head"] == 3e-6


def test_an_unknown_preset_is_refused(tmp_path):
    with pytest.raises(ParamsError, match=r"'authors' is unknown; allowed: paper, authors_code"):
        write_preset("authors", tmp_path / "params.yaml")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("forward_kl-adaptive-0.01-s0-no_value", "variant: 'no_value' is unknown"),
        ("forward_kl-fixed-0.01-s0-online_tau", "changes nothing with tau fixed"),
        ("forward_kl-adaptive-0.01-s0-full", "must be spelled 'forward_kl-adaptive-0.01-s0'"),
    ],
)
def test_variants_that_do_not_exist(text, words):
    with pytest.raises(CellError, match=words):
        Cell.parse(text)


def test_a_variant_is_part_of_the_id():
    cell = Cell.parse("none-adaptive-0-s3-no_rho")
    assert cell == Cell("none", "adaptive", 0.0, 3, "no_rho")
    assert cell.id == "none-adaptive-0-s3-no_rho"
    assert cell.arm == "none-adaptive"
