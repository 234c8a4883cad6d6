"""How the runs are shown: descriptions and the saved view of the run table.

MLflow's run table opens with the parent runs alone and without a metric. The view that the page offers under
"Views" opens it on the cells of one revision, best first, with the columns that answer which term and which
beta. It is an experiment tag in the form that MLflow 3.17's own page writes; a release that changes the form
ignores it.
"""

from __future__ import annotations

import json

VIEW_KEY = "searchless"
VIEW_TAG = f"mlflow.sharedViewState.{VIEW_KEY}"
NOTE_TAG = "mlflow.note.content"
REVISIONS = "searchless.revisions"
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
    "metrics.`final/entropy`": 120,
    "metrics.`final/kl_base_policy`": 170,
}
NAMES = {"attributes.`Run Name`": 240, "runDateAndNestInfo": 130}


def revision_filter(revision: str) -> str:
    """The search that finds the base and the cells of a revision, and not its parent."""
    return f"tags.{REVISIONS} LIKE '%{revision}%' AND tags.searchless.kind != 'pipeline'"


def saved_view(revision: str, created: int) -> str:
    """The value of `VIEW_TAG`: cells of a revision by selection accuracy; `created` in ms since 1970."""
    state = {
        "searchFilter": revision_filter(revision),
        "orderByKey": ORDER,
        "orderByAsc": False,
        "selectedColumns": list(COLUMNS),
        "columnOrder": [*NAMES, *COLUMNS],
        "columnWidths": NAMES | COLUMNS,
    }
    return json.dumps(
        {
            "name": "Which term, which beta (latest revision)",
            "createdAt": created,
            "updatedAt": created,
            "state": json.dumps(state),
        }
    )


def experiment_note(experiment_id: str) -> str:
    """Description of the experiment."""
    return (
        f"[Which term, which beta](#/experiments/{experiment_id}/runs?viewStateShareKey={VIEW_KEY}): the "
        "cells of the latest revision, best on the selection suite first (also under Views). One run per "
        "cell, one for the untrained base, one `pipeline` run per revision; the description of a `pipeline` "
        "run has the filter for its cells."
    )


def parent_note(revision: str) -> str:
    """Description of a revision's parent run."""
    return (
        "One revision of the pipeline, with its tables, figures and parameters. Its runs: filter "
        f"`{revision_filter(revision)}`, sort by `selection/accuracy`."
    )
