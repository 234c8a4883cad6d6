"""The pipeline: what each DVC stage runs.

Read `stages` (one thin command per stage) beside dvc.yaml; `searchless_rl.layout` says where files lie. Then
`inputs`, `openings`, `arenas`, `recovery` and `requested` (stages that join several packages) and `sweep`
(cells outside the study). `fan_out` runs several stages at a time, with `dvc`, `processes` and `lifetime`;
`timing` records what they cost.
"""
