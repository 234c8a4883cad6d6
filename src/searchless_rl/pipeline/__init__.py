"""The pipeline: what each DVC stage runs.

Read `stages` (one thin command per stage), then `arenas`, `recovery` and `requested` (the stages that join
several packages), `sweep` (cells outside the study) and `fan_out` (several stages at a time).
"""
