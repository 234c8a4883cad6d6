"""Finished files mirrored into MLflow: files first, MLflow second.

No stage needs MLflow. `sync` reads what the stages wrote and makes the tracking store agree with it; it may
be killed, repeated and run by several processes at once. A store that is away, full or broken costs nothing
but a list of what is pending; the next `sync` completes it.

Experiments
    One per scale, ``<tracking.experiment>/<scale>``: suites and step counts differ between scales, so their
    accuracies must never meet in one sorted run table.
Runs
    * ``base`` and one run per cell, named by the cell id. `searchless.key`, a hash of the files they mirror,
      finds them again: unchanged files are one run for ever, whatever else in the pipeline changes. Deleting
      a run in MLflow makes the next sync log it again.
    * one parent per pipeline revision (Git commit and parameters), with the tables, the figures and all
      parameters. A child's `mlflow.parentRunId` is the revision that logged it first. Later revisions that
      hold the same files add themselves to its tag `searchless.revisions`, and a revision holds one run per
      cell: where files changed under it, the run of the old files drops out. So the run table of a revision
      is the filter ``tags.searchless.revisions LIKE '%<revision>%'``, which the parent's description spells
      out.
    * A run is FINISHED once all of it is logged. What a killed sync left RUNNING is completed by the next,
      or closed as KILLED where its files are gone. A run begins and ends when its network was trained,
      where this machine trained it, else when it was synced (tag `searchless.synced`); in a learning curve,
      step is the optimizer step. Metrics are rounded to four digits; the files have the rest.
Store
    `MLFLOW_TRACKING_URI`, else ``sqlite:///<main checkout>/mlflow.db`` (see `default_store`). Artifacts of an
    SQLite store lie in ``mlartifacts`` beside it under ``mlflow-artifacts:`` addresses, where a server finds
    them: run ``mlflow server`` (or ``mlflow ui``) in the main checkout, or anywhere else with
    ``--backend-store-uri sqlite:////path/mlflow.db --artifacts-destination /path/mlartifacts``. The two can
    be moved together, and a store first filled directly can go on behind a server.
Limits
    `SEARCHLESS_SYNC_SECONDS` (600) bounds a whole sync, MLflow's own `MLFLOW_HTTP_REQUEST_TIMEOUT` (here 10
    seconds) and `MLFLOW_HTTP_REQUEST_MAX_RETRIES` (here 0: the next sync looks before it creates, a retry
    does not) each request.
"""

from searchless_rl.tracking.places import default_store
from searchless_rl.tracking.sync import Pending, SyncReport, sync

__all__ = ["Pending", "SyncReport", "default_store", "sync"]
