"""How the runs are shown: descriptions and the saved views of the run table.

MLflow's run table opens with the parent runs alone and without a metric. The views that the page offers under
"Views" open it on the base and the cells, best first, with the columns that answer which term and which beta:
one on the latest revision, one on all of them, where experiments of a queue meet. They are experiment tags in
the form that MLflow 3.17's own page writes; a release that changes the form ignores them.
"""

from __future__ import annotations

import json
from typing import Final

NOTE_TAG = "mlflow.note.content"
REVISIONS = "searchless.revisions"
LATEST: Final = "searchless"
ALL: Final = "searchless-all"
"""Keys of the two views, as in an address: ``#/experiments/1/runs?viewStateShareKey=searchless``."""
TITLES = {
    LATEST: "Which term, which beta (latest revision)",
    ALL: "Which term, which beta (every revision and experiment)",
}
ORDER = "metrics.`selection/accuracy`"
# Width in pixels by column, in the order they are shown.
COLUMNS = {
    "params.`term`": 110,
    "params.`tau`": 95,
    "params.`beta`": 80,
    "params.`seed`": 70,
    ORDER: 150,
    "metrics.`selection/accuracy_low`": 170,
    "metrics.`selection/accuracy_high`": 170,
    "metrics.`main/accuracy`": 130,
    "metrics.`main/solution_probability_gm`": 220,
    "metrics.`hard/solution_probability_gm`": 220,
    "metrics.`arena/score`": 110,
    "metrics.`arena/score_low`": 130,
    "metrics.`arena/score_high`": 130,
    "metrics.`final/entropy`": 120,
    "metrics.`final/kl_base_policy`": 170,
}
NAMES = {"attributes.`Run Name`": 240, "runDateAndNestInfo": 130}
_CHILDREN = "tags.searchless.kind != 'pipeline'"
_PREFIXES = {
    "selection/, main/, hard/, mate1/ ... mate5/": "a puzzle suite: `accuracy` is the share of puzzles "
    "solved, `_low` and `_high` bound its 95 % Wilson interval, `k` of `n` are its counts",
    "solution_probability_gm, _am": "geometric and arithmetic mean over a suite of the probability of "
    "sampling a whole solution",
    "arena/": "games by most likely moves: `score` against the base, `elo` in the closed ladder",
    "final/": "mean over the last steps of training, of the policy being trained: `entropy` and "
    "`kl_base_policy` in nats, `cov5` the mass of its five likeliest moves",
    "train/": "the same by optimizer step: the learning curves",
}


def revision_filter(revision: str) -> str:
    """The search that finds the base and the cells of a revision, and not its parent."""
    return f"tags.{REVISIONS} LIKE '%{revision}%' AND {_CHILDREN}"


def saved_views(revision: str, created: int) -> dict[str, str]:
    """Both views, cells by selection accuracy, as tags of the experiment; `created` in ms since 1970."""
    # A run that another of the same cell has replaced is in no revision.
    searches = {LATEST: revision_filter(revision), ALL: f"tags.{REVISIONS} LIKE '%-%' AND {_CHILDREN}"}
    return {f"mlflow.sharedViewState.{key}": _view(key, search, created) for key, search in searches.items()}


def _view(key: str, search: str, created: int) -> str:
    state = {
        "searchFilter": search,
        "orderByKey": ORDER,
        "orderByAsc": False,
        "selectedColumns": list(COLUMNS),
        "columnOrder": [*NAMES, *COLUMNS],
        "columnWidths": NAMES | COLUMNS,
    }
    content = {"name": TITLES[key], "createdAt": created, "updatedAt": created, "state": json.dumps(state)}
    return json.dumps(content)


def view_link(experiment_id: str, key: str = LATEST) -> str:
    """The part of an address of MLflow's page that opens a view."""
    return f"#/experiments/{experiment_id}/runs?viewStateShareKey={key}"


def experiment_note(experiment_id: str) -> str:
    """Description of the experiment (Markdown): the views, what a run is, what the metrics are."""
    links = "\n".join(f"* [{title}]({view_link(experiment_id, key)})" for key, title in TITLES.items())
    metrics = "\n".join(f"| {prefix} | {meaning} |" for prefix, meaning in _PREFIXES.items())
    return (
        f"{links}\n\nBest on the selection suite first; also under Views. One run per cell, one for the "
        "untrained base, one for the puzzle-tuned control, one `pipeline` run per revision, whose "
        "description has the filter for its cells. The time of a run is that of its training, where this "
        f"machine trained it.\n\n| metrics | meaning |\n|---|---|\n{metrics}\n"
    )


def parent_note(revision: str) -> str:
    """Description of a revision's parent run."""
    return (
        "One revision of the pipeline, with its tables, figures and parameters. Its runs: filter "
        f"`{revision_filter(revision)}`, sort by `selection/accuracy`."
    )
