"""The rows of `reports/SCALE/deviations.md` that are no plain setting: readings, evaluation, faults.

Each row names the parameter keys or the code that it describes. Texts under `here` take their values from the
loaded parameters and named constants, ``{selfplay.max_plies}`` and ``{evaluation.policy.TIE}``. No number
is typed there (tests/claims/test_deviations.py).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

UNSAID = "not said"
NOT_RELEASED = "not released"


@dataclass(frozen=True)
class Difference:
    """One row: what the paper says, what its released trainer does, what happens here.

    Attributes:
        item: what it is about.
        paper: the paper's words or numbers.
        released: the released trainer's way; evaluation is not released.
        here: this study's, a template (module docstring).
        code: dotted names below ``searchless_rl`` of what does it.
        constants: dotted name -> value, of the constants that `here` shows; the code stays the source.
        empty: shown instead of `here` where one of its parameters is null.
        note: why, or what follows.
    """

    item: str
    paper: str
    released: str
    here: str
    code: tuple[str, ...] = ()
    constants: Mapping[str, Any] = field(default_factory=dict)
    empty: str = ""
    note: str = ""


METHOD = (
    Difference(
        "Sampling temperature by default",
        "adaptive is the headline method (section 2.3)",
        "τ ≡ 1 unless an option is given",
        "part of a cell's name; the requested cell has tau {tau}",
        code=("cells.Cell",),
    ),
    Difference(
        "Value loss",
        "cross-entropy, weighted by ρ (appendix E)",
        "KL to the target, weighted by ρ",
        "cross-entropy, weighted by ρ",
        code=("selfplay.objective.losses",),
        note="the same gradient; the printed values differ by the target's entropy",
    ),
    Difference(
        "Weight of the exploration term per position",
        "a mean over positions (the objective, section 2.3)",
        "a mean, not weighted by ρ",
        "a mean, not weighted by ρ",
        code=("selfplay.objective.losses", "selfplay.terms.exploration_term"),
        note="the KL between win/draw/loss distributions, where it is on, is not weighted either",
    ),
    Difference(
        "Small probabilities",
        UNSAID,
        "win/draw/loss and the policy inside the entropy bonus clamped at 1e-8; illegal moves at -1e9",
        "log space, legal moves only",
        code=("selfplay.distributions.log_normalize",),
        note="no key: saturated value logits get another gradient in the released code",
    ),
    Difference(
        "Temperature towards zero",
        "τ in [0, ln 3]",
        "divides by max(τ, 1e-8)",
        "the same floor, logits shifted first: the argmax, without overflow",
        code=("selfplay.distributions.temper",),
    ),
    Difference(
        "Start of the games",
        "Uniform{0..60} full moves sampled from π_base, then the standard position (appendix D)",
        "sampled from the online network (equal to the base then), tempered by its win/draw/loss entropy "
        "whenever the adaptive temperature is on",
        "Uniform{0..{selfplay.warm_start_moves}} full moves of raw π_base, the same games for every cell of "
        "a seed",
        code=("selfplay.warm_start.play_warm_start",),
        note="no key: in the released code adaptive and fixed arms begin from different games",
    ),
    Difference(
        "Side to move at step 1",
        "follows from full moves",
        "White in nearly every game",
        "White in nearly every game",
        code=("selfplay.warm_start.full_moves_to_plies",),
        note="kept as the paper has it",
    ),
    Difference(
        "Draws",
        "standard chess termination (appendix G)",
        "threefold and fifty moves at once; stalemate; dead material",
        "the same; a mate on the last ply counts as mate",
        code=("board.Ending",),
    ),
    Difference(
        "EMA update",
        "decay 0.995 (Table 2)",
        "multiplies, then adds, which alone drifts weights by up to 1e-6 relative",
        "interpolates (lerp), decay {selfplay.ema_decay}",
        code=("selfplay.optimizer.update_ema",),
        note="no key",
    ),
    Difference(
        "Weights without a gradient in a step",
        UNSAID,
        "skipped by the optimizer, for example the promotion matrix in a batch without promotions",
        "a gradient of zero: they move on by momentum",
        code=("selfplay.optimizer.build_optimizer",),
        note="no key",
    ),
    Difference(
        "Moves-left head",
        UNSAID,
        "no gradient",
        "not in the optimizer, kept as in the base",
        code=("selfplay.optimizer.build_optimizer",),
    ),
    Difference(
        "Policy that is exported",
        "the trained one",
        "the graph keeps the base's; the trained head is a separate copy",
        "the trained one, in the vanilla head of an Lc0 file",
        code=("lc0.save_network",),
    ),
    Difference(
        "Evaluated weights",
        "EMA (section 2.3)",
        "EMA weights saved; evaluation is not released",
        "EMA, rounded to the 16-bit codes of an Lc0 file",
        code=("lc0.save_network",),
    ),
    Difference(
        "Input history of a FEN with an en-passant square",
        UNSAID,
        "repeats the position",
        "undoes the double push, as lc0 does",
        code=("board.encode_game",),
        note="touches evaluation only",
    ),
    Difference(
        "Random numbers",
        "one run per cell (appendix F)",
        "one global generator",
        "addressed by seed, step and game",
        code=("selfplay.distributions.uniforms",),
        note="a game does not depend on how many are played beside it",
    ),
    Difference(
        "Interruption",
        UNSAID,
        "weights are saved; no games, no resume",
        "resumes bit-identically, a checkpoint every {selfplay.checkpoint_every} steps",
        code=("selfplay.callbacks.Checkpointer",),
    ),
)

FAULTS = (
    Difference(
        "Smolgen's shared matrix",
        "shared by all encoders (Lc0's format)",
        "one trained copy per encoder: no exact way back into Lc0's format",
        "one parameter, in the backbone group",
        code=("selfplay.optimizer.build_optimizer",),
        note="no key",
    ),
    Difference(
        "Structural constants (LayerNorm ε, residual α, 1/sqrt(d))",
        "constants",
        "trained like weights",
        "constants",
        code=("selfplay.optimizer.build_optimizer",),
        note="no key",
    ),
    Difference(
        "Last micro-batch of a step",
        "a mean over the batch",
        "a mean of means: a short one weighs more per position",
        "every position weighs the same; {selfplay.micro_batch} positions per backward pass",
        code=("selfplay.objective.losses",),
        note="no key; equal where the sizes divide, as at Table 2's",
    ),
    Difference(
        "Value head",
        "Lc0's own",
        "Lc0's own trains, at the backbone's rate, beside an unused random head that holds the head's rate",
        "Lc0's own",
        code=("selfplay.optimizer.build_optimizer",),
        note="the rate is the method key above; the unused head is not reproduced",
    ),
)

EVALUATION = (
    Difference(
        "Evaluation, matches, tables, figures",
        "described",
        NOT_RELEASED,
        "written from the description",
        code=("evaluation.tactics.score_suite", "reports.stage.build_tables"),
    ),
    Difference(
        "Source of the suites",
        "the 10,000 puzzles of Ruoss et al.; two uniform samples of the Lichess database (section 3.1), "
        "released with the code (snapshot of April 2026)",
        "the files are released",
        "one file, {suites.source}, cut with seed {suites.seed}",
        code=("suites.split.split_catalogue",),
        note="the bundled file is flat over rating bands: it is no uniform sample of Lichess, and neither "
        "are the suites. Accuracies are not comparable with the paper's, differences between networks are",
    ),
    Difference(
        "Order of drawing",
        "each suite sampled on its own",
        NOT_RELEASED,
        "mates in five first, then `hard`, then `selection` and `main` as one uniform sample of what is "
        "left, cut in two, then the control's pool, then mates in one to four",
        code=("suites.split.split_catalogue",),
        note="so `main` has fewer hard puzzles and no mate in five",
    ),
    Difference(
        "Puzzles in two suites",
        UNSAID,
        NOT_RELEASED,
        "none: suites share neither a puzzle nor a position",
        code=("suites.split.require_disjoint",),
    ),
    Difference(
        "Mate suites",
        "20,000 positions per depth from Lin et al. for mates in one to four, and all 4,465 exact mates in "
        "five of Lichess (Table 3)",
        "the files are released",
        "mates of the same file as the other suites, at most {suites.mate_cap} per depth",
        empty="every mate of the same file that the suites drawn before leave",
        code=("suites.puzzles.mate_depth",),
        note="not Lin et al.'s positions; depth is read from the line that ends in mate",
    ),
    Difference(
        "Moves that count as right",
        "mate-preserving moves, or the marked move (Table 3, section 3.5)",
        "the sets are released, their format is not described",
        "the marked move and every optimal mate, searched with Stockfish: {suites.winning}",
        empty="the marked move and mates in one",
        code=("suites.winning.winning_sets",),
        note="`suites.any_forced_mate` also counts longer mates",
    ),
    Difference(
        "Game history of puzzles",
        "the true history in the mate suites; the released file of 10,000 holds its games",
        "the files are released",
        "the moves of {suites.game_moves}",
        empty="none: a puzzle begins at its FEN and the opponent's move",
        code=("evaluation.tactics.first_positions",),
        note="`searchless fetch histories` gets the games from Lichess",
    ),
    Difference(
        "Ties between most likely moves",
        UNSAID,
        "argmax; ties are not treated",
        "logits within {evaluation.policy.TIE} count as equal, the move of the lowest index is played",
        constants={"evaluation.policy.TIE": 1e-5},
        code=("evaluation.policy.argmax_moves",),
        note="so that other hardware plays the same moves",
    ),
    Difference(
        "Selection of β",
        "the most accurate on the selection suite (section 3.1)",
        NOT_RELEASED,
        "the same; of equally accurate β the smaller",
        code=("results.selection.select_cells",),
    ),
    Difference(
        "Seeds",
        "one run per cell (appendix F)",
        "seed 0 by default",
        "{grid.warm_starts}",
        code=("selfplay.warm_start.play_warm_start",),
        note="intervals cover puzzles or games, not a repeated training",
    ),
    Difference(
        "Openings of games",
        "UHO_Lichess_4852_v1, from both colours (appendix F)",
        "the book is released",
        "{arena.openings} drawn from {arena.book}, from both colours",
        empty="lines that the base itself samples, {arena.book.FULL_MOVES} full moves long, in which its "
        "value head gives White a score within {arena.book.WHITE_SCORE}",
        constants={"arena.book.FULL_MOVES": (6, 8), "arena.book.WHITE_SCORE": (0.55, 0.75)},
        code=("arena.book.make_book",),
        note="`arena.book` names any EPD, FEN or PGN book",
    ),
    Difference(
        "Ratings",
        "BayesElo, the base at 2374 ± 37 (appendix F)",
        NOT_RELEASED,
        "unscaled BayesElo, first-move advantage and draw parameter fitted; intervals of the difference to "
        "the base",
        code=("statistics.ratings.bayeselo",),
    ),
    Difference(
        "Pool of Table 5",
        "ten configurations (Table 5)",
        NOT_RELEASED,
        "the same ten; the base at temperatures {arena.base_temperatures} is rated apart",
        code=("arena.pools.sampled_pool",),
        note="the tempered base is this study's control: what sharpening alone does",
    ),
    Difference(
        "Positions of Table 5",
        "those each model reaches",
        NOT_RELEASED,
        "{arena.shape_positions} positions of each player's games",
        code=("arena.shape.measure_shape",),
    ),
    Difference(
        "Logarithms in Table 5",
        UNSAID,
        "clamped at 1e-8 in its reverse KL",
        "probabilities floored at {arena.shape.FLOOR}",
        constants={"arena.shape.FLOOR": 1e-8},
        code=("arena.shape.shape_of",),
        note="a tempered policy gives some moves probability 0; the floor moves KL(base‖p) by much",
    ),
    Difference(
        "Trajectory coverage Ω",
        "the formula, whose definition of the trajectories is missing from the text at hand (section 3.1)",
        NOT_RELEASED,
        "expected mass of the distinct lines of {coverage.plies} plies in K draws with replacement",
        code=("evaluation.coverage.expected_coverage",),
        note="without replacement it would be the least number of lines, which is printed beside it",
    ),
    Difference(
        "How coverage is computed",
        "drawn trajectories",
        NOT_RELEASED,
        "exact enumeration; prefixes of mass below {coverage.mass_floor} are not followed, and their mass "
        "bounds the error",
        code=("evaluation.coverage.enumerate_trajectories",),
    ),
    Difference(
        "Tabiyas of Figure 10",
        "named, not printed (appendix H)",
        "an opening list is released",
        "one position a name, data/openings/tabiyas.csv",
        code=("evaluation.tabiyas",),
        note="the choice of lines is this study's",
    ),
    Difference(
        "Recovery",
        "the base's probability of the solution, medians (section 3.5)",
        NOT_RELEASED,
        "mass and rank of the winning set at every solver position; of whole puzzles at the first one played "
        "wrong",
        code=("evaluation.recovery.position_changes", "evaluation.recovery.puzzle_changes"),
    ),
    Difference(
        "Examples of Figure 9",
        "six positions; the rule of choice is not said (appendix H)",
        NOT_RELEASED,
        "the largest gains, by rule",
        code=("evaluation.candidates.choose_examples",),
    ),
    Difference(
        "Oracle of Figure 9",
        "Stockfish, 1.5 s a move (appendix H)",
        NOT_RELEASED,
        "{stockfish.path}, {stockfish.nodes} nodes a position",
        empty="none at this scale; with `stockfish.path` set, {stockfish.nodes} nodes a position",
        code=("evaluation.candidates.judge_candidates",),
    ),
    Difference(
        "Pool of the puzzle-tuned control",
        "Lichess puzzles outside the evaluation suites (section 3.6)",
        "the pool is released",
        "{suites.control_pool} puzzles of the same file, a uniform draw, with mates in their natural share",
        empty="what the other suites leave; without a cap on the mate suites, no mates",
        code=("supervised.control.require_unseen", "suites.split.split_catalogue"),
        note="scored and trained with the same history; no puzzle or position of an evaluation suite",
    ),
    Difference(
        "Training of the control",
        "the same 2,000 steps, supervised on puzzle solutions (section 3.6)",
        NOT_RELEASED,
        "{selfplay.steps} steps of {selfplay.games} examples at the rates of self-play, {control.epochs} "
        "epochs of its pool",
        empty="{selfplay.steps} steps of {selfplay.games} examples at the rates of self-play",
        code=("supervised.control_stage.train_control",),
        note="cross-entropy of the marked move; value and moves-left heads get no gradient",
    ),
    Difference(
        "Comparisons of paired answers",
        "Wilson intervals of each rate (section 3.1)",
        NOT_RELEASED,
        "the same, and McNemar's test with Holm's correction beside them (paired.csv)",
        code=("statistics.paired.compare_models",),
    ),
)
